/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* http_server: HTTPS for handlers that only compute. libmicrohttpd with an internal poll() thread pool; TLS is GnuTLS
 * with credentials of our own, handed to each new connection, so that they rotate without a lost request.
 *
 * Handlers run on the pool's threads, several at once, and must not block: a slow one holds up every connection of its
 * thread. Bodies are complete when a handler sees them, capped by route and over all connections together.
 * A watchdog thread closes connections whose handshake or request takes longer than the deadline, however they drip.
 * The server never logs: an observer is told what happened. Life: start, serve, drain_start (answers carry
 * "Connection: close"), drain_finish, free. SIGPIPE must be ignored by the program. */
#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

struct http_server;

/* A request may be held: its handler says that it lacks something that is on its way, the thread serves others, and
 * http_server_wake_held, or the end of hold_timeout_ms, asks the handler again with the same request. */

/** Borrowed for the handler's call. */
struct http_server_request {
	const char *method;
	const char *path; /* without the query, percent-decoded */
	const char *body; /* `body_bytes` long, NUL-terminated; "" without one */
	size_t body_bytes;
	bool may_be_held; /* response->is_held would be heeded: false once it was held long enough, or too many are */
	bool was_held;	  /* this is not the first call */
};

/** Filled by the handler; starts as 200, text/plain and an empty body. The body's memory is the server's and is used
 *  again for the connection's next answer. A body in error (too long, out of memory) is answered with 500.
 *  is_held: nothing is to be answered yet, and the rest is not looked at. */
struct http_server_response {
	bool is_held;
	unsigned int status;
	const char *content_type; /* static text */
	struct strbuf body;
};

typedef void http_handler_fn(void *context, const struct http_server_request *request,
			     struct http_server_response *response);

/** Ended by a row without path. A GET route answers HEAD too. Other methods get 405 with Allow, other paths 404. */
struct http_server_route {
	const char *method, *path;
	size_t max_body_bytes; /* more is answered with 413; 0: bodies are not wanted */
	http_handler_fn *handle;
};

enum http_server_event_type {
	HTTP_EVENT_ANSWERED,	    /* path, status */
	HTTP_EVENT_CLIENT_REFUSED,  /* reason: why a client certificate was not accepted */
	HTTP_EVENT_HANDSHAKE_ENDED, /* a connection ended before its handshake was complete */
	HTTP_EVENT_WATCHDOG_CLOSED, /* reason: what took too long */
	HTTP_EVENT_LIBRARY,	    /* reason: what libmicrohttpd wanted to say */
};

struct http_server_event {
	enum http_server_event_type type;
	const char *path;    /* of the route; "other" when none */
	unsigned int status; /* HTTP_EVENT_ANSWERED */
	const char *reason;
	const char *peer; /* "127.0.0.1:4711" */
};

/** Any thread, must not block and must not call the server. */
typedef void http_observer_fn(void *context, const struct http_server_event *event);

struct http_server_config {
	const char *listen; /* "127.0.0.1:8443", "[::]:8443", ":8443"; port 0: any free one */
	bool is_plain;	    /* HTTP without TLS: where nothing is secret, and for tests */
	unsigned int threads, connections;
	int64_t idle_timeout_ms;    /* of a kept-alive connection: above 90 s, or API servers lose requests */
	int64_t request_timeout_ms; /* from the first byte of a request (or of a handshake) to the end of the answer */
	size_t bodies_total_bytes;  /* of all connections together; beyond that 503 */
	int64_t hold_timeout_ms;    /* a request is held for so long at most; 0: never */
	const struct http_server_route *routes; /* borrowed for the server's life */
	void *context;				/* of handlers and observer */
	http_observer_fn *observe;		/* may be NULL */
};

/** Bind, listen and serve. Without credentials (and not plain) connections are closed at once.
 *  @return 0; -EINVAL; -errno of bind. */
int http_server_start(const struct http_server_config *config, struct http_server **ret,
		      struct err *err) ATTR_NODISCARD;

/** Use this certificate chain and key (PEM) for all connections from now on; open ones keep theirs.
 *  @param client_ca_pem  non-NULL: clients must show a certificate of one of these CAs, made for clients.
 *  @param client_name    non-NULL: and it must have this name as CN or SAN.
 *  @return 0; -EINVAL: what is wrong with them; the old ones stay in use. Any thread. */
int http_server_set_credentials(struct http_server *self, const char *cert_pem, const char *key_pem,
				const char *client_ca_pem, const char *client_name, struct err *err) ATTR_NODISCARD;
bool http_server_has_credentials(struct http_server *self);

unsigned int http_server_port(const struct http_server *self);
/** Open connections and requests under way. Any thread. */
size_t http_server_connections(struct http_server *self);
size_t http_server_in_flight(struct http_server *self);

/** Ask the handlers of all held requests again: what they lack may be there. Any thread. */
void http_server_wake_held(struct http_server *self);

/** From now on every answer closes its connection; new ones are still accepted. */
void http_server_drain_start(struct http_server *self);
/** Accept no more, wait until no request is under way (at most `deadline_ms` from now).
 *  @return 0; 1 when the deadline came first. */
int http_server_drain_finish(struct http_server *self, int64_t deadline_ms);
/** Stop and free; requests under way are cut. NULL allowed. */
void http_server_free(struct http_server *self);
