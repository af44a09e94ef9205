/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* curves: how the use of whole runs went, for those that were found: what tells a leak from a plateau. A curve is asked
 * for once, when its run is first found whole: the newest LIMIT_HISTORY_CURVES of a workload, the newest
 * LIMIT_CYCLE_CURVES of a cycle. What a source cannot tell (any more) is no curve, and no trouble. */
#include "engine/collect.h"

struct curves {
	struct strmap asked; /* "uid role container" */
	struct arena arena;  /* of its keys */
};

void curves_release(struct curves *self);
/** Ask for the curves of these runs, and put them there. `between` (may be NULL) is called between two readings.
 *  @return 0, also where some were not answered; -ENOMEM. */
int curves_read(struct curves *self, struct evidence_reader *reader, struct found_run *runs, size_t n,
		void (*between)(void *context), void *between_context) ATTR_NODISCARD;
/** Make a run's curve of an answer; none where more than a quarter of its steps are not known. */
void curve_settle(const struct evidence_curve *curve, struct run *run);
