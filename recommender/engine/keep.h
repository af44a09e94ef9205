/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* keep: objects of workloads that have not run for long are deleted, so that a cluster does not fill up with what
 * nobody submits any more; and shapes of nodes that have been gone for so long. One thread. */
#include "store/store.h"

/** So many at most are looked at in one cycle. */
#define KEEP_AT_ONCE 1000

/** Delete what is older than `keep_ms`, of the profiles as they were just read.
 *  @param ret_n  how many. @return 0; as store_remove. */
int keep_collect(struct store *store, struct profile *const *profiles, size_t n, int64_t now_ms, int64_t keep_ms,
		 size_t *ret_n, struct err *err) ATTR_NODISCARD;
/** The same of node shapes; declared ones stay. As they are dated once a day, none goes before the third day. */
int keep_collect_shapes(struct store *store, const struct node_shape *shapes, size_t n, int64_t now_ms, int64_t keep_ms,
			size_t *ret_n, struct err *err) ATTR_NODISCARD;
