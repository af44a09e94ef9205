/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ignored_namespaces.h"

#include "base/hashtable.h"
#include "base/limits.h"
#include "base/str.h"
#include "k8s/keys.h"
#include "kube/reflector.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct ignored {
	struct hashtable_node node;
	char name[LIMIT_NAMESPACE_BYTES + 1];
};

struct ignored_namespaces {
	struct ignored_namespaces_config config;
	struct reflector *reflector;
	pthread_mutex_t mutex; /* protects all fields below; only the client's thread changes them */
	struct hashtable table;
	bool is_synced;
};

static uint64_t hash_of(const char *name)
{
	return hashtable_hash(&name, 1);
}

static struct ignored *find(const struct ignored_namespaces *self, const char *name)
{
	struct hashtable_node *node = hashtable_find(&self->table, hash_of(name));

	return node ? HASHTABLE_OBJECT(node, struct ignored, node) : NULL;
}

static int add(struct ignored_namespaces *self, const char *name)
{
	struct ignored *one = calloc(1, sizeof(*one));
	int r = one ? 0 : -ENOMEM;

	if (r)
		return r;
	str_copy(one->name, sizeof(one->name), name);
	pthread_mutex_lock(&self->mutex);
	r = hashtable_add(&self->table, &one->node, hash_of(name));
	pthread_mutex_unlock(&self->mutex);
	if (r)
		free(one);
	return r;
}

static void report(const struct ignored_namespaces *self, const char *name, bool is_ignored)
{
	if (self->config.changed)
		self->config.changed(self->config.context, name, is_ignored);
}

static void put(void *context, const struct kube_object *object)
{
	struct ignored_namespaces *self = context;
	struct err err = ERR_INIT;
	int r;

	if (find(self, object->name))
		return;
	r = add(self, object->name);
	if (r) {
		err_set(&err, r, "out of memory");
		self->config.failed(self->config.context, &err);
		return;
	}
	report(self, object->name, true);
}

/* The label, or the namespace, is gone. */
static void take_away(void *context, const struct kube_object *object)
{
	struct ignored_namespaces *self = context;
	struct ignored *one = find(self, object->name);

	if (!one)
		return;
	pthread_mutex_lock(&self->mutex);
	hashtable_remove(&self->table, &one->node);
	pthread_mutex_unlock(&self->mutex);
	report(self, one->name, false);
	free(one);
}

static void synced(void *context)
{
	struct ignored_namespaces *self = context;
	bool was_synced;

	pthread_mutex_lock(&self->mutex);
	was_synced = self->is_synced;
	self->is_synced = true;
	pthread_mutex_unlock(&self->mutex);
	if (!was_synced && self->config.synced)
		self->config.synced(self->config.context);
}

static void watch_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct ignored_namespaces *self = context;

	(void)retry_ms;
	self->config.failed(self->config.context, why);
}

int ignored_namespaces_start(struct kube_client *client, const struct ignored_namespaces_config *config,
			     struct ignored_namespaces **ret, struct err *err)
{
	struct ignored_namespaces *self = calloc(1, sizeof(*self));
	const struct reflector_config watch = {
		.selection = {.resource = {"", "v1", "namespaces"}, .label_selector = KEY_IGNORE "=true"},
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
	self->config = *config;
	pthread_mutex_init(&self->mutex, NULL);
	r = reflector_start(client, &watch, &self->reflector, err);
	if (r) {
		ignored_namespaces_free(self);
		return r;
	}
	*ret = self;
	return 0;
}

void ignored_namespaces_free(struct ignored_namespaces *self)
{
	struct hashtable_node *node, *next;

	if (!self)
		return;
	reflector_free(self->reflector);
	for (node = hashtable_next(&self->table, NULL); node; node = next) {
		next = hashtable_next(&self->table, node);
		free(HASHTABLE_OBJECT(node, struct ignored, node));
	}
	hashtable_release(&self->table);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

enum engine_left_out ignored_namespaces_find(void *context, const char *namespace_name)
{
	struct ignored_namespaces *self = context;
	enum engine_left_out found = ENGINE_LEFT_OUT_UNKNOWN;

	pthread_mutex_lock(&self->mutex);
	if (self->is_synced)
		found = find(self, namespace_name) ? ENGINE_LEFT_OUT : ENGINE_LEARNED;
	pthread_mutex_unlock(&self->mutex);
	return found;
}
