/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* slower: a run at a lowered size beside runs of the same work at its own. Whether that is harm is asked when a run is
 * learned, and what to say of it whenever it is told; both by the same figures.
 *
 * Runs differ for many reasons, so the worst of those at its own size is the measure, and three must be known. Compared
 * are runs that completed in one try, of the same variant and world size, and had no harm; activity only where both
 * were seen from start to end, as what was seen of the rest may be another phase of the work. Pure functions, any
 * thread. */
#include "base/attr.h"
#include "model/history.h"

/** So many runs at its own size are a measure. */
#define SLOWER_RUNS	  3
#define SLOWER_TEXT_BYTES 128

struct slower {
	int64_t duration_ms, slowest_ms;	   /* of the run, and the longest of `runs`; 0: no measure */
	int runs;				   /* at its own size */
	int32_t activity_permille, least_permille; /* of the run, and the least of `active_runs`; -1: no measure */
	int active_runs;			   /* those of them whose activity counts */
};

enum slower_by { SLOWER_BY_NOTHING, SLOWER_BY_DURATION, SLOWER_BY_ACTIVITY };

/** Compare `run`, which may or may not be in the history, with the other runs of it. */
struct slower slower_compare(const struct history *history, const struct run *run);
/** By what was it worse than its measure by more than this share (0 to 10000)? Of both, by what it was worse more. */
enum slower_by slower_by(const struct slower *self, int32_t by_permille);
/** "took 1m16s, at most 1m in 3 runs at its own size", or the same of activity; "" of nothing. @return `ret`. */
const char *slower_render(const struct slower *self, enum slower_by by, char ret[SLOWER_TEXT_BYTES]);
/** The words for a run that was counted as slower, whenever that was: "" when the runs that it was measured by have
 *  fallen out of the list since. @return what it is worse by now. */
enum slower_by slower_tell(const struct history *history, const struct run *run, char ret[SLOWER_TEXT_BYTES]);
