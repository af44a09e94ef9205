/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node_table: the Node objects of a cluster by name, with their node shapes. Nodes that are not ready or are cordoned
 * count, as they will return. Virtual nodes do not count. A node that does not offer its accelerators yet counts as
 * soon as it does. One thread. */
#include "base/json.h"
#include "engine/shapes.h"

struct node_entry;

struct node_table {
	VEC(struct node_entry *) entries;
};

#define NODE_TABLE_INIT                                                                                                \
	{                                                                                                              \
		.entries = VEC_INIT                                                                                    \
	}

void node_table_release(struct node_table *self);
/** Adds or replaces a node. On failure the table is unchanged. Cost: linear in the nodes. @return 0; -EINVAL; -ENOMEM.
 */
int node_table_put(struct node_table *self, struct json_object *node, struct err *err) ATTR_NODISCARD;
/** Removes a node, if it is in the table. Cost: linear in the nodes. */
void node_table_remove(struct node_table *self, const char *name);
/** Appends one shape for each node and accelerator resource, and one for a node without accelerators, in the order of
 * node names, by which the table is then sorted. @return 0 or -ENOMEM. */
int node_table_shapes(struct node_table *self, struct shapes *ret) ATTR_NODISCARD;
