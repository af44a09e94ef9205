/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* gpu_memory: how much memory of one GPU was in use, and how much it has. Where a process has several, it is the
 * fullest one. The use is what allocators hold, which may be more than what the training needs; it includes other
 * processes on the card. Pure. */
#include <stdbool.h>
#include <stdint.h>

struct gpu_memory {
	int64_t used_bytes, capacity_bytes; /* capacity: what processes can use of the card. 0: not measured */
};

/** The used share in permille, 0 to 1000; 0 where a figure is missing. */
int32_t gpu_memory_permille(const struct gpu_memory *self);
/** Takes over `other` if it is fuller; of equally full cards the one with more memory in use. */
void gpu_memory_raise(struct gpu_memory *self, const struct gpu_memory *other);
