/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size_evidence: what a history says, before any rule is applied: peaks of whole runs, lower bounds of the others,
 * killed limits and whether later runs answered them, the shape. Internal to policy/. */
#include "base/arena.h"
#include "model/history.h"
#include "policy/policy.h"
#include "policy/size.h"
#include "policy/size_math.h"

struct size_evidence {
	const struct run **runs; /* of the variant, or all; by start */
	size_t n;
	int64_t n_runs, n_whole; /* distinct submissions: list and aggregate */
	int64_t *peaks;		 /* needs of the listed whole runs, rising */
	size_t n_peaks;
	int64_t peak_bytes;  /* over whole runs, also those that fell out of the list */
	int64_t bound_bytes; /* greatest need among the others: a lower bound */
	int64_t ephemeral_peak_bytes, ephemeral_median_bytes;
	int64_t killed_bytes; /* greatest limit that was killed */
	/* Where the limit must be at least, by the kills. `step`: no later whole run passed above the kill, so it is
	 * one step beyond a limit that did not do; otherwise need is proven and only wants its buffer. */
	int64_t step_bytes, step_from_bytes, answered_bytes;
	int64_t suspected_bytes, suspected_from_bytes;
	bool is_step_spent;			      /* the run under way was doubled already */
	int64_t last_request_bytes, last_limit_bytes; /* of the last whole run; 0: it had none */
	int64_t oom_runs, last_oom_ms;
	bool is_active, is_cache_bound, is_leak, is_unstable, is_recent_oom, is_new_variant;
	/* Of the last SIZE_HARM_RUNS runs of the workload, whatever their variant. */
	uint8_t harm;		    /* bits of enum harm */
	const struct run *harmed;   /* the last such run; NULL: none */
	bool is_harmed_by_fill;	    /* killed at a limit where it had none */
	const struct sketch *usage; /* NULL: none that fits */
};

int size_evidence_gather(const struct history *history, const char *variant, const struct sizing_policy *sizing,
			 struct arena *arena, struct size_evidence *ret) ATTR_NODISCARD;
/** Quantile of use over time, time-weighted over whole runs (without any: over what there is). */
int size_evidence_quantile(const struct size_evidence *self, int32_t permille, struct arena *arena,
			   int64_t *ret) ATTR_NODISCARD;
/** Share of run time, in permille, with use above `bytes`: by the sketch, else the quantiles known. */
int32_t size_evidence_share_above(const struct size_evidence *self, int64_t bytes);
