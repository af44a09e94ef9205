/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/position.h"

static void see_step(struct position *self, int64_t step)
{
	if (step < 0) {
		self->n_progress++;
		return;
	}
	self->n_progress += step > self->step;
	self->step = step;
}

static void see_sample(struct position *self, const struct figures *figures)
{
	int64_t bytes = figures->bytes[FIGURE_ALLOCATED];

	for (int i = 0; i < FIGURE_COUNT_; i++)
		if (figures->bytes[i] != FIGURE_NONE)
			self->sample.bytes[i] = figures->bytes[i];
	if (bytes == FIGURE_NONE || bytes == FIGURE_ABSURD)
		return;
	if (!self->n_samples++)
		self->first_bytes = bytes;
	else
		self->n_rises += bytes > self->last_bytes;
	self->last_bytes = bytes;
}

static void see_rss(struct position *self, int64_t value)
{
	if (!self->n_rss++)
		self->first_rss = value;
	else
		self->n_rss_rises += value > self->last_rss;
	self->last_rss = value;
}

void position_see(struct position *self, enum signal_id signal, const struct reading *reading)
{
	switch (signal) {
	case SIGNAL_STEP:
		see_step(self, reading->value);
		break;
	case SIGNAL_EPOCH:
		self->epoch = reading->value;
		break;
	case SIGNAL_RSS:
		see_rss(self, reading->value);
		break;
	case SIGNAL_GPU_DEVICE:
		figures_fill(&self->device, &reading->figures);
		break;
	default:
		see_sample(self, &reading->figures);
	}
}
