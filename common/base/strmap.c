/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strmap.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

void strmap_release(struct strmap *self)
{
	free(self->slots);
	*self = (struct strmap)STRMAP_INIT;
}

/* The slot of the key, or the free slot for it. The table is never full. */
static struct strmap_slot *strmap_find(const struct strmap *self, const char *key, size_t n, uint64_t hash)
{
	size_t i = (size_t)hash & (self->capacity - 1);

	for (;; i = (i + 1) & (self->capacity - 1)) {
		struct strmap_slot *slot = &self->slots[i];

		if (!slot->key || (slot->hash == hash && slot->key_len == n && memcmp(slot->key, key, n) == 0))
			return slot;
	}
}

static int strmap_grow(struct strmap *self)
{
	struct strmap bigger = {.n = self->n, .capacity = self->capacity ? self->capacity * 2 : 16};

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < self->capacity; i++) {
		const struct strmap_slot *slot = &self->slots[i];

		if (slot->key)
			*strmap_find(&bigger, slot->key, slot->key_len, slot->hash) = *slot;
	}
	free(self->slots);
	*self = bigger;
	return 0;
}

int strmap_put(struct strmap *self, const char *borrowed_key, void *value)
{
	size_t n = strlen(borrowed_key);
	uint64_t hash = hash_seeded(borrowed_key, n);
	struct strmap_slot *slot;

	if ((self->n + 1) * 4 > self->capacity * 3 && strmap_grow(self))
		return -ENOMEM;
	slot = strmap_find(self, borrowed_key, n, hash);
	if (!slot->key)
		self->n++;
	*slot = (struct strmap_slot){.key = borrowed_key, .key_len = n, .hash = hash, .value = value};
	return 0;
}

void *strmap_remove(struct strmap *self, const char *key)
{
	size_t n = strlen(key), mask = self->capacity - 1, i, k;
	struct strmap_slot *slot = self->capacity ? strmap_find(self, key, n, hash_seeded(key, n)) : NULL;
	void *value = slot ? slot->value : NULL;

	if (!slot || !slot->key)
		return NULL;
	/* later entries that may be here move up */
	i = (size_t)(slot - self->slots);
	for (k = (i + 1) & mask; self->slots[k].key; k = (k + 1) & mask)
		if (((k - (size_t)self->slots[k].hash) & mask) >= ((k - i) & mask)) {
			self->slots[i] = self->slots[k];
			i = k;
		}
	self->slots[i] = (struct strmap_slot){.key = NULL};
	self->n--;
	return value;
}

void *strmap_get(const struct strmap *self, const char *key)
{
	size_t n = strlen(key);

	return self->capacity ? strmap_find(self, key, n, hash_seeded(key, n))->value : NULL;
}

bool strmap_has(const struct strmap *self, const char *key)
{
	size_t n = strlen(key);

	return self->capacity && strmap_find(self, key, n, hash_seeded(key, n))->key != NULL;
}
