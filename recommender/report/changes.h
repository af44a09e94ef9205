/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* changes: what memtamer changed, of the decisions in MemoryHistories (history.h): an entry for each root owner and set
 * of values. Entries without an owner are notes of the recommender and no change of a pod: passed over.
 *
 * JSON (apiVersion history.memtamer.io/v1alpha1): {"apiVersion", "kind": "ChangeList", "generated", "changes":
 * [{"time", "namespace", "workload", "role", "container", "owner", "firstPod", "pods", "requestFrom", "requestTo",
 * "limitFrom", "limitTo", "ephemeralRequestTo", "ephemeralLimitTo" (bytes; null in From: there was none, in To: not
 * set), "rule", "mode", "revision", "cap"}]}, the oldest first. */
#include "report/knowledge.h"
#include "report/table.h"

struct change {
	const struct known *known;		 /* borrowed */
	const struct history_decision *decision; /* borrowed */
};

struct changes {
	VEC(struct change) items;
};

/** Add those of one entry. 0 or -ENOMEM. Release with vec_release(&self->items). */
int changes_add(struct changes *self, const struct known *known) ATTR_NODISCARD;
/** The oldest first. */
void changes_sort(struct changes *self);
/** As a table, with the workload's names or without. 0 or -ENOMEM. */
int changes_print(const struct changes *self, bool has_names, FILE *out, int indent) ATTR_NODISCARD;
