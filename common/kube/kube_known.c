/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing, linear probing; a gap is closed by moving back what may stand there. Two objects of one hash would
 * be one: of a million, one pair in 37 million such sets. */
#include "kube/kube_known.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64
#define MARKS	       ((1u << 16) - 1)

struct kube_known_slot {
	uint64_t hash; /* 0: free */
	uint64_t version : 48, mark : 16;
};

static uint64_t hash_names(const char *namespace, const char *name)
{
	uint64_t both[2] = {hash_seeded(namespace, strlen(namespace)), hash_seeded(name, strlen(name))};
	uint64_t hash = hash_seeded(both, sizeof(both));

	return hash + (hash == 0);
}

static size_t home_of(const struct kube_known *self, uint64_t hash)
{
	return (size_t)((unsigned __int128)hash * self->capacity >> 64);
}

static size_t next_of(const struct kube_known *self, size_t i)
{
	return i + 1 == self->capacity ? 0 : i + 1;
}

/* Where it is, or the free slot where it would be. Needs slots. */
static size_t find(const struct kube_known *self, uint64_t hash)
{
	size_t i = home_of(self, hash);

	while (self->slots[i].hash && self->slots[i].hash != hash)
		i = next_of(self, i);
	return i;
}

static int resize(struct kube_known *self, size_t capacity)
{
	struct kube_known old = *self;
	struct kube_known_slot *slots = calloc(capacity, sizeof(*slots));
	char **names = self->forgets_names ? NULL : calloc(capacity, sizeof(*names));

	if (!slots || (!names && !self->forgets_names)) {
		free(slots);
		free(names);
		return -ENOMEM;
	}
	self->slots = slots;
	self->names = names;
	self->capacity = capacity;
	for (size_t i = 0; i < old.capacity; i++) {
		size_t to;

		if (!old.slots[i].hash)
			continue;
		to = find(self, old.slots[i].hash);
		slots[to] = old.slots[i];
		if (names)
			names[to] = old.names[i];
	}
	free(old.slots);
	free(old.names);
	return 0;
}

/* At most four fifths full; from there on by half. */
static int grow(struct kube_known *self)
{
	if (!self->capacity)
		return resize(self, FIRST_CAPACITY);
	return (self->n + 1) * 5 > self->capacity * 4 ? resize(self, self->capacity + self->capacity / 2) : 0;
}

void kube_known_release(struct kube_known *self)
{
	for (size_t i = 0; self->names && i < self->capacity; i++)
		free(self->names[i]);
	free(self->names);
	free(self->slots);
	*self = (struct kube_known){.forgets_names = self->forgets_names};
}

static char *copy_names(const struct kube_object *object)
{
	size_t namespace_size = strlen(object->namespace) + 1, name_size = strlen(object->name) + 1;
	char *names = malloc(namespace_size + name_size);

	if (names) {
		memcpy(names, object->namespace, namespace_size);
		memcpy(names + namespace_size, object->name, name_size);
	}
	return names;
}

int kube_known_put(struct kube_known *self, const struct kube_object *object, uint32_t mark)
{
	uint64_t hash = hash_names(object->namespace, object->name);
	uint64_t version = hash_seeded(object->resource_version, strlen(object->resource_version)) >> 16;
	struct kube_known_slot *slot;
	bool is_same;
	size_t i;

	if (grow(self))
		return -ENOMEM;
	i = find(self, hash);
	slot = &self->slots[i];
	if (slot->hash) {
		/* what has no version counts as changed */
		is_same = slot->version == version && *object->resource_version;
		slot->version = version & (((uint64_t)1 << 48) - 1);
		slot->mark = mark & MARKS;
		return is_same ? KUBE_KNOWN_SAME : KUBE_KNOWN_CHANGED;
	}
	if (self->names && !(self->names[i] = copy_names(object)))
		return -ENOMEM;
	slot->hash = hash;
	slot->version = version & (((uint64_t)1 << 48) - 1);
	slot->mark = mark & MARKS;
	self->n++;
	return KUBE_KNOWN_NEW;
}

static void move(struct kube_known *self, size_t from, size_t to)
{
	self->slots[to] = self->slots[from];
	if (self->names)
		self->names[to] = self->names[from];
}

/* Free slot i; what stands behind it and may stand there moves up. */
static void close_gap(struct kube_known *self, size_t i)
{
	for (size_t j = next_of(self, i); self->slots[j].hash; j = next_of(self, j)) {
		size_t home = home_of(self, self->slots[j].hash);
		bool is_behind = i <= j ? home > i && home <= j : home > i || home <= j;

		if (is_behind)
			continue;
		move(self, j, i);
		i = j;
	}
	self->slots[i].hash = 0;
	if (self->names)
		self->names[i] = NULL;
	self->n--;
}

bool kube_known_remove(struct kube_known *self, const char *namespace, const char *name)
{
	size_t i;

	if (!self->capacity)
		return false;
	i = find(self, hash_names(namespace, name));
	if (!self->slots[i].hash)
		return false;
	if (self->names)
		free(self->names[i]);
	close_gap(self, i);
	return true;
}

bool kube_known_has(const struct kube_known *self, const char *namespace, const char *name)
{
	return self->capacity && self->slots[find(self, hash_names(namespace, name))].hash;
}

static void tell(char *names, void (*gone)(void *context, const struct kube_object *object), void *context)
{
	const struct kube_object object = {
		.namespace = names, .name = names + strlen(names) + 1, .uid = "", .resource_version = ""};

	gone(context, &object);
	free(names);
}

/* Closing a gap moves what stands behind it, perhaps round the end of the table: then the next round finds it. */
static size_t sweep_once(struct kube_known *self, uint32_t mark,
			 void (*gone)(void *context, const struct kube_object *object), void *context)
{
	size_t n = 0;

	for (size_t i = 0; i < self->capacity;) {
		char *names = self->names ? self->names[i] : NULL;

		if (!self->slots[i].hash || self->slots[i].mark == (mark & MARKS)) {
			i++;
			continue;
		}
		close_gap(self, i);
		n++;
		if (names)
			tell(names, gone, context);
	}
	return n;
}

size_t kube_known_sweep(struct kube_known *self, uint32_t mark,
			void (*gone)(void *context, const struct kube_object *object), void *context)
{
	size_t n = 0, more;

	do {
		more = sweep_once(self, mark, gone, context);
		n += more;
	} while (more);
	return n;
}
