/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* shapes: groups nodes into node shapes. Nodes with the same accelerator, count, model, and memory within 2 % are one
 * shape, which offers what the smallest of them offers. Nodes that are cut into the same slices are one shape, however
 * many slices each has. Pure. */
#include "base/vec.h"
#include "evidence/evidence.h"
#include "model/node_shape.h"

struct shapes {
	VEC(struct node_shape) items;
};

/** Finds the shapes that have to be written: those that are new, that changed, or that were last seen a day ago.
 * @param seen  one shape for each node and accelerator resource, in a stable order of nodes; their names and times are
 * not used.
 * @param known  the shapes in the store.
 * @param ret  release with vec_release(&ret->items).
 * @return 0 or -ENOMEM. */
int shapes_find_news(const struct shapes *seen, const struct node_shape *known, size_t n_known, int64_t now_ms,
		     struct shapes *ret) ATTR_NODISCARD;
/** Does the same as shapes_find_news for the nodes that a reader found. */
int shapes_of_nodes(const struct evidence_nodes *nodes, const struct node_shape *known, size_t n_known, int64_t now_ms,
		    struct shapes *ret) ATTR_NODISCARD;
