/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_owner_pods: pods that quotas count, each for the sums of its owner. */
#include "cluster/cluster_owners_internal.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

/* Beyond this it is nonsense; sums of so many stay far from overflow. */
#define HELD_MAX ((int64_t)1 << 45)

struct pod {
	struct table_node by_name;
	struct owner *owner; /* NULL: nobody's */
	uint64_t namespace_hash;
	struct held held;
};

static uint64_t namespace_hash(const char *namespace)
{
	return table_hash(&namespace, 1);
}

static uint64_t pod_hash(const char *namespace, const char *name)
{
	const char *const texts[] = {namespace, name};

	return table_hash(texts, ARRAY_LEN(texts));
}

static void drop_pod(struct owners *self, struct pod *pod)
{
	table_remove(&self->pods, &pod->by_name);
	if (pod->owner) {
		owners_add_held(self, pod->owner, &pod->held, -1);
		pod->owner->users--;
	}
	free(pod);
}

void owners_remove_pod(struct owners *self, const char *namespace, const char *name)
{
	struct table_node *node = table_find(&self->pods, pod_hash(namespace, name));

	if (node)
		drop_pod(self, TABLE_OBJECT(node, struct pod, by_name));
}

/* Of this owner: a pod of the same name that another one makes is another pod. */
static bool has_pod(const struct owners *self, const struct owner_pod *object)
{
	struct table_node *node = table_find(&self->pods, pod_hash(object->namespace, object->name));
	const struct pod *pod = node ? TABLE_OBJECT(node, struct pod, by_name) : NULL;

	return pod && streq(pod->owner->uid, object->controller_uid);
}

int owners_put_pod(struct owners *self, const struct owner_pod *object)
{
	struct owner *owner;
	struct pod *pod;
	bool was_seen = has_pod(self, object);

	owners_remove_pod(self, object->namespace, object->name);
	if (!*object->controller_uid)
		return 0;
	owner = owners_at(self, object->controller_uid);
	pod = owner ? calloc(1, sizeof(*pod)) : NULL;
	if (!pod)
		return -ENOMEM;
	if (table_add(&self->pods, &pod->by_name, pod_hash(object->namespace, object->name))) {
		free(pod);
		return -ENOMEM;
	}
	pod->owner = owner;
	pod->namespace_hash = namespace_hash(object->namespace);
	pod->held.pods = 1;
	pod->held.seen = !was_seen;
	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			pod->held.amounts[f][r] = MIN(object->held[f][r], HELD_MAX);
	owner->users++;
	owners_add_held(self, owner, &pod->held, 1);
	pod->held.seen = 0; /* it stays seen when it goes */
	return 0;
}

void owners_remove_pods(struct owners *self, const char *namespace)
{
	uint64_t hash = namespace_hash(namespace);

	for (struct table_node *node = table_next(&self->pods, NULL), *next; node; node = next) {
		struct pod *pod = TABLE_OBJECT(node, struct pod, by_name);

		next = table_next(&self->pods, node);
		if (pod->namespace_hash == hash)
			drop_pod(self, pod);
	}
}

void owners_release_pods(struct owners *self)
{
	for (struct table_node *node = table_next(&self->pods, NULL), *next; node; node = next) {
		next = table_next(&self->pods, node);
		free(TABLE_OBJECT(node, struct pod, by_name));
	}
	table_release(&self->pods);
}
