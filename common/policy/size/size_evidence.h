/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size_evidence: what a history shows, before any rule is applied: peaks of whole runs, lower bounds of other runs,
 * killed limits and whether later runs passed above them, the shape. Private to policy/. */
#include "base/arena.h"
#include "model/history.h"
#include "policy/policy.h"
#include "policy/size.h"
#include "policy/size_math.h"

struct size_evidence {
	/* Of the variant, or of all: the newest HISTORY_FORGET_RUNS whole runs, and the runs between and after them, in
	 * the order of their starts. */
	const struct run **runs;
	size_t n;
	int64_t n_runs, n_whole; /* distinct submissions, in list and aggregate */
	int64_t *peaks;		 /* needs of the whole ones of `runs`, ascending */
	size_t n_peaks;
	int64_t peak_bytes; /* that was not forgotten (history.h) */
	int64_t n_near;	    /* whole runs near it */
	bool is_early_peak; /* it is of a run that ended early, a lower bound */
	int64_t ephemeral_peak_bytes, ephemeral_median_bytes;
	int64_t killed_bytes; /* greatest limit at which a run was killed that was not forgotten */
	/* The least limit according to kills. step_bytes: no later whole run had a limit above the kill, so it is one
	 * step above a limit that did not suffice. answered_bytes: a later run had, so the need is known and only gets
	 * its buffer. */
	int64_t step_bytes, step_from_bytes, answered_bytes;
	int64_t suspected_bytes, suspected_from_bytes;
	bool is_kill_unseen;			      /* of killed_bytes (history.h) */
	bool is_step_spent;			      /* the current run was doubled already */
	int64_t last_request_bytes, last_limit_bytes; /* of the last whole run; 0: it had none */
	int64_t oom_runs, last_oom_ms;
	bool is_cache_bound, is_leak, is_unstable, is_recent_oom, is_new_variant;
	/* Of the last SIZE_HARM_RUNS runs of the workload, of any variant. */
	uint8_t harm;		  /* bits of enum harm */
	const struct run *harmed; /* the last run with harm; NULL: none */
	bool is_harmed_by_fill;	  /* killed at a limit that it did not have itself */
	struct gpu_memory gpu;	  /* of the fullest card of `runs`; with is_gpu_full that of the last run */
	/* The last run failed with a nearly full card, fuller than in every run that completed. */
	bool is_gpu_full;
};

/** Gathers the evidence; with `variant` non-NULL only from the variant's runs. Arrays are in the arena. @return 0 or
 * -ENOMEM. Cost: at most quadratic in the listed runs. */
int size_evidence_gather(const struct history *history, const char *variant, const struct sizing_policy *sizing,
			 struct arena *arena, struct size_evidence *ret) ATTR_NODISCARD;
/** The quantile of use over time: of each of the whole ones of `runs` (without any: of all), by its median, p95 and
 * peak, linear between them; and of these values the same quantile. A run counts by its length, but at most half as
 * much as all others together. 0: not known. @return 0 or -ENOMEM. */
int size_evidence_quantile(const struct size_evidence *self, int32_t permille, struct arena *arena,
			   int64_t *ret) ATTR_NODISCARD;
/** Share of run time, in permille, with use above `bytes`: the mean over the same runs, by the same figures. */
int32_t size_evidence_share_above(const struct size_evidence *self, int64_t bytes);
