/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* riskiest: the workloads that most need attention, worst first: by the risk of their last run (figures.h) and a
 * suspected leak, then by OOM kills in the window, then by pod-hours. */
#include "report/figures.h"

#define RISKIEST 10

struct risky {
	const struct known *known; /* borrowed */
	struct figures figures;
	int64_t runs, oom_runs; /* in the window */
	double pod_hours;
	char why[300]; /* text for people */
};

/** Finds the riskiest workloads. `knows_limits`: a run without a limit really had none; otherwise a missing limit is
 * not counted as a risk. @return how many were found, at most RISKIEST. */
size_t riskiest_find(const struct knowledge *knowledge, int64_t from_ms, int64_t now_ms, bool knows_limits,
		     struct risky ret[RISKIEST]);
