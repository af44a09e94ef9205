/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* hashtable: a hash table of nodes that are embedded in their objects, so that an object can be in several tables.
 * Keys are seeded 64-bit hashes; the caller compares objects if a collision matters. One thread. Cost: constant time
 * for add, remove and find. */
#include "base/attr.h"

#include <stddef.h>
#include <stdint.h>

struct hashtable_node {
	struct hashtable_node *next;
	uint64_t hash;
};

struct hashtable {
	struct hashtable_node **buckets;
	size_t n_buckets, n;
};

/** The object that contains a node. */
#define HASHTABLE_OBJECT(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/** Frees the buckets, not the objects. */
void hashtable_release(struct hashtable *self);
/** @return 0; -ENOMEM (not added). Always succeeds if an entry was removed since the last call. */
int hashtable_add(struct hashtable *self, struct hashtable_node *node, uint64_t hash) ATTR_NODISCARD;
/** The node must be in the table. */
void hashtable_remove(struct hashtable *self, struct hashtable_node *node);
/** The first node with this hash. NULL: none. */
struct hashtable_node *hashtable_find(const struct hashtable *self, uint64_t hash);
/** Iterates over all nodes: NULL gives the first one, the last one gives NULL. A node may be removed if its successor
 * was taken before. */
struct hashtable_node *hashtable_next(const struct hashtable *self, const struct hashtable_node *node);
/** Hash of `n` texts; ("a", "bc") and ("ab", "c") differ. */
uint64_t hashtable_hash(const char *const *texts, size_t n);
