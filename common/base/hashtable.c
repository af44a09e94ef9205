/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hashtable.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64
#define HASH_TEXTS    4

void hashtable_release(struct hashtable *self)
{
	free(self->buckets);
	*self = (struct hashtable){.n = 0};
}

static int grow(struct hashtable *self)
{
	size_t n = self->n_buckets ? 2 * self->n_buckets : FIRST_BUCKETS;
	struct hashtable_node **buckets;

	if (self->n < self->n_buckets)
		return 0;
	buckets = calloc(n, sizeof(struct hashtable_node *));
	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < self->n_buckets; i++)
		for (struct hashtable_node *node = self->buckets[i], *next; node; node = next) {
			next = node->next;
			node->next = buckets[node->hash & (n - 1)];
			buckets[node->hash & (n - 1)] = node;
		}
	free(self->buckets);
	self->buckets = buckets;
	self->n_buckets = n;
	return 0;
}

int hashtable_add(struct hashtable *self, struct hashtable_node *node, uint64_t hash)
{
	struct hashtable_node **bucket;

	if (grow(self))
		return -ENOMEM;
	bucket = &self->buckets[hash & (self->n_buckets - 1)];
	node->hash = hash;
	node->next = *bucket;
	*bucket = node;
	self->n++;
	return 0;
}

void hashtable_remove(struct hashtable *self, struct hashtable_node *node)
{
	struct hashtable_node **at = &self->buckets[node->hash & (self->n_buckets - 1)];

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	self->n--;
}

struct hashtable_node *hashtable_find(const struct hashtable *self, uint64_t hash)
{
	struct hashtable_node *node = self->n_buckets ? self->buckets[hash & (self->n_buckets - 1)] : NULL;

	while (node && node->hash != hash)
		node = node->next;
	return node;
}

struct hashtable_node *hashtable_next(const struct hashtable *self, const struct hashtable_node *node)
{
	size_t i = 0;

	if (node && node->next)
		return node->next;
	if (node)
		i = (node->hash & (self->n_buckets - 1)) + 1;
	while (i < self->n_buckets && !self->buckets[i])
		i++;
	return i < self->n_buckets ? self->buckets[i] : NULL;
}

uint64_t hashtable_hash(const char *const *texts, size_t n)
{
	uint64_t hashes[HASH_TEXTS] = {0};

	for (size_t i = 0; i < n && i < HASH_TEXTS; i++)
		hashes[i] = hash_seeded(texts[i], strlen(texts[i]));
	return hash_seeded(hashes, sizeof(hashes));
}
