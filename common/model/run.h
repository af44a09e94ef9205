/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* run: summary of one submission of a workload, for one role and container. A run has attempts (new pods after a
 * failure), an attempt has ranks (pods at the same time); peaks are those of the largest rank. Peaks are exact maxima
 * of samples in bytes; medians and quantiles are weighted by time. Bytes of 0 mean "not measured". */
#include "base/attr.h"
#include "base/limits.h"
#include "model/gpu_memory.h"

#include <stdint.h>

enum outcome {
	OUTCOME_UNKNOWN,
	OUTCOME_RUNNING,
	OUTCOME_COMPLETED,
	OUTCOME_FAILED,
	OUTCOME_OOM_KILLED,
	OUTCOME_SUSPECTED_OOM, /* non-zero exit at >= 95 % of the limit, or only a child was OOM-killed */
	OUTCOME_EVICTED_MEMORY,
	OUTCOME_EVICTED_EPHEMERAL,
	OUTCOME_PREEMPTED,
	OUTCOME_DELETED,
	OUTCOME_COUNT_
};
/** "completed", "oom-killed", ... */
extern const char *const outcome_names[OUTCOME_COUNT_];

enum chosen_by { CHOSEN_BY_USER, CHOSEN_BY_MEMTAMER, CHOSEN_BY_UNKNOWN };

/** A bad end at a size that we set, which would not have happened at the workload's own. */
enum harm {
	HARM_OOM, /* killed at a limit that we had set below its own, or that it did not have itself */
	/* evicted for memory, above a request that we had set below its own, or at a disk limit that it did not have */
	HARM_EVICTED,
	HARM_PENDING, /* no node had room for a request that we had set above its own */
	HARM_QUOTA,   /* a quota had no room for pods of the run at our size, but had at their own */
	HARM_SLOWER,  /* page cache filled a limit that we had lowered, and it was slower than the runs before it */
	HARM_COUNT_,
};
/** "oom", "evicted", ... */
extern const char *const harm_names[HARM_COUNT_];

/** The shape of the memory use, judged once from the curve, which may not be kept. */
enum run_shape {
	RUN_SHAPE_UNKNOWN,
	RUN_SHAPE_BOUNDED,
	RUN_SHAPE_GROWING, /* grows evenly until the end: a leak, if other runs of the workload do so too */
	RUN_SHAPE_COUNT_,
};
/** "unknown", "bounded", "growing". */
extern const char *const run_shape_names[RUN_SHAPE_COUNT_];

#define RUN_UID_BYTES	  24
#define RUN_NAME_BYTES	  96
#define RUN_KILLED_LIMITS 4

struct run {
	char uid[RUN_UID_BYTES];   /* stable hash of run key and start: makes replays idempotent */
	char name[RUN_NAME_BYTES]; /* of the root owner; longer names as by identity_cut */
	char variant[11];
	int attempts, ranks, world_size;    /* ranks seen; world size if known, else ranks */
	int64_t start_ms, duration_ms;	    /* of all attempts together */
	int64_t accelerators_milli;	    /* of one pod */
	int64_t request_bytes, limit_bytes; /* of the last attempt; 0: none set */
	enum chosen_by chosen_by;
	int mode; /* enum mode of policy.h if chosen by memtamer, else -1 */
	/* The values before memtamer changed them; 0: none. Equal to request_bytes and limit_bytes if it did not. */
	int64_t own_request_bytes, own_limit_bytes;
	int64_t revision;   /* of the profile that memtamer used; 0: none */
	int64_t pending_ms; /* longest time from creation to start among the ranks; 0: not known */
	uint8_t harm;	    /* bits of enum harm */
	int64_t peak_bytes; /* working set of the largest rank, over all attempts */
	int64_t peak_rss_bytes, peak_active_file_bytes;
	int64_t median_bytes, p95_bytes; /* working set over all ranks of the last attempt */
	int64_t min_rank_peak_bytes;	 /* smallest peak among the ranks */
	int64_t peak_ephemeral_bytes;
	struct gpu_memory gpu; /* of the fullest card of any rank, at any time */
	/* Distinct limits at which an attempt was OOM-killed: the need is at least each of them. -1: killed without a
	 * limit. */
	int64_t killed_limits[RUN_KILLED_LIMITS];
	int n_killed_limits;
	enum outcome outcome;
	bool is_whole;		/* completed, and its use was observed from start to end */
	bool is_cache_bound;	/* much of the peak is page cache (active_file), not need */
	bool is_quantile_exact; /* median and p95 are of one UTC day; false: merged from daily values */
	int64_t samples;
	/* Share of time in which the accelerators were busy, in permille: mean of all samples of all ranks and
	 * attempts. 0 to 1000; -1: not measured. */
	int32_t activity_permille;
	/* static: "query", "remote-read", "pods", "trace"; "query+pods": use from one source, the rest from both */
	const char *source;
	enum run_shape shape;
	/* Curve of a whole run: the use of the rank with the greatest peak, at equal steps of its last attempt.
	 * curve_max: the greatest working set; curve_mean: the mean of the certain need, which is the smaller of rss
	 * and the working set without page cache. n_curve 0: not known, or not kept. */
	int n_curve; /* 0, LIMIT_CURVE_POINTS_MIN..LIMIT_CURVE_POINTS */
	int64_t curve_max[LIMIT_CURVE_POINTS], curve_mean[LIMIT_CURVE_POINTS];
};

/** The peak that counts as need: the working set; for a cache-bound run without page cache (the larger of peak_rss and
 * the working set's peak less that of active file). That is a lower bound of its need: the two peaks may be of
 * different times, and rss lacks shm. So no limit is added by it, and none lowered. */
int64_t run_need_bytes(const struct run *run);
/** The unused memory of the run in GiB-hours, of all its pods: (limit, or the request where there is no limit, - need)
 * x duration x ranks; 0 if it asked for none or was not measured. Only the need of the largest rank is known, so every
 * rank is assumed to need as much: memory that smaller ranks left unused is not counted. */
double run_unused_gib_hours(const struct run *run);
/** The accelerator hours of the run, in whole devices: those of a pod x duration x ranks; 0 if it had none, or none is
 * known. Each rank is assumed to have held its accelerators for the whole run, waits between attempts included. */
double run_accelerator_hours(const struct run *run);
/** Sets the shape from the curve, if the curve has at least LIMIT_CURVE_POINTS_MIN points. */
void run_judge_shape(struct run *run);
/** Adds to a list of distinct limits. If it is full, the last entry is raised to `limit` if that is greater, so that
 * the greatest limit is always kept. */
void run_add_killed_limit(int64_t limits[RUN_KILLED_LIMITS], int *n, int64_t limit);
/** The greatest limit at which the run was killed; 0: none. */
int64_t run_killed_limit_max(const struct run *run);
/** Whether the use of one rank or container was observed, with three samples and for three minutes or more, and stayed
 * below half of the limit. */
bool run_is_far_below(int64_t samples, int64_t observed_ms, int64_t peak_bytes, int64_t limit_bytes);
/** Whether one attempt of the run was OOM-killed although the use of its ranks was far below the limit: then most
 * likely its node had no memory left. If two attempts ended badly, it was not chance; one that was stopped, or whose
 * end is not known, did not. */
bool run_is_killed_by_node(const struct run *run);
/** Whether all that a history stores of both is equal, except their curves. */
bool run_same(const struct run *a, const struct run *b);
