/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/walk.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

const char *const walk_variant_names[WALK_VARIANT_COUNT_] = {
	[WALK_FORWARD] = "walk-forward",
	[WALK_CAUSAL] = "causal",
};

struct walking {
	const struct trace_run *runs;
	size_t n;
	const struct rule *rule;
	void *state;
	struct rule_run *results; /* of the runs so far */
	const struct trace_run **by_end;
	size_t n_learned; /* of `by_end` */
};

static int64_t end_of(const struct trace_run *run)
{
	return run->start_ms + run->duration_ms;
}

static int compare_ends(const void *a, const void *b)
{
	const struct trace_run *x = *(const struct trace_run *const *)a, *y = *(const struct trace_run *const *)b;

	if (end_of(x) != end_of(y))
		return end_of(x) < end_of(y) ? -1 : 1;
	return (x > y) - (x < y);
}

/* Learns what is known when this run starts. A run lasts longer than 0, so one that has ended started earlier and its
 * result is known. */
static int learn_until(struct walking *self, size_t i, enum walk_variant variant)
{
	while (self->n_learned < i) {
		const struct trace_run *next = variant == WALK_CAUSAL ? self->by_end[self->n_learned]
								      : &self->runs[self->n_learned];
		int r;

		if (variant == WALK_CAUSAL && end_of(next) > self->runs[i].start_ms)
			return 0;
		r = self->rule->learn(self->state, &self->results[next - self->runs]);
		if (r)
			return r;
		self->n_learned++;
	}
	return 0;
}

/* @return whether the run has a size; -ENOMEM. */
static int size_run(struct walking *self, size_t i, struct rule_size *ret)
{
	const struct trace_run *run = &self->runs[i];
	int r;

	if (!self->n_learned) {
		*ret = (struct rule_size){run->limit_bytes, run->limit_bytes};
		if (!run->limit_bytes || !self->rule->is_oracle)
			return run->limit_bytes > 0;
	}
	r = self->rule->size(self->state, run, ret);
	return r ? r : 1;
}

/* Runs at this size. A run without a size was not restricted: it used its peak. */
static struct rule_run result_of(const struct trace_run *run, const struct rule_size *given, bool has_size,
				 enum walk_variant variant)
{
	struct rule_run ret = {.run = run,
			       .is_whole = variant == WALK_FORWARD || run->outcome == OUTCOME_COMPLETED,
			       .given = *given,
			       .last_limit_bytes = given->limit_bytes};

	if (!has_size)
		ret.last_limit_bytes = run->peak_bytes;
	assert(ret.last_limit_bytes > 0);
	while (ret.last_limit_bytes < run->peak_bytes) {
		ret.last_limit_bytes *= 2;
		ret.n_kills++;
	}
	return ret;
}

static int walk_runs(struct walking *self, enum walk_variant variant, walk_run_fn *each, void *context)
{
	for (size_t i = 0; i < self->n; i++) {
		struct rule_size given;
		int r = learn_until(self, i, variant);

		if (r)
			return r;
		r = size_run(self, i, &given);
		if (r < 0)
			return r;
		self->results[i] = result_of(&self->runs[i], &given, r, variant);
		if (each && r && i > 0)
			each(context, &self->results[i], i < WALK_WARM_UP);
	}
	return 0;
}

int walk_workload(const struct trace *trace, const struct trace_workload *workload, const struct rule *rule,
		  enum walk_variant variant, const struct sizing_policy *sizing, walk_run_fn *each, void *context)
{
	struct walking self = {.runs = &trace->runs.items[workload->first], .n = workload->n, .rule = rule};
	int r = -ENOMEM;

	if (workload->n < WALK_MIN_RUNS)
		return 0;
	self.state = rule->create(rule, sizing);
	self.results = calloc(self.n, sizeof(*self.results));
	self.by_end = calloc(self.n, sizeof(*self.by_end));
	if (self.state && self.results && self.by_end) {
		for (size_t i = 0; i < self.n; i++)
			self.by_end[i] = &self.runs[i];
		qsort(self.by_end, self.n, sizeof(const struct trace_run *), compare_ends);
		r = walk_runs(&self, variant, each, context);
	}
	rule->destroy(self.state);
	free(self.results);
	free(self.by_end);
	return r;
}
