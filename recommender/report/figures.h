/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* figures: the figures of one workload in the report. Bytes; 0 means not set or not measured, and is printed as "-". */
#include "report/knowledge.h"

/* The worst last. */
enum risk {
	RISK_NONE,
	/* the peak is above the request of the last run, and the request is below the recommended one, or the median
	 * without a recommendation: it may be evicted */
	RISK_OVER_REQUEST,
	RISK_NO_LIMIT,	       /* the last run had no memory limit */
	RISK_LIMIT_BELOW_PEAK, /* the limit of the last run is not above the peak */
	RISK_OOM,	       /* killed at the limit that the last run still had, or at a greater one */
	RISK_COUNT_
};
extern const char *const risk_names[RISK_COUNT_];

struct figures {
	int runs, whole_runs, oom_runs;
	int64_t last_start_ms;
	int64_t request_bytes, limit_bytes;	    /* of the last run */
	int64_t new_request_bytes, new_limit_bytes; /* recommended for a new pod */
	int64_t median_bytes, peak_bytes;
	double waste_gibh;	 /* sum over the listed runs, as run_unused_gib_hours */
	double gpu_hours;	 /* the same of run_accelerator_hours */
	double oom_gpu_hours;	 /* those of listed runs that ended OOM-killed */
	const char *not_lowered; /* as figures_not_lowered */
	bool is_request_kept,
		is_limit_kept; /* the recommended value is lower than the last run's, and will not be set */
	bool is_leak;
	enum risk risk;
	enum confidence confidence;
};

/** Why values are not lowered in any mode; NULL: they may be, or a person has pinned the limit. The entry must have a
 * profile. Static. */
const char *figures_not_lowered(const struct knowledge *knowledge, const struct known *known);
/** Computes the figures of one entry. Cost: linear in the runs of its history. @return false: the entry has no
 * workload. */
bool figures_compute(const struct knowledge *knowledge, const struct known *known, struct figures *ret);
/** How much attention the workload needs, with a suspected leak as grave as a missing limit: it ends in a kill once a
 * run is longer, as growth without a limit affects other pods. */
enum risk figures_rank(const struct figures *self);

#define PERCENT(permille) figures_percent((permille), (char[16]){0})

/** "12.5 %", "12 %". @return `buf`. */
const char *figures_percent(int32_t permille, char buf[16]);
