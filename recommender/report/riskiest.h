/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* riskiest: the workloads that most need somebody's eye, worst first: by what their last run risks (figures.h), then by
 * OOM kills of the window, then by pod-hours. */
#include "report/figures.h"

#define RISKIEST 10

struct risky {
	const struct known *known; /* borrowed */
	struct figures figures;
	int64_t runs, oom_runs; /* of the window */
	double pod_hours;
	char why[200]; /* in words */
};

/** `knows_limits`: a run without a limit had none; else that is no risk that we know of.
 *  @return how many; at most RISKIEST. */
size_t riskiest_find(const struct knowledge *knowledge, const char *namespace_name, int64_t from_ms, int64_t now_ms,
		     bool knows_limits, struct risky ret[RISKIEST]);
