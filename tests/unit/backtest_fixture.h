/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* backtest_fixture: a trace that is built in memory, run by run, all in GiB and hours. */
#include "support/test.h"

#include "backtest/backtest.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_MS 3600000

static inline void trace_start(struct trace *trace, const char *name)
{
	struct trace_workload workload = {.name = name, .first = trace->runs.n};

	assert_int_equal(vec_push(&trace->workloads, workload), 0);
}

/** Adds a run of constant use to the last workload. */
static inline struct trace_run *trace_add(struct trace *trace, double start_h, double duration_h, double gib)
{
	struct trace_run run = {.name = "run",
				.workload = trace->workloads.n - 1,
				.line = trace->runs.n + 2,
				.start_ms = (int64_t)((start_h + 1) * HOUR_MS),
				.duration_ms = (int64_t)(duration_h * HOUR_MS),
				.outcome = OUTCOME_COMPLETED,
				.n_samples = 1,
				.peak_bytes = (int64_t)(gib * (double)GIB),
				.use_gibh = gib * duration_h};

	run.median_bytes = run.peak_bytes;
	assert_int_equal(sketch_add(&run.use, run.peak_bytes, run.duration_ms), 0);
	assert_int_equal(vec_push(&trace->runs, run), 0);
	trace->workloads.items[trace->workloads.n - 1].n++;
	trace->n_samples++;
	return &trace->runs.items[trace->runs.n - 1];
}

/** A workload of runs of one hour, one after the other. Ends with a use of 0. */
static inline void trace_workload_of(struct trace *trace, const char *name, const double *gib)
{
	trace_start(trace, name);
	for (int i = 0; gib[i] > 0; i++)
		trace_add(trace, i, 1, gib[i]);
}

static inline struct sizing_policy sizing_default(void)
{
	struct policy policy;

	policy_default(&policy);
	return policy.sizing;
}
