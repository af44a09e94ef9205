/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* unraised_kills: reports OOM kills that memtamer does not answer, by an Event on the owner that names the size to
 * submit again with, once for each owner, container and limit:
 * - of Guaranteed pods whose requests were counted by a queue: neither the retry nor the running pod gets more;
 * - of containers that restart in their pod, while resizes are off: no webhook is asked, so they keep the limit.
 * If resizes are on, they report what they could not raise (resizes.h), and restarts are not reported here. Kills
 * before unraised_kills_start are not reported. Threads: the client's. Cost: one pass over all pods for each notice
 * after an OOM kill. */
#include "service/announce.h"
#include "service/reported.h"

struct unraised_kills {
	int64_t start_ms; /* wall clock */
	uint64_t seen;	  /* OOM kills of all pods at the last complete pass */
	bool resizes;	  /* whether containers that restart are resized */
	struct reported reported;
};

/** Forgets all kills. Only kills after `now_ms` (wall clock) will be reported. */
void unraised_kills_start(struct unraised_kills *self, int64_t now_ms, bool resizes);
/** The next notice. `kills`: number of OOM kills that were observed so far; nothing is done while it is unchanged.
 * @return false: there is none. */
bool unraised_kills_next(struct unraised_kills *self, struct pods *pods, uint64_t kills, struct notice *ret);
