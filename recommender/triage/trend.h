/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* trend: whether an amount still grows late in a run, from any number of samples in constant memory. The samples are
 * kept as the greatest of each of a few blocks of equal length, and blocks are merged when there are too many. Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREND_BLOCKS	  16 /* even */
#define TREND_SAMPLES_MIN 8  /* fewer samples say nothing */

struct trend {
	uint64_t n; /* samples */
	uint64_t block_samples;
	int64_t blocks[TREND_BLOCKS]; /* the greatest sample of each */
	size_t n_blocks;	      /* the last one may be incomplete */
	int64_t first, last;
};

/** Adds a sample of at least 0. A struct trend of zeros has none. */
void trend_add(struct trend *self, int64_t value);
/** Whether all blocks of the last quarter are above all of the second quarter by more than `margin`. The first quarter
 * does not count: runs grow until they are warm. false with fewer than TREND_SAMPLES_MIN samples. */
bool trend_is_growing(const struct trend *self, int64_t margin);
