/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot_table.h"

#include "base/hash.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- probes ---- */

/* One hash over the texts with their NULs, so that ("a", "bc") and ("ab", "c") differ. */
static uint64_t hash_texts(const char *const *texts, size_t n)
{
	char stack[512], *bytes = stack;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		size_t size = strlen(texts[i]) + 1;

		if (size > sizeof(stack) - at) {
			/* Longer than any valid name: hash what there is and chain. */
			uint64_t so_far = hash_seeded(bytes, at), next = hash_seeded(texts[i], size);

			memcpy(bytes, &so_far, sizeof(so_far));
			memcpy(bytes + sizeof(so_far), &next, sizeof(next));
			at = sizeof(so_far) + sizeof(next);
			continue;
		}
		memcpy(bytes + at, texts[i], size);
		at += size;
	}
	return hash_seeded(bytes, at);
}

struct snapshot_probe snapshot_probe_name(const char *namespace_name, const char *name)
{
	const char *const texts[] = {namespace_name, name};

	return (struct snapshot_probe){.hash = hash_texts(texts, 2),
				       .namespace_name = namespace_name,
				       .key = name,
				       .role = "",
				       .container = "",
				       .is_name = true};
}

struct snapshot_probe snapshot_probe_key(const char *namespace_name, const char *key, const char *role,
					 const char *container)
{
	const char *const texts[] = {namespace_name, key, role, container};

	return (struct snapshot_probe){.hash = hash_texts(texts, 4),
				       .namespace_name = namespace_name,
				       .key = key,
				       .role = role,
				       .container = container};
}

static const char *profile_key(const struct profile *profile, unsigned int which)
{
	if (which == SNAPSHOT_BY_NAME)
		return profile->name;
	return which == SNAPSHOT_BY_WORKLOAD ? profile->workload : profile->aliases[which - SNAPSHOT_BY_ALIAS];
}

struct snapshot_probe snapshot_probe_of(const struct profile *profile, unsigned int which)
{
	if (which == SNAPSHOT_BY_NAME)
		return snapshot_probe_name(profile->namespace_name, profile->name);
	return snapshot_probe_key(profile->namespace_name, profile_key(profile, which), profile->role,
				  profile->container);
}

/* ---- the table ---- */

#define WHICH_BITS 4
#define WHICH_MASK ((1u << WHICH_BITS) - 1)

/* The shard is chosen by the lowest bits of the hash; the table uses the highest. */
static uint32_t tag_of(uint64_t hash, unsigned int which)
{
	return ((uint32_t)(hash >> 32) & ~WHICH_MASK) | which;
}

static uint32_t home_of(const struct snapshot_table *self, uint32_t tag)
{
	return (uint32_t)((uint64_t)(tag & ~WHICH_MASK) * self->capacity >> 32);
}

static uint32_t next_slot(const struct snapshot_table *self, uint32_t i)
{
	return i + 1 == self->capacity ? 0 : i + 1;
}

static bool entry_is(const struct snapshot_table *self, uint32_t i, uint32_t tag, const struct snapshot_probe *probe)
{
	const struct profile *profile = self->profiles[i];
	unsigned int which = self->tags[i] & WHICH_MASK;

	return ((self->tags[i] ^ tag) & ~WHICH_MASK) == 0 && (which == SNAPSHOT_BY_NAME) == probe->is_name &&
	       streq(profile_key(profile, which), probe->key) &&
	       streq(profile->namespace_name, probe->namespace_name) &&
	       (probe->is_name || (streq(profile->role, probe->role) && streq(profile->container, probe->container)));
}

struct profile *snapshot_table_find(const struct snapshot_table *self, const struct snapshot_probe *probe)
{
	uint32_t tag = tag_of(probe->hash, 0);

	if (!self->capacity)
		return NULL;
	for (uint32_t i = home_of(self, tag); self->profiles[i]; i = next_slot(self, i))
		if (entry_is(self, i, tag, probe))
			return self->profiles[i];
	return NULL;
}

/* The one that wins a key that two claim; names make it the same on every replica. */
static bool wins(const struct profile *a, const struct profile *b)
{
	if (a->updated_ms != b->updated_ms)
		return a->updated_ms > b->updated_ms;
	return strcmp(a->name, b->name) < 0;
}

/* Put an entry on its probe path. An entry of the same key that loses against it moves on behind it; entries of one key
 * share their home, so their order on the path is the order of winning. */
static void place(struct snapshot_table *self, const struct snapshot_probe *probe, struct profile *profile,
		  uint32_t tag)
{
	uint32_t i = home_of(self, tag);

	for (; self->profiles[i]; i = next_slot(self, i)) {
		if (entry_is(self, i, tag, probe) && wins(profile, self->profiles[i])) {
			struct profile *loser = self->profiles[i];
			uint32_t loser_tag = self->tags[i];

			self->profiles[i] = profile;
			self->tags[i] = tag;
			profile = loser;
			tag = loser_tag;
		}
	}
	self->profiles[i] = profile;
	self->tags[i] = tag;
	self->n++;
}

/* While entries are added at most two thirds are full. */
static uint32_t capacity_for(uint32_t n)
{
	return n ? n + n / 2 + 1 : 0;
}

/* An empty table. */
static int table_alloc(struct snapshot_table *ret, uint32_t capacity)
{
	*ret = (struct snapshot_table){0};
	if (!capacity)
		return 0;
	ret->profiles = calloc(capacity, sizeof(struct profile *) + sizeof(*ret->tags));
	if (!ret->profiles)
		return -ENOMEM;
	ret->tags = (uint32_t *)(void *)(ret->profiles + capacity);
	ret->capacity = capacity;
	return 0;
}

/* Move or copy entries as they lie: order on the path is kept by going round from a free slot. */
static void table_fill(struct snapshot_table *self, const struct snapshot_table *from)
{
	uint32_t start = 0;

	if (!from->n || !self->capacity)
		return;
	while (start < from->capacity && from->profiles[start])
		start++;
	for (uint32_t k = 0; k < from->capacity; k++) {
		uint32_t at = (uint32_t)(((uint64_t)start + k) % from->capacity), i;

		if (!from->profiles[at])
			continue;
		i = home_of(self, from->tags[at]);
		while (self->profiles[i])
			i = next_slot(self, i);
		self->profiles[i] = from->profiles[at];
		self->tags[i] = from->tags[at];
		self->n++;
	}
}

static int table_resize(struct snapshot_table *self, uint32_t capacity)
{
	struct snapshot_table other;

	if (table_alloc(&other, capacity))
		return -ENOMEM;
	table_fill(&other, self);
	free(self->profiles);
	*self = other;
	return 0;
}

void snapshot_table_shrink(struct snapshot_table *self)
{
	uint32_t capacity = self->n ? self->n + self->n / 4 + 1 : 0;

	/* Without memory for a smaller table the larger one does as well. */
	if (capacity < self->capacity)
		(void)!table_resize(self, capacity);
}

void snapshot_table_release(struct snapshot_table *self)
{
	for (uint32_t i = 0; i < self->capacity; i++)
		profile_free(self->profiles[i]);
	free(self->profiles);
	*self = (struct snapshot_table){0};
}

int snapshot_table_copy(const struct snapshot_table *from, uint32_t room, struct snapshot_table *ret)
{
	int r = table_alloc(ret, capacity_for(from->n + room));

	if (r)
		return r;
	table_fill(ret, from);
	for (uint32_t i = 0; i < ret->capacity; i++)
		if (ret->profiles[i])
			profile_ref(ret->profiles[i]);
	return 0;
}

int snapshot_table_add(struct snapshot_table *self, const struct snapshot_probe *probe, struct profile *profile,
		       unsigned int which)
{
	if ((self->n + 1) * 3 > self->capacity * 2 && table_resize(self, capacity_for(self->n + self->n / 2 + 8)))
		return -ENOMEM;
	place(self, probe, profile_ref(profile), tag_of(probe->hash, which));
	return 0;
}

/* Close the gap at `i`: entries behind it that may stand there move up (their order is kept). */
static void close_gap(struct snapshot_table *self, uint32_t i)
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

void snapshot_table_remove(struct snapshot_table *self, const struct snapshot_probe *probe,
			   const struct profile *profile)
{
	uint32_t tag = tag_of(probe->hash, 0);

	if (!self->capacity)
		return;
	for (uint32_t i = home_of(self, tag); self->profiles[i]; i = next_slot(self, i)) {
		if (self->profiles[i] != profile || !entry_is(self, i, tag, probe))
			continue;
		profile_free(self->profiles[i]);
		close_gap(self, i);
		self->n--;
		return;
	}
}
