/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_client: requests to one API server, many at a time, none of which blocks.
 *
 *	kube_client_new(kubeconfig, &config, &client, &err);
 *	kube_client_submit(client, &request, &call, &err);	done() is told later
 *	while (...) kube_client_poll(client, fds, n, 1000, &err);	or kube_client_call() for one request, waiting
 *
 * Credentials are found for each request: token files are read anew, a credential plugin runs beside everything else
 * and its answer is kept until it expires or the server says 401 (then the request is tried once more with a new one).
 * 429, and 5xx with Retry-After, are tried again with jittered back-off as long as the request's time lasts.
 * Callbacks run inside kube_client_poll; they may submit, cancel and set timers, but not poll, call or free.
 * SIGPIPE must be ignored by the program. Threads: a client and everything built on it belong to one thread. */
#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"

#include <stdint.h>

struct kubeconfig;
struct pollfd;
struct kube_client;
struct kube_call;

/** What an API server says when it does not do what was asked. */
enum kube_condition {
	KUBE_OK,
	KUBE_NOT_FOUND,	     /* 404 */
	KUBE_ALREADY_EXISTS, /* 409 of a create */
	KUBE_CONFLICT,	     /* 409: another resourceVersion; read again and recompute */
	KUBE_EXPIRED,	     /* 410: resourceVersion or continue token too old; list again */
	KUBE_UNAUTHORIZED,   /* 401 */
	KUBE_FORBIDDEN,	     /* 403 */
	KUBE_INVALID,	     /* 422, or 400: the object is wrong */
	KUBE_TOO_LARGE,	     /* 413 */
	KUBE_TOO_MANY,	     /* 429, still after all tries */
	KUBE_TIMEOUT,	     /* 504 or the server's own timeout */
	KUBE_UNAVAILABLE,    /* 5xx */
	KUBE_REFUSED,	     /* any other status */
	KUBE_CONDITION_COUNT_,
};
/** "not-found", "conflict" ... for logs and metrics. */
extern const char *const kube_condition_names[KUBE_CONDITION_COUNT_];

struct kube_client_config {
	const char *user_agent;	   /* NULL: memtamer */
	size_t concurrency;	   /* requests and watches at a time; 0: 512 */
	int64_t plugin_timeout_ms; /* of a credential plugin; 0: 60 s */
	int64_t (*now_ms)(void);   /* wall clock, for expiry and time stamps; NULL: time_now_ms */
};

/** A kind of object by its URL. */
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

/** Borrowed for the callback. */
struct kube_result {
	int code;		    /* 0; a kube_condition; -errno: no answer */
	long status;		    /* HTTP status; 0: none */
	struct json_object *object; /* the answer; NULL for streams and failures; json_object_get to keep it */
	int64_t retry_after_s;	    /* 0: none */
	struct err err;		    /* unless code is 0: where = URL, msg = what the server or the network said */
};

/** The end, once for each request that was not cancelled. */
typedef void kube_done_fn(void *context, const struct kube_result *result);
/** A piece of a 2xx body, instead of `object`. Non-zero ends the request with this code. */
typedef int kube_piece_fn(void *context, const char *bytes, size_t n);
/** The head of a 2xx answer is here: what comes behind it may take minutes (a watch). */
typedef void kube_began_fn(void *context);

/** Everything is copied by submit. Updates carry metadata.resourceVersion in their body, and so may patches, which then
 *  conflict instead of overwriting. */
struct kube_request {
	enum kube_verb verb;
	struct kube_resource resource;
	const char *namespace;	 /* NULL: none */
	const char *name;	 /* NULL for lists, watches and creates */
	const char *subresource; /* "status"; NULL: none */
	const char *query;	 /* percent-encoded (http_form_add), without the question mark; NULL: none */
	const char *raw_path;	 /* instead of all these: "/version?timeout=5s" */
	struct json_object *body;
	int64_t timeout_ms;	  /* of one try; 0: 30 s */
	int64_t stall_timeout_ms; /* no byte for so long; 0: timeout_ms */
	int64_t total_timeout_ms; /* no further try after that; 0: 60 s */
	bool is_tried_once;	  /* no further try at all (but for a 401 of old credentials) */
	size_t max_answer_bytes;  /* 0: LIMIT_KUBE_OBJECT_BYTES */
	kube_began_fn *began;	  /* may be NULL */
	kube_piece_fn *piece;	  /* NULL: the answer is parsed */
	kube_done_fn *done;	  /* may be NULL */
	void *context;
};

/** Nothing is sent yet. @return 0; -EINVAL (URL, client certificate without key); -ENOMEM; -errno. */
int kube_client_new(const struct kubeconfig *kubeconfig, const struct kube_client_config *config,
		    struct kube_client **ret, struct err *err) ATTR_NODISCARD;
/** Ends what is left without telling it. Free what is built on the client before. NULL allowed. */
void kube_client_free(struct kube_client *self);
void kube_client_freep(struct kube_client **self);

/** @param ret_call  may be NULL; valid until done() is called. @return 0; -EINVAL (a name that is no path segment);
 *  -ENOMEM. */
int kube_client_submit(struct kube_client *self, const struct kube_request *request, struct kube_call **ret_call,
		       struct err *err) ATTR_NODISCARD;
/** End a request; none of its callbacks runs after this. NULL allowed. */
void kube_client_cancel(struct kube_client *self, struct kube_call *call);
/** One round: timers, requests, plugin; waits at most `wait_ms` for any of them or for one of `fds` (poll(2), up to 12;
 *  may be NULL). @return 0; -errno: all requests under way failed. */
int kube_client_poll(struct kube_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms,
		     struct err *err) ATTR_NODISCARD;
/** Submit and poll until it is done; callbacks and context of `request` are ignored. Whatever else is under way goes
 * on.
 *  @param ret_object  may be NULL; owned by the caller, NULL unless 0 is returned.
 *  @return 0; a kube_condition; -errno. Both with err. */
int kube_client_call(struct kube_client *self, const struct kube_request *request, struct json_object **ret_object,
		     struct err *err) ATTR_NODISCARD;

/** End everything, now and later: polls and calls return -ECANCELED. Any thread, also from a signal handler. */
void kube_client_interrupt(struct kube_client *self);

/** The end of a request or watch, for metrics: `status` is HTTP's, 0 when there was no answer. */
typedef void kube_observer_fn(void *context, enum kube_verb verb, long status);
/** Runs inside kube_client_poll. NULL: none. */
void kube_client_observe(struct kube_client *self, kube_observer_fn *observe, void *context);

/** A timer of whoever embeds it (zeroed before the first use). It fires once, from kube_client_poll. */
struct kube_timer {
	struct kube_timer *next;
	int64_t due_ms; /* of time_monotonic_ms */
	bool is_set;
	void (*fire)(void *context);
	void *context;
};
/** Set it, or set it again. */
void kube_timer_set(struct kube_client *self, struct kube_timer *timer, int64_t delay_ms);
void kube_timer_stop(struct kube_client *self, struct kube_timer *timer);
/** A random number in [from, to). */
int64_t kube_client_random(struct kube_client *self, int64_t from, int64_t to);
/** The client's wall clock. */
int64_t kube_client_now_ms(const struct kube_client *self);

/** The body of a delete that only hits the object as it was seen; either may be NULL. NULL: out of memory. */
struct json_object *kube_delete_preconditions(const char *uid, const char *resource_version);
