/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* coverage: how much of what trained could be sized. Pod-hours are ranks times duration inside the window; a run whose
 * pods have several containers counts once, by the container that is known best. */
#include "report/knowledge.h"

enum coverage_reason {
	COVERAGE_MATCHED,	/* its workload has enough runs: confidence medium or better */
	COVERAGE_TOO_FEW_RUNS,	/* seen whole, and its workload needs more of that kind */
	COVERAGE_SEEN_IN_PART,	/* completed, but use was not seen from start to end */
	COVERAGE_STILL_RUNNING, /* and its workload has too few runs yet */
	COVERAGE_NO_END,	/* nobody saw how it ended */
	COVERAGE_ENDED_EARLY,	/* killed, failed, evicted, deleted: no measure of the need */
	COVERAGE_NO_USAGE,	/* no memory use was seen */
	COVERAGE_NO_PROFILE,	/* learned, but its profile is not there */
	COVERAGE_REASON_COUNT_
};
/** "matched", "too-few-runs" ... and in words. */
extern const char *const coverage_reason_names[COVERAGE_REASON_COUNT_],
	*const coverage_reason_words[COVERAGE_REASON_COUNT_];

struct coverage {
	double pod_hours[COVERAGE_REASON_COUNT_];
	int64_t runs[COVERAGE_REASON_COUNT_];
	double total_pod_hours;
	int64_t total_runs;
	int64_t cut_workloads; /* with runs of the window that are in their history's list no more: not counted */
};

/** Runs of `namespace_name` (NULL: all) in [from, now]. 0 or -ENOMEM. */
int coverage_compute(const struct knowledge *knowledge, const char *namespace_name, int64_t from_ms, int64_t now_ms,
		     struct coverage *ret) ATTR_NODISCARD;
/** Thousandths of the pod-hours that are matched; -1: there were none. */
int coverage_permille(const struct coverage *self);
/** Pod-hours of one run inside the window. */
double coverage_pod_hours(const struct run *run, int64_t from_ms, int64_t now_ms);
