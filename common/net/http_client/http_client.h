/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* http_client: sends many HTTP requests to one server, a bounded number at a time, and streams bodies to callbacks.
 *
 *	http_client_new(&config, &client, &err);
 *	http_client_submit(client, &request, &err);	any number; only queued
 *	http_client_run(client, deadline, &err);	until all have ended; `done` may submit more
 *	http_client_poll(client, ...);			or one round, inside a loop of the program's own
 *
 * The environment has no influence (no proxy variables). Redirects are errors. Only http and https are supported.
 * Secret files are read for every request and the CA file for every connection, so rotation needs no restart. The
 * client does not limit the size of an answer: the body callback returns non-zero to stop. The client never retries.
 * The program must ignore SIGPIPE. Threads: a client belongs to one thread; only http_client_interrupt may be called
 * from any thread. */
#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

struct http_client;

struct http_client_header {
	const char *name, *value;
};

/** Everything is copied. NULL and 0 mean "not set" or the default in the comment. */
struct http_client_config {
	const char *base_url; /* http or https, no credentials, query or fragment; a trailing slash is dropped */
	const char *bearer_token_file;
	const char *basic_user, *basic_password_file;
	const char *ca_file; /* PEM; NULL: the system's */
	const char *cert_file, *key_file;
	/* Path of a Unix socket that accepts plain HTTP for the server. base_url is then used in messages only, and
	 * Host is "localhost". */
	const char *unix_socket;
	bool insecure_skip_verify;
	const struct http_client_header *headers; /* sent with every request, e.g. X-Scope-OrgID */
	size_t n_headers;
	const char *user_agent;	    /* NULL: "memtamer" */
	int64_t connect_timeout_ms; /* 10 s */
	int64_t timeout_ms;	    /* of one request, from its start (time in the queue does not count); 30 s */
	int64_t stall_timeout_ms;   /* longest time without a byte, also before the answer; default: timeout_ms */
	size_t concurrency;	    /* most requests under way at a time; 4 */
};

enum http_outcome {
	HTTP_DONE,	     /* a complete 2xx answer */
	HTTP_CANNOT_CONNECT, /* name not resolved, refused, unreachable */
	HTTP_TIMED_OUT,	     /* the request, connecting, or a stall took too long */
	HTTP_TLS_FAILED,     /* handshake, certificate, certificate files */
	HTTP_STATUS,	     /* an answer other than 2xx; `error_body` contains its beginning */
	HTTP_BROKEN,	     /* the connection was closed, or the answer is not HTTP: the body is incomplete */
	HTTP_ABORTED,	     /* a callback returned non-zero; err.code is this value */
	HTTP_CANCELLED,	     /* cancelled by the caller, the run's deadline or the end of the client */
	HTTP_FAILED_LOCALLY, /* a secret file cannot be read, or out of memory */
};

#define HTTP_ERROR_BODY_BYTES 4096
/** Lanes are numbered from 1 to HTTP_LANES. */
#define HTTP_LANES 16
/** Value of stall_timeout_ms: any time without a byte is allowed. */
#define HTTP_NO_STALL (-1)

/** How a request ended. Borrowed for the callback. */
struct http_result {
	enum http_outcome outcome;
	long status;		  /* 0: no answer */
	const char *content_type; /* "" when there was none */
	const char *error_body;	  /* with HTTP_STATUS: its first HTTP_ERROR_BODY_BYTES, NUL-terminated; else "" */
	size_t error_body_bytes;
	int64_t retry_after_s; /* from Retry-After; 0: none */
	struct err err; /* not set with HTTP_DONE; where = URL without query, msg = what failed and why, code < 0 */
};

/** Called when the head of a 2xx answer has arrived, before its body. A non-zero return value aborts the request. */
typedef int http_head_fn(void *context, long status, const char *content_type);
/** Called with each piece of a 2xx body. A non-zero return value aborts the request. Must not call this client, except
 *  http_client_submit. */
typedef int http_body_fn(void *context, const char *bytes, size_t n);
/** The request has ended; called exactly once for each submitted request. May submit others. */
typedef void http_done_fn(void *context, const struct http_result *result);

/** Strings, body and headers are copied by submit. */
struct http_request {
	const char *method; /* NULL: GET, or POST when there is a body */
	const char *path;   /* appended to base_url: "/api/v1/query?query=up" */
	const char *body;   /* NULL: none */
	size_t body_bytes;
	const char *content_type; /* of the body; NULL: application/x-www-form-urlencoded */
	const struct http_client_header *headers;
	size_t n_headers;
	bool accepts_compression; /* the callback receives decompressed bytes */
	int64_t timeout_ms;	  /* 0: the client's */
	int64_t stall_timeout_ms; /* 0: the client's; HTTP_NO_STALL: none */
	unsigned int lane;  /* 0: no other request uses its connection meanwhile; else as http_client_lane_requests */
	http_head_fn *head; /* may be NULL */
	http_body_fn *body_piece; /* may be NULL: the body is discarded */
	http_done_fn *done;	  /* may be NULL */
	void *context;
};

/** Makes a client; opens no file yet. @return 0; -EINVAL a wrong URL or header, or only one file of a key pair;
 *  -ENOMEM. */
int http_client_new(const struct http_client_config *config, struct http_client **ret, struct err *err) ATTR_NODISCARD;
/** Frees the client; pending requests end with HTTP_CANCELLED. Must not be called from a callback. NULL is allowed. */
void http_client_free(struct http_client *self);

/** Queues a request. @return 0; -EINVAL path or header contains control characters; -ECANCELED called from a callback
 *  while all requests are being cancelled; -ENOMEM. */
int http_client_submit(struct http_client *self, const struct http_request *request, struct err *err) ATTR_NODISCARD;
/** Runs until no request is queued or under way.
 *  @param deadline_ms  by time_monotonic_ms(); requests that have not ended by then end with HTTP_CANCELLED; 0: none.
 *  @return 0 all requests have ended, with an answer or a failure; 1 the deadline or an interrupt cancelled some;
 *  -errno all were cancelled. */
int http_client_run(struct http_client *self, int64_t deadline_ms, struct err *err) ATTR_NODISCARD;
/** Runs one round. Waits at most `wait_ms` for a socket, a timer of a request, an interrupt or one of `fds` (at most
 *  16, as for poll(2) with POLLIN and POLLOUT; may be NULL), and handles what arrived. Callbacks run inside. `wait_ms`
 *  is capped at an hour.
 *  @return 0; 1 interrupted, all requests were cancelled; -EINVAL too many `fds`; another -errno: all requests were
 *  cancelled. */
struct pollfd;
int http_client_poll(struct http_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms,
		     struct err *err) ATTR_NODISCARD;
/** Ends every request with this context with HTTP_CANCELLED. `done` is called in a later round, never from here; a
 *  request that is still queued ends when its turn comes. May be called from a callback. Cost: linear in the number of
 *  requests. */
void http_client_cancel(struct http_client *self, const void *context);
/** Requests of one lane share one HTTP/2 connection if the URL is https and libcurl and the server support HTTP/2;
 *  otherwise each has a connection of its own. Do not put more requests into a lane at a time than the server allows
 *  streams (usually 100): libcurl opens further connections for them, and a probe may not reach these.
 *  @return how many requests of the lane are queued or under way. */
size_t http_client_lane_requests(struct http_client *self, unsigned int lane);
/** When the last byte of an answer arrived for any request of the lane, by time_monotonic_ms(); before the first byte,
 *  when the first of these requests was submitted. 0: there is no such lane. */
int64_t http_client_lane_heard_ms(struct http_client *self, unsigned int lane);
/** Makes the next round end the transfers of the lane with HTTP_TIMED_OUT and `why` (copied), and close the lane's
 *  connections; later requests open a new one. May be called from a callback. */
void http_client_break_lane(struct http_client *self, unsigned int lane, const struct err *why);
/** Makes the current and all later calls of http_client_run and http_client_poll cancel all requests and return 1. Any
 *  thread, also from a signal handler. */
void http_client_interrupt(struct http_client *self);
/** Submits one request and runs the client until all its requests have ended. The body is appended to `ret_body`, up to
 *  its cap; with a status other than 2xx, the beginning of the error's body. Callbacks and context of `request` are
 *  ignored.
 *  @param deadline_ms  as for http_client_run. @param ret_status  may be NULL; 0 without an answer.
 *  @return 0; -ECANCELED the deadline or an interrupt; another -errno with `err`. */
int http_client_fetch(struct http_client *self, const struct http_request *request, int64_t deadline_ms,
		      struct strbuf *ret_body, long *ret_status, struct err *err) ATTR_NODISCARD;

/** Appends a text, percent-encoded except for letters, digits, "-._~" and the characters of `also`. @return the sticky
 *  status of `buf`. */
int http_add_encoded(struct strbuf *buf, const char *text, const char *also);
/** Appends `name=value`, percent-encoded, with `&` between pairs: for form bodies and query strings. @return the sticky
 *  status of `form`. */
int http_form_add(struct strbuf *form, const char *name, const char *value);
