/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* unraised_kills: reports OOM kills that memtamer does not answer, by an Event on the owner that names the size to
 * submit again with, once for each owner, container and limit:
 * - of Guaranteed pods whose requests were counted by a queue: neither the retry nor the running pod gets more;
 * - of containers that restart in their pod, while resizes are off: no webhook is asked, so they keep the limit.
 * If resizes are on, they report what they could not raise (resizes.h), and restarts are not reported here. Call it
 * after a cycle, whose profiles contain the kills. Main thread. Cost: one pass over all pods and a read of the
 * profiles of its namespace for each notice. */
#include "engine/notice.h"
#include "pods/pods.h"
#include "policy/policy.h"
#include "service/reported.h"
#include "store/store.h"

struct unraised_kills {
	int64_t start_ms, from_ms; /* wall clock; only kills after from_ms count */
	struct reported reported;
};

/** Begins a pass: kills after `start_ms`, and of the hour before `now_ms`, are reported (wall clock). Another start
 * forgets what was reported. */
void unraised_kills_begin(struct unraised_kills *self, int64_t start_ms, int64_t now_ms);
/** The next notice. The limit of the profile is left out if the store cannot be read. @return false: there is none. */
bool unraised_kills_next(struct unraised_kills *self, struct pods *pods, struct store *store,
			 const struct policy *policy, struct notice *ret);
