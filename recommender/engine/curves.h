/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* curves: how the use of whole runs went: what tells a leak from a plateau. The newest LIMIT_HISTORY_CURVES of a
 * workload are asked for, and LIMIT_CYCLE_CURVES in a cycle; of every workload two before any has more. What a source
 * cannot tell (any more) is no curve and no trouble, and is not asked for again. */
#include "engine/collect.h"

struct curves {
	struct strmap asked; /* "uid role container" */
	struct arena arena;  /* of its keys */
};

void curves_release(struct curves *self);
/** Was it seen for long enough for a curve? */
bool curves_can_be_of(const struct found_run *found);
/** Ask for the curves of these runs, all of which can have one, and put them there. `wanted` is sorted. `between` (may
 * be NULL) is called between two readings. @return how many came; -ENOMEM. */
int curves_read(struct curves *self, struct evidence_reader *reader, struct found_run **wanted, size_t n,
		void (*between)(void *context), void *between_context) ATTR_NODISCARD;
/** Make a run's curve of an answer; none where more than a quarter of its steps are not known. */
void curve_settle(const struct evidence_curve *curve, struct run *run);
