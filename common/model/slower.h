/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* slower: compares a run at a lowered size with runs of the same work at their own size. The recommender uses it to
 * decide whether a run was harmed, and to report the figures later.
 *
 * Runs differ for many reasons, so the slowest run at its own size is the reference, and three such runs are required.
 * Only runs are compared that completed in one attempt, with the same variant and world size, and without harm.
 * Activity is compared only if both runs were observed from start to end. Pure, any thread. Cost: linear in the
 * history's runs. */
#include "base/attr.h"
#include "model/history.h"

/** Number of runs at their own size that are required. */
#define SLOWER_RUNS	  3
#define SLOWER_TEXT_BYTES 128

struct slower {
	int64_t duration_ms, slowest_ms;	   /* of the run, and the longest of `runs`; 0: no reference */
	int runs;				   /* runs at their own size */
	int32_t activity_permille, least_permille; /* of the run, and the least of `active_runs`; -1: no reference */
	int active_runs;			   /* those of `runs` whose activity counts */
};

enum slower_by { SLOWER_BY_NOTHING, SLOWER_BY_DURATION, SLOWER_BY_ACTIVITY };

/** Compares `run`, which may be in the history, with the other runs of the history. */
struct slower slower_compare(const struct history *history, const struct run *run);
/** By what the run is worse than the reference by more than this share (0 to 10000 permille). If both apply, the larger
 * one. */
enum slower_by slower_by(const struct slower *self, int32_t by_permille);
/** Writes "took 1m16s, at most 1m in 3 runs at its own size", or the same for activity; "" for SLOWER_BY_NOTHING.
 * @return `ret`. */
const char *slower_render(const struct slower *self, enum slower_by by, char ret[SLOWER_TEXT_BYTES]);
/** Writes the text for a run that was counted as slower earlier: "" if the runs that it was compared with have dropped
 * out of the list. @return by what it is worse now. */
enum slower_by slower_tell(const struct history *history, const struct run *run, char ret[SLOWER_TEXT_BYTES]);
