/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* nodes: the nodes of a cluster, by watch, as the shapes that they have (node_table.h says which count).
 * Threads: the client's, but nodes_shapes and nodes_count, which any thread may call. */
#include "engine/shapes.h"
#include "kube/kube_client.h"

struct nodes;

/** Starts to list at the next poll. `failed` tells failures of list and watch, each tried again; may be NULL.
 *  @return 0; -ENOMEM. */
int nodes_start(struct kube_client *client, void (*failed)(void *context, const struct err *why), void *context,
		struct nodes **ret, struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void nodes_free(struct nodes *self);
/** Append one shape for each node and resource, in the order of their names.
 *  @return 0; 1 they have not been listed yet; -ENOMEM. */
int nodes_shapes(struct nodes *self, struct shapes *ret) ATTR_NODISCARD;
/** How many there are; 0 before they are listed. Any thread. */
size_t nodes_count(struct nodes *self);
