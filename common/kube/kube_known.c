/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_known.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64

struct kube_known_entry {
	struct kube_known_entry *next;
	uint64_t hash, version;
	uint32_t mark, name_at; /* where the name begins in `names` */
	char names[];		/* namespace, NUL, name, NUL */
};

static uint64_t hash_names(const char *namespace, const char *name)
{
	uint64_t both[2] = {hash_seeded(namespace, strlen(namespace)), hash_seeded(name, strlen(name))};

	return hash_seeded(both, sizeof(both));
}

/* Where the entry is, or where it would be linked. Needs buckets. */
static struct kube_known_entry **find(const struct kube_known *self, uint64_t hash, const char *namespace,
				      const char *name)
{
	struct kube_known_entry **at = &self->buckets[hash & (self->n_buckets - 1)];

	while (*at &&
	       !((*at)->hash == hash && streq((*at)->names, namespace) && streq((*at)->names + (*at)->name_at, name)))
		at = &(*at)->next;
	return at;
}

static int grow(struct kube_known *self)
{
	size_t n = self->n_buckets ? 2 * self->n_buckets : FIRST_BUCKETS;
	struct kube_known_entry **buckets;

	if (self->n < self->n_buckets)
		return 0;
	buckets = calloc(n, sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < self->n_buckets; i++)
		for (struct kube_known_entry *entry = self->buckets[i], *next; entry; entry = next) {
			next = entry->next;
			entry->next = buckets[entry->hash & (n - 1)];
			buckets[entry->hash & (n - 1)] = entry;
		}
	free(self->buckets);
	self->buckets = buckets;
	self->n_buckets = n;
	return 0;
}

void kube_known_release(struct kube_known *self)
{
	for (size_t i = 0; i < self->n_buckets; i++)
		for (struct kube_known_entry *entry = self->buckets[i], *next; entry; entry = next) {
			next = entry->next;
			free(entry);
		}
	free(self->buckets);
	*self = (struct kube_known){.n = 0};
}

int kube_known_put(struct kube_known *self, const struct kube_object *object, uint32_t mark)
{
	uint64_t hash = hash_names(object->namespace, object->name);
	uint64_t version = hash_seeded(object->resource_version, strlen(object->resource_version));
	size_t namespace_size = strlen(object->namespace) + 1, name_size = strlen(object->name) + 1;
	struct kube_known_entry **at, *entry;
	bool is_same;

	if (grow(self))
		return -ENOMEM;
	at = find(self, hash, object->namespace, object->name);
	if (*at) {
		/* what has no version counts as changed */
		is_same = (*at)->version == version && *object->resource_version;
		(*at)->version = version;
		(*at)->mark = mark;
		return is_same ? KUBE_KNOWN_SAME : KUBE_KNOWN_CHANGED;
	}
	entry = calloc(1, sizeof(*entry) + namespace_size + name_size);
	if (!entry)
		return -ENOMEM;
	entry->hash = hash;
	entry->version = version;
	entry->mark = mark;
	entry->name_at = (uint32_t)namespace_size;
	memcpy(entry->names, object->namespace, namespace_size);
	memcpy(entry->names + namespace_size, object->name, name_size);
	*at = entry;
	self->n++;
	return KUBE_KNOWN_NEW;
}

bool kube_known_remove(struct kube_known *self, const char *namespace, const char *name)
{
	struct kube_known_entry **at, *entry;

	if (!self->n_buckets)
		return false;
	at = find(self, hash_names(namespace, name), namespace, name);
	entry = *at;
	if (!entry)
		return false;
	*at = entry->next;
	free(entry);
	self->n--;
	return true;
}

void kube_known_sweep(struct kube_known *self, uint32_t mark,
		      void (*gone)(void *context, const struct kube_object *object), void *context)
{
	for (size_t i = 0; i < self->n_buckets; i++)
		for (struct kube_known_entry **at = &self->buckets[i]; *at;) {
			struct kube_known_entry *entry = *at;
			const struct kube_object object = {.namespace = entry->names,
							   .name = entry->names + entry->name_at,
							   .uid = "",
							   .resource_version = ""};

			if (entry->mark == mark) {
				at = &entry->next;
				continue;
			}
			*at = entry->next;
			self->n--;
			gone(context, &object);
			free(entry);
		}
}
