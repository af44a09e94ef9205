/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot_keys.h"

#include "base/hashtable.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

#define CHANGES_MIN 16 /* changes that are merged early only into a shorter list */
#define WHICH_BITS  4
#define WHICH_MASK  ((1u << WHICH_BITS) - 1)

/* ---- keys of a profile ---- */

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

static const char *or_any(const char *text)
{
	return text && *text ? text : SNAPSHOT_ANY;
}

/* Without the hash, which is expensive to compute. */
static struct snapshot_probe key_of(const struct profile *profile, unsigned int which)
{
	const struct profile_ref *ref = &profile->spec->ref;
	struct snapshot_probe probe = {.namespace_name = profile->namespace_name,
				       .key = profile->workload,
				       .role = profile->role,
				       .container = profile->container,
				       .space = SNAPSHOT_KEYS};

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

uint64_t snapshot_key_hash(const struct profile *profile, unsigned int which)
{
	const struct snapshot_probe key = key_of(profile, which);

	return snapshot_probe_key(key.space, key.namespace_name, key.key, key.role, key.container).hash;
}

unsigned int snapshot_keys_end(const struct profile *profile)
{
	return SNAPSHOT_BY_ALIAS + (unsigned int)profile->n_aliases;
}

bool snapshot_has_key(const struct profile *profile, unsigned int which)
{
	const char *key;

	if (which == SNAPSHOT_BY_REF)
		return profile->spec->ref.key != NULL;
	if (which == SNAPSHOT_BY_REF_MADE)
		return profile->spec->ref.key && profile->spec->ref.made_key;
	if (which == SNAPSHOT_BY_WORKLOAD)
		return *profile->workload != '\0';
	key = profile->aliases[which - SNAPSHOT_BY_ALIAS];
	if (!*key || streq(key, profile->workload))
		return false;
	for (unsigned int i = SNAPSHOT_BY_ALIAS; i < which; i++)
		if (streq(key, profile->aliases[i - SNAPSHOT_BY_ALIAS]))
			return false;
	return true;
}

/* ---- their order ---- */

/* The lowest bits of the hash select the set; the list uses the highest. */
static uint32_t tag_of(uint64_t hash, unsigned int which)
{
	return ((uint32_t)(hash >> 32) & ~WHICH_MASK) | which;
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_texts(const char *a, const char *b)
{
	STEPS(1);
	return strcmp(a, b);
}

static int compare_probes(const struct snapshot_probe *a, const struct snapshot_probe *b)
{
	int r = compare_numbers(a->space, b->space);

	r = r ? r : compare_texts(a->key, b->key);
	r = r ? r : compare_texts(a->namespace_name, b->namespace_name);
	r = r ? r : compare_texts(a->role, b->role);
	return r ? r : compare_texts(a->container, b->container);
}

/* The order of profiles of the same key, the one that counts first. An object of unknown age is the youngest. Names
 * decide last, so that every replica gets the same result. */
static int compare_rank(enum snapshot_space space, const struct profile *a, const struct profile *b)
{
	int64_t a_created_ms = a->spec->ref.created_ms, b_created_ms = b->spec->ref.created_ms;
	int r;

	if (space == SNAPSHOT_KEYS)
		r = compare_numbers(b->updated_ms, a->updated_ms);
	else if (!a_created_ms || !b_created_ms)
		r = compare_numbers(!a_created_ms, !b_created_ms);
	else
		r = compare_numbers(a_created_ms, b_created_ms);
	return r ? r : compare_texts(a->name, b->name);
}

/* Of a profile and the one that replaces it, a list has both only while it is merged. */
static int compare_keys(const void *a_key, const void *b_key)
{
	const struct snapshot_key *a = a_key, *b = b_key;
	struct snapshot_probe a_probe, b_probe;
	int r = compare_numbers(a->tag & ~WHICH_MASK, b->tag & ~WHICH_MASK);

	STEPS(1);
	if (r || (a->profile == b->profile && a->tag == b->tag))
		return r;
	a_probe = key_of(a->profile, a->tag & WHICH_MASK);
	b_probe = key_of(b->profile, b->tag & WHICH_MASK);
	r = compare_probes(&a_probe, &b_probe);
	r = r ? r : compare_rank(a_probe.space, a->profile, b->profile);
	return r ? r : compare_numbers((intptr_t)a->profile, (intptr_t)b->profile);
}

static int compare_to_probe(const struct snapshot_key *key, const struct snapshot_probe *probe)
{
	int r = compare_numbers(key->tag & ~WHICH_MASK, tag_of(probe->hash, 0));
	struct snapshot_probe other;

	STEPS(1);
	if (r)
		return r;
	other = key_of(key->profile, key->tag & WHICH_MASK);
	return compare_probes(&other, probe);
}

struct profile *snapshot_keys_find(const struct fact *fact, const struct snapshot_probe *probe)
{
	const struct snapshot_keys *self = (const struct snapshot_keys *)fact;
	size_t low = 0, high = self ? self->n : 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_to_probe(&self->items[middle], probe) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return self && low < self->n && !compare_to_probe(&self->items[low], probe) ? self->items[low].profile : NULL;
}

/* ---- changes ---- */

void key_changes_release(struct key_changes *self)
{
	for (size_t i = 0; i < self->n; i++)
		profile_free(self->items[i].profile);
	vec_release(self);
}

int key_changes_note(struct key_changes *self, const struct fact *list, struct profile *profile, unsigned int which,
		     uint64_t hash, int32_t sign)
{
	size_t n = list ? ((const struct snapshot_keys *)list)->n : 0;

	if (vec_push(self, ((struct snapshot_key){profile, tag_of(hash, which), sign})))
		return -ENOMEM;
	profile_ref(profile);
	return self->n > CHANGES_MIN && self->n > n;
}

/* Adds an entry or a change behind `n` others in order, or its sign to that of the same key. @return their number. */
static size_t append(struct snapshot_key *items, size_t n, const struct snapshot_key *key)
{
	struct snapshot_key *last = n ? &items[n - 1] : NULL;

	if (!last || last->profile != key->profile || last->tag != key->tag) {
		items[n] = *key;
		return n + 1;
	}
	last->sign += key->sign;
	return last->sign ? n : n - 1;
}

static size_t merge(const struct snapshot_keys *from, const struct key_changes *changes, struct snapshot_key *ret)
{
	size_t n_from = from ? from->n : 0, n = 0;

	for (size_t i = 0, k = 0; i < n_from || k < changes->n;) {
		bool is_change = i == n_from ||
				 (k < changes->n && compare_keys(&from->items[i], &changes->items[k]) > 0);

		STEPS(1);
		n = append(ret, n, is_change ? &changes->items[k++] : &from->items[i++]);
	}
	return n;
}

static void release(struct fact *fact)
{
	struct snapshot_keys *self = (struct snapshot_keys *)fact;

	for (size_t i = 0; i < self->n; i++)
		profile_free(self->items[i].profile);
	free(self->items);
}

/* An empty list with room for `capacity` entries. */
static struct snapshot_keys *list_new(size_t capacity)
{
	struct fact *fact = fact_new(sizeof(struct snapshot_keys), "", NULL, NULL);
	struct snapshot_keys *self = (struct snapshot_keys *)fact;

	if (!self)
		return NULL;
	fact->release = release;
	self->items = calloc(capacity, sizeof(*self->items));
	if (self->items)
		return self;
	fact_unref(fact);
	return NULL;
}

/* Frees the memory behind the entries. If that fails, the list keeps it. */
static void trim(struct snapshot_keys *self)
{
	struct snapshot_key *items = realloc(self->items, MAX(self->n, 1) * sizeof(*items));

	if (items)
		self->items = items;
}

struct fact *snapshot_keys_merge(const struct fact *fact, struct key_changes *take_changes)
{
	const struct snapshot_keys *from = (const struct snapshot_keys *)fact;
	struct snapshot_keys *self = list_new((from ? from->n : 0) + take_changes->n);

	if (self) {
		qsort(take_changes->items, take_changes->n, sizeof(*take_changes->items), compare_keys);
		self->n = merge(from, take_changes, self->items);
		trim(self);
		for (size_t i = 0; i < self->n; i++)
			profile_ref(self->items[i].profile);
	}
	key_changes_release(take_changes);
	return self ? &self->fact : NULL;
}
