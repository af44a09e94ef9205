/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_plan_internal: one planning, as resize_plan.c (may it be, and where does it fit), resize_plan_want.c (how
 * much) and resize_plan_decide.c (by which rules) share it. */
#include "k8s/pod.h"
#include "model/identity.h"
#include "model/snapshot.h"
#include "policy/decide.h"
#include "resize/resize_plan.h"

struct planning {
	const struct resize_input *input;
	struct arena *arena;
	struct policy policy; /* the input's; only sizes are asked for */
	struct resize_pod facts;
	struct resize_container container;
	struct k8s_pod pod; /* without our annotation */
	const struct k8s_container *decoded;
	struct identity identity;
	struct snapshot *snapshot;     /* of the namespace, with its profiles */
	const struct profile *profile; /* of the container; NULL: none. Borrowed from the snapshot */
	struct resize_plan *ret;
};

/* resize_plan.c */
/** Nothing is set, and why. */
void resize_plan_hold(struct planning *self, const char *fmt, ...) ATTR_PRINTF(2, 3);

/* resize_plan_want.c */
/** Finds the container's profile, and the limit that is asked for; `by_profile`: what the namespace's profiles give.
 *  @return 0: held back. */
int64_t resize_plan_want(struct planning *self, const struct decision *by_profile);

/* resize_plan_decide.c */
/** By the namespace's profiles, or (`_for`) with one that wants this limit in the place of the container's. The
 *  decision borrows from the snapshot, which is the caller's to unref, also after an error.
 *  @return 0; -EINVAL; -ENOMEM. */
int resize_plan_decide(const struct planning *self, struct decision *ret, struct snapshot **ret_snapshot,
		       struct err *err) ATTR_NODISCARD;
int resize_plan_decide_for(const struct planning *self, int64_t want, struct decision *ret,
			   struct snapshot **ret_snapshot, struct err *err) ATTR_NODISCARD;
/** What it sets of the memory of this container, if that is more than there is; else what there is. */
int64_t resize_plan_raised(const struct planning *self, const struct decision *decision, enum size_field field);
