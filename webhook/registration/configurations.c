/* SPDX-License-Identifier: Apache-2.0 */
#include "registration/configurations.h"

#include "base/arena.h"
#include "base/limits.h"
#include "kube/reflector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LISTENERS 4
#define GROUP	  "admissionregistration.k8s.io"

const struct kube_resource configuration_resources[CONFIGURATION_COUNT_] = {
	[CONFIGURATION_MUTATING] = {GROUP, "v1", "mutatingwebhookconfigurations"},
	[CONFIGURATION_VALIDATING] = {GROUP, "v1", "validatingwebhookconfigurations"},
};

const char *const configuration_kinds[CONFIGURATION_COUNT_] = {
	[CONFIGURATION_MUTATING] = "MutatingWebhookConfiguration",
	[CONFIGURATION_VALIDATING] = "ValidatingWebhookConfiguration",
};

struct one {
	struct configurations *all;
	enum configuration_kind kind;
	struct reflector *reflector;
	struct json_object *object; /* as last seen */
	bool is_read;
};

struct listener {
	configurations_listener_fn *fn;
	void *context;
};

struct configurations {
	struct kube_client *client;
	struct configurations_config config;
	struct arena arena;
	struct one ones[CONFIGURATION_COUNT_];
	struct listener listeners[LISTENERS];
	size_t n_told; /* listeners who know all so far */
	struct kube_timer timer;
};

static const char *version_of(struct json_object *object)
{
	const char *version = "";

	return json_get_string(json_member(object, "metadata"), "metadata", "resourceVersion", &version, NULL)
		       ? ""
		       : version;
}

/* The number that a version is; false when it is none. */
static bool version_number(const char *text, uint64_t *ret)
{
	uint64_t number = 0;

	if (!*text)
		return false;
	for (; *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return false;
	*ret = number;
	return true;
}

bool configurations_is_older(const char *version, const char *than)
{
	uint64_t a = 0, b = 0;

	return version && than && version_number(version, &a) && version_number(than, &b) && a < b;
}

static void tell(struct configurations *self, const struct listener *listener, const struct one *one)
{
	(void)self;
	if (listener->fn && one->is_read)
		listener->fn(listener->context, one->kind, one->object);
}

static void tell_all(struct configurations *self, const struct one *one)
{
	for (size_t i = 0; i < self->n_told; i++)
		tell(self, &self->listeners[i], one);
}

/* Late listeners. */
static void tell_new(void *context)
{
	struct configurations *self = context;

	while (self->n_told < LISTENERS && self->listeners[self->n_told].fn) {
		self->n_told++;
		for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
			tell(self, &self->listeners[self->n_told - 1], &self->ones[i]);
	}
}

static void set(struct one *one, struct json_object *object)
{
	/* taken first: it may be the one that we hold */
	json_object_get(object);
	json_object_put(one->object);
	one->object = object;
	one->is_read = true;
	tell_all(one->all, one);
}

static void seen(void *context, const struct kube_object *object)
{
	struct one *one = context;

	if (!one->object || !configurations_is_older(object->resource_version, version_of(one->object)))
		set(one, object->json);
}

static void gone(void *context, const struct kube_object *object)
{
	struct one *one = context;

	/* an older one than that which we have just read */
	if (one->object && configurations_is_older(object->resource_version, version_of(one->object)))
		return;
	set(one, NULL);
}

static void synced(void *context)
{
	struct one *one = context;

	if (!one->is_read)
		set(one, NULL);
}

static void failed(void *context, const struct err *why, int64_t retry_ms)
{
	const struct one *one = context;

	(void)retry_ms;
	if (one->all->config.failed)
		one->all->config.failed(one->all->config.context, one->kind, why);
}

static int start_one(struct configurations *self, enum configuration_kind kind, struct err *err)
{
	struct one *one = &self->ones[kind];
	const char *name = self->config.names[kind];
	struct reflector_config config = {
		.selection = {.resource = configuration_resources[kind]},
		.added = seen,
		.modified = seen,
		.deleted = gone,
		.synced = synced,
		.failed = failed,
		.context = one,
	};

	*one = (struct one){.all = self, .kind = kind, .is_read = !name};
	if (!name)
		return 0;
	self->config.names[kind] = arena_strdup(&self->arena, name);
	/* with a name in it, a role that names its resources lets a list through */
	config.selection.field_selector = arena_printf(&self->arena, "metadata.name=%s", name);
	if (!self->config.names[kind] || !config.selection.field_selector)
		return err_set(err, -ENOMEM, "out of memory");
	return reflector_start(self->client, &config, &one->reflector, err);
}

int configurations_start(struct kube_client *client, const struct configurations_config *config,
			 struct configurations **ret, struct err *err)
{
	struct configurations *self = calloc(1, sizeof(*self));
	int r = 0;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->client = client;
	self->config = *config;
	self->arena = (struct arena)ARENA_INIT(8 * KIB);
	self->timer = (struct kube_timer){.fire = tell_new, .context = self};
	for (size_t i = 0; i < CONFIGURATION_COUNT_ && !r; i++)
		r = start_one(self, (enum configuration_kind)i, err);
	if (r)
		configurations_free(self);
	else
		*ret = self;
	return r;
}

void configurations_free(struct configurations *self)
{
	if (!self)
		return;
	kube_timer_stop(self->client, &self->timer);
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++) {
		reflector_free(self->ones[i].reflector);
		json_object_put(self->ones[i].object);
	}
	arena_release(&self->arena);
	free(self);
}

int configurations_listen(struct configurations *self, configurations_listener_fn *fn, void *context, struct err *err)
{
	for (size_t i = 0; i < LISTENERS; i++)
		if (!self->listeners[i].fn) {
			self->listeners[i] = (struct listener){fn, context};
			kube_timer_set(self->client, &self->timer, 0);
			return 0;
		}
	return err_set(err, -ENOMEM, "too many listeners");
}

void configurations_unlisten(struct configurations *self, void *context)
{
	for (size_t i = 0; i < LISTENERS; i++)
		if (self->listeners[i].fn && self->listeners[i].context == context) {
			memmove(&self->listeners[i], &self->listeners[i + 1],
				(LISTENERS - 1 - i) * sizeof(self->listeners[0]));
			self->listeners[LISTENERS - 1] = (struct listener){NULL, NULL};
			self->n_told -= i < self->n_told;
			return;
		}
}

const char *configurations_name(const struct configurations *self, enum configuration_kind kind)
{
	return self->config.names[kind];
}

void configurations_note(struct configurations *self, enum configuration_kind kind, struct json_object *object)
{
	struct one *one = &self->ones[kind];

	if (object && one->object && configurations_is_older(version_of(object), version_of(one->object)))
		return;
	set(one, object);
}
