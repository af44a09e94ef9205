/* SPDX-License-Identifier: Apache-2.0 */
#include "service/refusals.h"

#include "base/str.h"
#include "base/strmap.h"
#include "base/timefmt.h"
#include "kube/reflector.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATION_MAX = 4096, KEY_BYTES = LIMIT_NAMESPACE_BYTES + LIMIT_NAME_BYTES + 2 };
#define GENERATION_MS (12 * TIME_HOUR_MS)

/* Owners are identified by uid, since a later Job of the same name had no pods rejected, and by namespace, since an
 * Event may contain any uid and must not affect owners in other namespaces. They are kept in two generations, and the
 * older one is dropped as a whole: an owner is kept for 12 to 24 hours after its last Event, or less if there are too
 * many. By then the harm is in the run's history. */
struct refusals {
	struct reflector *reflector;
	struct kube_client *client;
	struct refusals_config config;
	pthread_mutex_t mutex;	  /* protects all fields below */
	struct strmap young, old; /* "namespace/uid", heap */
	int64_t young_since_ms;
};

bool refusals_is_memory_quota(const char *message)
{
	const char *quota = strstr(message, "exceeded quota: "), *end;
	const char *requested = quota ? strstr(quota, "requested: ") : NULL;

	if (!requested)
		return false;
	end = strstr(requested, ", used: ");
	/* the list contains only what exceeded the quota: memory, requests.memory, limits.memory */
	requested = strstr(requested, "memory=");
	return requested && (!end || requested < end);
}

static void owners_release(struct strmap *owners)
{
	for (size_t i = 0; i < owners->capacity; i++)
		free((char *)(uintptr_t)owners->slots[i].key);
	strmap_release(owners);
}

static void make_key(char ret[KEY_BYTES], const char *namespace_name, const char *uid)
{
	snprintf(ret, KEY_BYTES, "%.*s/%.*s", LIMIT_NAMESPACE_BYTES, namespace_name, LIMIT_NAME_BYTES, uid);
}

static void grow_older(struct refusals *self, int64_t now_ms)
{
	if (self->young.n < GENERATION_MAX && now_ms - self->young_since_ms < GENERATION_MS)
		return;
	owners_release(&self->old);
	self->old = self->young;
	self->young = (struct strmap)STRMAP_INIT;
	self->young_since_ms = now_ms;
}

/* @return whether the owner is new. Without memory the next Event reports it again. */
static bool put_owner(struct refusals *self, const char *text, int64_t now_ms)
{
	bool is_known;
	char *key;

	grow_older(self, now_ms);
	is_known = strmap_has(&self->young, text) || strmap_has(&self->old, text);
	key = strmap_has(&self->young, text) ? NULL : strdup(text);
	if (key && strmap_put(&self->young, key, NULL)) {
		free(key);
		return false;
	}
	return key && !is_known;
}

static void put(void *context, const struct kube_object *object)
{
	struct refusals *self = context;
	struct json_object *about = json_member(object->json, "involvedObject");
	const char *message = "", *uid = "";
	char key[KEY_BYTES];
	bool is_new;

	if (json_get_string(object->json, "event", "message", &message, NULL) ||
	    json_get_string(about, "event", "uid", &uid, NULL) || !*uid || !refusals_is_memory_quota(message))
		return;
	make_key(key, object->namespace, uid);
	pthread_mutex_lock(&self->mutex);
	is_new = put_owner(self, key, kube_client_now_ms(self->client));
	pthread_mutex_unlock(&self->mutex);
	if (is_new)
		self->config.refused(self->config.context, object->namespace, uid);
}

/* The API server deletes Events after an hour; what they said remains true. */
static void forget(void *context, size_t n)
{
	(void)context;
	(void)n;
}

static void take_away(void *context, const struct kube_object *object)
{
	(void)context;
	(void)object;
}

static void watch_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct refusals *self = context;

	(void)retry_ms;
	self->config.failed(self->config.context, why);
}

int refusals_start(struct kube_client *client, const struct refusals_config *config, struct refusals **ret,
		   struct err *err)
{
	struct refusals *self = calloc(1, sizeof(*self));
	struct reflector_config watch = {
		.selection = {.resource = {"", "v1", "events"}, .field_selector = "reason=FailedCreate"},
		.added = put,
		.modified = put,
		.deleted = take_away,
		.gone = forget,
		.failed = watch_failed,
		.context = self,
	};
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->client = client;
	self->config = *config;
	pthread_mutex_init(&self->mutex, NULL);
	r = reflector_start(client, &watch, &self->reflector, err);
	if (r) {
		refusals_free(self);
		return r;
	}
	*ret = self;
	return 0;
}

void refusals_free(struct refusals *self)
{
	if (!self)
		return;
	reflector_free(self->reflector);
	owners_release(&self->young);
	owners_release(&self->old);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

static bool is_refused(const struct refusals *self, const struct pod *pod)
{
	char key[KEY_BYTES];

	if (!*pod->owner_uid)
		return false;
	make_key(key, pod->namespace_name, pod->owner_uid);
	return strmap_has(&self->young, key) || strmap_has(&self->old, key);
}

void refusals_mark(struct refusals *self, struct evidence_batch *batch)
{
	pthread_mutex_lock(&self->mutex);
	for (size_t i = 0; i < batch->pods.n; i++)
		if (is_refused(self, batch->pods.items[i]))
			batch->pods.items[i]->ends |= END_QUOTA;
	pthread_mutex_unlock(&self->mutex);
}
