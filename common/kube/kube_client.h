/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_client: sends requests to one API server, many at a time, without blocking.
 *
 *	kube_client_new(&server, &config, &client, &err);
 *	kube_client_submit(client, &request, &call, &err);	done() is called later
 *	while (...) kube_client_poll(client, fds, n, 1000, &err);
 *	kube_client_call(client, &request, &object, &err);	or one request, with waiting
 *
 * A request that gets 429, or 5xx with Retry-After, is retried with jittered back-off, at most six tries within
 * total_timeout_ms. Requests with is_shared share a few HTTP/2 connections. A shared connection whose other end is gone
 * or frozen is noticed within a minute by default, and its requests fail.
 * Callbacks run inside kube_client_poll. They may submit requests, cancel them and set timers. They must not call
 * kube_client_poll, kube_client_call or kube_client_free. The program must ignore SIGPIPE.
 * Threads: a client and everything built on it belong to one thread, except kube_client_interrupt. */
#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"

#include <stdint.h>

struct kube_server;
struct pollfd;
struct kube_client;
struct kube_call;

/** How the API server answered a request. */
enum kube_condition {
	KUBE_OK,
	KUBE_NOT_FOUND,	     /* 404 */
	KUBE_ALREADY_EXISTS, /* 409 of a create */
	KUBE_CONFLICT,	     /* 409: the object has another resourceVersion; read it again and recompute */
	KUBE_EXPIRED,	     /* 410: the resourceVersion or the continue token is too old; list again */
	KUBE_UNAUTHORIZED,   /* 401 */
	KUBE_FORBIDDEN,	     /* 403 */
	KUBE_INVALID,	     /* 422, or 400: the object is wrong */
	KUBE_TOO_LARGE,	     /* 413 */
	KUBE_TOO_MANY,	     /* 429 after the last try */
	KUBE_TIMEOUT,	     /* 504 or the server's own timeout */
	KUBE_UNAVAILABLE,    /* 5xx */
	KUBE_REFUSED,	     /* any other status */
	KUBE_CONDITION_COUNT_,
};
/** "not-found", "conflict" ... for logs and metrics. */
extern const char *const kube_condition_names[KUBE_CONDITION_COUNT_];

struct kube_client_config {
	const char *user_agent;	  /* NULL: memtamer */
	size_t concurrency;	  /* most requests and watches under way at a time; 0: 512 */
	int64_t silence_ms;	  /* a shared connection is probed after this time without a byte; 0: 30 s */
	int64_t probe_timeout_ms; /* the connection is closed when the probe gets no answer within this time; 0: 15 s */
	int64_t (*now_ms)(void);  /* wall clock, for time stamps; NULL: time_now_ms */
};

/** A resource, as in its URL. */
struct kube_resource {
	const char *group; /* "": core */
	const char *version, *plural;
};

enum kube_verb {
	KUBE_GET,
	KUBE_LIST,
	KUBE_WATCH,
	KUBE_CREATE,
	KUBE_UPDATE,
	KUBE_MERGE_PATCH,
	KUBE_JSON_PATCH, /* body: an array of operations (RFC 6902) */
	KUBE_DELETE,
};

/** How a request ended. Borrowed for the callback. */
struct kube_result {
	int code;    /* 0; a kube_condition: the API server refused; -errno: there was no usable answer */
	long status; /* HTTP status; 0: none */
	struct json_object *object; /* parsed answer; NULL with `piece` and on failure; json_object_get to keep it */
	int64_t retry_after_s;	    /* 0: none */
	struct err err;		    /* unless code is 0: where = URL, msg = what the server or the network said */
};

/** The request has ended. Called exactly once for each request that was submitted and not cancelled. */
typedef void kube_done_fn(void *context, const struct kube_result *result);
/** Called with each piece of a 2xx body as it arrives; `object` of the result is then NULL. A non-zero return value
 *  ends the request with this code. */
typedef int kube_piece_fn(void *context, const char *bytes, size_t n);
/** The head of a 2xx answer has arrived. The body of a watch may follow minutes later. */
typedef void kube_began_fn(void *context);

/** Everything except `context` is copied by submit. An update carries metadata.resourceVersion in its body. A patch may
 *  carry it, too: then it fails with KUBE_CONFLICT instead of overwriting another change. */
struct kube_request {
	enum kube_verb verb;
	struct kube_resource resource;
	const char *namespace;	 /* NULL: none */
	const char *name;	 /* NULL for lists, watches and creates */
	const char *subresource; /* "status"; NULL: none */
	const char *query;	 /* percent-encoded (http_form_add), without '?'; NULL: none */
	const char *raw_path;	 /* path and query instead of resource, names and query: "/version?timeout=5s" */
	struct json_object *body;
	int64_t timeout_ms;	  /* of one try; 0: 30 s */
	int64_t stall_timeout_ms; /* longest time without a byte; 0: timeout_ms; HTTP_NO_STALL: no bound */
	int64_t total_timeout_ms; /* no retry starts after this time; 0: 60 s */
	bool is_tried_once;	  /* never retried */
	bool is_shared;		  /* shares an HTTP/2 connection with up to 89 others, if the server speaks HTTP/2 */
	size_t max_answer_bytes;  /* 0: LIMIT_KUBE_OBJECT_BYTES */
	kube_began_fn *began;	  /* may be NULL */
	kube_piece_fn *piece;	  /* NULL: the body is parsed into `object` */
	kube_done_fn *done;	  /* may be NULL */
	void *context;
};

/** Makes a client; sends nothing yet. `config` may be NULL: all defaults. `server` is copied, but server->kubectl is
 *  borrowed and must live as long as the client. @return 0; -EINVAL the URL is wrong; -ENOMEM. */
int kube_client_new(const struct kube_server *server, const struct kube_client_config *config, struct kube_client **ret,
		    struct err *err) ATTR_NODISCARD;
/** Cancels pending requests without calling their callbacks. Free everything that is built on the client first. NULL is
 *  allowed. */
void kube_client_free(struct kube_client *self);

/** Queues a request; the next kube_client_poll starts it.
 *  @param ret_call  for kube_client_cancel; may be NULL. Valid until done() is called.
 *  @return 0; -EINVAL a name cannot be a path segment; -ENOMEM. */
int kube_client_submit(struct kube_client *self, const struct kube_request *request, struct kube_call **ret_call,
		       struct err *err) ATTR_NODISCARD;
/** Cancels a request; none of its callbacks runs afterwards. NULL is allowed. */
void kube_client_cancel(struct kube_client *self, struct kube_call *call);
/** Runs one round of timers and requests. Waits at most `wait_ms` until one of them or one of `fds` is ready. `fds` is
 *  as for http_client_poll.
 *  @return 0; -EINVAL too many `fds`; -ECANCELED after kube_client_interrupt; another -errno. All requests have failed
 *  when it returns -ECANCELED or another error of the connection layer. */
int kube_client_poll(struct kube_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms,
		     struct err *err) ATTR_NODISCARD;
/** Submits one request and polls until it has ended. Other requests and timers of the client run meanwhile. `piece`,
 *  `done`, `began` and `context` of `request` are ignored.
 *  @param ret_object  may be NULL. Set only when 0 is returned, then owned by the caller; NULL for an empty answer.
 *  @return 0; a kube_condition; -errno. The last two set `err`. */
int kube_client_call(struct kube_client *self, const struct kube_request *request, struct json_object **ret_object,
		     struct err *err) ATTR_NODISCARD;

/** Makes the current poll or call, and all later ones, cancel all requests and return -ECANCELED. Any thread, also from
 *  a signal handler. */
void kube_client_interrupt(struct kube_client *self);

/** A request or watch has ended; for metrics. `status` is the HTTP status, 0 without an answer. */
typedef void kube_observer_fn(void *context, enum kube_verb verb, long status);
/** Sets the observer, which runs inside kube_client_poll. NULL: no observer. */
void kube_client_observe(struct kube_client *self, kube_observer_fn *observe, void *context);

/** A timer, embedded in the caller's struct and zeroed before the first use. It fires once, inside kube_client_poll. It
 *  must be stopped before its memory is freed. */
struct kube_timer {
	struct kube_timer *next;
	int64_t due_ms; /* of time_monotonic_ms */
	bool is_set;
	void (*fire)(void *context);
	void *context;
};
/** Sets the timer to fire after `delay_ms`, also if it is set already. Cost: linear in the number of timers that are
 *  set. */
void kube_timer_set(struct kube_client *self, struct kube_timer *timer, int64_t delay_ms);
void kube_timer_stop(struct kube_client *self, struct kube_timer *timer);
/** A random number in [from, to). Not for secrets. */
int64_t kube_client_random(struct kube_client *self, int64_t from, int64_t to);
/** The client's wall clock, ms since 1970. */
int64_t kube_client_now_ms(const struct kube_client *self);

/** Makes the body of a delete that fails with KUBE_CONFLICT unless the object still has this uid and resourceVersion.
 *  Either may be NULL. The caller owns the result; NULL: out of memory. */
struct json_object *kube_delete_preconditions(const char *uid, const char *resource_version);
