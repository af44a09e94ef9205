/* SPDX-License-Identifier: Apache-2.0 */
/* resize_plan_want: the limit that is asked for, before the rules have their say: of a pin, else at most the ceiling:
 * of the profile, of a kill that no profile knows of, or of the forecast. */
#include "k8s/quantity.h"
#include "policy/size_math.h"
#include "resize/resize_plan_internal.h"

#include <stdio.h>

/* As in size_evidence.c: a kill says nothing about how much is missing. */
#define STEP_KILLED_PERMILLE 2000

static const struct profile *find_profile(const struct planning *self)
{
	const struct profile *profile = NULL;

	for (size_t i = 0; i < self->identity.n_keys && !profile; i++)
		profile = snapshot_profile(self->snapshot, self->input->ask->namespace_name,
					   self->identity.keys[i].text, self->identity.role,
					   self->input->ask->container);
	return profile;
}

/* The lower one, as in size_base. */
static int64_t ceiling_of(const struct planning *self)
{
	int64_t own = self->profile ? self->profile->spec->ceiling_bytes : 0, all = self->policy.sizing.ceiling_bytes;

	return MIN(own > 0 ? own : INT64_MAX, all > 0 ? all : INT64_MAX);
}

/* Of a kill that no profile answers. 0: held back. */
static int64_t want_after_kill(struct planning *self)
{
	const struct recommendation *rec = self->profile ? &self->profile->parent : NULL;
	int64_t killed = self->input->ask->killed_bytes;

	if (rec && rec->confidence >= CONFIDENCE_MEDIUM && rec->limit_bytes > self->container.limit_bytes)
		return rec->limit_bytes; /* something else is in the way: the second answer says what */
	if (rec && rec->flags & REC_LEAK) {
		resize_plan_hold(self, "past runs leak: a larger limit would only be reached later");
		return 0;
	}
	if (rec && rec->proven_bytes >= killed) {
		resize_plan_hold(self, "its profile, which knows of the kill, asks for no more than %s",
				 quantity_render_human(rec->limit_bytes, (char[QUANTITY_TEXT_BYTES]){0}));
		return 0;
	}
	/* As for a run: all steps together at most double what the pod began with. */
	if (size_scale_permille(self->ret->own_bytes, STEP_KILLED_PERMILLE) <= killed) {
		resize_plan_hold(self, "it was doubled already, and no profile knows more");
		return 0;
	}
	return MIN(size_scale_permille(killed, STEP_KILLED_PERMILLE),
		   size_scale_permille(self->ret->own_bytes, STEP_KILLED_PERMILLE));
}

static int64_t want_before_kill(struct planning *self, int64_t profile_bytes)
{
	if (self->profile && self->profile->parent.flags & REC_CACHE_BOUND) {
		resize_plan_hold(self, "page cache fills its limit, which gives way");
		return 0;
	}
	return MAX(self->input->ask->want_bytes, profile_bytes);
}

/* The limit that is asked for; 0: held back. */
static int64_t choose_want(struct planning *self, const struct decision *by_profile)
{
	int64_t limit = self->container.limit_bytes, want, ceiling = ceiling_of(self);
	int64_t by_rule = resize_plan_raised(self, by_profile, SIZE_LIMIT);

	if (self->profile && self->profile->spec->pin_limit_bytes > 0) {
		want = self->profile->spec->pin_limit_bytes;
		if (want <= limit)
			resize_plan_hold(self, "its profile pins the limit");
		return want <= limit ? 0 : want;
	}
	if (self->input->ask->kind == RESIZE_KIND_BEFORE)
		want = want_before_kill(self, by_rule);
	else
		want = by_rule > limit ? by_rule : want_after_kill(self);
	if (want > ceiling) {
		want = ceiling;
		snprintf(self->ret->why, sizeof(self->ret->why), "capped by the ceiling");
	}
	if (want && want <= limit) {
		resize_plan_hold(self, "it has all that its ceiling allows");
		return 0;
	}
	return want;
}

int64_t resize_plan_want(struct planning *self, const struct decision *by_profile)
{
	self->profile = find_profile(self);
	return choose_want(self, by_profile);
}
