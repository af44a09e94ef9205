/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* slower: decides whether memory slowed a run. The recommender uses it to count harm, and to report the figures later.
 *
 * Durations differ with data, queues and cards, so a long run proves nothing by itself. A run is judged only if less
 * memory can have slowed it: we had lowered its limit, and page cache filled that limit. It is slower if its duration
 * or its activity is outside the range of the earlier runs of the same work by more than the width of that range, and
 * by more than a configured share.
 *
 * Earlier runs are those that began before it, completed in one attempt without harm, and had the same variant, world
 * size and number of accelerators, whatever their sizes were. Activity is compared only between runs that were observed
 * from start to end. Pure, any thread. Cost: linear in the history's runs. */
#include "base/attr.h"
#include "model/history.h"

/** Number of earlier runs that are required. */
#define SLOWER_RUNS	  10
#define SLOWER_TEXT_BYTES 128

struct slower {
	int64_t duration_ms;		/* of the run */
	int64_t fastest_ms, slowest_ms; /* of the `runs` earlier ones; slowest_ms 0: no reference */
	int runs;
	int32_t activity_permille;	       /* of the run; -1: no reference */
	int32_t least_permille, most_permille; /* of the `active_runs` earlier ones; least_permille -1: no reference */
	int active_runs;		       /* those of `runs` whose activity counts */
};

enum slower_by { SLOWER_BY_NOTHING, SLOWER_BY_DURATION, SLOWER_BY_ACTIVITY };

/** Compares `run`, which may be in the history, with the earlier runs of the history. */
struct slower slower_compare(const struct history *history, const struct run *run);
/** By what the run is worse than the earlier runs, by more than this share (0 to 10000 permille) and by more than they
 * differ. If both apply, the larger one. */
enum slower_by slower_by(const struct slower *self, int32_t by_permille);
/** Writes "took 1m16s, at most 1m in 12 runs before it", or the same for activity; "" for SLOWER_BY_NOTHING.
 * @return `ret`. */
const char *slower_render(const struct slower *self, enum slower_by by, char ret[SLOWER_TEXT_BYTES]);
/** Writes the text for a run that was counted as slower earlier: "" if the runs that it was compared with have dropped
 * out of the list. @return by what it is worse now. */
enum slower_by slower_tell(const struct history *history, const struct run *run, char ret[SLOWER_TEXT_BYTES]);
