/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* nodes: watches the nodes of a cluster and keeps their shapes (node_table.h says which nodes count). Threads: the
 * client's; nodes_shapes and nodes_count may be called from any thread. */
#include "engine/shapes.h"
#include "kube/kube_client.h"

struct nodes;

/** Starts to list at the next poll. `failed` is called for each failure of a list or watch, which is then retried.
 * @return 0; -ENOMEM. */
int nodes_start(struct kube_client *client, void (*failed)(void *context, const struct err *why), void *context,
		struct nodes **ret, struct err *err) ATTR_NODISCARD;
/** Stops the watch. NULL is allowed. */
void nodes_free(struct nodes *self);
/** Appends the shapes, as node_table_shapes does. Any thread. @return 0; 1: the first list is not complete; -ENOMEM. */
int nodes_shapes(struct nodes *self, struct shapes *ret) ATTR_NODISCARD;
/** The number of nodes; 0 before the first list is complete. Any thread. */
size_t nodes_count(struct nodes *self);
