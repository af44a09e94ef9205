/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot_table.h"

#include "base/hashtable.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- probes ---- */

struct snapshot_probe snapshot_probe_key(enum snapshot_space space, const char *namespace_name, const char *key,
					 const char *role, const char *container)
{
	const char *const texts[] = {namespace_name, key, role, container};

	return (struct snapshot_probe){.hash = hashtable_hash(texts, ARRAY_LEN(texts)),
				       .namespace_name = namespace_name,
				       .key = key,
				       .role = role,
				       .container = container,
				       .space = space};
}

struct snapshot_probe snapshot_probe_name(const char *namespace_name, const char *name)
{
	return snapshot_probe_key(SNAPSHOT_NAMES, namespace_name, name, "", "");
}

static const char *or_any(const char *text)
{
	return text && *text ? text : SNAPSHOT_ANY;
}

/* Without the hash, which is expensive to compute. */
static struct snapshot_probe entry_of(const struct profile *profile, unsigned int which)
{
	const struct profile_ref *ref = &profile->spec->ref;
	struct snapshot_probe probe = {.namespace_name = profile->namespace_name,
				       .key = profile->workload,
				       .role = profile->role,
				       .container = profile->container,
				       .space = SNAPSHOT_KEYS};

	if (which == SNAPSHOT_BY_NAME)
		return (struct snapshot_probe){.namespace_name = profile->namespace_name,
					       .key = profile->name,
					       .role = "",
					       .container = "",
					       .space = SNAPSHOT_NAMES};
	if (which == SNAPSHOT_BY_REF || which == SNAPSHOT_BY_REF_MADE)
		return (struct snapshot_probe){.namespace_name = profile->namespace_name,
					       .key = which == SNAPSHOT_BY_REF ? ref->key : ref->made_key,
					       .role = or_any(ref->role),
					       .container = or_any(ref->container),
					       .space = which == SNAPSHOT_BY_REF ? SNAPSHOT_REFS : SNAPSHOT_REFS_MADE};
	if (which >= SNAPSHOT_BY_ALIAS)
		probe.key = profile->aliases[which - SNAPSHOT_BY_ALIAS];
	return probe;
}

struct snapshot_probe snapshot_probe_of(const struct profile *profile, unsigned int which)
{
	const struct snapshot_probe entry = entry_of(profile, which);

	return snapshot_probe_key(entry.space, entry.namespace_name, entry.key, entry.role, entry.container);
}

/* ---- the table ---- */

#define WHICH_BITS 4
#define WHICH_MASK ((1u << WHICH_BITS) - 1)

/* The lowest bits of the hash select the shard; the table uses the highest. */
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
	struct snapshot_probe entry;

	if ((self->tags[i] ^ tag) & ~WHICH_MASK)
		return false;
	entry = entry_of(self->profiles[i], self->tags[i] & WHICH_MASK);
	return entry.space == probe->space && streq(entry.key, probe->key) &&
	       streq(entry.namespace_name, probe->namespace_name) && streq(entry.role, probe->role) &&
	       streq(entry.container, probe->container);
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

/* Whether `a` has precedence over `b` for a key that both have. Names decide last, so that every replica gets the same
 * result. A profile that names a workload which another one names already changes nothing. */
static bool wins(enum snapshot_space space, const struct profile *a, const struct profile *b)
{
	int64_t a_created_ms = a->spec->ref.created_ms, b_created_ms = b->spec->ref.created_ms;

	if ((space == SNAPSHOT_REFS || space == SNAPSHOT_REFS_MADE) && a_created_ms != b_created_ms)
		return b_created_ms == 0 || (a_created_ms > 0 && a_created_ms < b_created_ms);
	if (space == SNAPSHOT_KEYS && a->updated_ms != b->updated_ms)
		return a->updated_ms > b->updated_ms;
	return strcmp(a->name, b->name) < 0;
}

/* Puts an entry on its probe path, before entries of the same key with lower precedence. Entries of one key have the
 * same home, so they are on the path in the order of precedence. */
static void place(struct snapshot_table *self, const struct snapshot_probe *probe, struct profile *profile,
		  uint32_t tag)
{
	uint32_t i = home_of(self, tag);

	for (; self->profiles[i]; i = next_slot(self, i)) {
		if (entry_is(self, i, tag, probe) && wins(probe->space, profile, self->profiles[i])) {
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

/* While entries are added, at most two thirds of the slots are used. */
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

/* Moves or copies entries in their order on the probe paths, by starting at a free slot. */
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

	/* Without memory for a smaller table the larger one is kept. */
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

/* Closes the gap at `i`: later entries that may be there move up, in their order. */
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
