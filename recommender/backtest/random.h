/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* random: a small generator (SplitMix64) with a fixed seed, so that simulations can be repeated on every machine. */
#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *self)
{
	uint64_t z = self->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/** A number in [0, 1). */
static inline double random_share(struct random *self)
{
	return (double)(random_next(self) >> 11) * 0x1p-53;
}

/** An index below n > 0; the bias is below n / 2^53. */
static inline size_t random_below(struct random *self, size_t n)
{
	return (size_t)(random_share(self) * (double)n);
}
