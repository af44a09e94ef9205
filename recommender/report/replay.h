/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* replay: what memtamer would have done about past runs. Each run is decided about as if its pod was created at its
 * start: by the profile that the runs which had ended by then make (engine/learn_profile), and by decide() in mode
 * enforce on a minimal pod with the run's own request and limit (before memtamer, where it chose).
 *
 * What this does not know: LimitRanges, ResourceQuotas and labels of the time, the rest of the pod, and disk. Lowering
 * is the first step from the run's own value. Runs beyond the history's list cannot be replayed; they are evidence. */
#include "policy/policy.h"
#include "report/knowledge.h"

enum replay_reason {
	REPLAY_TOO_FEW_RUNS, /* the runs before it were not enough */
	REPLAY_SIZE_UNKNOWN, /* its workload has a size, but what the run itself asked for is not known */
	REPLAY_CAPPED,	     /* a person, or counted harm, caps the mode of its workload or namespace */
	REPLAY_EXCLUDED,     /* the configuration leaves its namespace alone */
	REPLAY_REASON_COUNT_
};
/** "too-few-runs" ... and in words. */
extern const char *const replay_reason_names[REPLAY_REASON_COUNT_], *const replay_reason_words[REPLAY_REASON_COUNT_];

struct replay {
	int64_t runs;
	int64_t fill, raise, lower; /* runs of which a memory value would be added, raised, lowered: may overlap */
	int64_t unchanged;
	int64_t undecided[REPLAY_REASON_COUNT_];
	int64_t smallest; /* of the undecided: would get the smallest request, that of no history */
	/* OOM kills: each distinct limit that a run was killed at counts once. */
	int64_t kills, kills_without_limit;
	int64_t avoided;	/* a pod with the killed limit would have been given a greater one */
	int64_t avoided_proven; /* of these: also above all that the run turned out to need */
	int64_t too_small;	/* runs that completed, and would not have: our limit below their need */
};

struct replay_scope {
	const struct config *config;
	const struct node_shape *shapes;
	size_t n_shapes;
	const struct knowledge *knowledge; /* for the caps of namespaces */
	int64_t from_ms, now_ms;	   /* runs that started between */
	bool knows_limits, knows_requests; /* 0 in a run means that none was set */
};

struct replay_world;
/** @return 0; -ENOMEM. */
int replay_open(const struct replay_scope *scope, struct replay_world **ret, struct err *err) ATTR_NODISCARD;
void replay_free(struct replay_world *self);
/** Add the runs of one history to `ret`. @return 0; -ENOMEM. */
int replay_history(struct replay_world *self, const struct known *known, struct replay *ret,
		   struct err *err) ATTR_NODISCARD;
/** Sum. */
void replay_add(struct replay *self, const struct replay *other);

/** What the run asked for itself. 0: nothing. */
int64_t replay_own_request(const struct run *run);
int64_t replay_own_limit(const struct run *run);
