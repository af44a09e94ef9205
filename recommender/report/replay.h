/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* replay: what memtamer would have done with past runs. Each run is decided as if its pod was created at its start:
 * with the profile computed from the runs that had ended by then (engine/learn_profile), by decide() in mode enforce,
 * on a minimal pod with the run's own request and limit (those before memtamer, if it changed them).
 *
 * Not considered: LimitRanges, ResourceQuotas and labels of that time, the rest of the pod, and ephemeral storage.
 * Lowering is the first step from the run's own value. Runs that dropped out of the history's list are evidence but
 * cannot be replayed. Cost: for each history, runs times the cost of sizing a history. */
#include "policy/policy.h"
#include "report/knowledge.h"

enum replay_reason {
	REPLAY_TOO_FEW_RUNS, /* too few runs before it */
	REPLAY_SIZE_UNKNOWN, /* the workload has a recommendation, but the run's own values are not known */
	/* a modeCap, set by a person or because of harm, limits the mode of the workload or namespace */
	REPLAY_CAPPED,
	REPLAY_EXCLUDED, /* the configuration excludes the namespace */
	REPLAY_REASON_COUNT_
};
/** Names "too-few-runs" ..., and texts for people. */
extern const char *const replay_reason_names[REPLAY_REASON_COUNT_], *const replay_reason_words[REPLAY_REASON_COUNT_];

struct replay {
	int64_t runs;
	int64_t fill, raise, lower; /* runs with a memory value that would be added, raised, lowered: may overlap */
	int64_t unchanged;
	int64_t undecided[REPLAY_REASON_COUNT_];
	int64_t smallest; /* undecided runs that would get the smallest request, which needs no history */
	/* OOM kills: each distinct limit at which a run was killed counts once. */
	int64_t kills, kills_without_limit;
	int64_t avoided;	/* a pod with the killed limit would have been given a greater one */
	int64_t avoided_proven; /* of these: also greater than everything that the run turned out to need */
	int64_t too_small;	/* runs that completed, but would not have: our limit is below their need */
};

struct replay_scope {
	const struct config *config;
	const struct knowledge *knowledge; /* provides the caps of namespaces and the node shapes */
	int64_t from_ms, now_ms;	   /* runs that started between these times */
	bool knows_limits, knows_requests; /* a 0 in a run means that no value was set */
};

struct replay_world;
/** Everything in `scope` is borrowed. @return 0; -ENOMEM. */
int replay_open(const struct replay_scope *scope, struct replay_world **ret, struct err *err) ATTR_NODISCARD;
void replay_free(struct replay_world *self);
/** Adds the results of one history to `ret`, which is incomplete after a failure. @return 0; -ENOMEM. */
int replay_history(struct replay_world *self, const struct known *known, struct replay *ret,
		   struct err *err) ATTR_NODISCARD;

/** The values of the run before memtamer changed them. 0: none. */
int64_t replay_own_request(const struct run *run);
int64_t replay_own_limit(const struct run *run);
