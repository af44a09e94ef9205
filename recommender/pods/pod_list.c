/* SPDX-License-Identifier: Apache-2.0 */
#include "pods/pod_list.h"

#include "base/hash.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

void pod_list_release(struct pod_list *self)
{
	for (size_t i = 0; i < self->capacity; i++)
		sighting_free(self->slots[i]);
	free(self->slots);
	*self = (struct pod_list){.slots = NULL};
}

static size_t home_of(const struct pod_list *self, const char *namespace_name, const char *name)
{
	uint64_t hash = hash_seeded(namespace_name, strlen(namespace_name));

	hash = hash * 31 + hash_seeded(name, strlen(name));
	return (size_t)hash & (self->capacity - 1);
}

/* Where it is, or where it would go. There is a free slot. */
static size_t place_of(const struct pod_list *self, const char *namespace_name, const char *name)
{
	size_t i = home_of(self, namespace_name, name);

	while (self->slots[i] &&
	       !(streq(self->slots[i]->name, name) && streq(self->slots[i]->namespace_name, namespace_name)))
		i = (i + 1) & (self->capacity - 1);
	return i;
}

static int grow(struct pod_list *self)
{
	struct pod_list wide = {.n = self->n, .capacity = self->capacity ? 2 * self->capacity : FIRST_SLOTS};

	wide.slots = calloc(wide.capacity, sizeof(struct sighting *));
	if (!wide.slots)
		return -ENOMEM;
	for (size_t i = 0; i < self->capacity; i++) {
		struct sighting *item = self->slots[i];

		if (item)
			wide.slots[place_of(&wide, item->namespace_name, item->name)] = item;
	}
	free(self->slots);
	*self = wide;
	return 0;
}

struct sighting *pod_list_get(const struct pod_list *self, const char *namespace_name, const char *name)
{
	return self->capacity ? self->slots[place_of(self, namespace_name, name)] : NULL;
}

int pod_list_add(struct pod_list *self, struct sighting *take_sighting)
{
	if (4 * (self->n + 1) > 3 * self->capacity && grow(self))
		return -ENOMEM;
	self->slots[place_of(self, take_sighting->namespace_name, take_sighting->name)] = take_sighting;
	self->n++;
	return 0;
}

struct sighting *pod_list_replace(struct pod_list *self, struct sighting *take_sighting)
{
	size_t i = place_of(self, take_sighting->namespace_name, take_sighting->name);
	struct sighting *before = self->slots[i];

	self->slots[i] = take_sighting;
	return before;
}

/* What follows in the same run of slots moves up, so that no search stops at the hole. */
static void close_hole(struct pod_list *self, size_t hole)
{
	size_t mask = self->capacity - 1;

	for (size_t i = (hole + 1) & mask; self->slots[i]; i = (i + 1) & mask) {
		size_t home = home_of(self, self->slots[i]->namespace_name, self->slots[i]->name);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		self->slots[hole] = self->slots[i];
		self->slots[i] = NULL;
		hole = i;
	}
}

struct sighting *pod_list_take(struct pod_list *self, const char *namespace_name, const char *name)
{
	size_t i = self->capacity ? place_of(self, namespace_name, name) : 0;
	struct sighting *found = self->capacity ? self->slots[i] : NULL;

	if (!found)
		return NULL;
	self->slots[i] = NULL;
	self->n--;
	close_hole(self, i);
	return found;
}
