/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/steps.h"

#include <errno.h>
#include <json-c/printbuf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

int json_parse(const char *text, size_t n, int depth, struct json_object **ret_object, struct err *err)
{
	struct json_tokener *tokener;
	struct json_object *object;
	enum json_tokener_error status;
	bool is_out_of_memory;
	size_t end;

	if (n == 0 || n >= INT_MAX)
		return err_set(err, -EINVAL, n ? "JSON text too long" : "empty JSON text");
	tokener = json_tokener_new_ex(depth);
	if (!tokener)
		return err_set(err, -ENOMEM, "out of memory");
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* json-c cuts a string short, without a word, when it cannot make room for it: make the room before. */
	if (printbuf_memset(tokener->pb, (int)n, 0, 1) < 0) {
		json_tokener_free(tokener);
		return err_set(err, -ENOMEM, "out of memory");
	}
	object = json_tokener_parse_ex(tokener, text, (int)n);
	status = json_tokener_get_error(tokener);
	end = json_tokener_get_parse_end(tokener);
	/* It has no word for memory either: it stops half-way without a value although nothing is wrong. */
	is_out_of_memory = !object && end < n &&
			   (status == json_tokener_continue ||
			    (status == json_tokener_success && (end < 4 || memcmp(text + end - 4, "null", 4) != 0)));
	json_tokener_free(tokener);
	while (end < n && (text[end] == ' ' || text[end] == '\n' || text[end] == '\r' || text[end] == '\t'))
		end++;
	if (status == json_tokener_success && end == n && object) {
		*ret_object = object;
		return 0;
	}
	json_object_put(object);
	if (is_out_of_memory)
		return err_set(err, -ENOMEM, "out of memory");
	if (status == json_tokener_continue)
		return err_set(err, -EINVAL, "JSON text ends early at byte %zu", end);
	if (status != json_tokener_success)
		return err_set(err, -EINVAL, "%s at byte %zu", json_tokener_error_desc(status), end);
	return err_set(err, -EINVAL,
		       object || end < n ? "text behind the JSON value at byte %zu" : "JSON value is null", end);
}

void json_putp(struct json_object **object)
{
	json_object_put(*object);
	*object = NULL;
}

struct json_object *json_member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!object || !json_object_is_type(object, json_type_object) ||
	    !json_object_object_get_ex(object, key, &value))
		return NULL;
	return value;
}

static int json_get(struct json_object *object, const char *path, const char *key, enum json_type type,
		    struct json_object **ret, struct err *err)
{
	struct json_object *value;

	if (object && !json_object_is_type(object, json_type_object))
		return err_set_at(err, -EINVAL, path, 0, 0, "expected an object, found %s",
				  json_type_to_name(json_object_get_type(object)));
	value = json_member(object, key);
	if (!value)
		return JSON_ABSENT;
	if (!json_object_is_type(value, type)) {
		err_set(err, -EINVAL, "expected %s, found %s", json_type_to_name(type),
			json_type_to_name(json_object_get_type(value)));
		if (err)
			snprintf(err->where, sizeof(err->where), "%s%s%s", path ? path : "", path && *path ? "." : "",
				 key);
		return -EINVAL;
	}
	*ret = value;
	return 0;
}

int json_get_string(struct json_object *object, const char *path, const char *key, const char **ret, struct err *err)
{
	struct json_object *value = NULL;
	int r = json_get(object, path, key, json_type_string, &value, err);

	if (!r)
		*ret = json_object_get_string(value);
	return r;
}

int json_get_int64(struct json_object *object, const char *path, const char *key, int64_t *ret, struct err *err)
{
	struct json_object *value = NULL;
	int r = json_get(object, path, key, json_type_int, &value, err);

	if (!r)
		*ret = json_object_get_int64(value);
	return r;
}

int json_get_object(struct json_object *object, const char *path, const char *key, struct json_object **ret,
		    struct err *err)
{
	return json_get(object, path, key, json_type_object, ret, err);
}

int json_get_array(struct json_object *object, const char *path, const char *key, struct json_object **ret,
		   struct err *err)
{
	return json_get(object, path, key, json_type_array, ret, err);
}

int json_add(struct json_object *object, const char *key, struct json_object *take_value)
{
	if (!take_value)
		return -ENOMEM;
	if (json_object_object_add(object, key, take_value)) {
		json_object_put(take_value);
		return -ENOMEM;
	}
	return 0;
}

int json_append(struct json_object *array, struct json_object *take_value)
{
	if (!take_value)
		return -ENOMEM;
	if (json_object_array_add(array, take_value)) {
		json_object_put(take_value);
		return -ENOMEM;
	}
	return 0;
}

void json_set(struct json_object **object, const char *path, struct json_object *take_value)
{
	struct json_object *at = *object;
	int r = at && take_value ? 0 : -ENOMEM;

	for (const char *dot; !r && (dot = strchr(path, '.')); path = dot + 1) {
		CLEANUP(freep) char *key = strndup(path, (size_t)(dot - path));

		if (key && !json_member(at, key))
			r = json_add(at, key, json_object_new_object());
		at = key && !r ? json_member(at, key) : NULL;
		r = json_object_is_type(at, json_type_object) ? 0 : -ENOMEM;
	}
	if (!r)
		r = json_add(at, path, TAKE_PTR(take_value));
	if (!r)
		return;
	json_object_put(take_value);
	json_putp(object);
}

void json_set_text(struct json_object **object, const char *path, const char *text)
{
	if (text)
		json_set(object, path, json_object_new_string(text));
}

static size_t count_digits(const char *p, const char *end)
{
	const char *start = p;

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	STEPS(p - start);
	return (size_t)(p - start);
}

size_t json_number_length(const char *p, size_t n_bytes)
{
	const char *start = p, *end = p + n_bytes;
	size_t n;

	p += n_bytes && *p == '-';
	n = count_digits(p, end);
	if (n == 0 || (n > 1 && *p == '0'))
		return 0;
	p += n;
	if (p < end && *p == '.') {
		n = count_digits(p + 1, end);
		if (n == 0)
			return 0;
		p += 1 + n;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < end && (*p == '+' || *p == '-');
		n = count_digits(p, end);
		if (n == 0)
			return 0;
		p += n;
	}
	return (size_t)(p - start);
}
