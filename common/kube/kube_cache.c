/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_cache.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_BITS 48
#define MARKS	     ((1u << 16) - 1)

struct known {
	struct hashtable_node by_name;
	uint64_t version : VERSION_BITS, mark : 16;
	char names[]; /* namespace, NUL, name; none: forgotten */
};

static struct known *find(const struct kube_cache *self, uint64_t hash)
{
	struct hashtable_node *node = hashtable_find(&self->objects, hash);

	return node ? HASHTABLE_OBJECT(node, struct known, by_name) : NULL;
}

static struct known *find_named(const struct kube_cache *self, const char *namespace, const char *name)
{
	const char *const texts[] = {namespace, name};

	return find(self, hashtable_hash(texts, ARRAY_LEN(texts)));
}

void kube_cache_release(struct kube_cache *self)
{
	for (struct hashtable_node *node = hashtable_next(&self->objects, NULL), *next; node; node = next) {
		next = hashtable_next(&self->objects, node);
		free(HASHTABLE_OBJECT(node, struct known, by_name));
	}
	hashtable_release(&self->objects);
}

static struct known *add(struct kube_cache *self, const struct kube_object *object, uint64_t hash)
{
	size_t namespace_size = strlen(object->namespace) + 1, name_size = strlen(object->name) + 1;
	struct known *known = malloc(sizeof(*known) + (self->forgets_names ? 0 : namespace_size + name_size));

	if (!known)
		return NULL;
	if (!self->forgets_names) {
		memcpy(known->names, object->namespace, namespace_size);
		memcpy(known->names + namespace_size, object->name, name_size);
	}
	if (!hashtable_add(&self->objects, &known->by_name, hash))
		return known;
	free(known);
	return NULL;
}

int kube_cache_put(struct kube_cache *self, const struct kube_object *object, uint32_t mark)
{
	const char *const texts[] = {object->namespace, object->name};
	uint64_t hash = hashtable_hash(texts, ARRAY_LEN(texts));
	uint64_t version = hash_seeded(object->resource_version, strlen(object->resource_version)) >>
			   (64 - VERSION_BITS);
	struct known *known = find(self, hash);
	int change = KUBE_CACHE_NEW;

	if (known) /* an object without a version counts as changed */
		change = known->version == version && *object->resource_version ? KUBE_CACHE_SAME : KUBE_CACHE_CHANGED;
	else
		known = add(self, object, hash);
	if (!known)
		return -ENOMEM;
	known->version = version & (((uint64_t)1 << VERSION_BITS) - 1);
	known->mark = mark & MARKS;
	return change;
}

bool kube_cache_remove(struct kube_cache *self, const char *namespace, const char *name)
{
	struct known *known = find_named(self, namespace, name);

	if (!known)
		return false;
	hashtable_remove(&self->objects, &known->by_name);
	free(known);
	return true;
}

bool kube_cache_has(const struct kube_cache *self, const char *namespace, const char *name)
{
	return find_named(self, namespace, name) != NULL;
}

size_t kube_cache_sweep(struct kube_cache *self, uint32_t mark,
			void (*gone)(void *context, const struct kube_object *object), void *context)
{
	size_t n = 0;

	for (struct hashtable_node *node = hashtable_next(&self->objects, NULL), *next; node; node = next) {
		struct known *known = HASHTABLE_OBJECT(node, struct known, by_name);
		struct kube_object object = {.namespace = known->names, .uid = "", .resource_version = ""};

		next = hashtable_next(&self->objects, node);
		if (known->mark == (mark & MARKS))
			continue;
		n++;
		hashtable_remove(&self->objects, node);
		if (!self->forgets_names) {
			object.name = known->names + strlen(known->names) + 1;
			gone(context, &object);
		}
		free(known);
	}
	return n;
}
