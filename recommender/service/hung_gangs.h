/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* hung_gangs: finds gangs that hang (engine/hung.h) among the watched pods. A rank is dead if at least HUNG_AFTER_MS
 * ago a container of it was OOM-killed, it was evicted for memory or disk, or it ended with an error that was found to
 * be for memory (pods_found_ends), and if it has not run since and no pod was created that does its work. A rank that
 * ended with another error is not dead in this sense: its gang may go on without it. Its siblings
 * are the pods of the same training object or Job that still run, are not being deleted, and hold accelerators. A gang
 * is no longer found when these end, when the rank comes back, or when one of them is started anew: then the gang goes
 * on without the rank, as elastic training does.
 *
 * Elastic training that goes on inside the containers that run is found, too. Their GPUs do not tell: ranks that wait
 * in a collective keep them busy.
 *
 * Not looked at: bare pods, pods of owners that are no gang (a workflow, an experiment, an unknown kind), Jobs with a
 * backoffLimitPerIndex, whose pods do not need each other, init containers that run to completion, and pods without
 * accelerators of which a sidecar still runs. Of several Jobs that a workflow's object made, each one is a gang of its
 * own. Threads: the client's. Cost: one pass over all pods for each turn, and n log n in the dead ranks; two more
 * passes only if there are any. */
#include "engine/hung.h"
#include "engine/notice.h"
#include "pods/pods.h"
#include "service/reported.h"

/** Kubernetes restarts a container after five minutes at most, and a Job replaces a pod after ten. */
#define HUNG_AFTER_MS ((int64_t)12 * 60 * 1000)
/** How often the pods are searched. */
#define HUNG_TURN_MS ((int64_t)2 * 1000)

struct hung_gangs {
	int64_t searched_ms; /* monotonic; 0: never */
	struct pods_found_end ends[LIMIT_DIAGNOSE_RUNS];
	struct hung_list list;
	struct reported reported;
};

/** Searches the pods, if HUNG_TURN_MS have passed since the last search and the pods are listed. `now_ms`: wall clock,
 * which may be set back. @return whether `list` is new. */
bool hung_gangs_turn(struct hung_gangs *self, struct pods *pods, int64_t monotonic_ms, int64_t now_ms);
/** The next notice about a listed gang: one for each dead rank that is named. A new leader repeats it. @return false:
 * there is none. */
bool hung_gangs_next(struct hung_gangs *self, struct notice *ret);
