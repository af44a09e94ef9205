/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* strmap: a hash table from strings to pointers: open addressing, seeded hash (cluster users choose keys). Keys are
 * borrowed and must outlive their entry. Values are not touched; with NULL as a value only strmap_has can find the key.
 * Iterate with `for (size_t i = 0; i < m.capacity; i++) if (m.slots[i].key) ...`. Cost: linear in the key, whatever the
 * table has, on average over all insertions; a table never shrinks. Threads: a table belongs to one thread. */
#include "base/attr.h"
#include "base/str.h"

#include <stdint.h>

struct strmap_slot {
	const char *key; /* NULL: free */
	size_t key_len;
	uint64_t hash;
	void *value;
};

struct strmap {
	struct strmap_slot *slots;
	size_t n, capacity; /* capacity is 0 or a power of two */
};

#define STRMAP_INIT                                                                                                    \
	{                                                                                                              \
		NULL, 0, 0                                                                                             \
	}

void strmap_release(struct strmap *self);
/** Inserts or replaces. @return 0; -ENOMEM. */
int strmap_put(struct strmap *self, const char *borrowed_key, void *value) ATTR_NODISCARD;
/** Removes a key. @return its value; NULL: the key is not there. */
void *strmap_remove(struct strmap *self, const char *key);
/** The value; NULL: the key is not there. */
void *strmap_get(const struct strmap *self, const char *key);
bool strmap_has(const struct strmap *self, const char *key);
