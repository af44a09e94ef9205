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
	[COVERAGE_MATCHED] = "their workload has enough runs",
	[COVERAGE_TOO_FEW_RUNS] = "too few runs of its workload so far",
	[COVERAGE_SEEN_IN_PART] = "use was not seen from start to end",
	[COVERAGE_STILL_RUNNING] = "still running, and too few runs before it",
	[COVERAGE_NO_END] = "no end was seen",
	[COVERAGE_ENDED_EARLY] = "ended early (failed, evicted, deleted)",
	[COVERAGE_NO_USAGE] = "no memory use was seen",
	[COVERAGE_NO_PROFILE] = "it has no MemoryProfile",
};

/* A run as one of its containers shows it. Texts are borrowed. */
struct covered {
	const char *namespace_name, *role, *uid;
	double pod_hours;
	enum coverage_reason reason;
};

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

/* By run, and then by how much is known, the most first. */
static int compare(const void *a, const void *b)
{
	const struct covered *x = a, *y = b;
	int r = strcmp(x->namespace_name, y->namespace_name);

	r = r ? r : strcmp(x->role, y->role);
	r = r ? r : strcmp(x->uid, y->uid);
	return r ? r : (int)x->reason - (int)y->reason;
}

static bool is_same_run(const struct covered *a, const struct covered *b)
{
	return streq(a->uid, b->uid) && streq(a->role, b->role) && streq(a->namespace_name, b->namespace_name);
}

static void count_runs(const struct covered *items, size_t n, struct coverage *ret)
{
	for (size_t i = 0; i < n;) {
		const struct covered *first = &items[i];
		double pod_hours = 0;

		for (; i < n && is_same_run(first, &items[i]); i++)
			pod_hours = MAX(pod_hours, items[i].pod_hours);
		ret->runs[first->reason]++;
		ret->total_runs++;
		ret->pod_hours[first->reason] += pod_hours;
		ret->total_pod_hours += pod_hours;
	}
}

int coverage_compute(const struct knowledge *knowledge, int64_t from_ms, int64_t now_ms, struct coverage *ret)
{
	VEC(struct covered) items = VEC_INIT;
	int r = 0;

	*ret = (struct coverage){.total_runs = 0};
	for (size_t i = 0; i < knowledge->items.n && !r; i++) {
		const struct known *known = &knowledge->items.items[i];

		ret->cut_workloads += known->history && known->history->dropped_until_ms >= from_ms;
		for (size_t k = 0; known->history && k < known->history->runs.n && !r; k++) {
			const struct run *run = &known->history->runs.items[k];
			const struct covered covered = {known_namespace(known), known_role(known), run->uid,
							coverage_pod_hours(run, from_ms, now_ms),
							reason_of(known, run)};

			if (covered.pod_hours > 0)
				r = vec_push(&items, covered);
		}
	}
	if (!r && items.n) {
		qsort(items.items, items.n, sizeof(*items.items), compare);
		count_runs(items.items, items.n, ret);
	}
	vec_release(&items);
	return r;
}

int coverage_permille(const struct coverage *self)
{
	return self->total_pod_hours > 0 ? (int)(self->pod_hours[COVERAGE_MATCHED] / self->total_pod_hours * 1000 + 0.5)
					 : -1;
}
