/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* coverage: for how much of the training memtamer could give sizes. Pod-hours are ranks times duration inside the
 * window. A run whose pods have several containers counts once, by the container of which most is known. */
#include "report/knowledge.h"

/* In the order of how much is known, the most first. */
enum coverage_reason {
	COVERAGE_MATCHED,	/* the workload has enough runs: confidence medium or better */
	COVERAGE_TOO_FEW_RUNS,	/* observed completely, but the workload needs more such runs */
	COVERAGE_SEEN_IN_PART,	/* completed, but its use was not observed from start to end */
	COVERAGE_STILL_RUNNING, /* running, and the workload has too few runs */
	COVERAGE_NO_END,	/* its end was not observed */
	COVERAGE_ENDED_EARLY,	/* killed, failed, evicted, deleted: does not show the need */
	COVERAGE_NO_USAGE,	/* no memory use was observed */
	COVERAGE_NO_PROFILE,	/* learned, but its profile does not exist */
	COVERAGE_REASON_COUNT_
};
/** Names "matched", "too-few-runs" ..., and texts for people. */
extern const char *const coverage_reason_names[COVERAGE_REASON_COUNT_],
	*const coverage_reason_words[COVERAGE_REASON_COUNT_];

struct coverage {
	double pod_hours[COVERAGE_REASON_COUNT_];
	int64_t runs[COVERAGE_REASON_COUNT_];
	double total_pod_hours;
	int64_t total_runs;
	/* workloads with runs in the window that dropped out of their history's list and are not counted */
	int64_t cut_workloads;
};

/** Computes the coverage of runs between from_ms and now_ms. @return 0 or -ENOMEM. */
int coverage_compute(const struct knowledge *knowledge, int64_t from_ms, int64_t now_ms,
		     struct coverage *ret) ATTR_NODISCARD;
/** Matched pod-hours in permille of all; -1: there were none. */
int coverage_permille(const struct coverage *self);
/** Pod-hours of one run inside the window. */
double coverage_pod_hours(const struct run *run, int64_t from_ms, int64_t now_ms);
