/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/learn_names.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

void learn_names_release(struct learn_names *self)
{
	arena_release(&self->arena);
	free(self->slots);
	*self = (struct learn_names){.slots = NULL};
}

static uint64_t hash_of(const char *joined)
{
	uint64_t hash = hash_seeded(joined, strlen(joined));

	return hash ? hash : 1;
}

static struct learn_name *place_of(const struct learn_names *self, uint64_t hash)
{
	size_t i = (size_t)hash & (self->capacity - 1);

	while (self->slots[i].hash && self->slots[i].hash != hash)
		i = (i + 1) & (self->capacity - 1);
	return &self->slots[i];
}

static int grow(struct learn_names *self)
{
	struct learn_names wide = *self;

	wide.capacity = self->capacity ? 2 * self->capacity : FIRST_SLOTS;
	wide.slots = calloc(wide.capacity, sizeof(*wide.slots));
	if (!wide.slots)
		return -ENOMEM;
	for (size_t i = 0; i < self->capacity; i++)
		if (self->slots[i].hash)
			*place_of(&wide, self->slots[i].hash) = self->slots[i];
	free(self->slots);
	*self = wide;
	return 0;
}

/* NULL: out of memory. */
static const char *copy_name(struct learn_names *self, const char *name)
{
	if (self->last && streq(self->last, name))
		return self->last;
	if (!self->arena.max_bytes)
		self->arena = (struct arena)ARENA_INIT(LIMIT_STORE_BYTES);
	return self->last = arena_strdup(&self->arena, name);
}

int learn_names_put(struct learn_names *self, const char *joined, const char *name)
{
	uint64_t hash = hash_of(joined);
	struct learn_name *place;

	if (4 * (self->n + 1) > 3 * self->capacity && grow(self))
		return -ENOMEM;
	place = place_of(self, hash);
	if (place->hash && streq(place->name, name))
		return 0;
	name = copy_name(self, name);
	if (!name)
		return -ENOMEM;
	self->n += place->hash == 0;
	*place = (struct learn_name){hash, name};
	return 0;
}

const char *learn_names_get(const struct learn_names *self, const char *joined)
{
	return self->capacity ? place_of(self, hash_of(joined))->name : NULL;
}
