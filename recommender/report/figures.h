/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* figures: what the report says of one workload. Bytes; 0 means not set or not measured, and is printed as "-". */
#include "report/knowledge.h"

enum risk {
	RISK_NONE,
	RISK_NO_LIMIT,	       /* the last run had no memory limit */
	RISK_OVER_REQUEST,     /* peak above the request of the last run: a candidate for eviction */
	RISK_LIMIT_BELOW_PEAK, /* the last run's limit is not above the peak seen */
	RISK_OOM,	       /* killed at a limit that the last run still had, or above it */
	RISK_COUNT_
};
extern const char *const risk_names[RISK_COUNT_];

struct figures {
	int runs, whole_runs, oom_runs;
	int64_t last_start_ms;
	int64_t request_bytes, limit_bytes;	    /* of the last run */
	int64_t new_request_bytes, new_limit_bytes; /* recommended */
	int64_t median_bytes, peak_bytes;
	int64_t run_ms; /* duration of the runs listed */
	/* sum over listed runs with a limit: (limit - need) x duration x ranks, each rank taken for the worst one */
	double waste_gibh;
	enum risk risk;
	enum confidence confidence;
};

void figures_compute(const struct known *known, struct figures *ret);
