/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* keep: deletes profiles and histories of workloads without a run for recommender.keep, and shapes of nodes that have
 * not existed for as long. One thread. */
#include "store/store.h"

/** Maximum number of objects that one call considers. */
#define KEEP_AT_ONCE 1000

/** Deletes workloads whose last run is older than `keep_ms`. `profiles` are those of the store, as just read. Cost:
 * reads the history of each candidate.
 * @param ret_n  number of objects deleted. @return 0; as store_visit_named and store_remove. */
int keep_collect(struct store *store, struct profile *const *profiles, size_t n, int64_t now_ms, int64_t keep_ms,
		 size_t *ret_n, struct err *err) ATTR_NODISCARD;
/** Deletes node shapes that were last seen before `keep_ms`, at least two days ago, as shapes are dated once a day.
 * Declared shapes are kept.
 * @param ret_n  number of objects deleted. @return 0; as store_remove. */
int keep_collect_shapes(struct store *store, const struct node_shape *shapes, size_t n, int64_t now_ms, int64_t keep_ms,
			size_t *ret_n, struct err *err) ATTR_NODISCARD;
