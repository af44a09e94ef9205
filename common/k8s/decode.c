/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/decode.h"

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
	/* A path that is too long keeps its beginning. */
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

	if (!value)
		return 0;
	if (value->type != DOC_STRING)
		return decode_at(decode_type_error(value, "string", err), err, "%s", key);
	*ret = value->text;
	return 0;
}

int decode_bool(const struct doc *object, const char *key, bool *ret, struct err *err)
{
	const struct doc *value = doc_member(object, key);

	if (!value)
		return 0;
	if (value->type != DOC_TRUE && value->type != DOC_FALSE)
		return decode_at(decode_type_error(value, "boolean", err), err, "%s", key);
	*ret = value->type == DOC_TRUE;
	return 0;
}

static int decode_typed(const struct doc *object, const char *key, enum doc_type type, const struct doc **ret,
			struct err *err)
{
	const struct doc *value = doc_member(object, key);

	if (!value)
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
	for (const struct doc *item = array->first; item; item = item->next, i++)
		if (item->type != DOC_OBJECT)
			return decode_at(decode_type_error(item, "object", err), err, "%s[%zu]", key, i);
	*ret_first = array->first;
	*ret_n = array->n_items;
	return 0;
}

int decode_labels(const struct doc *object, const char *key, struct arena *arena, struct k8s_labels *ret,
		  struct err *err)
{
	const struct doc *map = NULL;
	int r = decode_object(object, key, &map, err);

	if (r || !map)
		return r;
	ret->is_present = true;
	ret->items = arena_array(arena, map->n_items, sizeof(*ret->items));
	if (!ret->items)
		return decode_oom(err);
	for (const struct doc *item = map->first; item; item = item->next) {
		if (item->type != DOC_STRING && item->type != DOC_NULL)
			return decode_at(decode_type_error(item, "string", err), err, "%s[\"%s\"]", key, item->key);
		ret->items[ret->n++] = (struct k8s_label){item->key, item->type == DOC_STRING ? item->text : ""};
	}
	return 0;
}
