/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/decode.h"

#include "base/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int decode_oom(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

int decode_at(int r, struct err *err, const char *fmt, ...)
{
	char prefix[sizeof(err->where)], rest[sizeof(err->where)];
	va_list args;

	if (!err || r >= 0)
		return r;
	va_start(args, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, args);
	va_end(args);
	memcpy(rest, err->where, sizeof(rest));
	rest[sizeof(rest) - 1] = '\0';
	/* If the path is too long, its beginning is kept. */
	if (snprintf(err->where, sizeof(err->where), "%s%s%s", prefix, *rest && *rest != '[' ? "." : "", rest) < 0)
		err->where[0] = '\0';
	return r;
}

int decode_type_error(const struct doc *found, const char *wanted, struct err *err)
{
	return err_set(err, -EINVAL, "expected %s, found %s", wanted, doc_type_name(found));
}

int decode_string(const struct doc *object, const char *key, const char **ret, struct err *err)
{
	const struct doc *value = doc_member(object, key);

	*ret = "";
	if (!value || value->type == DOC_NULL)
		return 0;
	if (value->type != DOC_STRING)
		return decode_at(decode_type_error(value, "string", err), err, "%s", key);
	*ret = value->text;
	return 0;
}

static int name_too_long(struct err *err)
{
	return err_set(err, -EINVAL, "a name of more than %d bytes", LIMIT_QUALIFIED_NAME_BYTES);
}

int decode_name(const struct doc *object, const char *key, const char **ret, struct err *err)
{
	int r = decode_string(object, key, ret, err);

	if (r || strlen(*ret) <= LIMIT_QUALIFIED_NAME_BYTES)
		return r;
	*ret = "";
	return decode_at(name_too_long(err), err, "%s", key);
}

static int decode_bool(const struct doc *object, const char *key, bool *ret, struct err *err)
{
	const struct doc *value = doc_member(object, key);

	if (value && value->type != DOC_TRUE && value->type != DOC_FALSE)
		return decode_at(decode_type_error(value, "boolean", err), err, "%s", key);
	*ret = value && value->type == DOC_TRUE;
	return 0;
}

static int decode_typed(const struct doc *object, const char *key, enum doc_type type, const struct doc **ret,
			struct err *err)
{
	const struct doc *value = doc_member(object, key);

	if (!value || value->type == DOC_NULL)
		return 0;
	if (value->type != type)
		return decode_at(decode_type_error(value, type == DOC_OBJECT ? "object" : "array", err), err, "%s",
				 key);
	*ret = value;
	return 0;
}

int decode_object(const struct doc *object, const char *key, const struct doc **ret, struct err *err)
{
	return decode_typed(object, key, DOC_OBJECT, ret, err);
}

int decode_array(const struct doc *object, const char *key, const struct doc **ret, struct err *err)
{
	return decode_typed(object, key, DOC_ARRAY, ret, err);
}

int decode_items(const struct doc *object, const char *key, const struct doc **ret_first, size_t *ret_n,
		 struct err *err)
{
	const struct doc *array = NULL;
	int r = decode_array(object, key, &array, err);
	size_t i = 0;

	*ret_first = NULL;
	*ret_n = 0;
	if (r || !array)
		return r;
	for (const struct doc *item = array->first; item; item = item->next, i++) {
		STEPS(1);
		if (item->type != DOC_OBJECT)
			return decode_at(decode_type_error(item, "object", err), err, "%s[%zu]", key, i);
	}
	*ret_first = array->first;
	*ret_n = array->n_items;
	return 0;
}

int decode_labels(const struct doc *object, const char *key, bool has_free_values, struct arena *arena,
		  struct k8s_labels *ret, struct err *err)
{
	const struct doc *map = NULL;
	int r = decode_object(object, key, &map, err);

	if (r || !map)
		return r;
	ret->is_present = true;
	ret->n_bytes = map->n_text;
	ret->items = arena_array(arena, map->n_items, sizeof(*ret->items));
	if (!ret->items)
		return decode_oom(err);
	for (const struct doc *item = map->first; item; item = item->next) {
		STEPS(1);
		if (item->type != DOC_STRING && item->type != DOC_NULL)
			return decode_at(decode_type_error(item, "string", err), err, "%s[\"%s\"]", key, item->key);
		if (item->n_key > LIMIT_QUALIFIED_NAME_BYTES ||
		    (!has_free_values && item->n_text > LIMIT_QUALIFIED_NAME_BYTES))
			return decode_at(name_too_long(err), err, "%s[\"%.60s\"]", key, item->key);
		ret->items[ret->n++] = (struct k8s_label){item->key, item->type == DOC_STRING ? item->text : ""};
		ret->n_bytes += item->n_key + item->n_text;
	}
	return 0;
}

static int decode_texts(const struct doc *object, const char *key, struct arena *arena, const char ***ret,
			size_t *ret_n, struct err *err)
{
	const struct doc *array = NULL;
	int r = decode_array(object, key, &array, err);

	if (r || !array)
		return r;
	*ret = arena_array(arena, array->n_items, sizeof(**ret));
	if (!*ret)
		return decode_oom(err);
	STEPS(array->n_items);
	for (const struct doc *item = array->first; item; item = item->next) {
		if (item->type != DOC_STRING)
			return decode_at(decode_type_error(item, "string", err), err, "%s[%zu]", key, *ret_n);
		(*ret)[(*ret_n)++] = item->text;
	}
	return 0;
}

static int decode_list(const struct decode_field *field, const struct doc *object, struct arena *arena, char **ret,
		       size_t *ret_n, struct err *err)
{
	const struct doc *item;
	size_t n;
	int r = decode_items(object, field->key, &item, &n, err);

	if (r || !n)
		return r;
	if (field->max && n > field->max)
		return decode_at(err_set(err, -E2BIG, "more than %zu items", field->max), err, "%s", field->key);
	*ret = arena_array(arena, n, field->size);
	if (!*ret)
		return decode_oom(err);
	for (; !r && item; item = item->next, (*ret_n)++) {
		r = decode_fields(field->table, item, arena, *ret + *ret_n * field->size, err);
		decode_at(r, err, "%s[%zu]", field->key, *ret_n);
	}
	return r;
}

static int decode_field(const struct decode_field *field, const struct doc *object, struct arena *arena, char *self,
			struct err *err)
{
	void *ret = self + field->offset, *ret_n = self + field->n_offset;
	const struct doc *member = NULL;
	int r;

	switch (field->type) {
	case DECODE_NAME:
		return decode_name(object, field->key, ret, err);
	case DECODE_STRING:
		return decode_string(object, field->key, ret, err);
	case DECODE_BOOL:
		return decode_bool(object, field->key, ret, err);
	case DECODE_IS_PRESENT:
		*(bool *)ret = doc_member(object, field->key) != NULL;
		return 0;
	case DECODE_COUNT:
		return decode_items(object, field->key, &member, ret, err);
	case DECODE_TEXTS:
		return decode_texts(object, field->key, arena, ret, ret_n, err);
	case DECODE_LABELS:
	case DECODE_ANNOTATIONS:
		return decode_labels(object, field->key, field->type == DECODE_ANNOTATIONS, arena, ret, err);
	case DECODE_OBJECT:
		r = decode_object(object, field->key, &member, err);
		return r ? r : decode_at(decode_fields(field->table, member, arena, ret, err), err, "%s", field->key);
	case DECODE_LIST:
		return decode_list(field, object, arena, ret, ret_n, err);
	case DECODE_BY:
		break;
	}
	return field->decode(object, field->key, arena, ret, err);
}

int decode_fields(const struct decode_table *table, const struct doc *object, struct arena *arena, void *ret,
		  struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < table->n && !r; i++)
		r = decode_field(&table->fields[i], object, arena, ret, err);
	return r;
}
