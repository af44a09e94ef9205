/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_table: what is known of each training pod from all windows read so far. Windows are merged in their order. Pods
 * of runs that are over are removed, so the table holds the pods of open runs and few others. Encoded, it is a part of
 * the collector's state, so that closed time is read only once.
 *
 * Merging a window is not idempotent (samples add up): the caller keeps the encoded table of the last closed part and
 * starts from it again. One thread. */
#include "base/limits.h"
#include "evidence/evidence.h"

struct pod_table {
	struct pod_set pods;
	int64_t step_ms; /* scrape interval, configured or measured; 0: not known yet */
	bool is_step_fixed;
};

#define POD_TABLE_INIT                                                                                                 \
	{                                                                                                              \
		.pods = POD_SET_INIT(LIMIT_POD_TABLE_BYTES)                                                            \
	}

void pod_table_release(struct pod_table *self);
/** Merges a batch, which may be newer than all before. Pods without samples that did not begin in the window are left
 * out, unless they are watched: they ended before the window. Cost: linear in the batch. @return 0 or -ENOMEM (the
 * table may then only be released). */
int pod_table_merge(struct pod_table *self, const struct evidence_batch *batch, struct err *err) ATTR_NODISCARD;
/** Keeps only the pods with keep[i]. @return 0 or -ENOMEM (the table may then only be released). */
int pod_table_filter(struct pod_table *self, const bool *keep) ATTR_NODISCARD;

/** Changes whenever bytes of an older version cannot be decoded any more. */
#define POD_TABLE_FORMAT 3
/** Appends the table as bytes: 400 to 900 for each pod, and 100 to 200 after compression. Cost: linear in the pods.
 * @return 0; the sticky status of `buf`; -ENOMEM. */
int pod_table_encode(const struct pod_table *self, struct strbuf *buf) ATTR_NODISCARD;
/** Reads what pod_table_encode wrote into `ret`, which must be empty. Cost: linear in the bytes, whatever they are.
 * @return 0; -EINVAL: damaged (`ret` is still empty); -ENOMEM. */
int pod_table_decode(const char *bytes, size_t n, struct pod_table *ret) ATTR_NODISCARD;

/** The first and the last time at which the pod is known to have existed. */
int64_t pod_begin_ms(const struct pod *self);
int64_t pod_last_ms(const struct pod *self);
