/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* ignored_namespaces: watches the namespaces with the label memtamer.io/ignore: "true". The recommender leaves them
 * out: it watches none of their pods, reads none of their logs, and learns nothing from them. Threads: the client's;
 * ignored_namespaces_find may be called from any thread. */
#include "engine/engine.h"

struct ignored_namespaces;
struct kube_client;

struct ignored_namespaces_config {
	/* changed and synced may be NULL. */
	/** The label of a namespace was set or removed. */
	void (*changed)(void *context, const char *namespace_name, bool is_ignored);
	/** The first list is complete. */
	void (*synced)(void *context);
	/** A list or watch failed and is retried. */
	void (*failed)(void *context, const struct err *why);
	void *context;
};

/** Starts to list at the next poll. `config` is copied. @return 0; -ENOMEM. */
int ignored_namespaces_start(struct kube_client *client, const struct ignored_namespaces_config *config,
			     struct ignored_namespaces **ret, struct err *err) ATTR_NODISCARD;
/** Stops the watch. NULL is allowed. */
void ignored_namespaces_free(struct ignored_namespaces *self);
/** An engine_left_out_fn: whether the namespace has the label; UNKNOWN until the first list is complete. `context` is a
 * struct ignored_namespaces. Any thread. Cost: constant. */
enum engine_left_out ignored_namespaces_find(void *context, const char *namespace_name);
