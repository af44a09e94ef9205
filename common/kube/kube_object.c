/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_object.h"

#include "base/arena.h"
#include "base/json_text.h"
#include "base/limits.h"
#include "k8s/doc.h"

#include <errno.h>

static const struct allow leaf = {.fields = NULL};
static const struct allow_field metadata_fields[] = {ALLOW_FIELD("name", leaf), ALLOW_FIELD("namespace", leaf),
						     ALLOW_FIELD("uid", leaf), ALLOW_FIELD("resourceVersion", leaf)};
static const struct allow metadata = {ALLOW_FIELDS(metadata_fields)};
static const struct allow_field object_fields[] = {ALLOW_FIELD("metadata", metadata)};
static const struct allow object = {ALLOW_FIELDS(object_fields), .keeps_source = true};
static const struct allow_field event_fields[] = {ALLOW_FIELD("type", leaf), ALLOW_FIELD("object", object)};
static const struct allow event = {ALLOW_FIELDS(event_fields)};

int kube_object_read(struct json_object *json, struct kube_object *ret, struct err *err)
{
	struct json_object *json_metadata = NULL;
	struct kube_object own = {.json = json, .namespace = "", .uid = "", .resource_version = ""};
	const struct {
		const char *key, **ret;
	} members[] = {{"name", &own.name},
		       {"namespace", &own.namespace},
		       {"uid", &own.uid},
		       {"resourceVersion", &own.resource_version}};
	int r = json_get_object(json, "", "metadata", &json_metadata, err);

	for (size_t i = 0; i < ARRAY_LEN(members) && r >= 0; i++)
		r = json_get_string(json_metadata, "metadata", members[i].key, members[i].ret, err);
	if (r < 0)
		return r;
	if (!own.name || !*own.name)
		return err_set(err, -EINVAL, "an object without a name");
	*ret = own;
	return 0;
}

/* Reads a member of metadata; null counts as absent. */
static int text_of(const struct doc *from, const char *key, const char **ret, struct err *err)
{
	const struct doc *value = doc_member(from, key);

	if (!value || value->type == DOC_NULL)
		return 0;
	if (value->type != DOC_STRING)
		return err_set_at(err, -EINVAL, "metadata", 0, 0, "%s is no string", key);
	*ret = value->text;
	return 0;
}

static int read_metadata(const struct doc *doc, struct kube_object *ret, struct err *err)
{
	const struct doc *from = doc_member(doc, "metadata");
	int r = 0;

	*ret = (struct kube_object){
		.text = doc->text, .n_text = doc->n_text, .namespace = "", .uid = "", .resource_version = ""};
	if (doc->type != DOC_OBJECT || (from && from->type != DOC_OBJECT && from->type != DOC_NULL))
		return err_set(err, -EINVAL, "no object, or one whose metadata is none");
	r = text_of(from, "name", &ret->name, err);
	if (!r)
		r = text_of(from, "namespace", &ret->namespace, err);
	if (!r)
		r = text_of(from, "uid", &ret->uid, err);
	return r ? r : text_of(from, "resourceVersion", &ret->resource_version, err);
}

int kube_object_scan(const char *text, size_t n, struct arena *arena, struct kube_object *ret, struct err *err)
{
	struct doc doc;
	int r = doc_read(text, n, &object, arena, &doc, err);

	if (!r)
		r = read_metadata(&doc, ret, err);
	if (!r && (!ret->name || !*ret->name))
		r = err_set(err, -EINVAL, "an object without a name");
	return r;
}

/* In an item of a list json_split counts them. */
static int count_tokens(const struct kube_object *self, struct err *err)
{
	struct json_skip skip = {.max_depth = LIMIT_KUBE_OBJECT_DEPTH};

	(void)json_skip(&skip, self->text, self->n_text);
	if (skip.tokens <= LIMIT_KUBE_OBJECT_TOKENS)
		return 0;
	return err_set(err, -E2BIG, "more than %d tokens", LIMIT_KUBE_OBJECT_TOKENS);
}

int kube_event_scan(const char *text, size_t n, struct arena *arena, struct kube_event *ret, struct err *err)
{
	const struct doc *type, *inner;
	struct doc doc;
	int read = doc_read(text, n, &event, arena, &doc, err), r;

	*ret = (struct kube_event){.type = ""};
	if (read && read != -E2BIG)
		return read;
	type = doc_member(&doc, "type");
	inner = doc_member(&doc, "object");
	if (!type || type->type != DOC_STRING || !inner)
		return read ? read : err_set(err, -EINVAL, "an event without a type or an object");
	ret->type = type->text;
	r = read_metadata(inner, &ret->object, read ? NULL : err);
	if (read)
		return read;
	return r ? r : count_tokens(&ret->object, err);
}
