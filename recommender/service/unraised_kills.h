/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* unraised_kills: reports OOM kills that memtamer does not answer, by an Event on the owner that names the size to
 * submit again with, once for each owner, container and limit:
 * - of Guaranteed pods whose requests were counted by a queue: neither the retry nor the running pod gets more;
 * - of containers that restart in their pod, while resizes are off: no webhook is asked, so they keep the limit.
 * If resizes are on, they report what they could not raise (resizes.h), and restarts are not reported here. A kill is
 * found by the change of its pod, however long ago it was: also when the root of the pod becomes known late. Call it
 * after a cycle, whose profiles contain the kills. Main thread. Cost of a pass: for each notice a visit of all pods,
 * and a read of the profiles of a namespace where it is not that of the notice before. */
#include "engine/notice.h"
#include "pods/pods.h"
#include "policy/policy.h"
#include "service/reported.h"
#include "store/store.h"

struct unraised_kills {
	int64_t start_ms; /* wall clock; only kills after it count */
	int64_t seen_seq; /* every kill in a change of a pod up to it is reported */
	struct reported reported;
	/* of one namespace, during a pass; NULL: not read */
	struct snapshot *profiles;
	char profiles_of[LIMIT_NAMESPACE_BYTES + 1];
};

/** Begins a pass: kills after `start_ms` (wall clock) are reported. Another start forgets what was reported. */
void unraised_kills_begin(struct unraised_kills *self, int64_t start_ms);
/** The next notice. The limit of the profile is left out if the store cannot be read. @return false: there is none. */
bool unraised_kills_next(struct unraised_kills *self, struct pods *pods, struct store *store,
			 const struct policy *policy, struct notice *ret);
/** Ends a pass and frees what it has read. The next pass continues where this one ended. */
void unraised_kills_end(struct unraised_kills *self);
