/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* groups: decides on facts of several pods. Each pod is decided with its own facts and those of all (group 0). Of these
 * verdicts the cause of the run's end is the one that explains an end best: an end for memory or by a damaged card
 * before a kill or a stop without a reason, this before an ordinary error, and time-outs of those who waited last. Of
 * equal ones the pod that ended first counts. Cost: groups times that of rules_decide. */
#include "triage/rules.h"

/* How well a pod's verdict explains why the run ended; less is better. */
enum standing {
	STANDING_MEMORY, /* for memory, or by a damaged GPU */
	STANDING_KILL,
	STANDING_ERROR,
	STANDING_END,	   /* it failed, and its log does not say why */
	STANDING_FOLLOWER, /* it lost the others */
	STANDING_UNREAD,   /* it failed, and its log was not read */
	STANDING_NOTHING,
};

/** How well the facts of one group explain the end; without memory STANDING_NOTHING. The facts are the same afterwards.
 */
enum standing groups_standing(struct facts *facts, size_t group);

/** Decides. The facts of a group are put aside for a moment and are the same afterwards. Without memory for that, all
 *  facts are decided on as if they were of one group. */
void groups_decide(struct facts *facts, struct verdict *ret);
