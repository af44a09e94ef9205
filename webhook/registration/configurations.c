/* SPDX-License-Identifier: Apache-2.0 */
#include "registration/configurations.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "kube/reflector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROUP "admissionregistration.k8s.io"

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
	char *name;
	struct reflector *reflector;
	struct json_object *object; /* the last known object */
	bool is_read;
	bool is_answered; /* `object` is an answer of the API server that the watch has not reported yet */
};

struct configurations {
	struct kube_client *client;
	struct configurations_config config;
	struct one ones[CONFIGURATION_COUNT_];
	struct kube_timer without_name;
};

static const char *version_of(struct json_object *object)
{
	const char *version = "";

	return json_get_string(json_member(object, "metadata"), "metadata", "resourceVersion", &version, NULL)
		       ? ""
		       : version;
}

static bool is_number(const char *text)
{
	return text && *text && !text[strspn(text, "0123456789")];
}

bool configurations_is_older(const char *version, const char *than)
{
	size_t n = version ? strlen(version) : 0, n_than = than ? strlen(than) : 0;

	return is_number(version) && is_number(than) && (n != n_than ? n < n_than : strcmp(version, than) < 0);
}

static void set(struct one *one, struct json_object *object, bool is_answered)
{
	struct configurations *all = one->all;

	one->is_answered = is_answered;
	/* before the put, because it may be the same object */
	json_object_get(object);
	json_object_put(one->object);
	one->object = object;
	one->is_read = true;
	if (all->config.changed)
		all->config.changed(all->config.context, one->kind, object);
}

/* Whether an event was under way when a newer answer came. Events come in their order, and a list shows what there is
 * now, which has a smaller resourceVersion if the store was restored. */
static bool is_overtaken(const struct one *one, const struct kube_object *object)
{
	return one->object && one->is_answered && !reflector_is_listing(one->reflector) &&
	       configurations_is_older(object->resource_version, version_of(one->object));
}

static void seen(void *context, const struct kube_object *object)
{
	struct one *one = context;

	if (!is_overtaken(one, object))
		set(one, object->json, false);
}

static void gone(void *context, const struct kube_object *object)
{
	struct one *one = context;

	if (!is_overtaken(one, object))
		set(one, NULL, false);
}

static void synced(void *context)
{
	struct one *one = context;

	if (!one->is_read)
		set(one, NULL, false);
}

static void report_missing(void *context)
{
	struct configurations *self = context;

	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		if (!self->ones[i].name)
			set(&self->ones[i], NULL, false);
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
	CLEANUP(strbuf_release) struct strbuf field = STRBUF_INIT(KIB);
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

	*one = (struct one){.all = self, .kind = kind};
	if (!name) {
		kube_timer_set(self->client, &self->without_name, 0);
		return 0;
	}
	one->name = strdup(name);
	/* a role with resourceNames allows a list only with this field selector */
	if (strbuf_addf(&field, "metadata.name=%s", name) || !one->name)
		return err_set(err, -ENOMEM, "out of memory");
	config.selection.field_selector = strbuf_text(&field);
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
	self->without_name = (struct kube_timer){.fire = report_missing, .context = self};
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
	kube_timer_stop(self->client, &self->without_name);
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++) {
		reflector_free(self->ones[i].reflector);
		json_object_put(self->ones[i].object);
		free(self->ones[i].name);
	}
	free(self);
}

const char *configurations_name(const struct configurations *self, enum configuration_kind kind)
{
	return self->ones[kind].name;
}

struct json_object *configurations_object(const struct configurations *self, enum configuration_kind kind)
{
	return self->ones[kind].object;
}

void configurations_list_again(struct configurations *self, enum configuration_kind kind)
{
	if (self->ones[kind].reflector)
		reflector_list_again(self->ones[kind].reflector);
}

void configurations_note(struct configurations *self, enum configuration_kind kind, struct json_object *object)
{
	struct one *one = &self->ones[kind];
	const char *version = object ? version_of(object) : "", *before = one->object ? version_of(one->object) : "";

	if (!configurations_is_older(version, before))
		set(one, object, one->is_answered || !streq(version, before));
}
