/* SPDX-License-Identifier: Apache-2.0 */
#include "model/gpu_memory.h"

#include "base/attr.h"

int32_t gpu_memory_permille(const struct gpu_memory *self)
{
	if (self->used_bytes <= 0 || self->capacity_bytes <= 0)
		return 0;
	return (int32_t)MIN((__int128)self->used_bytes * 1000 / self->capacity_bytes, 1000);
}

void gpu_memory_raise(struct gpu_memory *self, const struct gpu_memory *other)
{
	int32_t own = gpu_memory_permille(self), others = gpu_memory_permille(other);

	if (others > own || (others == own && others && other->used_bytes > self->used_bytes))
		*self = *other;
}
