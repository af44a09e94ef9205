/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* outside: the log of a node tells of all pods and of all the time since its boot. What is of other pods, or of another
 * time than the run, is taken out of the facts before the rules decide. Cost: facts times pods. */
#include "triage/facts.h"

/* What was left out, and the last one of each. */
struct outside {
	uint64_t n_foreign, n_old;
	struct fact foreign, old; /* of other pods, of another time */
};

/** Takes out what is certainly not of the run. Kills: by the pod in the path of the cgroup, if the pods are known.
 * Everything that a kernel log says: by its time, if it can be compared with the pods' lives or, without pods, with the
 * last time in the logs. */
void outside_leave_out(struct facts *facts, struct outside *ret);
