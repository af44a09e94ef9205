/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/backtest.h"

#include "backtest/random.h"

#include <errno.h>
#include <stdlib.h>

enum { SEED = 2, LOW_PERMILLE = 25, HIGH_PERMILLE = 975 };

/* The resampled differences of one rule: a column of BACKTEST_RESAMPLES values for each metric. */
struct resampling {
	uint16_t *times; /* how often each scored workload was drawn, for each resample */
	size_t *scored;	 /* workloads */
	size_t n_scored;
	double *differences[METRIC_COUNT];
};

static int compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static struct score resampled(const struct resampling *self, const struct backtest_block *block, size_t resample)
{
	const uint16_t *times = &self->times[resample * self->n_scored];
	struct score ret = {{0}};

	for (size_t i = 0; i < self->n_scored; i++)
		if (times[i])
			score_add(&ret, &block->workloads[self->scored[i]], times[i]);
	return ret;
}

static void draw_all(struct resampling *self)
{
	struct random random = {SEED};

	for (size_t b = 0; b < BACKTEST_RESAMPLES; b++)
		for (size_t i = 0; i < self->n_scored; i++) {
			uint16_t *times = &self->times[b * self->n_scored + random_below(&random, self->n_scored)];

			*times = (uint16_t)(*times + (*times < UINT16_MAX));
		}
}

static void find_intervals(struct resampling *self, const struct backtest_block *ours, struct backtest_block *block)
{
	for (size_t b = 0; b < BACKTEST_RESAMPLES; b++) {
		struct score left = resampled(self, block, b), right = resampled(self, ours, b);

		for (int m = 0; m < METRIC_COUNT; m++)
			self->differences[m][b] = score_metric(&left, &score_metrics[m]) -
						  score_metric(&right, &score_metrics[m]);
	}
	for (int m = 0; m < METRIC_COUNT; m++) {
		double *values = self->differences[m];

		qsort(values, BACKTEST_RESAMPLES, sizeof(*values), compare_doubles);
		block->differences[m] = (struct interval){
			.value = score_metric(&block->total, &score_metrics[m]) -
				 score_metric(&ours->total, &score_metrics[m]),
			.low = values[BACKTEST_RESAMPLES * LOW_PERMILLE / 1000],
			.high = values[BACKTEST_RESAMPLES * HIGH_PERMILLE / 1000 - 1],
		};
	}
}

static void resampling_release(struct resampling *self)
{
	free(self->times);
	free(self->scored);
	for (int m = 0; m < METRIC_COUNT; m++)
		free(self->differences[m]);
}

/* Which workloads are scored does not depend on the rule. */
static int resampling_init(struct resampling *self, const struct backtest_block *ours, size_t n_workloads)
{
	bool has_memory;

	self->scored = calloc(n_workloads + 1, sizeof(*self->scored));
	has_memory = self->scored;
	for (size_t i = 0; has_memory && i < n_workloads; i++)
		if (ours->workloads[i].sums[SUM_SCORED] > 0)
			self->scored[self->n_scored++] = i;
	self->times = calloc(self->n_scored + 1, BACKTEST_RESAMPLES * sizeof(*self->times));
	has_memory = has_memory && self->times;
	for (int m = 0; m < METRIC_COUNT; m++) {
		self->differences[m] = calloc(BACKTEST_RESAMPLES, sizeof(double));
		has_memory = has_memory && self->differences[m];
	}
	if (has_memory)
		draw_all(self);
	return has_memory ? 0 : -ENOMEM;
}

static int compare_blocks(struct backtest *self, size_t first, size_t n, bool is_cold, size_t n_workloads)
{
	struct backtest_row *rows = &self->rows.items[first];
	const struct backtest_block *ours = is_cold ? &rows[0].cold : &rows[0].warm;
	struct resampling resampling = {.n_scored = 0};
	int r = resampling_init(&resampling, ours, n_workloads);

	for (size_t i = 1; i < n && !r; i++)
		find_intervals(&resampling, ours, is_cold ? &rows[i].cold : &rows[i].warm);
	resampling_release(&resampling);
	return r;
}

int backtest_compare(struct backtest *self, size_t n_workloads)
{
	size_t n = self->rows.n / WALK_VARIANT_COUNT_;
	int r = 0;

	for (size_t variant = 0; variant < WALK_VARIANT_COUNT_ && !r; variant++) {
		r = compare_blocks(self, variant * n, n, false, n_workloads);
		if (!r)
			r = compare_blocks(self, variant * n, n, true, n_workloads);
	}
	return r;
}
