/* SPDX-License-Identifier: Apache-2.0 */
#include "postmortem/recorded_crash.h"

#include "kube/kube_client.h"
#include "model/diagnosis.h"
#include "postmortem/known_workload.h"
#include "postmortem/object.h"

#include <assert.h>
#include <stdio.h>

/* ---- the diagnosis ---- */

static struct json_object *find_latest(const struct postmortem *self)
{
	struct json_object *items = object_at(self->profiles, "items");
	struct json_object *found = NULL;
	int64_t found_ms = -1;

	for (size_t i = 0; i < object_count(items); i++) {
		struct json_object *profile = json_object_array_get_idx(items, i);
		int64_t ms = object_time_ms(profile, "status.diagnosis.time");

		if (!*object_text(profile, "status.diagnosis.kind") || ms <= found_ms ||
		    !known_workload_is_of_run(self, profile))
			continue;
		found = profile;
		found_ms = ms;
	}
	return found;
}

/* Figures by the names that the object gives them. */
static void take_figures(struct json_object *diagnosis, struct figures *ret)
{
	static const struct {
		const char *key;
		enum figure figure;
	} rows[] = {{"tried", FIGURE_TRIED},   {"capacity", FIGURE_CAPACITY}, {"unallocated", FIGURE_UNALLOCATED},
		    {"others", FIGURE_OTHERS}, {"peak", FIGURE_USAGE},	      {"limit", FIGURE_LIMIT}};

	figures_init(ret);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t bytes = object_bytes(diagnosis, rows[i].key);

		if (bytes > 0 && bytes <= FIGURE_MAX)
			figures_set(ret, rows[i].figure, bytes);
	}
}

static int64_t number_of(struct json_object *diagnosis, const char *key)
{
	int64_t value = object_int(diagnosis, key, DIAGNOSIS_NONE);

	return value >= 0 && value <= DIAGNOSIS_NUMBER_MAX ? value : DIAGNOSIS_NONE;
}

/* NOLINTNEXTLINE(misc-redundant-expression): they are defined apart */
static_assert(DIAGNOSIS_NONE == STEP_NONE && DIAGNOSIS_NONE == EPOCH_NONE, "what is not known is the same");

static void take_progress(struct json_object *diagnosis, struct furthest *ret)
{
	ret->epoch = number_of(diagnosis, "epoch");
	ret->step = number_of(diagnosis, "step");
	ret->n_steps = number_of(diagnosis, "steps");
	ret->number = ret->epoch != EPOCH_NONE || ret->step != STEP_NONE;
}

/* After a run with the allocator's setting has completed, the time is that of its end, not of the crash. */
static int take(struct json_object *profile, struct crash *ret, struct err *err)
{
	struct json_object *diagnosis = object_at(profile, "status.diagnosis");
	const char *kind = object_text(diagnosis, "kind");
	bool has_helped = streq(object_text(diagnosis, "helped"), DIAGNOSIS_HELPED);
	struct figures figures;
	int r;

	take_figures(diagnosis, &figures);
	r = crash_make(kind, object_text(diagnosis, "cause"), object_text(diagnosis, "allocatorVariable"),
		       object_text(diagnosis, "evidence"), &figures, ret);
	if (r == -ENOMEM)
		return err_set(err, r, "no memory left");
	if (r)
		return err_set(
			err, POSTMORTEM_NOT_FOUND,
			"status.diagnosis of memoryprofile/%s is %.40s: only an end for memory or by a faulty GPU "
			"can be verified",
			object_text(profile, "metadata.name"), kind);
	snprintf(ret->source, sizeof(ret->source), "memoryprofile/%.250s status.diagnosis",
		 object_text(profile, "metadata.name"));
	ret->time_ms = has_helped ? 0 : object_time_ms(diagnosis, "time");
	take_progress(diagnosis, &ret->furthest);
	return 0;
}

int recorded_crash_read(struct postmortem *self, struct crash *ret, struct err *err)
{
	struct json_object *profile;
	int r = known_workload_fetch(self, err);

	if (r && r != KUBE_NOT_FOUND) {
		err_wrap(err, "memoryprofiles of namespace %s; give the crash with --against FILE", self->namespace);
		return r;
	}
	profile = r ? NULL : find_latest(self);
	if (profile)
		return take(profile, ret, err);
	return err_set(err, POSTMORTEM_NOT_FOUND,
		       "no MemoryProfile of %s in namespace %s has a status.diagnosis: no failed run is recorded; give "
		       "the crash with --against FILE, which `triage -o json` printed",
		       self->owner.name, self->namespace);
}

bool recorded_crash_is_over(const struct postmortem *self, const struct crash *crash)
{
	if (!crash->time_ms || !self->pods.n)
		return true;
	for (size_t i = 0; i < self->pods.n; i++) {
		const struct ended_pod *pod = &self->pods.items[i];

		if (pod->created_ms > crash->time_ms || (pod->ended_ms != INT64_MAX && pod->ended_ms > crash->time_ms))
			return true;
	}
	return false;
}
