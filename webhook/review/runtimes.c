/* SPDX-License-Identifier: Apache-2.0 */
#include "review/runtimes.h"

#include "base/limits.h"
#include "base/str.h"
#include "k8s/kinds.h"

#include <errno.h>

#define GROUP "trainer.kubeflow.org/"

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static bool is_of_kind(struct json_object *object, const char *kind)
{
	return strstarts(text_of(object, "apiVersion"), GROUP) && streq(text_of(object, "kind"), kind);
}

/* "namespace/name"; a ClusterTrainingRuntime has no namespace. */
static const char *key_of(struct review *self, struct json_object *holder, const char *name, bool is_of_cluster)
{
	const char *namespace_name = text_of(json_member(holder, "metadata"), "namespace");

	if (is_of_cluster)
		namespace_name = "";
	else if (!*namespace_name)
		namespace_name = self->default_namespace;
	return arena_printf(&self->arena, "%s/%s", namespace_name, name);
}

/* A runtime that is too large is skipped, like those that cannot be read. */
static int keep(struct review *self, struct json_object *object)
{
	bool is_of_cluster = is_of_kind(object, "ClusterTrainingRuntime");
	const char *key = key_of(self, object, text_of(json_member(object, "metadata"), "name"), is_of_cluster);
	struct doc *runtime = arena_alloc(&self->arena, sizeof(*runtime));
	int r;

	if (!key || !runtime)
		return -ENOMEM;
	if (strmap_has(&self->runtimes, key))
		return 0;
	r = doc_of_json(object, &allow_workload, &self->arena, runtime, NULL);
	if (r)
		return r == -ENOMEM ? r : 0;
	return strmap_put(&self->runtimes, key, runtime);
}

static bool may_hold_one(const struct strbuf *text)
{
	return memmem(strbuf_text(text), text->len, "TrainingRuntime", strlen("TrainingRuntime"));
}

static int collect_object(void *context, const char *file, const struct yaml_node *node)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	int r;

	(void)file;
	if (!strstarts(yaml_tree_text(node, "apiVersion"), GROUP) ||
	    !str_ends(str_c(yaml_tree_text(node, "kind")), STR("TrainingRuntime")))
		return 0;
	r = yaml_tree_to_json(node, &object, NULL);
	if (r)
		return r == -ENOMEM ? r : 0;
	return keep(context, object);
}

int runtimes_collect(struct review *self, const struct manifest *manifest)
{
	return review_each_object(self, manifest, may_hold_one, collect_object, self);
}

const struct doc *runtimes_find(struct review *self, struct json_object *object, const char **ret_name)
{
	struct json_object *ref = json_member(json_member(object, "spec"), "runtimeRef");
	const char *name = text_of(ref, "name"), *key;

	*ret_name = "";
	if (!is_of_kind(object, "TrainJob"))
		return NULL;
	*ret_name = name;
	key = key_of(self, object, name, !streq(text_of(ref, "kind"), "TrainingRuntime"));
	return key ? strmap_get(&self->runtimes, key) : NULL;
}
