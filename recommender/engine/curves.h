/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* curves: reads how the memory use of whole runs developed, which distinguishes a leak from a plateau. At most
 * LIMIT_HISTORY_CURVES runs of a workload are asked for, the newest ones, and at most LIMIT_CYCLE_CURVES a cycle; every
 * workload gets two before any gets more. A curve that the source does not have is not an error and is not asked for
 * again. One thread. */
#include "engine/collect.h"

struct curves {
	struct strmap asked; /* keys "uid role container" of runs that were asked for */
	struct arena arena;  /* memory of the keys */
};

void curves_release(struct curves *self);
/** Whether the run was observed for long enough for a curve. */
bool curves_can_be_of(const struct found_run *found);
/** Reads curves of these runs into them. curves_can_be_of must be true for each. `wanted` is sorted in place. `between`
 * (may be NULL) is called between two queries. A source that fails or runs out of time leaves the remaining runs for
 * the next cycle.
 * @return the number of curves that arrived; -ENOMEM. */
int curves_read(struct curves *self, struct evidence_reader *reader, struct found_run **wanted, size_t n,
		void (*between)(void *context), void *between_context) ATTR_NODISCARD;
/** Converts an answer to the curve of a run, and judges its shape. The run gets no curve if more than a quarter of the
 * steps are missing; other gaps are filled from their neighbours. */
void curve_settle(const struct evidence_curve *curve, struct run *run);
