/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fuzz_cost: the bound of support/cost.h inside a fuzz target, and what makes libFuzzer look for its worst case: inputs
 * that cost more steps a byte than any before of about their size are kept, because they set a counter of their own. */
#include "support/cost.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_COST_SIZES	 24
#define FUZZ_COST_RATIOS 256

#ifdef MEMTAMER_FUZZ
__attribute__((section("__libfuzzer_extra_counters")))
#endif
static uint8_t fuzz_cost_counters[FUZZ_COST_SIZES][FUZZ_COST_RATIOS];

/* Eight ratios a power of two. */
static inline unsigned int fuzz_cost_ratio(uint64_t steps, size_t bytes)
{
	uint64_t scaled = (steps << 8) / (bytes + 64) + 1;
	unsigned int log2 = 63 - (unsigned int)__builtin_clzll(scaled);
	unsigned int eighth = log2 >= 3 ? (unsigned int)(scaled >> (log2 - 3)) & 7 : 0;

	return log2 * 8 + eighth < FUZZ_COST_RATIOS ? log2 * 8 + eighth : FUZZ_COST_RATIOS - 1;
}

/** Behind cost_begin(): abort when the work for so many bytes was more than `most` steps. */
static inline void fuzz_cost_end_within(size_t bytes, uint64_t most)
{
	uint64_t steps = cost_steps();
	unsigned int size = 63 - (unsigned int)__builtin_clzll(bytes + 1);

	if (steps > most) {
		fprintf(stderr, "%llu steps for %zu bytes, at most %llu\n", (unsigned long long)steps, bytes,
			(unsigned long long)most);
		abort();
	}
	fuzz_cost_counters[size < FUZZ_COST_SIZES ? size : FUZZ_COST_SIZES - 1][fuzz_cost_ratio(steps, bytes)] = 1;
}

/** The same of a review. */
static inline void fuzz_cost_end(size_t bytes)
{
	fuzz_cost_end_within(bytes, cost_most(bytes));
}
