/* SPDX-License-Identifier: Apache-2.0 */
/* learn_report: computes the conditions of a profile: whether sizes are known, and whether its spec is applied.
 * Complete cycles check every profile, since people change specs without a run. */
#include "engine/learn.h"

#include "base/timefmt.h"
#include "k8s/quantity.h"

#include <errno.h>
#include <stdio.h>

/* ---- profiles that name a workload ---- */

/* The profile that names the workload of `learned` by key `i`: 0 is the workload, then its aliases. NULL: none. */
static const struct profile *named_by(const struct learn *self, const struct profile *learned, size_t i)
{
	const struct snapshot_container of = {.namespace_name = learned->namespace_name,
					      .role = learned->role,
					      .container = learned->container,
					      .is_main = !pod_container_is_helper(learned->container)};

	return snapshot_profile_of_ref(self->naming, &of, i ? learned->aliases[i - 1] : learned->workload);
}

/* The profile that decides: the one that is named by the best key. */
static const struct profile *decider_of(const struct learn *self, const struct profile *learned)
{
	const struct profile *found = NULL;

	for (size_t i = 0; i <= learned->n_aliases && !found; i++)
		found = named_by(self, learned, i);
	return found;
}

static void judge(const struct learn *self, const struct profile *learned)
{
	const struct profile *decider = decider_of(self, learned);

	for (size_t i = 0; i <= learned->n_aliases && decider; i++) {
		const struct profile *found = named_by(self, learned, i);
		struct learn_naming *naming = found ? learn_get_naming(self, found) : NULL;

		if (naming && found == decider)
			naming->learned = learned;
		else if (naming)
			naming->beaten_by = decider;
	}
}

void learn_judge_namings(struct learn *self)
{
	for (size_t i = 0; i < self->profiles.n && self->naming; i++)
		if (*self->profiles.items[i]->workload)
			judge(self, self->profiles.items[i]);
	for (size_t i = 0; i < self->namings.n && self->naming; i++) {
		struct learn_naming *naming = &self->namings.items[i];
		const struct profile_ref *ref = &naming->profile->spec->ref;
		const struct snapshot_container of = {.namespace_name = naming->profile->namespace_name,
						      .role = ref->role,
						      .container = ref->container,
						      .is_main = true};
		const struct profile *found = snapshot_profile_of_ref(self->naming, &of, ref->key);

		if (found != naming->profile)
			naming->beaten_by = found;
	}
}

/* The profile whose spec is applied instead of this one's. NULL: its own is. */
static const struct profile *beaten_by(const struct learn *self, const struct profile *profile)
{
	const struct learn_naming *naming = learn_get_naming(self, profile);

	if (naming)
		return naming->learned ? NULL : naming->beaten_by;
	return !profile->spec->ref.key && *profile->workload && profile_has_more_than_cap(profile)
		       ? decider_of(self, profile)
		       : NULL;
}

/* ---- conditions ---- */

#define SET(ret, i, is, why, ...)                                                                                      \
	do {                                                                                                           \
		(ret)->report.conditions[i].type = profile_condition_types[i];                                         \
		(ret)->report.conditions[i].status = (is) ? "True" : "False";                                          \
		(ret)->report.conditions[i].reason = (why);                                                            \
		snprintf((ret)->messages[i], sizeof((ret)->messages[i]), __VA_ARGS__);                                 \
	} while (0)

static bool is_usable(const struct profile *profile)
{
	return profile->parent.confidence >= CONFIDENCE_MEDIUM && profile->parent.limit_bytes > 0;
}

static void set_by_runs(const struct learn *self, const struct profile *profile, const char *where,
			struct learn_report *ret)
{
	if (is_usable(profile))
		SET(ret, PROFILE_READY, true, PROFILE_LEARNED, "%s", where);
	else
		SET(ret, PROFILE_READY, false, profile->parent.runs ? PROFILE_NOT_ENOUGH_RUNS : PROFILE_NO_RUNS_YET,
		    "%d of %d complete runs%s%s", profile->parent.whole_runs, self->config->policy.sizing.min_runs,
		    *where ? ", " : "", where);
}

static void set_ready(const struct learn *self, const struct profile *profile, struct learn_report *ret)
{
	const struct learn_naming *naming = learn_get_naming(self, profile);
	const struct profile *winner = self->naming ? beaten_by(self, profile) : NULL;
	char where[LIMIT_CONDITION_BYTES] = "";

	if (profile->spec->invalid)
		SET(ret, PROFILE_READY, false, PROFILE_INVALID_SPEC, "%s", profile->spec->invalid);
	else if (winner)
		SET(ret, PROFILE_READY, false, PROFILE_CONFLICT, "decided by profile %s", winner->name);
	else if (*profile->workload)
		set_by_runs(self, profile, where, ret);
	else if (naming && naming->learned) {
		snprintf(where, sizeof(where), "learned in %s", naming->learned->name);
		set_by_runs(self, naming->learned, where, ret);
	} else if (profile->spec->ref.key)
		SET(ret, PROFILE_READY, false, PROFILE_NO_RUNS_YET, "%s", "");
	else
		SET(ret, PROFILE_READY, false, PROFILE_NO_WORKLOAD, "spec.workloadRef would say which workload");
}

static void set_pinned(const struct profile_spec *spec, struct learn_report *ret)
{
	bool has_both = spec->pin_request_bytes > 0 && spec->pin_limit_bytes > 0;

	if (spec->pin_request_bytes <= 0 && spec->pin_limit_bytes <= 0)
		return;
	SET(ret, PROFILE_PINNED, true, PROFILE_BY_PERSON, "%s%s%s%s%s", spec->pin_request_bytes > 0 ? "request " : "",
	    spec->pin_request_bytes > 0 ? HUMAN(spec->pin_request_bytes) : "", has_both ? ", " : "",
	    spec->pin_limit_bytes > 0 ? "limit " : "", spec->pin_limit_bytes > 0 ? HUMAN(spec->pin_limit_bytes) : "");
}

static void set_capped(const struct learn *self, const struct profile *profile, struct learn_report *ret)
{
	const char *cap = profile->spec->mode_cap;
	bool is_namespace = streq(profile->name, PROFILE_OF_NAMESPACE);
	const char *why = PROFILE_BY_PERSON;

	if (profile->spec->invalid)
		why = PROFILE_INVALID_SPEC;
	else if (is_namespace && self->caps && caps_setter(self->caps, profile) == CAP_BY_HARM)
		why = PROFILE_BY_HARM;
	if (*cap)
		SET(ret, PROFILE_CAPPED, true, why, "the mode is at most %s%s", cap,
		    is_namespace ? " in this namespace" : "");
}

/* lastTransitionTime changes with the status of a condition, not with its reason. */
static void keep_times(const struct learn *self, const struct profile_report *before, struct profile_report *ret)
{
	for (size_t i = 0; i < PROFILE_CONDITIONS; i++) {
		const struct profile_condition *was = before ? &before->conditions[i] : NULL;
		struct profile_condition *condition = &ret->conditions[i];

		condition->observed = condition->type ? ret->observed : 0;
		if (condition->type)
			condition->since_ms = was && was->type && streq(was->status, condition->status)
						      ? was->since_ms
						      : self->now_ms - self->now_ms % TIME_SECOND_MS;
	}
}

void learn_report(const struct learn *self, const struct profile *profile, const struct profile *before,
		  struct learn_report *ret)
{
	const struct profile_report *was = before ? before->report : NULL;
	bool is_kube = self->config->store.kind == STORE_KUBE;

	*ret = (struct learn_report){.report = {.generation = was ? was->generation : 0}};
	ret->report.observed = was && !was->generation ? was->observed : ret->report.generation;
	if (!before && is_kube)
		ret->report.observed = 1; /* objects that we create have generation 1 */
	for (size_t i = 0; i < PROFILE_CONDITIONS; i++)
		ret->report.conditions[i].message = ret->messages[i];
	if (!streq(profile->name, PROFILE_OF_NAMESPACE))
		set_ready(self, profile, ret);
	/* A quick cycle does not know which other profiles name the workload. */
	if (!self->naming && !learn_has_all_profiles(self) && was &&
	    streq(was->conditions[PROFILE_READY].reason, PROFILE_CONFLICT))
		SET(ret, PROFILE_READY, false, PROFILE_CONFLICT, "%s", was->conditions[PROFILE_READY].message);
	if (!streq(ret->report.conditions[PROFILE_READY].reason, PROFILE_CONFLICT))
		set_pinned(profile->spec, ret);
	set_capped(self, profile, ret);
	keep_times(self, was, &ret->report);
}

/* ---- profiles without found runs ---- */

bool learn_is_spec_new(const struct profile *profile)
{
	const struct profile_report *report = profile->report;

	return report && report->generation && report->generation != report->observed &&
	       (report->observed || profile_has_spec(profile));
}

/* Profiles written before conditions existed get them without a run only if people have written a spec. */
static bool has_reported(const struct profile *profile)
{
	return profile->report && (profile->report->observed || profile->report->conditions[PROFILE_READY].type);
}

static int report_one(struct learn *self, const struct profile *profile)
{
	struct learned *item = learn_find_name(self, profile->namespace_name, profile->name);
	struct learned made = {.namespace_name = profile->namespace_name, .name = profile->name};
	struct profile draft = *profile;
	struct learn_report report;

	if (item && (item->profile || !streq(item->name, profile->name)))
		return 0;
	learn_report(self, profile, profile, &report);
	draft.report = &report.report;
	if (profile_same(&draft, profile))
		return 0;
	made.profile = profile_dup(&draft);
	if (made.profile && item) {
		item->profile = made.profile;
		return 0;
	}
	if (!made.profile || vec_push(&self->items, made)) {
		profile_free(made.profile);
		return -ENOMEM;
	}
	return 0;
}

int learn_report_all(struct learn *self)
{
	size_t n = self->profiles.n;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		const struct profile *profile = self->profiles.items[i];

		if ((profile_has_spec(profile) || has_reported(profile)) && learn_is_current(self, profile))
			r = report_one(self, profile);
	}
	return r;
}
