/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_list: lists all objects of a resource, page by page, and passes each item on as it arrives.
 *
 * When the continue token expires (410), the list restarts without pages and calls `restarted`. Items may then arrive a
 * second time; the later one is newer. An item that does not arrive again was deleted: a caller that keeps items must
 * discard them at `restarted`.
 * Cost: memory for one item at a time. The API server reads a page from etcd and decodes it, which takes 0.3 ms an
 * object. A list from its watch cache takes a seventh of that, but is not paged and may be slightly out of date.
 * Threads: the client's. */
#include "kube/kube_client.h"
#include "kube/kube_object.h"

struct kube_list;

/** What to list. */
struct kube_selection {
	struct kube_resource resource;
	const char *namespace; /* NULL: all namespaces */
	const char *label_selector, *field_selector;
};

/** Called with each object, which is borrowed for the call. A non-zero return value ends the list with this code. */
typedef int kube_list_item_fn(void *context, const struct kube_object *object, struct err *err);
/** An object cannot be read (no name, too long, not JSON) and is skipped. May be NULL. */
typedef void kube_list_bad_fn(void *context, const struct err *why);
/** The list restarts: objects passed on so far may be gone, and all existing objects follow. May be NULL. */
typedef void kube_list_restarted_fn(void *context);
/** The list has ended; called once unless kube_list_free came first. `resource_version`: where to start a watch; NULL
 *  unless result->code is 0. */
typedef void kube_list_done_fn(void *context, const struct kube_result *result, const char *resource_version);

struct kube_list_request {
	struct kube_selection selection; /* copied */
	int page_items;			 /* items in a page; 0: 500 */
	/* Copied. NULL: pages from etcd. A resourceVersion: from the watch cache, at least as new as this version. "0":
	 * from the watch cache, however old it is. */
	const char *not_older_than;
	bool is_shared;		 /* as in struct kube_request */
	bool wants_text;	 /* objects have `text`, not `json` */
	int64_t page_timeout_ms; /* 0: 60 s, or 5 min for a list from the watch cache */
	kube_list_item_fn *item;
	kube_list_bad_fn *bad;
	kube_list_restarted_fn *restarted;
	kube_list_done_fn *done;
	void *context;
};

/** Starts a list at the next poll of the client. Free it in or after done(), or earlier to cancel it.
 *  @return 0; -EINVAL; -ENOMEM. */
int kube_list_start(struct kube_client *client, const struct kube_list_request *request, struct kube_list **ret,
		    struct err *err) ATTR_NODISCARD;
/** Cancels the list; no callback runs afterwards. NULL is allowed. */
void kube_list_free(struct kube_list *self);
/** Lists and polls the client until the list has ended; `done` is ignored.
 *  @return 0; a kube_condition; -errno; what `item` returned. */
int kube_list_all(struct kube_client *client, const struct kube_list_request *request, struct err *err) ATTR_NODISCARD;

/** Appends the selectors of `selection` to a query. */
void kube_selection_query(const struct kube_selection *selection, struct strbuf *query);
struct arena;
/** Replaces the strings by copies in the arena. @return 0; -ENOMEM. */
int kube_selection_copy(struct kube_selection *self, struct arena *arena) ATTR_NODISCARD;
