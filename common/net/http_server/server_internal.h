/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* server_internal: one connection and the server, as the parts of http_server share them.
 * Threads: a connection's plain fields belong to the pool thread that serves it; the atomics are read by the watchdog.
 * The list is under `mutex`; a connection leaves it before its socket is closed. */
#include "http_server/http_server.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

struct credentials;

enum connection_state {
	CONNECTION_HANDSHAKE, /* until TLS is up; not with plain HTTP */
	CONNECTION_IDLE,      /* between requests: nothing seen of the next one, or only a part of its head */
	CONNECTION_BUSY,      /* from the end of a request's head to the end of its answer */
};

struct body {
	char *bytes;
	size_t n, capacity;
};

struct connection {
	struct connection *next, *previous;
	struct http_server *server;
	struct credentials *credentials; /* reference; NULL with plain HTTP */
	int fd;
	char peer[64];

	atomic_int state;
	_Atomic int64_t since_ms; /* when the state began */
	atomic_uint requests;	  /* ended so far */
	atomic_bool is_end_told;  /* why it ends has been observed */

	/* the watchdog's: how an idle connection is seen to drip a head */
	unsigned int watched_requests;
	uint64_t watched_bytes;
	int64_t dripping_since_ms;

	/* the request under way */
	const struct http_server_route *route; /* NULL: no such path or method */
	struct body body;
	size_t expected_bytes; /* Content-Length; 0 when not known */
	size_t discarded_bytes;
	unsigned int refusal; /* status decided before the handler; 0: none */
	const char *allow;    /* with 405 */
	bool must_close;
	struct http_server_response response;
	int64_t held_since_ms; /* 0: it was not */

	/* while it is held: under the server's mutex */
	struct connection *next_held;
	struct MHD_Connection *mhd;
};

struct http_server {
	struct http_server_config config;
	struct MHD_Daemon *daemon;
	int listen_fd; /* ours again after quiescing; else -1 */
	unsigned int port;

	pthread_mutex_t mutex; /* lists, current credentials, is_stopping, what is held */
	pthread_cond_t wake;   /* of the watchdog */
	struct connection *connections;
	size_t n_connections;
	struct credentials *current;
	bool is_stopping;
	struct connection *held;
	size_t n_held;
	uint64_t wakes;	       /* so often held requests were woken */
	bool holds_no_more;    /* it is about to end */
	int64_t held_until_ms; /* the first of them is woken then; 0: none is held */
	pthread_t watchdog;
	bool has_watchdog;

	atomic_bool is_draining;
	atomic_size_t in_flight;
	atomic_size_t bodies_bytes;
};

void server_observe(const struct http_server *self, const struct http_server_event *event);

/* server_socket.c */
int server_listen(const char *listen, int *ret_fd, unsigned int *ret_port, struct err *err) ATTR_NODISCARD;
void server_peer_text(int fd, char *buf, size_t size);

/* server_watch.c */
struct connection *connection_new(struct http_server *self, int fd);
/** Take it off the list and free it. */
void connection_free(struct connection *connection);
void connection_set_state(struct connection *connection, enum connection_state state);
int watchdog_start(struct http_server *self, struct err *err) ATTR_NODISCARD;
void watchdog_stop(struct http_server *self);

/* server_hold.c */
/** May it be held, and how often have held ones been woken so far? Before the handler is asked. */
bool hold_is_allowed(struct connection *connection, uint64_t *ret_wakes);
/** Hold it, from its handler's thread. Where something was woken since, it is asked again at once. */
void hold_begin(struct connection *connection, struct MHD_Connection *mhd, uint64_t wakes);
/** Wake those whose time is over; under the mutex, which is let go meanwhile. */
void hold_look(struct http_server *self, int64_t now_ms);
/** Wake all, and hold none from now on: libmicrohttpd must not be stopped while one is held. */
void hold_end(struct http_server *self);

/* server_tls.c */
/** Hand the current credentials to a new session. -EIO when there are none. */
int tls_attach(struct connection *connection, struct MHD_Connection *mhd) ATTR_NODISCARD;
struct credentials *credentials_unref(struct credentials *self);
bool credentials_want_client(const struct credentials *self);
/** libmicrohttpd insists on a source of certificates; ours are set per connection, so this one is never asked. */
int tls_no_certificate(void);

/* server_request.c */
enum MHD_Result request_handle(void *context, struct MHD_Connection *mhd, const char *path, const char *method,
			       const char *version, const char *upload, size_t *upload_bytes, void **request_context);
void request_completed(void *context, struct MHD_Connection *mhd, void **request_context,
		       enum MHD_RequestTerminationCode code);
void body_release(struct connection *connection);
