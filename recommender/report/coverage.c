/* SPDX-License-Identifier: Apache-2.0 */
#include "report/coverage.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *const coverage_reason_names[COVERAGE_REASON_COUNT_] = {
	[COVERAGE_MATCHED] = "matched",		  [COVERAGE_TOO_FEW_RUNS] = "too-few-runs",
	[COVERAGE_SEEN_IN_PART] = "seen-in-part", [COVERAGE_STILL_RUNNING] = "still-running",
	[COVERAGE_NO_END] = "no-end-seen",	  [COVERAGE_ENDED_EARLY] = "ended-early",
	[COVERAGE_NO_USAGE] = "usage-not-seen",	  [COVERAGE_NO_PROFILE] = "no-profile",
};
const char *const coverage_reason_words[COVERAGE_REASON_COUNT_] = {
	[COVERAGE_MATCHED] = "matched to a workload with enough runs",
	[COVERAGE_TOO_FEW_RUNS] = "too few runs of its workload so far",
	[COVERAGE_SEEN_IN_PART] = "use was not seen from start to end",
	[COVERAGE_STILL_RUNNING] = "still running, and too few runs before it",
	[COVERAGE_NO_END] = "no end was seen",
	[COVERAGE_ENDED_EARLY] = "ended early (failed, evicted, deleted)",
	[COVERAGE_NO_USAGE] = "no memory use was seen",
	[COVERAGE_NO_PROFILE] = "its profile is not there",
};

/* A run as all its containers together have it. */
struct covered {
	char *key; /* heap: namespace, role, uid */
	double pod_hours;
	enum coverage_reason reason;
};

struct covering {
	VEC(struct covered) items;
	struct strmap index; /* key -> item number + 1 */
};

static void covering_release(struct covering *self)
{
	for (size_t i = 0; i < self->items.n; i++)
		free(self->items.items[i].key);
	vec_release(&self->items);
	strmap_release(&self->index);
}

double coverage_pod_hours(const struct run *run, int64_t from_ms, int64_t now_ms)
{
	int64_t start = MAX(run->start_ms, from_ms), end = MIN(run->start_ms + run->duration_ms, now_ms);

	return end > start ? (double)MAX(run->ranks, 1) * (double)(end - start) / (double)TIME_HOUR_MS : 0;
}

static enum coverage_reason reason_of(const struct known *known, const struct run *run)
{
	if (known->profile && known->profile->parent.confidence >= CONFIDENCE_MEDIUM)
		return COVERAGE_MATCHED;
	if (!run->peak_bytes)
		return COVERAGE_NO_USAGE;
	if (run->is_whole)
		return known->profile ? COVERAGE_TOO_FEW_RUNS : COVERAGE_NO_PROFILE;
	switch (run->outcome) {
	case OUTCOME_RUNNING:
		return COVERAGE_STILL_RUNNING;
	case OUTCOME_UNKNOWN:
		return COVERAGE_NO_END;
	case OUTCOME_COMPLETED:
		return COVERAGE_SEEN_IN_PART;
	default:
		return COVERAGE_ENDED_EARLY;
	}
}

/* The reasons stand in the order of how much is known. */
static int cover(struct covering *self, const struct known *known, const struct run *run, double pod_hours)
{
	enum coverage_reason reason = reason_of(known, run);
	struct covered *there;
	void *found;
	char *key;

	if (asprintf(&key, "%s\n%s\n%s", known_namespace(known), known_role(known), run->uid) < 0)
		return -ENOMEM;
	found = strmap_get(&self->index, key);
	if (found) {
		free(key);
		there = &self->items.items[(uintptr_t)found - 1];
		there->reason = MIN(there->reason, reason);
		there->pod_hours = MAX(there->pod_hours, pod_hours);
		return 0;
	}
	if (vec_push(&self->items, ((struct covered){key, pod_hours, reason}))) {
		free(key);
		return -ENOMEM;
	}
	return strmap_put(&self->index, key, (void *)(uintptr_t)self->items.n);
}

static int cover_history(struct covering *self, const struct known *known, int64_t from_ms, int64_t now_ms)
{
	int r = 0;

	for (size_t i = 0; i < known->history->runs.n && !r; i++) {
		const struct run *run = &known->history->runs.items[i];
		double pod_hours = coverage_pod_hours(run, from_ms, now_ms);

		if (pod_hours > 0)
			r = cover(self, known, run, pod_hours);
	}
	return r;
}

int coverage_compute(const struct knowledge *knowledge, const char *namespace_name, int64_t from_ms, int64_t now_ms,
		     struct coverage *ret)
{
	CLEANUP(covering_release) struct covering covering = {.index = STRMAP_INIT};
	struct coverage result = {.total_runs = 0};
	int r = 0;

	for (size_t i = 0; i < knowledge->items.n && !r; i++) {
		const struct known *known = &knowledge->items.items[i];

		if (!known->history || (namespace_name && !streq(namespace_name, known_namespace(known))))
			continue;
		result.cut_workloads += known->history->dropped_until_ms >= from_ms;
		r = cover_history(&covering, known, from_ms, now_ms);
	}
	for (size_t i = 0; i < covering.items.n && !r; i++) {
		const struct covered *covered = &covering.items.items[i];

		result.runs[covered->reason]++;
		result.total_runs++;
		result.pod_hours[covered->reason] += covered->pod_hours;
		result.total_pod_hours += covered->pod_hours;
	}
	if (!r)
		*ret = result;
	return r;
}

int coverage_permille(const struct coverage *self)
{
	return self->total_pod_hours > 0 ? (int)(self->pod_hours[COVERAGE_MATCHED] / self->total_pod_hours * 1000 + 0.5)
					 : -1;
}
