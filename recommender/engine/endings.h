/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* endings: one notice at the end of a run, for its owner: what its container asked for, what it used, and what to ask
 * for next time. Of several roles and containers the one is chosen that was OOM-killed, else the one with the most
 * unused memory.
 *
 * A run has ended if it completed, or if it ended so long ago that no other attempt follows (FOLD_RETRY_MS). Only runs
 * that ended so since the previous complete cycle of this process are reported, none that ended more than an hour ago,
 * and at most one for each owner and hour. So the first cycle, which may read a month, reports nothing.
 * Cost: linear in the found runs; at most ENDINGS_MAX notices a cycle. */
#include "engine/learn.h"

#define ENDINGS_MAX  256
#define ENDINGS_KEPT 1024 /* reports that are remembered; an owner of an earlier one may be reported again */

struct ending {
	uint64_t owner; /* hash of namespace and run key */
	int64_t told_ms;
};

/** What is kept between cycles. Start with all zeros. */
struct endings {
	int64_t until_ms; /* runs that ended before this time are done; 0: there was no cycle */
	struct ending told[ENDINGS_KEPT];
	size_t n_told; /* all that were added */
};

/** Call it after runs were learned, before the commit: for each part of closed time that a cycle reads, and at the end
 * of a complete cycle. Adds the notices to `learn`. @return 0 or -ENOMEM. */
int endings_note(struct endings *self, struct learn *learn, bool is_cycle_end) ATTR_NODISCARD;
