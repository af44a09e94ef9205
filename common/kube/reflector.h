/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* reflector: all objects of a kind, and every change of them, told through callbacks; for ever.
 *
 * It lists (the first time what the server holds in memory, later page by page), then watches with bookmarks, and goes
 * on where a watch ended. 410 means a new list; then what vanished in between is told as deleted, and what is unchanged
 * is not told again. Whatever fails is tried again with jittered exponential back-off; `failed` says what and when.
 * Between two calls of kube_client_poll nothing happens. Callbacks must not free the reflector. Threads: the client's.
 */
#include "kube/kube_list.h"

struct reflector;

typedef void reflector_object_fn(void *context, const struct kube_object *object);
/** All of a list was told (the first time: everything there is). */
typedef void reflector_synced_fn(void *context);
/** Without names: `n` objects have gone between two lists; reflector_has says of each that somebody knows. */
typedef void reflector_gone_fn(void *context, size_t n);
/** Something failed. `retry_ms`: when it is tried again; <0: an object was passed over, the rest goes on. */
typedef void reflector_failed_fn(void *context, const struct err *why, int64_t retry_ms);

struct reflector_config {
	struct kube_selection selection; /* copied */
	reflector_object_fn *added, *modified;
	reflector_object_fn *deleted; /* json and text are NULL when nobody saw it go */
	reflector_gone_fn *gone;      /* NULL: names are kept, and each goes to `deleted` */
	reflector_synced_fn *synced;  /* may be NULL */
	reflector_failed_fn *failed;  /* may be NULL */
	void *context;
	int page_items;				/* 0: 500 */
	bool wants_text;			/* objects as text, not as json: for kinds of which there are many */
	int64_t watch_min_ms, watch_max_ms;	/* a watch ends by itself after so long; 0: 5 to 10 min */
	int64_t backoff_min_ms, backoff_max_ms; /* 0: 1 s and 30 s */
	int64_t stall_ms;			/* a watch without event or bookmark; 0: 150 s */
};

struct reflector_stats {
	bool is_synced;		 /* a list was told whole, ever */
	bool is_watching;	 /* a watch is open or being opened */
	bool is_in_contact;	 /* a watch is open: what was told is what there is, but for what is under way */
	size_t objects;		 /* there are now */
	uint64_t lists, watches; /* started */
	uint64_t events, bookmarks, failures, passed_over;
	int64_t last_contact_ms; /* of time_monotonic_ms: when the server last said something; 0: never */
};

/** Starts listing at the next poll. @return 0; -EINVAL; -ENOMEM. */
int reflector_start(struct kube_client *client, const struct reflector_config *config, struct reflector **ret,
		    struct err *err) ATTR_NODISCARD;
/** Tells nothing any more. NULL allowed. */
void reflector_free(struct reflector *self);
/** Is there an object of this name, by what was told? */
bool reflector_has(const struct reflector *self, const char *namespace, const char *name);
void reflector_stats(const struct reflector *self, struct reflector_stats *ret);
