/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/position.h"

void position_init(struct position *self, size_t source, int rank)
{
	const struct peak none = {.value = FIGURE_NONE, .step = STEP_NONE};

	*self = (struct position){.source = source,
				  .rank = rank,
				  .step = STEP_NONE,
				  .n_steps = STEP_NONE,
				  .furthest = {.epoch = EPOCH_NONE, .step = STEP_NONE, .n_steps = STEP_NONE},
				  .peak_reserved = none,
				  .peak_allocated = none,
				  .peak_cgroup = none,
				  .peak_rss = none,
				  .rate = {.value = FIGURE_NONE}};
	figures_init(&self->sample);
	figures_init(&self->device);
}

/* ---- steps and epochs ---- */

/* A step of an earlier epoch, after a restart from a checkpoint, is no progress. */
static void see_furthest_step(struct position *self, const struct reading *reading, uint64_t number)
{
	struct furthest *furthest = &self->furthest;

	furthest->n_falls += self->step != STEP_NONE && reading->value < self->step;
	if ((furthest->epoch != EPOCH_NONE && self->epoch < furthest->epoch) || reading->value <= furthest->step)
		return;
	furthest->step = reading->value;
	furthest->n_steps = reading->total;
	furthest->number = number;
}

/* A line counts once, whatever it shows. */
static void see_progress(struct position *self, bool is_further, uint64_t number)
{
	if (!is_further || self->progress_number == number)
		return;
	self->n_progress++;
	self->progress_number = number;
}

static void see_step(struct position *self, const struct reading *reading, uint64_t number)
{
	if (reading->value < 0) {
		see_progress(self, true, number);
		return;
	}
	see_furthest_step(self, reading, number);
	see_progress(self, reading->value > self->step, number);
	self->step = reading->value;
	self->n_steps = reading->total;
	self->step_number = number;
}

/* The step of the same line was read before its epoch. The first epoch that a log names is that of the steps before
 * it; with later ones steps may be counted anew. */
static void see_epoch(struct position *self, const struct reading *reading, uint64_t number)
{
	struct furthest *furthest = &self->furthest;
	bool is_first = furthest->epoch == EPOCH_NONE;

	self->epoch = reading->value;
	self->n_progress += reading->total > self->epoch_milli;
	self->epoch_milli = MAX(self->epoch_milli, reading->total);
	if (reading->value <= furthest->epoch)
		return;
	see_progress(self, !is_first, number);
	furthest->epoch = reading->value;
	furthest->number = number;
	if (self->step_number == number) {
		furthest->step = self->step;
		furthest->n_steps = self->n_steps;
	} else if (!is_first) {
		furthest->step = furthest->n_steps = STEP_NONE;
	}
}

/* ---- memory and throughput ---- */

static void see_peak(struct position *self, struct peak *peak, int64_t value, uint64_t number)
{
	if (value == FIGURE_NONE || value == FIGURE_ABSURD)
		return;
	peak->step = self->step;
	if (value <= peak->value)
		return;
	peak->value = value;
	peak->number = number;
}

static void see_gap(struct position *self, const struct reading *reading, uint64_t number)
{
	const int64_t *bytes = reading->figures.bytes;
	int64_t gap = bytes[FIGURE_UNALLOCATED];

	if (gap == FIGURE_NONE && !reading->is_peak && bytes[FIGURE_RESERVED] >= 0 && bytes[FIGURE_ALLOCATED] >= 0)
		gap = bytes[FIGURE_RESERVED] - bytes[FIGURE_ALLOCATED];
	if (gap < 0 || gap > FIGURE_MAX)
		return;
	trend_add(&self->gap, gap);
	self->gap_number = number;
}

static void see_sample(struct position *self, const struct reading *reading, uint64_t number)
{
	static const enum figure kept[] = {FIGURE_ALLOCATED, FIGURE_RESERVED, FIGURE_UNALLOCATED};
	const struct figures *figures = &reading->figures;
	int64_t bytes = figures->bytes[FIGURE_ALLOCATED];

	self->sample_number = number;
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (figures->bytes[kept[i]] != FIGURE_NONE)
			self->sample.bytes[kept[i]] = figures->bytes[kept[i]];
	see_peak(self, &self->peak_reserved, figures->bytes[FIGURE_RESERVED], number);
	see_peak(self, &self->peak_allocated, bytes, number);
	see_gap(self, reading, number);
	if (bytes == FIGURE_NONE || bytes == FIGURE_ABSURD)
		return;
	if (!self->n_samples++)
		self->first_bytes = bytes;
	else
		self->n_rises += bytes > self->last_bytes;
	self->last_bytes = bytes;
}

static void see_rss(struct position *self, const struct reading *reading, uint64_t number)
{
	see_peak(self, &self->peak_rss, reading->figures.bytes[FIGURE_USAGE], number);
	if (!self->n_rss++)
		self->first_rss = reading->value;
	else
		self->n_rss_rises += reading->value > self->last_rss;
	self->last_rss = reading->value;
}

/* Of several units that of the first row counts: it does not depend on the size of a batch. */
static void see_rate(struct position *self, const struct reading *reading, uint64_t number)
{
	if (self->rate.value != FIGURE_NONE && reading->total > (int64_t)self->rate_unit)
		return;
	self->rate = (struct sighted){reading->value, number};
	self->rate_unit = (enum rate_unit)reading->total;
}

void position_see(struct position *self, enum signal_id signal, const struct reading *reading, uint64_t number)
{
	switch (signal) {
	case SIGNAL_STEP:
		see_step(self, reading, number);
		break;
	case SIGNAL_EPOCH:
		see_epoch(self, reading, number);
		break;
	case SIGNAL_RATE:
		see_rate(self, reading, number);
		break;
	case SIGNAL_RSS:
		see_rss(self, reading, number);
		break;
	case SIGNAL_CGROUP_PEAK:
		see_peak(self, &self->peak_cgroup, reading->figures.bytes[FIGURE_USAGE], number);
		break;
	case SIGNAL_GPU_DEVICE:
		figures_fill(&self->device, &reading->figures);
		break;
	default:
		see_sample(self, reading, number);
	}
}
