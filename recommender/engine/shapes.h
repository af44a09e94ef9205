/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* shapes: nodes -> kinds of nodes. Nodes alike (accelerator, count, model, memory within 2 %) are one shape, with what
 * the smallest of them offers. Nodes that are cut into the same slices are one shape however many of these each has. */
#include "base/vec.h"
#include "evidence/evidence.h"
#include "model/node_shape.h"

struct shapes {
	VEC(struct node_shape) items;
};

/** What nodes are there: one shape for each node and each of its accelerator resources, in a steady order of nodes;
 *  names and times in them are not looked at. Shapes that are new, or differ from, or were last seen a day before what
 *  is known. Release with vec_release(&ret->items). 0 or -ENOMEM. */
int shapes_find_news(const struct shapes *seen, const struct node_shape *known, size_t n_known, int64_t now_ms,
		     struct shapes *ret) ATTR_NODISCARD;
/** The same of what a reader found. Shapes of these nodes that are new, or differ from, or were last seen a day before
 * what is known. Release with vec_release(&ret->items). 0 or -ENOMEM. */
int shapes_of_nodes(const struct evidence_nodes *nodes, const struct node_shape *known, size_t n_known, int64_t now_ms,
		    struct shapes *ret) ATTR_NODISCARD;
