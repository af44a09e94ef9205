/* SPDX-License-Identifier: Apache-2.0 */
/* trace_history: a history keeps a few figures of each run, and a curve of only the newest ones. Use over time is taken
 * from above, so that no rule looks better than it was: the greatest use in each step of the curve, or else the median
 * for the first half of the time, the p95 up to 95 % of it, and then the peak. */
#include "backtest/trace.h"

#include <errno.h>

static int add_use(struct trace_run *self, int64_t bytes, int64_t duration_ms)
{
	self->use_gibh += trace_gibh((double)bytes, duration_ms);
	return sketch_add(&self->use, bytes, duration_ms);
}

static int add_curve(struct trace_run *self, const struct run *run)
{
	int r = 0;

	for (int i = 0; i < run->n_curve && !r; i++) {
		int64_t from_ms = run->duration_ms * i / run->n_curve,
			to_ms = run->duration_ms * (i + 1) / run->n_curve;

		r = add_use(self, MIN(run->curve_max[i], self->peak_bytes), to_ms - from_ms);
	}
	return r;
}

static int add_figures(struct trace_run *self, const struct run *run)
{
	int64_t p95 = MIN(MAX(run->p95_bytes, self->median_bytes), self->peak_bytes);
	int64_t half_ms = run->duration_ms / 2, late_ms = run->duration_ms / 20;
	int r = add_use(self, self->median_bytes, half_ms);

	if (!r)
		r = add_use(self, p95, run->duration_ms - half_ms - late_ms);
	return r ? r : add_use(self, self->peak_bytes, late_ms);
}

static int add_run(struct trace *self, const struct run *run)
{
	struct trace_run ret = {
		.name = "",
		.workload = self->workloads.n - 1,
		.line = self->runs.n + 1,
		.start_ms = run->start_ms,
		.duration_ms = run->duration_ms,
		.limit_bytes = run->limit_bytes,
		.outcome = run->outcome == OUTCOME_COMPLETED && !run->is_whole ? OUTCOME_UNKNOWN : run->outcome,
		.n_samples = run->samples,
		.peak_bytes = MAX(run_need_bytes(run), run_killed_limit_max(run)),
		.use = SKETCH_INIT,
	};
	int r;

	if (run->outcome == OUTCOME_RUNNING || ret.peak_bytes <= 0 || ret.duration_ms <= 0)
		return 0;
	ret.median_bytes = run->median_bytes > 0 ? MIN(run->median_bytes, ret.peak_bytes) : ret.peak_bytes;
	r = run->n_curve ? add_curve(&ret, run) : add_figures(&ret, run);
	if (!r)
		r = vec_push(&self->runs, ret);
	if (r) {
		sketch_release(&ret.use);
		return r;
	}
	self->workloads.items[self->workloads.n - 1].n++;
	self->n_samples += run->samples;
	return 0;
}

int trace_add_history(struct trace *self, const struct history *history)
{
	struct trace_workload workload = {.name = "", .first = self->runs.n};
	int r = vec_push(&self->workloads, workload);

	for (size_t i = 0; i < history->runs.n && !r; i++)
		r = add_run(self, &history->runs.items[i]);
	return r;
}
