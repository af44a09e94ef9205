/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot_names.h"

#include "base/hashtable.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

struct snapshot_name snapshot_name_of(const char *namespace_name, const char *name)
{
	const char *const texts[] = {namespace_name, name};

	return (struct snapshot_name){hashtable_hash(texts, ARRAY_LEN(texts)), namespace_name, name};
}

/* The lowest bits of the hash select the set; the table uses the highest. */
static uint32_t tag_of(const struct snapshot_name *name)
{
	return (uint32_t)(name->hash >> 32);
}

static uint32_t home_of(const struct snapshot_names *self, uint32_t tag)
{
	return (uint32_t)((uint64_t)tag * self->capacity >> 32);
}

static uint32_t next_slot(const struct snapshot_names *self, uint32_t i)
{
	return i + 1 == self->capacity ? 0 : i + 1;
}

/* The slot of the profile of this name, or the free slot where it belongs. There is always a free slot. */
static uint32_t slot_of(const struct snapshot_names *self, const struct snapshot_name *name)
{
	uint32_t tag = tag_of(name), i = home_of(self, tag);

	for (; self->profiles[i]; i = next_slot(self, i)) {
		STEPS(1);
		if (self->tags[i] == tag && streq(self->profiles[i]->name, name->name) &&
		    streq(self->profiles[i]->namespace_name, name->namespace_name))
			break;
	}
	return i;
}

struct profile *snapshot_names_find(const struct fact *fact, const struct snapshot_name *name)
{
	const struct snapshot_names *self = (const struct snapshot_names *)fact;

	return self ? self->profiles[slot_of(self, name)] : NULL;
}

static void put(struct snapshot_names *self, uint32_t i, struct profile *profile, uint32_t tag)
{
	self->profiles[i] = profile;
	self->tags[i] = tag;
	self->n++;
}

/* Puts the entries of another table into this one, which has room for them. */
static void fill(struct snapshot_names *self, const struct snapshot_names *from)
{
	STEPS(from->capacity);
	for (uint32_t k = 0; k < from->capacity; k++) {
		uint32_t i;

		if (!from->profiles[k])
			continue;
		i = home_of(self, from->tags[k]);
		while (self->profiles[i])
			i = next_slot(self, i);
		put(self, i, from->profiles[k], from->tags[k]);
	}
}

static int alloc(struct snapshot_names *self, uint32_t capacity)
{
	self->profiles = calloc(capacity, sizeof(struct profile *) + sizeof(*self->tags));
	if (!self->profiles)
		return -ENOMEM;
	self->tags = (uint32_t *)(void *)(self->profiles + capacity);
	self->capacity = capacity;
	return 0;
}

/* Gives the table another capacity, larger than its entries. @return 0 or -ENOMEM (unchanged). */
static int resize(struct snapshot_names *self, uint32_t capacity)
{
	struct snapshot_names other = {.n = 0};

	if (alloc(&other, capacity))
		return -ENOMEM;
	fill(&other, self);
	free(self->profiles);
	self->profiles = other.profiles;
	self->tags = other.tags;
	self->capacity = capacity;
	return 0;
}

/* While entries are added, at most two thirds of the slots are used. */
static uint32_t capacity_for(uint32_t n)
{
	return n + n / 2 + 1;
}

void snapshot_names_shrink(struct fact *fact)
{
	struct snapshot_names *self = (struct snapshot_names *)fact;
	uint32_t capacity = self->n + self->n / 4 + 1;

	/* Without memory for a smaller table the larger one is kept. */
	if (capacity < self->capacity)
		(void)!resize(self, capacity);
}

static void release(struct fact *fact)
{
	struct snapshot_names *self = (struct snapshot_names *)fact;

	for (uint32_t i = 0; i < self->capacity; i++)
		profile_free(self->profiles[i]);
	free(self->profiles);
}

struct fact *snapshot_names_copy(const struct fact *fact, uint32_t room)
{
	const struct snapshot_names *from = (const struct snapshot_names *)fact;
	struct fact *ret = fact_new(sizeof(*from), "", NULL, NULL);
	struct snapshot_names *self = (struct snapshot_names *)ret;

	if (!self)
		return NULL;
	ret->release = release;
	if (alloc(self, capacity_for((from ? from->n : 0) + room))) {
		fact_unref(ret);
		return NULL;
	}
	if (from)
		fill(self, from);
	for (uint32_t i = 0; i < self->capacity; i++)
		if (self->profiles[i])
			profile_ref(self->profiles[i]);
	return ret;
}

int snapshot_names_add(struct fact *fact, const struct snapshot_name *name, struct profile *profile)
{
	struct snapshot_names *self = (struct snapshot_names *)fact;

	if ((self->n + 1) * 3 > self->capacity * 2 && resize(self, capacity_for(self->n + self->n / 2 + 8)))
		return -ENOMEM;
	put(self, slot_of(self, name), profile_ref(profile), tag_of(name));
	return 0;
}

/* Closes the gap at `i`: later entries that may be there move up. */
static void close_gap(struct snapshot_names *self, uint32_t i)
{
	for (uint32_t j = next_slot(self, i); self->profiles[j]; j = next_slot(self, j)) {
		uint32_t home = home_of(self, self->tags[j]);
		bool is_behind = i <= j ? (home > i && home <= j) : (home > i || home <= j);

		if (is_behind)
			continue;
		self->profiles[i] = self->profiles[j];
		self->tags[i] = self->tags[j];
		i = j;
	}
	self->profiles[i] = NULL;
}

void snapshot_names_remove(struct fact *fact, const struct snapshot_name *name)
{
	struct snapshot_names *self = (struct snapshot_names *)fact;
	uint32_t i = slot_of(self, name);

	if (!self->profiles[i])
		return;
	profile_free(self->profiles[i]);
	close_gap(self, i);
	self->n--;
}
