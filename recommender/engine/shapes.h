/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* shapes: nodes -> kinds of nodes. Nodes alike (accelerator, count, model, memory within 2 %) are one shape, with what
 * the smallest of them offers. */
#include "base/vec.h"
#include "evidence/evidence.h"
#include "model/node_shape.h"

struct shapes {
	VEC(struct node_shape) items;
};

/** Shapes of these nodes that are new, or differ from, or were last seen a day before what is known. Release with
 *  vec_release(&ret->items). 0 or -ENOMEM. */
int shapes_of_nodes(const struct evidence_nodes *nodes, const struct node_shape *known, size_t n_known, int64_t now_ms,
		    struct shapes *ret) ATTR_NODISCARD;
