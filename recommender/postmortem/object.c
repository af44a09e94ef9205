/* SPDX-License-Identifier: Apache-2.0 */
#include "postmortem/object.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "k8s/quantity.h"
#include "triage/figures.h"

#define KEY_BYTES 64

struct json_object *object_at(struct json_object *object, const char *path)
{
	char key[KEY_BYTES];

	while (*path && object) {
		size_t n = strcspn(path, ".");

		if (n >= sizeof(key))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		object = json_member(object, key);
		path += n + (path[n] == '.');
	}
	return object;
}

static const char *text_of(struct json_object *value)
{
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

const char *object_text(struct json_object *object, const char *path)
{
	return text_of(object_at(object, path));
}

const char *object_label(struct json_object *object, const char *key)
{
	return text_of(json_member(object, key));
}

int64_t object_int(struct json_object *object, const char *path, int64_t fallback)
{
	struct json_object *value = object_at(object, path);

	return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : fallback;
}

int64_t object_time_ms(struct json_object *object, const char *path)
{
	const char *text = object_text(object, path);
	int64_t ms;

	return *text && time_parse(text, strlen(text), &ms) == 0 && ms > 0 ? ms : 0;
}

int64_t object_bytes(struct json_object *object, const char *path)
{
	struct json_object *value = object_at(object, path);
	const char *text = text_of(value);
	struct quantity quantity;

	if (json_object_is_type(value, json_type_int))
		return MAX(json_object_get_int64(value), 0);
	if (!*text || quantity_parse(text, strlen(text), &quantity, NULL) != 0)
		return FIGURE_NONE;
	return MAX(quantity_value(&quantity), 0);
}

size_t object_count(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

bool object_is_name(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");

	return n && !text[n] && n <= LIMIT_NAME_BYTES && text[0] != '.' && text[0] != '-';
}

struct json_object *object_find(struct json_object *array, const char *path, const char *text)
{
	for (size_t i = 0; i < object_count(array); i++) {
		struct json_object *item = json_object_array_get_idx(array, i);

		if (streq(object_text(item, path), text))
			return item;
	}
	return NULL;
}
