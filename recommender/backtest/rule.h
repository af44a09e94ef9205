/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* rule: the sizing rules that a backtest compares, as rows of a table. A rule learns the runs of one workload one after
 * the other and says what the next run would get. `memtamer` is the product's own code: a history, size_base and
 * size_apply. The others are written from the public description of their tools:
 *   krr      request = limit = the greatest peak + 15 %, at least 100Mi
 *   vpa-p90  request = limit = the p90 of peaks + 15 %, at least 250Mi; peaks are in buckets of 5 %, and the weight of
 * a run halves with each day of age vpa-p95  the same with the p95 for the limit peak-20  request = median of the runs'
 * medians, limit = the greatest peak + 20 % oracle   request = limit = the peak of the very run: the lower bound One
 * thread. */
#include "backtest/trace.h"
#include "policy/policy.h"

struct rule_size {
	int64_t request_bytes, limit_bytes;
};

/** How a run went under a rule. */
struct rule_run {
	const struct trace_run *run;
	bool is_whole;		  /* it completed, so its peak is what it needed; else the peak is a lower bound */
	struct rule_size given;	  /* of the first attempt */
	int n_kills;		  /* attempts that were OOM-killed */
	int64_t last_limit_bytes; /* of the attempt that was not */
};

struct rule {
	const char *name;
	bool is_oracle;	    /* it needs no history */
	int buffer_percent; /* above the greatest peak; 0: the rule has no fixed buffer */
	/** @return the state for one workload. NULL: out of memory. Both arguments are borrowed. */
	void *(*create)(const struct rule *rule, const struct sizing_policy *sizing);
	void (*destroy)(void *state); /* NULL is allowed */
	/** Learns a run. @return 0; -ENOMEM. */
	int (*learn)(void *state, const struct rule_run *run);
	/** The size of the next run, after at least one was learned. Only an oracle may look at `run`. Both sizes are
	 * greater than 0. @return 0; -ENOMEM. */
	int (*size)(void *state, const struct trace_run *run, struct rule_size *ret);
};

/** All rules; the first is memtamer. */
extern const struct rule *const rules[];
extern const size_t n_rules;
/** The rule with this name; NULL: there is none. */
const struct rule *rule_find(const char *name);

extern const struct rule rule_memtamer, rule_krr, rule_vpa_p90, rule_vpa_p95, rule_peak_20, rule_oracle;
