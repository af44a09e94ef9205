/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* backtest: what the rules would have done on a trace. Every rule is walked in both variants; differences to memtamer
 * come with an interval. Repeatable: all random numbers have fixed seeds. One thread.
 * Cost: linear in runs times rules, except memtamer's, which is that of size_base for each run; the intervals take
 * BACKTEST_RESAMPLES additions for each workload and row. Memory: 130 B for each workload and row. */
#include "backtest/walk.h"

#define BACKTEST_RESAMPLES 1000

/** 95 % of the resampled differences are within low..high. */
struct interval {
	double value, low, high;
};

struct backtest_block {
	struct score total;
	struct score *workloads;		   /* by index of the workload */
	struct interval differences[METRIC_COUNT]; /* to memtamer in the same variant; all 0 for memtamer */
};

struct backtest_row {
	const struct rule *rule;
	enum walk_variant variant;
	struct backtest_block warm, cold; /* from the fourth run on; runs 2 and 3 */
	double node_overrun_share;
};

struct backtest {
	VEC(struct backtest_row) rows; /* by variant, memtamer first */
	size_t n_first_runs;	       /* counted, not scored: they have no history */
};

#define BACKTEST_INIT                                                                                                  \
	{                                                                                                              \
		.rows = VEC_INIT, .n_first_runs = 0                                                                    \
	}

struct backtest_options {
	const struct rule *const *rules; /* the first must be memtamer */
	size_t n_rules;
	const struct sizing_policy *sizing;
	int64_t node_bytes;
	trace_progress_fn *progress; /* NULL: none */
	void *context;
};

/** @return 0; -ENOMEM. */
int backtest_run(const struct trace *trace, const struct backtest_options *options, struct backtest *ret,
		 struct err *err) ATTR_NODISCARD;
void backtest_release(struct backtest *self);

/* bootstrap.c */
/** Computes the differences of all rows to memtamer in the same variant. The interval is that of a paired bootstrap:
 * the workloads are drawn with replacement, the same ones for both rules. @return 0; -ENOMEM. */
int backtest_compare(struct backtest *self, size_t n_workloads) ATTR_NODISCARD;
