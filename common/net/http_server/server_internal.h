/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* server_internal: one connection and the server, shared by the files of http_server. Dependencies:
 *	http_server -> server_request, server_tls, server_watch -> server_limit -> server_connection -> server_socket
 * Threads: the pool thread that serves a connection owns its fields, except those under the server's mutex. Every
 * connection is in the list of its address group and state until just before its socket is closed. */
#include "http_server/http_server.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct credentials;

enum connection_state {
	CONNECTION_FRESH,   /* no complete head so far: the handshake, the first head, or nothing has arrived */
	CONNECTION_BUSY,    /* from the end of a request's head to the end of its answer */
	CONNECTION_IDLE,    /* between requests: nothing or only a part of the next head has arrived */
	CONNECTION_CLOSING, /* shut down by the server; libmicrohttpd ends it when its thread gets to it */
	CONNECTION_STATE_COUNT_,
};

#define PEER_BYTES 64

struct connection {
	/* protected by the server's mutex */
	TAILQ_ENTRY(connection) link;
	enum connection_state state;
	int64_t since_ms; /* monotonic: when the state began */

	/* set once */
	struct http_server *server;
	int fd;
	struct connection_group *group; /* the group of its address */
	char peer[PEER_BYTES];

	/* used by its thread only */
	struct credentials *credentials; /* own reference; NULL with plain HTTP */
	bool is_handshaking, is_refused; /* is_refused: its certificate was refused, and the observer was called */
	size_t charged_bytes;		 /* part of buffers_bytes that it uses */

	/* the request under way; used by its thread only */
	const struct http_server_route *route; /* NULL: no such path or method */
	char *body;			       /* NUL-terminated */
	size_t body_bytes, body_capacity;
	size_t expected_bytes; /* Content-Length; 0: unknown */
	size_t discarded_bytes;
	int64_t received_ns;  /* monotonic: when its last byte arrived */
	unsigned int refusal; /* status that was chosen without the handler; 0: none */
	const char *allow;    /* with 405 */
	bool must_close;
	struct http_server_response response;
};

/** Connections of one group and state, oldest first by `since_ms`. */
struct connection_list {
	TAILQ_HEAD(, connection) connections;
	size_t n;
};

/** What a connection may take of memory, as a ratio: a FRESH one has no buffer for a body or an answer. */
enum { WEIGHT_FRESH = 2, WEIGHT_OTHER = 3 };

/** Connections of one address are in one group, chosen by a hash; a group may hold several addresses. */
#define CONNECTION_GROUPS 64

struct connection_group {
	struct connection_list lists[CONNECTION_STATE_COUNT_];
};

struct http_server {
	struct http_server_config config;
	struct MHD_Daemon *daemon;
	int listen_fd; /* valid after quiescing; otherwise -1, and libmicrohttpd owns it */
	unsigned int port;

	pthread_mutex_t mutex; /* protects connections, current and is_stopping */
	pthread_cond_t wake;   /* wakes the watchdog */
	struct connection_group groups[CONNECTION_GROUPS];
	struct credentials *current;
	bool is_stopping;
	pthread_t watchdog;
	bool has_watchdog;

	atomic_bool is_draining;
	atomic_size_t in_flight;
	atomic_size_t weight;	     /* of all connections */
	atomic_size_t buffers_bytes; /* over all connections, beyond HTTP_CONNECTION_BYTES of each */
};

/* server_connection.c */
void server_observe(const struct http_server *self, const struct http_server_event *event);
/** Reports something about a connection; the caller does not hold the mutex. */
void server_report(const struct http_server *self, enum http_server_event_type type, const char *reason,
		   const char *peer);
/** Makes a connection in state FRESH. NULL: out of memory. */
struct connection *connection_new(struct http_server *self, int fd) ATTR_NODISCARD;
/** Must be called before its socket is closed. */
void connection_free(struct connection *self);
/** Moves a connection to FRESH, BUSY or IDLE; a closing connection stays in CLOSING. */
void connection_set_state(struct connection *self, enum connection_state state);
bool connection_is_closing(struct connection *self);
/** Shuts a connection down; the caller holds the mutex and reports it afterwards. Its thread then sees the end of the
 *  stream, cleans up and closes the socket, and the connection is gone: `ret_peer` is a copy. */
void connection_shut(struct connection *self, char ret_peer[PEER_BYTES]);
/** Reserves `bytes` in total for its buffers, until connection_release_body.
 *  @return false, and nothing changes: all connections together would use too many. */
bool connection_charge(struct connection *self, size_t bytes) ATTR_NODISCARD;
/** Frees the body and releases the reservation. */
void connection_release_body(struct connection *self);

/* server_limit.c */
/** A new connection arrived: at the limit, closes an old one, unless it is one of a burst (server_limit.c).
 *  @return false: too many sockets are open; refuse the new one. */
bool connections_make_room(struct http_server *self);
/** A connection became BUSY: after a burst, closes an old one if all together may take too much memory. Cost of both:
 * one pass over the CONNECTION_GROUPS, whatever is connected. */
void connections_keep_limit(struct http_server *self);

/* server_socket.c */
int server_listen(const char *listen, int *ret_fd, unsigned int *ret_port, struct err *err) ATTR_NODISCARD;
/** Writes the peer's address and port as text. @return a hash of its address only. */
uint64_t server_peer(int fd, char *buf, size_t size);

/* server_watch.c */
int watchdog_start(struct http_server *self, struct err *err) ATTR_NODISCARD;
void watchdog_stop(struct http_server *self);

/* server_tls.c */
/** Gives the current credentials to a new session. @return 0; -EIO there are none. */
int tls_attach(struct connection *connection, struct MHD_Connection *mhd) ATTR_NODISCARD;
/** Drops the connection's reference to its credentials. */
void tls_detach(struct connection *connection);
struct credentials *credentials_unref(struct credentials *self);
bool credentials_want_client(const struct credentials *self);
/** A dummy source of certificates, which libmicrohttpd requires and never calls: credentials are set for each
 *  connection. */
int tls_no_certificate(void);

/* server_request.c */
enum MHD_Result request_handle(void *context, struct MHD_Connection *mhd, const char *path, const char *method,
			       const char *version, const char *upload, size_t *upload_bytes, void **request_context);
void request_completed(void *context, struct MHD_Connection *mhd, void **request_context,
		       enum MHD_RequestTerminationCode code);
