/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* strmap: string -> pointer, open addressing, seeded hash (keys come from cluster users).
 * Keys are borrowed: they must outlive their entry. Values are opaque; NULL is a valid value only for strmap_has.
 * Iterate with `for (size_t i = 0; i < m.capacity; i++) if (m.slots[i].key) ...`. No removal: tables are rebuilt. */
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
/** Insert or replace. 0 or -ENOMEM. */
int strmap_put(struct strmap *self, const char *borrowed_key, void *value) ATTR_NODISCARD;
/** NULL when absent. */
void *strmap_get(const struct strmap *self, const char *key);
bool strmap_has(const struct strmap *self, const char *key);
