/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cost: the bound for the work of every review, in steps of base/steps.h: 50 million at most, which are 200 ms of CPU
 * time at 4 ns a step. The fixed part covers what the caps of base/limits.h allow: the number of containers, times the
 * rounds and quotas of a namespace. The most expensive bodies of worst_bodies.txt take 18 steps a byte, and 37 million
 * in all. */
#include "base/attr.h"
#include "base/steps.h"

#include <stdbool.h>
#include <stddef.h>

#define COST_FIXED_STEPS UINT64_C(1000000)
#define COST_BYTE_STEPS	 UINT64_C(20)
#define COST_MOST_STEPS	 UINT64_C(50000000)

/* The same for the text of manifests: to parse it, and to review it offline. Objects there are small, so that the
 * checks of each weigh more. */
#define COST_YAML_STEPS(bytes)	   (UINT64_C(1000) + UINT64_C(48) * (bytes))
#define COST_MANIFEST_STEPS(bytes) (COST_FIXED_STEPS + UINT64_C(128) * (bytes))

static inline uint64_t cost_most(size_t bytes)
{
	return MIN(COST_FIXED_STEPS + COST_BYTE_STEPS * bytes, COST_MOST_STEPS);
}

static inline bool cost_is_linear(uint64_t steps, size_t bytes)
{
	return steps <= cost_most(bytes);
}

static inline void cost_begin(void)
{
#ifdef MEMTAMER_STEPS
	steps_counted = 0;
#endif
}

/* Steps since cost_begin(); 0 where steps are not counted. */
static inline uint64_t cost_steps(void)
{
#ifdef MEMTAMER_STEPS
	return steps_counted;
#else
	return 0;
#endif
}
