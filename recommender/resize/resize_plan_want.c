/* SPDX-License-Identifier: Apache-2.0 */
/* resize_plan_want: the limit to ask for, before the rules apply. It is the pin; without one, the limit of the profile,
 * of a kill that no profile knows of, or of the forecast, at most the ceiling. */
#include "k8s/quantity.h"
#include "policy/size.h"
#include "policy/size_math.h"
#include "resize/resize_plan_internal.h"

#include <stdarg.h>
#include <stdio.h>

/* As in size_evidence.c: a kill does not say how much is missing. */
#define STEP_KILLED_PERMILLE 2000

static void find_profile(struct planning *self)
{
	const struct resize_ask *ask = self->input->ask;
	bool is_main = self->decoded == &self->pod.containers[pod_main_container(&self->pod)];
	const struct snapshot_found found = snapshot_find(self->snapshot, ask->namespace_name, &self->identity,
							  ask->container, is_main);

	self->profile = found.learned;
	self->spec = found.decided ? found.decided->spec : &profile_spec_none;
}

/* The limit after a kill that no profile covers. 0: held back. */
static int64_t want_after_kill(struct planning *self)
{
	const struct recommendation *rec = self->profile ? &self->profile->parent : NULL;
	int64_t killed = self->input->ask->killed_bytes;

	if (rec && rec->confidence >= CONFIDENCE_MEDIUM && rec->limit_bytes > self->container.limit_bytes)
		return rec->limit_bytes; /* something else holds it back: the second decision says what */
	if (rec && rec->proven_bytes >= killed) {
		resize_plan_hold(self, "pin a larger limit in its profile",
				 "its profile includes the kill and recommends no more than %s",
				 HUMAN(rec->limit_bytes));
		return 0;
	}
	/* As for a run: all steps together at most double the limit that the pod began with. */
	if (size_scale_permille(self->ret->own_bytes, STEP_KILLED_PERMILLE) <= killed) {
		resize_plan_hold(self, "", "it was doubled already, and no profile recommends more");
		return 0;
	}
	return MIN(size_scale_permille(killed, STEP_KILLED_PERMILLE),
		   size_scale_permille(self->ret->own_bytes, STEP_KILLED_PERMILLE));
}

static int64_t want_before_kill(struct planning *self, int64_t profile_bytes)
{
	if (self->profile && self->profile->parent.flags & REC_CACHE_BOUND) {
		resize_plan_hold(self, NULL, "page cache fills its limit, and the kernel can reclaim it");
		return 0;
	}
	return MAX(self->input->ask->want_bytes, profile_bytes);
}

/* The limit to ask for. 0: held back. */
static int64_t choose_want(struct planning *self, const struct decision *by_profile)
{
	const struct profile_spec *spec = self->spec;
	int64_t limit = self->container.limit_bytes, bounded, want;
	int64_t by_rule = resize_plan_raised(self, by_profile, SIZE_LIMIT);
	enum size_by by;

	if (spec->pin_limit_bytes > 0) {
		want = spec->pin_limit_bytes;
		if (want <= limit)
			resize_plan_hold(self, "raise that pin", "its profile pins the limit");
		return want <= limit ? 0 : want;
	}
	if (self->input->ask->kind == RESIZE_KIND_BEFORE)
		want = want_before_kill(self, by_rule);
	else
		want = by_rule > limit ? by_rule : want_after_kill(self);
	if (!want)
		return 0;
	bounded = size_bounded(&self->policy.sizing, spec, SIZE_LIMIT, want, &by);
	if (bounded < want) {
		want = bounded;
		snprintf(self->ret->why, sizeof(self->ret->why), "capped by the ceiling");
	}
	if (want <= limit) {
		resize_plan_hold(self, "raise that ceiling", "it has all that its ceiling allows");
		return 0;
	}
	return want;
}

int64_t resize_plan_want(struct planning *self, const struct decision *by_profile)
{
	find_profile(self);
	return choose_want(self, by_profile);
}

void resize_plan_hold(struct planning *self, const char *remedy, const char *fmt, ...)
{
	va_list args;

	self->ret->verdict = RESIZE_HELD_BACK;
	self->ret->remedy = remedy;
	va_start(args, fmt);
	vsnprintf(self->ret->why, sizeof(self->ret->why), fmt, args);
	va_end(args);
}
