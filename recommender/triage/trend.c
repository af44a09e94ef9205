/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/trend.h"

#include "base/attr.h"

static void merge_pairs(struct trend *self)
{
	for (size_t i = 0; i < TREND_BLOCKS / 2; i++)
		self->blocks[i] = MAX(self->blocks[2 * i], self->blocks[2 * i + 1]);
	self->n_blocks = TREND_BLOCKS / 2;
	self->block_samples *= 2;
}

void trend_add(struct trend *self, int64_t value)
{
	if (!self->n) {
		self->block_samples = 1;
		self->first = value;
	}
	if (self->n % self->block_samples == 0) {
		if (self->n_blocks == TREND_BLOCKS)
			merge_pairs(self);
		self->blocks[self->n_blocks++] = value;
	} else {
		self->blocks[self->n_blocks - 1] = MAX(self->blocks[self->n_blocks - 1], value);
	}
	self->n++;
	self->last = value;
}

bool trend_is_growing(const struct trend *self, int64_t margin)
{
	size_t n = self->n_blocks;
	int64_t early = 0, late = INT64_MAX;

	if (self->n < TREND_SAMPLES_MIN)
		return false;
	for (size_t i = n / 4; i < n / 2; i++)
		early = MAX(early, self->blocks[i]);
	for (size_t i = n - n / 4; i < n; i++)
		late = MIN(late, self->blocks[i]);
	return late > early && late - early > margin;
}
