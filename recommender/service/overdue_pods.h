/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* overdue_pods: finds pods that became overdue: a pod is overdue when it has waited for room on a node for
 * harm.pendingAfter. Time passing is not a change of a pod, so the watch does not report it. Turns are paced by the
 * monotonic clock, and if the wall clock is set back, the search goes on from its new time. Threads: the client's.
 * Cost: one pass over all pods for each turn. */
#include "pods/pods.h"

/** How often the pods are searched. */
#define OVERDUE_TURN_MS ((int64_t)1000)

struct overdue_pods {
	int64_t turned_ms; /* monotonic; 0: never */
	int64_t until_ms;  /* pods were checked up to this time; wall clock */
};

/** Pods that are overdue at `now_ms` (wall clock) will not be touched. */
void overdue_pods_start(struct overdue_pods *self, int64_t now_ms);
/** If OVERDUE_TURN_MS have passed since the last turn, touches (pods_touch) the pods that have waited for `after_ms`
 * since then. `now_ms`: wall clock. @return whether there was a turn. */
bool overdue_pods_turn(struct overdue_pods *self, struct pods *pods, int64_t after_ms, int64_t monotonic_ms,
		       int64_t now_ms);
