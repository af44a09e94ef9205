/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_queues: Kueue's LocalQueues and ClusterQueues in a snapshot. */
#include "model/snapshot_internal.h"

#include "base/limits.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* "namespace/name" of a LocalQueue; names in the API server are shorter. */
#define KEY_BYTES 640

struct local_queue_entry {
	struct fact fact;
	const char *cluster_queue;
};

struct queue_entry {
	struct fact fact;
	struct queue_facts facts;
};

static bool local_key(const char *namespace_name, const char *name, char ret[KEY_BYTES])
{
	return snprintf(ret, KEY_BYTES, "%s/%s", namespace_name, name) < KEY_BYTES;
}

static const char *local_queue_of(const struct sets *sets, const char *key)
{
	const struct fact *fact = fact_table_get(sets->items[SET_LOCAL_QUEUES], key);

	return fact ? ((const struct local_queue_entry *)fact)->cluster_queue : NULL;
}

const char *snapshot_local_queue(const struct snapshot *self, const char *namespace_name, const char *name)
{
	char key[KEY_BYTES];

	if (!self->sets.items[SET_LOCAL_QUEUES] || !local_key(namespace_name, name, key))
		return NULL;
	return local_queue_of(&self->sets, key);
}

const struct queue_facts *snapshot_queue(const struct snapshot *self, const char *namespace_name,
					 const char *local_queue)
{
	const char *name = snapshot_local_queue(self, namespace_name, local_queue);
	const struct fact *queue = name ? fact_table_get(self->sets.items[SET_QUEUES], name) : NULL;

	return queue ? &((const struct queue_entry *)queue)->facts : NULL;
}

int snapshot_builder_put_local_queue(struct snapshot_builder *self, const char *namespace_name, const char *name,
				     const char *cluster_queue)
{
	const struct fact *table = self->sets.items[SET_LOCAL_QUEUES];
	const char *text;
	struct fact *fact;
	char key[KEY_BYTES];

	if (!local_key(namespace_name, name, key) ||
	    (table && ((const struct fact_table *)table)->entries.n >= LIMIT_LOCAL_QUEUES &&
	     !fact_table_get(table, key)))
		return 1;
	fact = fact_new(sizeof(struct local_queue_entry), key, cluster_queue, &text);
	if (!fact)
		return -ENOMEM;
	((struct local_queue_entry *)fact)->cluster_queue = text;
	return snapshot_change_set(self, SET_LOCAL_QUEUES, fact, key);
}

int snapshot_builder_remove_local_queue(struct snapshot_builder *self, const char *namespace_name, const char *name)
{
	char key[KEY_BYTES];

	if (!local_key(namespace_name, name, key))
		return 0;
	return snapshot_change_set(self, SET_LOCAL_QUEUES, NULL, key);
}

void snapshot_builder_clear_local_queues(struct snapshot_builder *self)
{
	snapshot_replace_set(self, SET_LOCAL_QUEUES, NULL);
}

int snapshot_builder_put_queue(struct snapshot_builder *self, const struct queue_facts *facts)
{
	struct fact *fact = fact_new(sizeof(struct queue_entry), facts->name, NULL, NULL);

	if (!fact)
		return -ENOMEM;
	((struct queue_entry *)fact)->facts = *facts;
	((struct queue_entry *)fact)->facts.name = fact->key;
	return snapshot_change_set(self, SET_QUEUES, fact, facts->name);
}

int snapshot_builder_remove_queue(struct snapshot_builder *self, const char *name)
{
	return snapshot_change_set(self, SET_QUEUES, NULL, name);
}
