/* SPDX-License-Identifier: Apache-2.0 */
#include "model/codec_internal.h"

#include "base/timefmt.h"
#include "k8s/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
		if (strlen(text) >= field->size)
			return field_error(err, path, field, "too long:", text);
		return *text && field->n_names && codec_find_name(field, text) < 0
			       ? field_error(err, path, field, "unknown value", text)
			       : 0;
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
	int64_t most = field->max ? field->max : field->type == CODEC_INT32 ? INT32_MAX : CODEC_INT64_MAX;

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
