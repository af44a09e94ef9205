/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* replay_internal: the minimal pod of a run and the decision about it (replay_pod.c), used by replay.c and
 * explain_verdict.c. */
#include "policy/decide.h"
#include "report/replay.h"

struct replay_world {
	struct replay_scope scope;
	struct policy policy;  /* the configuration's policy, in mode enforce */
	struct snapshot *base; /* node shapes and caps of namespaces */
	struct arena arena;    /* for the current run */
};

/** The memory values that would have been set. Texts are valid until the next decision of this world. */
struct replay_outcome {
	const char *skip; /* as in the decision; NULL: none */
	enum mode mode;
	const char *mode_why;		     /* as in the decision */
	int64_t request_bytes, limit_bytes;  /* the resulting values; 0: none */
	const char *request_cap, *limit_cap; /* why a change was limited; NULL: it was not */
	bool is_filled, is_raised, is_lowered;
};

/** Decides about a pod of the run with a copy of `profile`, which is adapted to the run's variant and to the pod's key.
 * @return 0; -ENOMEM. */
int replay_decide(struct replay_world *self, const struct profile *profile, const struct run *run,
		  struct replay_outcome *ret, struct err *err) ATTR_NODISCARD;
