/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* reflector: lists and watches one resource, and calls back on every add, update and delete until it is freed.
 *
 * A reflector lists, then watches with bookmarks, and resumes where a watch ended. On 410 Gone it lists again: objects
 * that disappeared meanwhile are reported as deleted, and unchanged ones are not reported again. Failures are retried
 * with jittered exponential back-off, which is reset only after a watch has lasted half a minute; `failed` reports each
 * failure and the delay. A watch without events is no failure. An object that is longer, deeper or has more tokens than
 * LIMIT_KUBE_OBJECT_BYTES, _DEPTH or _TOKENS is left out, with a call of `failed`, and counts as deleted: one object
 * cannot stop the watch of all. An event that is too long even for its name to be read is only passed over.
 * Cost: one stream of a connection that up to 90 requests of a client share, and 40 to 110 bytes an object
 * (kube_cache.h). Callbacks run inside kube_client_poll only and must not free the reflector. Threads: the client's. */
#include "kube/kube_list.h"

struct reflector;

typedef void reflector_object_fn(void *context, const struct kube_object *object);
/** All objects of a list have been reported. After the first call the caller knows every object. */
typedef void reflector_synced_fn(void *context);
/** Instead of `deleted` after a list: `n` objects disappeared between two lists, and their names are not known.
 *  reflector_has says for a known name whether the object still exists. */
typedef void reflector_gone_fn(void *context, size_t n);
/** Something failed and is retried after `retry_ms`. <0: an object was skipped, and nothing is retried. why->where
 *  names it, if its name is known. */
typedef void reflector_failed_fn(void *context, const struct err *why, int64_t retry_ms);

/** A watch ended in an ordinary way and is resumed after `delay_ms`. why->code 0: the server ended it; otherwise the
 *  connection broke or the resourceVersion was too old. */
typedef void reflector_ended_fn(void *context, const struct err *why, int64_t delay_ms);

struct reflector_config {
	struct kube_selection selection; /* copied */
	reflector_object_fn *added, *modified;
	reflector_object_fn *deleted; /* json and text are NULL when a list shows that the object is gone */
	/* Not NULL: names are not kept. NULL: each object that disappeared is reported to `deleted`. */
	reflector_gone_fn *gone;
	reflector_synced_fn *synced; /* may be NULL */
	reflector_failed_fn *failed; /* may be NULL */
	reflector_ended_fn *ended;   /* may be NULL */
	void *context;
	int page_items;				/* items in a page; 0: 500 */
	bool wants_text;			/* objects have `text`, not `json`: for resources with many objects */
	int64_t watch_min_ms, watch_max_ms;	/* length of a watch, at random between these; 0: 5 and 10 min */
	int64_t backoff_min_ms, backoff_max_ms; /* 0: 1 s and 30 s */
	int64_t steady_ms;			/* a watch that lasted this long resets the back-off; 0: 30 s */
	int64_t open_ms;			/* time for the server to accept a watch; 0: 60 s */
};

struct reflector_stats {
	bool is_synced;		 /* a list has been reported completely */
	bool is_in_contact;	 /* a watch is open: the reported objects are up to date, except for events under way */
	size_t objects;		 /* number of known objects */
	uint64_t lists, watches; /* started */
	uint64_t events, bookmarks;
	int64_t last_contact_ms; /* when the server last sent something, by time_monotonic_ms; 0: never */
};

/** Starts listing at the next poll. The strings of `config` are copied. @return 0; -EINVAL; -ENOMEM. */
int reflector_start(struct kube_client *client, const struct reflector_config *config, struct reflector **ret,
		    struct err *err) ATTR_NODISCARD;
/** Stops it; no callback runs afterwards. NULL is allowed. */
void reflector_free(struct reflector *self);
/** Whether an object of this name exists, according to the events so far. */
bool reflector_has(const struct reflector *self, const char *namespace, const char *name);
/** For callbacks: whether the object comes from a list, not from an event of the watch. */
bool reflector_is_listing(const struct reflector *self);
/** Ends the watch and lists again, from etcd: for a caller who knows that the objects have changed without an event. An
 *  API server accepts a watch from a resourceVersion that it has not reached, as after its store was restored, and is
 *  silent until then. May be called from any callback of the client. */
void reflector_list_again(struct reflector *self);
void reflector_stats(const struct reflector *self, struct reflector_stats *ret);
