/* SPDX-License-Identifier: Apache-2.0 */
#include "service/nodes.h"

#include "kube/reflector.h"
#include "service/node_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct nodes {
	struct reflector *reflector;
	void (*failed)(void *context, const struct err *why);
	void *context;
	pthread_mutex_t mutex; /* protects all fields below */
	struct node_table table;
	bool is_synced;
};

static void put(void *context, const struct kube_object *object)
{
	struct nodes *self = context;
	struct err err = ERR_INIT;
	int r;

	pthread_mutex_lock(&self->mutex);
	r = node_table_put(&self->table, object->json, &err);
	pthread_mutex_unlock(&self->mutex);
	if (r)
		self->failed(self->context, &err);
}

static void take_away(void *context, const struct kube_object *object)
{
	struct nodes *self = context;

	pthread_mutex_lock(&self->mutex);
	node_table_remove(&self->table, object->name);
	pthread_mutex_unlock(&self->mutex);
}

static void synced(void *context)
{
	struct nodes *self = context;

	pthread_mutex_lock(&self->mutex);
	self->is_synced = true;
	pthread_mutex_unlock(&self->mutex);
}

static void watch_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct nodes *self = context;

	(void)retry_ms;
	self->failed(self->context, why);
}

int nodes_start(struct kube_client *client, void (*failed)(void *context, const struct err *why), void *context,
		struct nodes **ret, struct err *err)
{
	struct nodes *self = calloc(1, sizeof(*self));
	struct reflector_config config = {
		.selection = {.resource = {"", "v1", "nodes"}},
		.added = put,
		.modified = put,
		.deleted = take_away,
		.synced = synced,
		.failed = watch_failed,
		.context = self,
	};
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->failed = failed;
	self->context = context;
	pthread_mutex_init(&self->mutex, NULL);
	r = reflector_start(client, &config, &self->reflector, err);
	if (r) {
		nodes_free(self);
		return r;
	}
	*ret = self;
	return 0;
}

void nodes_free(struct nodes *self)
{
	if (!self)
		return;
	reflector_free(self->reflector);
	node_table_release(&self->table);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

int nodes_shapes(struct nodes *self, struct shapes *ret)
{
	int r;

	pthread_mutex_lock(&self->mutex);
	r = self->is_synced ? node_table_shapes(&self->table, ret) : 1;
	pthread_mutex_unlock(&self->mutex);
	return r;
}

size_t nodes_count(struct nodes *self)
{
	size_t n;

	pthread_mutex_lock(&self->mutex);
	n = self->is_synced ? self->table.entries.n : 0;
	pthread_mutex_unlock(&self->mutex);
	return n;
}
