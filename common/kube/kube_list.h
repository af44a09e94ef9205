/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_list: all objects of a kind, page by page, each given away as soon as it is there. An item may come twice when
 * the server forgets where the list stood (410): the later one is newer. One that has come before that and does not
 * come again is gone: who keeps items must start anew at `restarted`. A page is read from etcd and decoded anew, which
 * costs the API server 0.3 ms an object; what it holds in memory for watches costs it a seventh of that, but comes
 * whole, and may be a moment old. */
#include "kube/kube_client.h"
#include "kube/kube_object.h"

struct kube_list;

/** What to list. */
struct kube_selection {
	struct kube_resource resource;
	const char *namespace; /* NULL: all */
	const char *label_selector, *field_selector;
};

/** One object. Non-zero stops with this code. */
typedef int kube_list_item_fn(void *context, const struct kube_object *object, struct err *err);
/** An object that could not be taken (no name, too long, not JSON), and so is missing. May be NULL. */
typedef void kube_list_bad_fn(void *context, const struct err *why);
/** What was given away so far may be gone: all that there is comes now, from the beginning. May be NULL. */
typedef void kube_list_restarted_fn(void *context);
/** The end, once, unless freed before. `resource_version`: to watch from; NULL unless code is 0. */
typedef void kube_list_done_fn(void *context, const struct kube_result *result, const char *resource_version);

struct kube_list_request {
	struct kube_selection selection; /* copied */
	int page_items;			 /* 0: 500 */
	bool is_cached;			 /* take what the API server holds in memory: for a watch that follows */
	bool wants_text;		 /* objects as text, not as json */
	int64_t page_timeout_ms;	 /* 0: 60 s, 5 min for what comes whole */
	kube_list_item_fn *item;
	kube_list_bad_fn *bad;
	kube_list_restarted_fn *restarted;
	kube_list_done_fn *done;
	void *context;
};

/** @return 0; -EINVAL; -ENOMEM. Free it in or after done(), or before to give up. */
int kube_list_start(struct kube_client *client, const struct kube_list_request *request, struct kube_list **ret,
		    struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void kube_list_free(struct kube_list *self);
/** List and wait; `done` is ignored. @return 0; a kube_condition; -errno; what `item` returned. */
int kube_list_all(struct kube_client *client, const struct kube_list_request *request, struct err *err) ATTR_NODISCARD;

/** Append the query of a selection: selectors only. */
void kube_selection_query(const struct kube_selection *selection, struct strbuf *query);
