/* SPDX-License-Identifier: Apache-2.0 */
#include "pods/pod_list.h"

#include "base/str.h"

static struct sighting *of(struct hashtable_node *node)
{
	return node ? HASHTABLE_OBJECT(node, struct sighting, by_name) : NULL;
}

static uint64_t hash_of(const char *namespace_name, const char *name)
{
	const char *const texts[] = {namespace_name, name};

	return hashtable_hash(texts, ARRAY_LEN(texts));
}

void pod_list_release(struct pod_list *self)
{
	for (struct sighting *sighting = pod_list_next(self, NULL), *next; sighting; sighting = next) {
		next = pod_list_next(self, sighting);
		sighting_free(sighting);
	}
	hashtable_release(&self->table);
}

struct sighting *pod_list_next(const struct pod_list *self, const struct sighting *sighting)
{
	return of(hashtable_next(&self->table, sighting ? &sighting->by_name : NULL));
}

struct sighting *pod_list_get(const struct pod_list *self, const char *namespace_name, const char *name)
{
	return of(hashtable_find(&self->table, hash_of(namespace_name, name)));
}

int pod_list_add(struct pod_list *self, struct sighting *take_sighting)
{
	return hashtable_add(&self->table, &take_sighting->by_name,
			     hash_of(take_sighting->namespace_name, take_sighting->name));
}

struct sighting *pod_list_take(struct pod_list *self, const char *namespace_name, const char *name)
{
	struct sighting *found = pod_list_get(self, namespace_name, name);

	if (found)
		hashtable_remove(&self->table, &found->by_name);
	return found;
}
