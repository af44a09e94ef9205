/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_plan_internal: the state of one planning, shared by resize_plan.c (whether, and what fits), resize_plan_want.c
 * (how much) and resize_plan_decide.c (by which rules). */
#include "k8s/pod.h"
#include "model/identity.h"
#include "model/snapshot.h"
#include "policy/decide.h"
#include "resize/resize_plan.h"

struct planning {
	const struct resize_input *input;
	struct arena *arena;
	struct policy policy; /* copy of the input's, with checks off that do not matter for sizes */
	struct resize_pod facts;
	struct resize_container container;
	struct k8s_pod pod; /* without our annotation */
	const struct k8s_container *decoded;
	struct identity identity;
	struct snapshot *snapshot;	 /* of the namespace, with its profiles */
	const struct profile *profile;	 /* learned profile of the container; NULL: none. Borrowed from the snapshot */
	const struct profile_spec *spec; /* decisions of people about the container; not NULL after resize_plan_want */
	struct resize_plan *ret;
};

/* resize_plan_want.c */
/** Sets the verdict to HELD_BACK, with this reason. `remedy`: as in struct resize_plan. */
void resize_plan_hold(struct planning *self, const char *remedy, const char *fmt, ...) ATTR_PRINTF(3, 4);
/** Finds the container's profile and the limit to ask for. `by_profile`: the decision with the namespace's profiles.
 * @return the limit; 0: held back. */
int64_t resize_plan_want(struct planning *self, const struct decision *by_profile);

/* resize_plan_decide.c */
/** Calls decide() with the namespace's profiles; `_for`: with a profile for this container that recommends the limit
 * `want`. The decision borrows from the snapshot, which the caller must unref, also after an error.
 * @return 0; -EINVAL; -ENOMEM. */
int resize_plan_decide(const struct planning *self, struct decision *ret, struct snapshot **ret_snapshot,
		       struct err *err) ATTR_NODISCARD;
int resize_plan_decide_for(const struct planning *self, int64_t want, struct decision *ret,
			   struct snapshot **ret_snapshot, struct err *err) ATTR_NODISCARD;
/** The value that the decision sets for the memory of this container, if it is more than the current value; else the
 * current value. */
int64_t resize_plan_raised(const struct planning *self, const struct decision *decision, enum size_field field);
