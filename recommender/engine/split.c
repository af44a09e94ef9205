/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/split.h"

#include "base/hash.h"
#include "base/attr.h"

enum { UNIT_MS = 5 * 60 * 1000, REFUSALS = 2 };

static size_t log2_of(uint64_t value, size_t n)
{
	size_t ret = 0;

	for (; value > 1 && ret + 1 < n; value /= 2)
		ret++;
	return ret;
}

/* The index of the part among the sizes of its kind. */
static size_t index_of(const struct split_part *part)
{
	return log2_of(part->n > 1 ? part->n : (uint64_t)MAX(part->length_ms, 0) / UNIT_MS, SPLIT_SIZES);
}

static enum split_kind kind_of(const struct split_part *part)
{
	return part->n > 1 ? SPLIT_NAMESPACES : SPLIT_TIME;
}

void split_begin(struct split *self, int64_t now_ms)
{
	if (now_ms - self->since_ms >= SPLIT_KEPT_MS || now_ms < self->since_ms)
		*self = (struct split){.since_ms = 0};
}

bool split_is_heavy(const struct split *self, const struct split_part *part)
{
	const struct split_size *sizes = self->sizes[kind_of(part)];

	for (size_t i = 0; i <= index_of(part); i++)
		if (sizes[i].refused >= REFUSALS && part->length_ms >= sizes[i].length_ms)
			return true;
	return false;
}

void split_note_refusal(struct split *self, const struct split_part *part, int64_t now_ms)
{
	uint64_t hash = hash_stable_text(HASH_STABLE_INIT, part->first);
	struct split_size *size = &self->sizes[kind_of(part)][index_of(part)];

	if (size->refused && size->start_ms == part->start_ms && size->namespace_hash == hash)
		return;
	size->length_ms = size->refused ? MIN(size->length_ms, part->length_ms) : part->length_ms;
	size->refused = MIN(size->refused + 1, (int)REFUSALS);
	size->start_ms = part->start_ms;
	size->namespace_hash = hash;
	if (!self->since_ms)
		self->since_ms = now_ms;
}

void split_note_answer(struct split *self, const struct split_part *part)
{
	struct split_size *sizes = self->sizes[kind_of(part)];

	for (size_t i = 0; i <= index_of(part); i++)
		if (part->length_ms >= sizes[i].length_ms)
			sizes[i].refused = 0;
}
