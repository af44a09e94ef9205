/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node_table: Node objects by name, as the shapes that they have. Nodes that are not ready or cordoned count: they come
 * back. Virtual ones do not, and one that has not offered its accelerators yet counts when it has. One thread. */
#include "base/json.h"
#include "engine/shapes.h"

struct node_entry;

struct node_table {
	VEC(struct node_entry *) entries; /* by name */
};

#define NODE_TABLE_INIT                                                                                                \
	{                                                                                                              \
		.entries = VEC_INIT                                                                                    \
	}

void node_table_release(struct node_table *self);
/** A node as it is now. On failure the table has it as it was. @return 0; -EINVAL; -ENOMEM. */
int node_table_put(struct node_table *self, struct json_object *node, struct err *err) ATTR_NODISCARD;
void node_table_remove(struct node_table *self, const char *name);
/** Append one shape for each node and resource, in the order of names. 0 or -ENOMEM. */
int node_table_shapes(const struct node_table *self, struct shapes *ret) ATTR_NODISCARD;
