/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* http_client: many HTTP requests to one server, a bounded number at a time, bodies streamed to callbacks.
 *
 *	http_client_new(&config, &client, &err);
 *	http_client_submit(client, &request, &err);	any number; only queued
 *	http_client_run(client, deadline, &err);	until all are done; `done` may submit more
 *	http_client_poll(client, ...);			or one round of it, inside a loop of the program's own
 *
 * Nothing comes in from the environment (no proxy variables), redirects are errors, only http and https are spoken.
 * Secret files are read anew for every request and the CA file for every connection, so rotation needs no restart. The
 * size of an answer is bounded by whoever consumes it: the body callback returns non-zero to stop. No retries here.
 * SIGPIPE must be ignored by the program. Threads: a client belongs to one thread; only http_client_interrupt may be
 * called from any thread. */
#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

struct http_client;

struct http_client_header {
	const char *name, *value;
};

/** Everything is copied. NULL and 0 mean "not set" or the default. */
struct http_client_config {
	const char *base_url; /* http or https, no credentials, query or fragment; a trailing slash is dropped */
	const char *bearer_token_file;
	const char *basic_user, *basic_password_file;
	const char *ca_file; /* PEM; NULL: the system's */
	const char *cert_file, *key_file;
	const char *ca_pem, *cert_pem, *key_pem; /* the same as text; each goes before its file */
	const char *tls_server_name;		 /* for SNI and verification in place of the URL's host */
	bool insecure_skip_verify;
	const struct http_client_header *headers; /* sent with every request, e.g. X-Scope-OrgID */
	size_t n_headers;
	const char *proxy;	    /* NULL: none, whatever the environment says */
	const char *user_agent;	    /* NULL: "memtamer" */
	int64_t connect_timeout_ms; /* 10 s */
	int64_t timeout_ms;	    /* of one request, without its time in the queue; 30 s */
	int64_t stall_timeout_ms;   /* no byte for so long (the server's thinking counts); the request's timeout */
	size_t concurrency;	    /* requests at a time; 4 */
};

enum http_outcome {
	HTTP_DONE,	     /* a 2xx answer, all of it */
	HTTP_CANNOT_CONNECT, /* name not resolved, refused, unreachable */
	HTTP_TIMED_OUT,	     /* of the request, of connecting or of a stall */
	HTTP_TLS_FAILED,     /* handshake, certificate, certificate files */
	HTTP_STATUS,	     /* an answer other than 2xx; `error_body` has its beginning */
	HTTP_BROKEN,	     /* connection closed or not HTTP: what came is not the whole answer */
	HTTP_ABORTED,	     /* a callback said so; err.code is what it returned */
	HTTP_CANCELLED,	     /* interrupted, the deadline of the run passed, or the client was freed */
	HTTP_FAILED_LOCALLY, /* a secret file cannot be read, memory is out */
};

#define HTTP_ERROR_BODY_BYTES 4096

/** How a request ended. Borrowed for the callback. */
struct http_result {
	enum http_outcome outcome;
	long status;		  /* 0: no answer */
	const char *content_type; /* "" when there was none */
	const char *error_body;	  /* with HTTP_STATUS: its first HTTP_ERROR_BODY_BYTES, NUL-terminated; else "" */
	size_t error_body_bytes;
	int64_t retry_after_s;	/* the server's wish, 0: none */
	int64_t received_bytes; /* of the body, as the callback saw it */
	int64_t duration_ms;
	struct err err; /* unless HTTP_DONE: where = URL without query, msg = what and why, code < 0 */
};

/** As soon as the head of a 2xx answer is there, before its body. Non-zero aborts. */
typedef int http_head_fn(void *context, long status, const char *content_type);
/** A piece of a 2xx body. Non-zero aborts. Must not call this client, except http_client_submit. */
typedef int http_body_fn(void *context, const char *bytes, size_t n);
/** The end; exactly once for each submitted request. May submit. */
typedef void http_done_fn(void *context, const struct http_result *result);

/** Text and body are copied by submit. */
struct http_request {
	const char *method; /* NULL: GET, or POST when there is a body */
	const char *path;   /* appended to base_url: "/api/v1/query?query=up" */
	const char *body;   /* NULL: none */
	size_t body_bytes;
	const char *content_type; /* of the body; NULL: application/x-www-form-urlencoded */
	const struct http_client_header *headers;
	size_t n_headers;
	bool accepts_compression; /* the callback still sees plain bytes */
	int64_t timeout_ms;	  /* 0: the client's */
	int64_t stall_timeout_ms; /* 0: the client's */
	http_head_fn *head;	  /* may be NULL */
	http_body_fn *body_piece; /* may be NULL: the body is thrown away */
	http_done_fn *done;	  /* may be NULL */
	void *context;
};

/** @return 0; -EINVAL (URL, header, half a key pair); -ENOMEM. Files are not opened yet. */
int http_client_new(const struct http_client_config *config, struct http_client **ret, struct err *err) ATTR_NODISCARD;
/** Ends what is left with HTTP_CANCELLED. NULL allowed. Not from a callback. */
void http_client_free(struct http_client *self);

/** Queue a request. @return 0; -EINVAL (path or header with control characters); -ECANCELED (from a callback while all
 * is being cancelled); -ENOMEM. */
int http_client_submit(struct http_client *self, const struct http_request *request, struct err *err) ATTR_NODISCARD;
/** Run until nothing is queued or under way.
 *  @param deadline_ms  of time_monotonic_ms(); what is left then ends with HTTP_CANCELLED; 0: none.
 *  @return 0 all got an answer or their own failure; 1 the deadline or an interrupt cancelled some; -errno. */
int http_client_run(struct http_client *self, int64_t deadline_ms, struct err *err) ATTR_NODISCARD;
/** One round: go on with what is under way, wait at most `wait_ms` for a socket, a timer of a request, an interrupt or
 *  one of `fds` (as poll(2): `events` in, `revents` out; NULL: none), and handle what came. Callbacks run inside.
 *  @return 0; 1 interrupted, all was cancelled; -errno: all was cancelled. */
struct pollfd;
int http_client_poll(struct http_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms,
		     struct err *err) ATTR_NODISCARD;
/** End every request with this context, queued or under way, with HTTP_CANCELLED; `done` is told in the next round,
 *  never from here. Also from a callback. */
void http_client_cancel(struct http_client *self, const void *context);
/** The client certificate (PEM) for requests that start from now on, on connections of their own. NULL, NULL: none.
 *  @return 0; -EINVAL half a pair; -ENOMEM (nothing changed). */
int http_client_set_certificate(struct http_client *self, const char *cert_pem, const char *key_pem,
				struct err *err) ATTR_NODISCARD;
/** Make run() cancel all and return 1, now and in later calls. Any thread, also a signal handler. */
void http_client_interrupt(struct http_client *self);
/** Submit one and run it (with whatever else is queued); its body (up to the buffer's cap) goes to `ret_body`.
 *  `request`'s callbacks and context are ignored. @return 0; -errno with err; `ret_status` (may be NULL): 0 without an
 *  answer. With a status other than 2xx `ret_body` holds the beginning of the error's body. */
int http_client_fetch(struct http_client *self, const struct http_request *request, struct strbuf *ret_body,
		      long *ret_status, struct err *err) ATTR_NODISCARD;

/** Append `name=value`, percent-encoded, with `&` between pairs: for form bodies and query strings. Sticky status. */
int http_form_add(struct strbuf *form, const char *name, const char *value);
