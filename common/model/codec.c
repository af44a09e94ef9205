/* SPDX-License-Identifier: Apache-2.0 */
#include "model/codec.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "k8s/quantity.h"
#include "model/profile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Whatever an object holds. */
static const struct allow everything = {.any = &everything};

int codec_doc_read(const char *text, size_t n, struct arena *arena, struct doc *ret, struct err *err)
{
	return doc_read(text, n, &everything, arena, ret, err);
}

int codec_doc_of_json(struct json_object *object, struct arena *arena, struct doc *ret, struct err *err)
{
	return doc_of_json(object, &everything, arena, ret, err);
}

/* Every type's value as one of these, so that comparing and copying need no case of their own. */
struct codec_value {
	int64_t number;
	double real;
	const char *text;
};

static struct codec_value codec_load(const struct codec_field *field, const void *self)
{
	const char *at = (const char *)self + field->offset;
	struct codec_value value = {0};

	switch (field->type) {
	case CODEC_BYTES:
	case CODEC_INT64:
	case CODEC_TIME:
	case CODEC_DURATION:
		value.number = *(const int64_t *)(const void *)at;
		break;
	case CODEC_INT32:
	case CODEC_DATE:
	case CODEC_ENUM:
		value.number = *(const int32_t *)(const void *)at;
		break;
	case CODEC_ENUM8:
	case CODEC_FLAGS8:
		value.number = *(const uint8_t *)at;
		break;
	case CODEC_BOOL:
		value.number = *(const bool *)at;
		break;
	case CODEC_DOUBLE:
		value.real = *(const double *)(const void *)at;
		break;
	case CODEC_TEXT:
		value.text = at;
		break;
	case CODEC_NAME:
		value.text = *(const char *const *)(const void *)at;
		break;
	}
	return value;
}

static void store_text(char *at, size_t size, const char *text)
{
	size_t n = strnlen(text, size - 1);

	memcpy(at, text, n);
	at[n] = '\0';
}

static void codec_store(const struct codec_field *field, void *self, struct codec_value value)
{
	char *at = (char *)self + field->offset;

	switch (field->type) {
	case CODEC_BYTES:
	case CODEC_INT64:
	case CODEC_TIME:
	case CODEC_DURATION:
		*(int64_t *)(void *)at = value.number;
		break;
	case CODEC_INT32:
	case CODEC_DATE:
	case CODEC_ENUM:
		*(int32_t *)(void *)at = (int32_t)value.number;
		break;
	case CODEC_ENUM8:
	case CODEC_FLAGS8:
		*(uint8_t *)at = (uint8_t)value.number;
		break;
	case CODEC_BOOL:
		*(bool *)at = value.number != 0;
		break;
	case CODEC_DOUBLE:
		*(double *)(void *)at = value.real;
		break;
	case CODEC_TEXT:
		store_text(at, field->size, value.text ? value.text : "");
		break;
	case CODEC_NAME:
		*(const char **)(void *)at = value.text ? value.text : "unknown";
		break;
	}
}

static bool codec_is_absent(const struct codec_field *field, struct codec_value value)
{
	if (field->type == CODEC_TEXT)
		return !*value.text;
	if (field->type == CODEC_NAME)
		return !value.text || streq(value.text, "unknown");
	if (field->type == CODEC_DOUBLE)
		return value.real == 0 || !isfinite(value.real);
	return value.number == field->absent;
}

static bool codec_equal(const struct codec_field *field, struct codec_value a, struct codec_value b)
{
	if (field->type == CODEC_TEXT || field->type == CODEC_NAME)
		return streq(a.text, b.text);
	return field->type == CODEC_DOUBLE ? a.real == b.real : a.number == b.number;
}

void codec_reset(const struct codec_field *fields, size_t n, void *self)
{
	for (size_t i = 0; i < n; i++)
		codec_store(&fields[i], self, (struct codec_value){.number = fields[i].absent});
}

static const char *codec_path(const char *path, const char *key, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", path, *path ? "." : "", key);
	return buf;
}

/* 0, 1: not a quantity, 2: negative. */
static int parse_bytes(const char *text, int64_t *ret)
{
	struct quantity quantity;
	int64_t value;

	if (quantity_parse(text, strlen(text), &quantity, NULL))
		return 1;
	value = quantity_value(&quantity);
	if (value < 0)
		return 2;
	*ret = value;
	return 0;
}

static const char *bytes_error(int r)
{
	return r == 1 ? "not a quantity:" : "negative:";
}

int codec_parse_bytes(const char *text, const char *path, int64_t *ret, struct err *err)
{
	int r = parse_bytes(text, ret);

	return r ? err_set_at(err, -EINVAL, path, 0, 0, "%s \"%.60s\"", bytes_error(r), text) : 0;
}

/* From 1970 to 9999: what time_render writes with four digits of a year. */
static bool is_writable_time(int64_t time_ms)
{
	return time_ms >= 0 && time_ms <= 253402300799999;
}

static int codec_parse_date(const char *text, int64_t *ret)
{
	char full[TIME_TEXT_BYTES];
	int64_t time_ms;

	if (strlen(text) != 10)
		return -EINVAL;
	snprintf(full, sizeof(full), "%sT00:00:00Z", text);
	if (time_parse(full, strlen(full), &time_ms) || !is_writable_time(time_ms))
		return -EINVAL;
	*ret = time_ms / TIME_DAY_MS;
	return 0;
}

static int codec_find_name(const struct codec_field *field, const char *text)
{
	for (size_t i = 0; i < field->n_names; i++)
		if (field->names[i] && streq(field->names[i], text))
			return (int)i;
	return -1;
}

/* An error at path.key. The path is put together only here: a decoder that meets no error formats nothing. */
static int field_error(struct err *err, const char *path, const struct codec_field *field, const char *what,
		       const char *found)
{
	char where[160];

	return err_set_at(err, -EINVAL, codec_path(path, field->key, where, sizeof(where)), 0, 0,
			  found ? "%s \"%.60s\"" : "%s", what, found);
}

/* What a string member says. */
static int codec_parse_text(const struct codec_field *field, const char *text, const char *path,
			    struct codec_value *value, struct err *err)
{
	int index;

	switch (field->type) {
	case CODEC_BYTES:
		index = parse_bytes(text, &value->number);
		return index ? field_error(err, path, field, bytes_error(index), text) : 0;
	case CODEC_TIME:
		return time_parse(text, strlen(text), &value->number) || !is_writable_time(value->number)
			       ? field_error(err, path, field, "not a time:", text)
			       : 0;
	case CODEC_DURATION:
		return duration_parse(text, strlen(text), &value->number)
			       ? field_error(err, path, field, "not a duration:", text)
			       : 0;
	case CODEC_DATE:
		return codec_parse_date(text, &value->number) ? field_error(err, path, field, "not a date:", text) : 0;
	case CODEC_ENUM:
	case CODEC_ENUM8:
		value->number = codec_find_name(field, text);
		return value->number < 0 ? field_error(err, path, field, "unknown value", text) : 0;
	case CODEC_NAME:
		index = codec_find_name(field, text);
		value->text = index < 0 ? "unknown" : field->names[index];
		return 0;
	default:
		value->text = text;
		return strlen(text) >= field->size ? field_error(err, path, field, "too long:", text) : 0;
	}
}

static int codec_parse_flags(const struct codec_field *field, const struct doc *array, const char *path,
			     struct codec_value *value, struct err *err)
{
	for (const struct doc *item = array->first; item; item = item->next) {
		int bit;

		if (item->type != DOC_STRING)
			return field_error(err, path, field, "expected strings", NULL);
		bit = codec_find_name(field, item->text);
		if (bit >= 0)
			value->number |= (int64_t)1 << bit;
	}
	return 0;
}

bool codec_is_integer(const struct doc *value, int64_t *ret)
{
	bool is_negative = value->type == DOC_NUMBER && value->text[0] == '-';
	int64_t number = 0;

	if (value->type != DOC_NUMBER)
		return false;
	for (const char *p = value->text + is_negative; *p; p++) {
		if (*p < '0' || *p > '9')
			return false;
		if (__builtin_mul_overflow(number, (int64_t)10, &number) ||
		    __builtin_sub_overflow(number, (int64_t)(*p - '0'), &number))
			number = INT64_MIN;
	}
	*ret = is_negative ? number : number == INT64_MIN ? INT64_MAX : -number;
	return true;
}

static bool is_double(const struct doc *value, double *ret)
{
	char *end;

	if (value->type != DOC_NUMBER)
		return false;
	*ret = strtod(value->text, &end);
	return *end == '\0';
}

static int wrong_type(const struct codec_field *field, const struct doc *member, const char *path, struct err *err)
{
	return field_error(err, path, field, "wrong type:", doc_type_name(member));
}

/* One member into `value`. 0 or -EINVAL. */
static int codec_parse(const struct codec_field *field, const struct doc *member, const char *path,
		       struct codec_value *value, struct err *err)
{
	int64_t most = field->type == CODEC_INT32 ? INT32_MAX : CODEC_INT64_MAX;

	switch (field->type) {
	case CODEC_INT64:
	case CODEC_INT32:
		if (!codec_is_integer(member, &value->number))
			return wrong_type(field, member, path, err);
		if (value->number > most || (value->number < 0 && value->number != field->absent))
			return field_error(err, path, field, "out of range:", member->text);
		return 0;
	case CODEC_DOUBLE:
		if (!is_double(member, &value->real))
			return wrong_type(field, member, path, err);
		return isfinite(value->real) ? 0 : field_error(err, path, field, "not a finite number", NULL);
	case CODEC_BOOL:
		value->number = member->type == DOC_TRUE;
		return value->number || member->type == DOC_FALSE ? 0 : wrong_type(field, member, path, err);
	case CODEC_FLAGS8:
		return member->type == DOC_ARRAY ? codec_parse_flags(field, member, path, value, err)
						 : wrong_type(field, member, path, err);
	default:
		return member->type == DOC_STRING ? codec_parse_text(field, member->text, path, value, err)
						  : wrong_type(field, member, path, err);
	}
}

/* The field of a key. Members mostly come in the table's order: start where the last one was found. */
static const struct codec_field *find_field(const struct codec_field *fields, size_t n, const char *key, size_t *next)
{
	for (size_t k = 0; k < n; k++) {
		size_t i = *next + k < n ? *next + k : *next + k - n;

		if (fields[i].key[0] == key[0] && streq(fields[i].key, key)) {
			*next = i + 1 < n ? i + 1 : 0;
			return &fields[i];
		}
	}
	return NULL;
}

/* Walks the members instead of looking each field up: a table has up to thirty fields. */
int codec_decode(const struct codec_field *fields, size_t n, const struct doc *object, const char *path, void *self,
		 struct err *err)
{
	size_t next = 0;

	if (!object)
		return 0;
	if (object->type != DOC_OBJECT)
		return err_set_at(err, -EINVAL, path, 0, 0, "expected an object");
	for (const struct doc *member = object->first; member; member = member->next) {
		const struct codec_field *field = find_field(fields, n, member->key, &next);
		struct codec_value value = {0};
		int r;

		if (!field || member->type == DOC_NULL)
			continue;
		r = codec_parse(field, member, path, &value, err);
		if (r)
			return r;
		codec_store(field, self, value);
	}
	return 0;
}

void codec_key(struct strbuf *buf, const char **comma, const char *key)
{
	strbuf_addf(buf, "%s\"%s\":", *comma, key);
	*comma = ",";
}

void codec_text(struct strbuf *buf, const char **comma, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	codec_key(buf, comma, key);
	strbuf_add_json_string(buf, text);
}

void codec_texts(struct strbuf *buf, const char **comma, const char *key, const char *const *texts, size_t n)
{
	if (!n)
		return;
	codec_key(buf, comma, key);
	for (size_t i = 0; i < n; i++) {
		strbuf_addc(buf, i ? ',' : '[');
		strbuf_add_json_string(buf, texts[i]);
	}
	strbuf_addc(buf, ']');
}

static void codec_render_flags(const struct codec_field *field, int64_t flags, struct strbuf *buf)
{
	const char *comma = "";

	strbuf_addc(buf, '[');
	for (size_t i = 0; i < field->n_names; i++) {
		if (!(flags >> i & 1))
			continue;
		strbuf_addf(buf, "%s\"%s\"", comma, field->names[i]);
		comma = ",";
	}
	strbuf_addc(buf, ']');
}

static void codec_render(const struct codec_field *field, struct codec_value value, struct strbuf *buf)
{
	char text[QUANTITY_TEXT_BYTES];

	switch (field->type) {
	case CODEC_BYTES:
		strbuf_addf(buf, "\"%s\"", quantity_render_bytes(value.number, text));
		break;
	case CODEC_INT64:
	case CODEC_INT32:
		strbuf_addf(buf, "%lld", (long long)value.number);
		break;
	case CODEC_DOUBLE:
		strbuf_addf(buf, "%.17g", value.real);
		break;
	case CODEC_TIME:
		strbuf_addf(buf, "\"%s\"", time_render(value.number, text));
		break;
	case CODEC_DURATION:
		strbuf_addf(buf, "\"%s\"", duration_render(value.number, text));
		break;
	case CODEC_DATE:
		strbuf_addf(buf, "\"%.10s\"", time_render(value.number * TIME_DAY_MS, text));
		break;
	case CODEC_TEXT:
	case CODEC_NAME:
		strbuf_add_json_string(buf, value.text);
		break;
	case CODEC_BOOL:
		strbuf_adds(buf, value.number ? "true" : "false");
		break;
	case CODEC_ENUM:
	case CODEC_ENUM8:
		strbuf_add_json_string(buf, value.number >= 0 && (size_t)value.number < field->n_names
						    ? field->names[value.number]
						    : NULL);
		break;
	case CODEC_FLAGS8:
		codec_render_flags(field, value.number, buf);
		break;
	}
}

void codec_encode(const struct codec_field *fields, size_t n, const void *self, const void *baseline,
		  struct strbuf *buf, const char **comma)
{
	for (size_t i = 0; i < n; i++) {
		struct codec_value value = codec_load(&fields[i], self);

		if (baseline ? codec_equal(&fields[i], value, codec_load(&fields[i], baseline))
			     : codec_is_absent(&fields[i], value))
			continue;
		codec_key(buf, comma, fields[i].key);
		codec_render(&fields[i], value, buf);
	}
}

bool codec_same(const struct codec_field *fields, size_t n, const void *a, const void *b)
{
	for (size_t i = 0; i < n; i++)
		if (!codec_equal(&fields[i], codec_load(&fields[i], a), codec_load(&fields[i], b)))
			return false;
	return true;
}

void codec_head(struct strbuf *buf, const char *kind, const char *namespace_name, const char *name)
{
	const char *comma = "";

	strbuf_addf(buf, "{\"apiVersion\":\"" PROFILE_API_VERSION "\",\"kind\":\"%s\",\"metadata\":{", kind);
	codec_text(buf, &comma, "namespace", namespace_name);
	codec_text(buf, &comma, "name", name);
	strbuf_addc(buf, '}');
}

static int get(const struct doc *object, const char *path, const char *key, enum doc_type type, const struct doc **ret,
	       struct err *err)
{
	const struct doc *value;
	char where[160];

	if (object && object->type != DOC_OBJECT)
		return err_set_at(err, -EINVAL, path, 0, 0, "expected an object, found %s", doc_type_name(object));
	value = doc_member(object, key);
	if (!value || value->type == DOC_NULL)
		return CODEC_ABSENT;
	if (value->type != type)
		return err_set_at(err, -EINVAL, codec_path(path, key, where, sizeof(where)), 0, 0,
				  "expected %s, found %s", doc_type_name(&(struct doc){.type = type}),
				  doc_type_name(value));
	*ret = value;
	return 0;
}

int codec_get_string(const struct doc *object, const char *path, const char *key, const char **ret, struct err *err)
{
	const struct doc *value;
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
	const char *text;
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
	const struct doc *value;
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
	const struct doc *array;
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
