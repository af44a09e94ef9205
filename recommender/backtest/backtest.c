/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/backtest.h"

#include "backtest/packing.h"

#include <errno.h>
#include <stdlib.h>

struct collecting {
	const struct trace *trace;
	struct backtest_row *row;
	int64_t *requests; /* of the scored runs */
	size_t workload;
};

static void collect_run(void *context, const struct rule_run *run, bool is_cold)
{
	struct collecting *self = context;
	struct backtest_block *block = is_cold ? &self->row->cold : &self->row->warm;

	score_add_run(&block->workloads[self->workload], run);
	if (!is_cold)
		self->requests[run->run - self->trace->runs.items] = run->given.request_bytes;
}

static void sum_up(struct backtest_block *self, size_t n_workloads)
{
	for (size_t i = 0; i < n_workloads; i++) {
		score_finish_workload(&self->workloads[i]);
		score_add(&self->total, &self->workloads[i], 1);
	}
}

static int walk_all(struct collecting *self, const struct backtest_options *options)
{
	const struct trace *trace = self->trace;
	struct backtest_row *row = self->row;
	int r = 0;

	for (size_t i = 0; i < trace->workloads.n && !r; i++) {
		self->workload = i;
		r = walk_workload(trace, &trace->workloads.items[i], row->rule, row->variant, options->sizing,
				  collect_run, self);
	}
	sum_up(&row->warm, trace->workloads.n);
	sum_up(&row->cold, trace->workloads.n);
	return r;
}

static int fill_row(const struct trace *trace, const struct backtest_options *options, const struct packing *packing,
		    struct backtest_row *row)
{
	struct collecting collecting = {.trace = trace, .row = row};
	size_t n = trace->workloads.n;
	int r = -ENOMEM;

	row->warm.workloads = calloc(n, sizeof(struct score));
	row->cold.workloads = calloc(n, sizeof(struct score));
	collecting.requests = calloc(trace->runs.n, sizeof(int64_t));
	if (row->warm.workloads && row->cold.workloads && collecting.requests)
		r = walk_all(&collecting, options);
	if (!r)
		r = packing_overrun_share(packing, collecting.requests, &row->node_overrun_share);
	free(collecting.requests);
	return r;
}

static int fill_rows(const struct trace *trace, const struct backtest_options *options, const struct packing *packing,
		     struct backtest *self)
{
	size_t n = options->n_rules * WALK_VARIANT_COUNT_;

	for (size_t i = 0; i < n; i++) {
		struct backtest_row row = {.rule = options->rules[i % options->n_rules],
					   .variant = (enum walk_variant)(i / options->n_rules)};
		int r = vec_push(&self->rows, row);

		if (!r)
			r = fill_row(trace, options, packing, &self->rows.items[i]);
		if (r)
			return r;
		if (options->progress)
			options->progress(options->context, (double)(i + 1) / (double)n);
	}
	return 0;
}

int backtest_run(const struct trace *trace, const struct backtest_options *options, struct backtest *ret,
		 struct err *err)
{
	struct packing *packing = packing_new(trace, options->node_bytes);
	int r = packing ? fill_rows(trace, options, packing, ret) : -ENOMEM;

	for (size_t i = 0; i < trace->workloads.n; i++)
		ret->n_first_runs += trace->workloads.items[i].n >= WALK_MIN_RUNS;
	if (!r)
		r = backtest_compare(ret, trace->workloads.n);
	packing_free(packing);
	return r ? err_set(err, r, "no memory left for the backtest") : 0;
}

void backtest_release(struct backtest *self)
{
	for (size_t i = 0; i < self->rows.n; i++) {
		free(self->rows.items[i].warm.workloads);
		free(self->rows.items[i].cold.workloads);
	}
	vec_release(&self->rows);
}
