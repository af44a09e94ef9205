/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* queued_kills: reports OOM kills of Guaranteed pods whose requests were counted by a queue. Neither the retry nor the
 * running pod gets more memory, so an Event on the owner names the size to submit again with, once for each owner,
 * container and limit. Kills before queued_kills_start are not reported. Threads: the client's. Cost: one pass over all
 * pods for each notice after an OOM kill. */
#include "service/announce.h"

#define QUEUED_KILLS_KEPT 256 /* number of reported kills that are remembered; an older kill may be reported again */

struct queued_kills {
	int64_t start_ms; /* wall clock */
	uint64_t seen;	  /* OOM kills of all pods at the last complete pass */
	uint64_t reported[QUEUED_KILLS_KEPT];
	size_t n_reported;
};

/** Forgets all kills. Only kills after `now_ms` (wall clock) will be reported. */
void queued_kills_start(struct queued_kills *self, int64_t now_ms);
/** The next notice. `kills`: number of OOM kills that were observed so far; nothing is done while it is unchanged.
 * @return false: there is none. */
bool queued_kills_next(struct queued_kills *self, struct pods *pods, uint64_t kills, struct notice *ret);
