/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* replay_internal: the minimal pod of a run and what decide() makes of it (replay_pod.c), for replay.c. */
#include "policy/decide.h"
#include "report/replay.h"

struct replay_world {
	struct replay_scope scope;
	struct policy policy;  /* the configuration's in mode enforce */
	struct snapshot *base; /* shapes and caps of namespaces */
	struct arena arena;    /* of the run at hand */
};

/** What would have been set, of memory. */
struct replay_outcome {
	const char *skip; /* of the decision; NULL: none */
	enum mode mode;
	int64_t limit_bytes; /* after it; 0: none */
	bool is_filled, is_raised, is_lowered;
};

/** Decide about a pod of the run by `profile`, which is changed to be that of the run's variant and to be found.
 *  @return 0; -ENOMEM. */
int replay_decide(struct replay_world *self, const struct profile *profile, const struct run *run,
		  struct replay_outcome *ret, struct err *err) ATTR_NODISCARD;
