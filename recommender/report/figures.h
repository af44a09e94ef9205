/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* figures: the figures of one workload in the report. Bytes; 0 means not set or not measured, and is printed as "-". */
#include "report/knowledge.h"

enum risk {
	RISK_NONE,
	RISK_NO_LIMIT,	       /* the last run had no memory limit */
	RISK_OVER_REQUEST,     /* the peak is above the request of the last run, which may be evicted */
	RISK_LIMIT_BELOW_PEAK, /* the limit of the last run is not above the peak */
	RISK_OOM,	       /* killed at the limit that the last run still had, or at a greater one */
	RISK_COUNT_
};
extern const char *const risk_names[RISK_COUNT_];

struct figures {
	int runs, whole_runs, oom_runs;
	int64_t last_start_ms;
	int64_t request_bytes, limit_bytes;	    /* of the last run */
	int64_t new_request_bytes, new_limit_bytes; /* of a new pod */
	int64_t median_bytes, peak_bytes;
	double waste_gibh; /* sum over the listed runs, as run_unused_gib_hours */
	enum risk risk;
	enum confidence confidence;
};

/** Computes the figures of one entry. Cost: linear in the runs of its history. @return false: the entry has no
 * workload, as the profile of a namespace. */
bool figures_compute(const struct knowledge *knowledge, const struct known *known, struct figures *ret);
