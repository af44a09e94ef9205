/* SPDX-License-Identifier: Apache-2.0 */
#include "model/codec_internal.h"

#include "base/limits.h"
#include "model/profile.h"

#include <errno.h>
#include <stdio.h>

/* Whatever is ours in an object. Of its metadata only the names: the API server's managedFields are longer than all
 * the rest. */
static const struct allow everything = {.any = &everything};
static const struct allow leaf = {.fields = NULL};
static const struct allow_field metadata_fields[] = {ALLOW_FIELD("name", leaf), ALLOW_FIELD("namespace", leaf)};
static const struct allow names = {ALLOW_FIELDS(metadata_fields)};
static const struct allow_field object_fields[] = {ALLOW_FIELD("apiVersion", leaf), ALLOW_FIELD("kind", leaf),
						   ALLOW_FIELD("metadata", names), ALLOW_FIELD("spec", everything),
						   ALLOW_FIELD("status", everything)};
static const struct allow whole = {ALLOW_FIELDS(object_fields)};

int codec_doc_read(const char *text, size_t n, struct arena *arena, struct doc *ret, struct err *err)
{
	return doc_read(text, n, &whole, arena, ret, err);
}

int codec_doc_of_json(struct json_object *object, struct arena *arena, struct doc *ret, struct err *err)
{
	return doc_of_json(object, &whole, arena, ret, err);
}

const char *codec_path(const char *path, const char *key, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", path, *path ? "." : "", key);
	return buf;
}

static int get(const struct doc *object, const char *path, const char *key, enum doc_type type, const struct doc **ret,
	       struct err *err)
{
	const struct doc *value = NULL;
	char where[160];

	if (object && object->type != DOC_OBJECT) {
		err_set_at(err, -EINVAL, path, 0, 0, "expected an object, found %s", doc_type_name(object));
		return -EINVAL;
	}
	value = doc_member(object, key);
	if (!value || value->type == DOC_NULL)
		return CODEC_ABSENT;
	if (value->type != type) {
		err_set_at(err, -EINVAL, codec_path(path, key, where, sizeof(where)), 0, 0, "expected %s, found %s",
			   doc_type_name(&(struct doc){.type = type}), doc_type_name(value));
		return -EINVAL;
	}
	*ret = value;
	return 0;
}

int codec_get_string(const struct doc *object, const char *path, const char *key, const char **ret, struct err *err)
{
	const struct doc *value = NULL;
	int r = get(object, path, key, DOC_STRING, &value, err);

	if (!r)
		*ret = value->text;
	return r;
}

int codec_get_object(const struct doc *object, const char *path, const char *key, const struct doc **ret,
		     struct err *err)
{
	return get(object, path, key, DOC_OBJECT, ret, err);
}

int codec_get_array(const struct doc *object, const char *path, const char *key, const struct doc **ret,
		    struct err *err)
{
	return get(object, path, key, DOC_ARRAY, ret, err);
}

int codec_head_decode(const struct doc *object, const char *kind, const char **ret_namespace, const char **ret_name,
		      struct err *err)
{
	const struct doc *metadata;
	const char *text = NULL;
	int r;

	r = codec_get_string(object, "", "apiVersion", &text, err);
	if (r < 0)
		return r;
	if (r || !streq(text, PROFILE_API_VERSION))
		return err_set_at(err, -EINVAL, "apiVersion", 0, 0, "expected %s, found \"%.60s\"", PROFILE_API_VERSION,
				  r ? "" : text);
	r = codec_get_string(object, "", "kind", &text, err);
	if (r < 0)
		return r;
	if (r || !streq(text, kind))
		return err_set_at(err, -EINVAL, "kind", 0, 0, "expected %s, found \"%.60s\"", kind, r ? "" : text);
	r = codec_get_object(object, "", "metadata", &metadata, err);
	if (r)
		return r < 0 ? r : err_set_at(err, -EINVAL, "metadata", 0, 0, "missing");
	r = codec_get_text(metadata, "metadata", "namespace", LIMIT_NAMESPACE_BYTES, ret_namespace, err);
	if (!r)
		r = codec_get_text(metadata, "metadata", "name", LIMIT_NAME_BYTES, ret_name, err);
	if (!r && !**ret_name)
		r = err_set_at(err, -EINVAL, "metadata.name", 0, 0, "missing");
	return r;
}

int codec_get_text(const struct doc *object, const char *path, const char *key, size_t max, const char **ret,
		   struct err *err)
{
	const struct doc *value = NULL;
	char where[160];
	int r = get(object, path, key, DOC_STRING, &value, err);

	if (r < 0)
		return r;
	*ret = r ? "" : value->text;
	if (!r && value->n_text > max)
		return err_set_at(err, -EINVAL, codec_path(path, key, where, sizeof(where)), 0, 0,
				  "longer than %zu bytes", max);
	return 0;
}

int codec_get_texts(const struct doc *object, const char *path, const char *key, size_t max_items, size_t max,
		    const char **ret, size_t *ret_n, struct err *err)
{
	const struct doc *array = NULL;
	char where[160];
	size_t n = 0;
	int r = codec_get_array(object, path, key, &array, err);

	*ret_n = 0;
	if (r)
		return r < 0 ? r : 0;
	if (array->n_items > max_items)
		return err_set_at(err, -EINVAL, codec_path(path, key, where, sizeof(where)), 0, 0,
				  "more than %zu items", max_items);
	for (const struct doc *item = array->first; item; item = item->next) {
		if (item->type != DOC_STRING)
			return err_set_at(err, -EINVAL, codec_path(path, key, where, sizeof(where)), 0, 0,
					  "expected strings");
		if (item->n_text > max)
			return err_set_at(err, -EINVAL, codec_path(path, key, where, sizeof(where)), 0, 0,
					  "longer than %zu bytes", max);
		ret[n++] = item->text;
	}
	*ret_n = n;
	return 0;
}
