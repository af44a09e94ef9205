/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* run: summary of one submission of a workload, for one container and role. Run > attempt > rank: attempts are tries of
 * the run (new pods after a failure), ranks the pods of an attempt; the worst rank sets the peaks.
 * Bytes are exact maxima of samples; medians and quantiles are time-weighted. 0 means "not measured" for bytes. */
#include "base/attr.h"
#include "base/limits.h"

#include <stdint.h>

enum outcome {
	OUTCOME_UNKNOWN,
	OUTCOME_RUNNING,
	OUTCOME_COMPLETED,
	OUTCOME_FAILED,
	OUTCOME_OOM_KILLED,
	OUTCOME_SUSPECTED_OOM, /* non-zero exit at >= 95 % of the limit */
	OUTCOME_EVICTED_MEMORY,
	OUTCOME_EVICTED_EPHEMERAL,
	OUTCOME_PREEMPTED,
	OUTCOME_DELETED,
	OUTCOME_COUNT_
};
/** "completed", "oom-killed", ... */
extern const char *const outcome_names[OUTCOME_COUNT_];

enum chosen_by { CHOSEN_BY_USER, CHOSEN_BY_MEMTAMER, CHOSEN_BY_UNKNOWN };

/** A bad outcome at a size that we chose, which would not have come at the workload's own. */
enum harm {
	HARM_OOM,     /* killed at a limit that we had set below its own, or where it had none */
	HARM_EVICTED, /* for memory, above a request that we had set below its own */
	HARM_PENDING, /* no node had room for a request that we had set above its own */
	HARM_QUOTA,   /* a quota had no room for pods of the run at our size, and would have had at its own */
	HARM_SLOWER,  /* took longer, or used its accelerators less, than runs at its own size */
	HARM_COUNT_,
};
/** "oom", "evicted", ... */
extern const char *const harm_names[HARM_COUNT_];

/** How its use went, judged once by its curve, which may not be kept. */
enum run_shape {
	RUN_SHAPE_UNKNOWN,
	RUN_SHAPE_BOUNDED,
	RUN_SHAPE_GROWING, /* to its end, in all parts of it by about as much: a leak, if others of the workload do */
	RUN_SHAPE_COUNT_,
};
/** "unknown", "bounded", "growing". */
extern const char *const run_shape_names[RUN_SHAPE_COUNT_];

#define RUN_UID_BYTES	  24
#define RUN_NAME_BYTES	  96
#define RUN_KILLED_LIMITS 4

struct run {
	char uid[RUN_UID_BYTES];   /* stable hash of run key and start: replay is idempotent by it */
	char name[RUN_NAME_BYTES]; /* exact name of the root owner, cut */
	char variant[11];
	int attempts, ranks, world_size;    /* ranks seen; world size when known, else ranks */
	int64_t start_ms, duration_ms;	    /* of all attempts together */
	int64_t accelerators_milli;	    /* of one pod */
	int64_t request_bytes, limit_bytes; /* of the last attempt; 0: none set */
	enum chosen_by chosen_by;
	int mode; /* enum mode of policy.h when chosen by memtamer, else -1 */
	/* What the pods said before memtamer changed them; 0: nothing. As request_bytes and limit_bytes otherwise. */
	int64_t own_request_bytes, own_limit_bytes;
	int64_t revision;   /* of the profile that memtamer chose by; 0: none */
	int64_t pending_ms; /* from creation to the start of the rank that waited longest; 0: not known */
	uint8_t harm;	    /* bits of enum harm */
	int64_t peak_bytes; /* working set, worst rank, all attempts */
	int64_t peak_rss_bytes, peak_active_file_bytes;
	int64_t median_bytes, p95_bytes; /* working set, pooled over ranks, last attempt */
	int64_t min_rank_peak_bytes;	 /* skew: the smallest peak among ranks */
	int64_t peak_ephemeral_bytes;
	/* Censoring: distinct limits at which an attempt was OOM-killed (need >= each). -1: killed without any limit.
	 */
	int64_t killed_limits[RUN_KILLED_LIMITS];
	int n_killed_limits;
	enum outcome outcome;
	bool is_whole;		/* completed, with usage seen from start to end */
	bool is_cache_bound;	/* working set near the limit is page cache (active_file), not need */
	bool is_quantile_exact; /* median and p95 within one UTC day; else merged from daily figures */
	int64_t samples;
	/* Share of the time in which its accelerators had work, in thousandths: mean of their samples, all ranks and
	 * attempts; 0..1000, 0 is a real value; -1: not measured. */
	int32_t activity_permille;
	const char *source; /* static: "query", "remote-read", "pods", "trace"; "query+pods": use from one, the rest
			       from both */
	enum run_shape shape;
	/* Of a whole run: use of the rank with the greatest peak, at equal steps of its last attempt. 0: not known, or
	 * not kept. The greatest working set, and the mean of what is surely need: the smaller one of rss and working
	 * set without page cache. */
	int n_curve; /* 0, LIMIT_CURVE_POINTS_MIN..LIMIT_CURVE_POINTS */
	int64_t curve_max[LIMIT_CURVE_POINTS], curve_mean[LIMIT_CURVE_POINTS];
};

/** Peak that counts as need: the working set, or for a cache-bound run what is not page cache (peak_rss + what the
 *  working set holds beyond active file). */
int64_t run_need_bytes(const struct run *run);
/** Set the shape by the curve, where it has LIMIT_CURVE_POINTS_MIN points or more. */
void run_judge_shape(struct run *run);
/** Add to a list of distinct limits; of more than RUN_KILLED_LIMITS the greatest are what matters. */
void run_add_killed_limit(int64_t limits[RUN_KILLED_LIMITS], int *n, int64_t limit);
/** Greatest limit this run was killed at; 0 when none. */
int64_t run_killed_limit_max(const struct run *run);
