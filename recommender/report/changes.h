/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* changes: what memtamer changed, from the decisions in MemoryHistories (history.h): one entry for each root owner and
 * set of values. Entries without an owner are notes of the recommender and not changes of a pod; they are skipped.
 *
 * JSON (apiVersion history.memtamer.io/v1alpha1): {"apiVersion", "kind": "ChangeList", "generated", "changes":
 * [{"time", "namespace", "workload", "role", "container", "owner", "firstPod", "pods", "requestFrom", "requestTo",
 * "limitFrom", "limitTo", "ephemeralRequestTo", "ephemeralLimitTo" (bytes; null in From: there was none, in To: not
 * set), "rule", "mode", "revision", "cap"}], oldest first, "runs": see ended_runs.h}. */
#include "report/ended_runs.h"
#include "report/knowledge.h"
#include "report/table.h"

struct change {
	const struct known *known;		 /* borrowed */
	const struct history_decision *decision; /* borrowed */
};

struct changes {
	VEC(struct change) items;
};

/** Finds the changes of entries, oldest first. Release with vec_release(&ret->items), also after a failure. @return 0
 * or -ENOMEM. */
int changes_find(const struct known *items, size_t n, struct changes *ret) ATTR_NODISCARD;
/** Prints a table that fits into 120 columns, with all columns if `is_wide`. @return 0 or -ENOMEM. */
int changes_print(const struct changes *self, const struct knowledge *knowledge, bool is_wide,
		  FILE *out) ATTR_NODISCARD;
/** The same of one workload, whose names are not repeated, each line indented by `indent` blanks. */
int changes_print_of_one(const struct changes *self, bool is_wide, FILE *out, int indent) ATTR_NODISCARD;
/** Appends the member "changes" of a JSON object. */
void changes_write_json(const struct changes *self, struct strbuf *buf);
/** Appends the changes and the runs as a JSON document. @return the sticky status of `buf`. */
int changes_render_json(const struct changes *self, const struct ended_runs *runs, int64_t now_ms, struct strbuf *buf);
