/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* http_server: an HTTPS server for handlers that only compute. It uses libmicrohttpd with a pool of threads that call
 * poll(). TLS is GnuTLS with the server's own credentials, which each new connection takes, so that they rotate without
 * a lost request.
 *
 * Handlers run on the pool's threads, several at once, and must not block: a slow handler delays every connection of
 * its thread. A handler is called when the body of a request is complete.
 *
 * The resources that clients can use are bounded:
 * - Time: a connection is closed when its first head is not complete request_timeout_ms after it was accepted, even if
 *   it sends bytes; when the body has not arrived or the answer has not been read request_timeout_ms after the head;
 *   and when it sends nothing between two requests for idle_timeout_ms (the sum of both times if the head arrives
 *   slowly).
 * - Connections: when `connections` are open (plus one a thread), each new one closes an old one, at constant cost: the
 *   oldest one without a complete request, else the one that has been idle longest. An address that has more than a
 *   quarter of all connections loses one of its own. One with requests, as an API server's, may have half as many more
 *   that have not sent theirs yet (server_limit.c says why this helps no attacker). A connection that was closed keeps
 *   its socket until its thread gets to it. All that one thread has may wait for its handler while another thread
 *   accepts as many, so up to HTTP_SOCKETS times as many sockets are open; beyond that a new one is refused.
 * - Memory: each connection may use HTTP_CONNECTION_BYTES for its body or its answer, in addition to libmicrohttpd (32
 *   KiB) and GnuTLS (about 20 KiB). Bytes beyond that are counted over all connections; when they reach
 *   buffers_total_bytes, a request is answered with 503. An idle connection keeps no buffers.
 *
 * The server does not log; it calls an observer instead. The exception is an internal error of libmicrohttpd: it is
 * logged and the process aborts.
 * Life cycle: start, serve, drain_start (answers carry "Connection: close"), drain_finish, free. The program must
 * ignore SIGPIPE. Threads: start, drain and free on one thread; other functions as they say. */
#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

/** Part of a body or an answer that is not counted against buffers_total_bytes. */
#define HTTP_CONNECTION_BYTES ((size_t)64 * 1024)
/** Sockets that may be open for each of `connections`. */
#define HTTP_SOCKETS 3

struct http_server;

/** Borrowed for the call of the handler. */
struct http_server_request {
	const char *method;
	const char *path; /* without the query, percent-decoded */
	const char *body; /* `body_bytes` long, NUL-terminated; "" without one */
	size_t body_bytes;
};

/** Filled in by the handler; initially 200, text/plain and an empty body. The server owns the body. If the body has an
 *  error status (too long, out of memory), the answer is 500. */
struct http_server_response {
	unsigned int status;
	const char *content_type; /* static text */
	struct strbuf body;
};

typedef void http_handler_fn(void *context, const struct http_server_request *request,
			     struct http_server_response *response);

/** A table of these ends with a row without path. A GET route answers HEAD, too. Other methods get 405 with Allow,
 *  other paths 404. */
struct http_server_route {
	const char *method, *path;
	size_t max_body_bytes; /* a longer body is answered with 413; 0: no body allowed */
	http_handler_fn *handle;
};

enum http_server_event_type {
	HTTP_EVENT_ANSWERED,	    /* path, status, duration_ns */
	HTTP_EVENT_CLIENT_REFUSED,  /* reason: why a client certificate was not accepted */
	HTTP_EVENT_HANDSHAKE_ENDED, /* a connection ended before its handshake was complete */
	HTTP_EVENT_WATCHDOG_CLOSED, /* reason: what took too long */
	HTTP_EVENT_EVICTED,	    /* reason: why it was closed in favour of a new connection */
	HTTP_EVENT_LIBRARY,	    /* reason: a message of libmicrohttpd */
};

struct http_server_event {
	enum http_server_event_type type;
	const char *path;    /* path of the route; "other" without a route */
	unsigned int status; /* HTTP_EVENT_ANSWERED */
	/* With HTTP_EVENT_ANSWERED: time from the last byte of the request until the socket has accepted the last byte
	 * of the answer. This includes the time that the request waited in the socket for a busy thread, if it was more
	 * than 10 ms; the kernel's clock does not show shorter waits. */
	int64_t duration_ns;
	const char *reason;
	const char *peer; /* "127.0.0.1:4711" */
};

/** Called on any thread, without a lock: may ask the server for its numbers, and must not block, because that thread
 *  serves clients. */
typedef void http_observer_fn(void *context, const struct http_server_event *event);

struct http_server_config {
	const char *listen; /* "127.0.0.1:8443", "[::]:8443", ":8443"; port 0: any free one */
	bool is_plain;	    /* HTTP without TLS, where nothing is secret, and for tests */
	unsigned int threads, connections;
	int64_t idle_timeout_ms; /* more than 90 s, because API servers reuse connections that long */
	int64_t request_timeout_ms;
	size_t buffers_total_bytes;
	const struct http_server_route *routes; /* borrowed; must live as long as the server */
	void *context;				/* passed to handlers and the observer */
	http_observer_fn *observe;		/* may be NULL */
};

/** Binds, listens and serves. Connections are closed at once until credentials are set, unless is_plain.
 *  @return 0; -EINVAL `listen` is wrong; -EIO; -ENOMEM; the -errno of bind. */
int http_server_start(const struct http_server_config *config, struct http_server **ret,
		      struct err *err) ATTR_NODISCARD;

/** Uses this certificate chain and key (PEM) for all new connections; open ones keep theirs. Any thread.
 *  @param client_ca_pem  not NULL: clients must present a client certificate that one of these CAs signed.
 *  @param client_name  not NULL: the client certificate must also have this name as CN or SAN.
 *  @return 0; -EINVAL with the reason; -ENOMEM. On an error the old credentials stay in use. */
int http_server_set_credentials(struct http_server *self, const char *cert_pem, const char *key_pem,
				const char *client_ca_pem, const char *client_name, struct err *err) ATTR_NODISCARD;
/** Whether credentials were set. Any thread. */
bool http_server_has_credentials(struct http_server *self);

/** The port that the server listens on. Any thread. */
unsigned int http_server_port(const struct http_server *self);
/** Number of open connections, and of requests under way. Any thread. */
size_t http_server_connections(struct http_server *self);
size_t http_server_in_flight(struct http_server *self);

/** Makes every answer close its connection from now on; new connections are still accepted. */
void http_server_drain_start(struct http_server *self);
/** Stops accepting and waits until no request is under way, at most `timeout_ms`. No request takes longer
 *  than request_timeout_ms, whatever its client does.
 *  @return 0; 1 requests are still under way after `timeout_ms`. */
int http_server_drain_finish(struct http_server *self, int64_t timeout_ms);
/** Stops and frees the server; requests under way are cut off. Waits for running handlers, not for clients. NULL is
 *  allowed. */
void http_server_free(struct http_server *self);
