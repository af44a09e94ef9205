/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster_table: a hash table of nodes that lie inside their objects, so that an object can be in several. Keys are
 * seeded 64-bit hashes; whoever needs to be surer compares the objects. Threads: belongs to one thread. */
#include "base/attr.h"

#include <stddef.h>
#include <stdint.h>

struct table_node {
	struct table_node *next;
	uint64_t hash;
};

struct table {
	struct table_node **buckets;
	size_t n_buckets, n;
};

/** The object that a node lies in. */
#define TABLE_OBJECT(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/** Frees the buckets, not the objects. */
void table_release(struct table *self);
/** @return 0; -ENOMEM (not added). */
int table_add(struct table *self, struct table_node *node, uint64_t hash) ATTR_NODISCARD;
/** It must be in the table. */
void table_remove(struct table *self, struct table_node *node);
/** The first of this hash; NULL: none. */
struct table_node *table_find(const struct table *self, uint64_t hash);
/** One by one: from NULL to NULL. The one that was given last may be removed before the next is asked for, if `next`
 *  was taken before. */
struct table_node *table_next(const struct table *self, const struct table_node *node);
/** Hash of texts; ("a", "bc") and ("ab", "c") differ. */
uint64_t table_hash(const char *const *texts, size_t n);
