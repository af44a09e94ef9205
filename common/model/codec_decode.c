/* SPDX-License-Identifier: Apache-2.0 */
#include "model/codec_internal.h"

#include "base/timefmt.h"
#include "base/vec.h"
#include "k8s/quantity.h"

#include <errno.h>
#include <stdio.h>

/* 0; 1: not a quantity; 2: negative. */
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

int codec_parse_bytes(const char *text, int64_t *ret, struct err *err)
{
	int r = parse_bytes(text, ret);

	return r ? err_set(err, -EINVAL, "%s \"%.60s\"", bytes_error(r), text) : 0;
}

/* From 1970 to 9999: years that time_render writes with four digits. */
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

static int field_error(struct err *err, const struct codec_field *field, const char *what, const char *found)
{
	return decode_at(err_set(err, -EINVAL, found ? "%s \"%.60s\"" : "%s", what, found), err, "%s", field->key);
}

/* Converts the text of a string member. */
static int codec_parse_text(const struct codec_field *field, const char *text, struct codec_value *value,
			    struct err *err)
{
	int index;

	switch (field->type) {
	case CODEC_BYTES:
		index = parse_bytes(text, &value->number);
		if (!index && value->number < field->min && value->number != field->absent)
			return field_error(err, field, "less than 1Mi:", text);
		return index ? field_error(err, field, bytes_error(index), text) : 0;
	case CODEC_TIME:
		return time_parse(text, strlen(text), &value->number) || !is_writable_time(value->number)
			       ? field_error(err, field, "not a time:", text)
			       : 0;
	case CODEC_DURATION:
		return duration_parse(text, strlen(text), &value->number)
			       ? field_error(err, field, "not a duration:", text)
			       : 0;
	case CODEC_DATE:
		return codec_parse_date(text, &value->number) ? field_error(err, field, "not a date:", text) : 0;
	case CODEC_ENUM:
	case CODEC_ENUM8:
		value->number = codec_find_name(field, text);
		return value->number < 0 ? field_error(err, field, "unknown value", text) : 0;
	case CODEC_NAME:
		index = codec_find_name(field, text);
		value->text = index < 0 ? "unknown" : field->names[index];
		return 0;
	default:
		value->text = text;
		if (strlen(text) >= (field->type == CODEC_STRING ? (size_t)field->max + 1 : field->size))
			return field_error(err, field, "too long:", text);
		return *text && field->n_names && codec_find_name(field, text) < 0
			       ? field_error(err, field, "unknown value", text)
			       : 0;
	}
}

static int codec_parse_flags(const struct codec_field *field, const struct doc *array, struct codec_value *value,
			     struct err *err)
{
	for (const struct doc *item = array->first; item; item = item->next) {
		int bit;

		if (item->type != DOC_STRING)
			return field_error(err, field, "expected strings", NULL);
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

static int wrong_type(const struct codec_field *field, const struct doc *member, struct err *err)
{
	return field_error(err, field, "wrong type:", doc_type_name(member));
}

/* Converts one member. 0 or -EINVAL. */
static int codec_parse(const struct codec_field *field, const struct doc *member, struct codec_value *value,
		       struct err *err)
{
	int64_t most = field->max ? field->max : field->type == CODEC_INT32 ? INT32_MAX : CODEC_INT64_MAX;

	switch (field->type) {
	case CODEC_INT64:
	case CODEC_INT32:
		if (!codec_is_integer(member, &value->number))
			return wrong_type(field, member, err);
		if (value->number > most || (value->number < 0 && value->number != field->absent))
			return field_error(err, field, "out of range:", member->text);
		return 0;
	case CODEC_BOOL:
		value->number = member->type == DOC_TRUE;
		return value->number || member->type == DOC_FALSE ? 0 : wrong_type(field, member, err);
	case CODEC_FLAGS8:
		return member->type == DOC_ARRAY ? codec_parse_flags(field, member, value, err)
						 : wrong_type(field, member, err);
	default:
		return member->type == DOC_STRING ? codec_parse_text(field, member->text, value, err)
						  : wrong_type(field, member, err);
	}
}

/* The value with this key. Members are mostly in the table's order, so the search starts behind the last one found. */
static const struct codec_field *find_value(const struct codec_table *table, const char *key, size_t *next)
{
	for (size_t k = 0; k < table->n; k++) {
		size_t i = *next + k < table->n ? *next + k : *next + k - table->n;
		const struct codec_field *field = &table->fields[i];

		if (field->key[0] == key[0] && field->type < CODEC_OBJECT && streq(field->key, key)) {
			*next = i + 1 < table->n ? i + 1 : 0;
			return field;
		}
	}
	return NULL;
}

/* Walks the members instead of looking up each field, as a table has up to thirty fields. */
static int decode_values(const struct codec_table *table, const struct doc *object, void *self, struct err *err)
{
	size_t next = 0;
	int r = 0;

	for (const struct doc *member = object->first; member && !r; member = member->next) {
		const struct codec_field *field = find_value(table, member->key, &next);
		struct codec_value value = {0};

		if (!field || member->type == DOC_NULL)
			continue;
		r = codec_parse(field, member, &value, err);
		if (!r)
			codec_store(field, self, value);
	}
	return r;
}

static int decode_texts(const struct codec_field *field, const struct doc *object, void *self, struct err *err)
{
	void *at = (char *)self + field->offset;
	size_t n;
	int r = codec_get_texts(object, field->key, field->max_items, (size_t)field->max, *(const char ***)at, &n, err);

	*((uint8_t *)self + field->n_offset) = (uint8_t)n;
	return r;
}

static int decode_inner(const struct codec_field *field, const struct doc *object, void *self, struct err *err)
{
	const struct doc *member = NULL;
	int r = decode_object(object, field->key, &member, err);

	return r ? r
		 : decode_at(codec_decode(field->table, member, (char *)self + field->offset, err), err, "%s",
			     field->key);
}

struct list_place {
	const struct codec_field *field;
	struct codec_list *list;
};

static int decode_listed(void *context, const struct doc *item, struct err *err)
{
	const struct list_place *place = context;
	const struct codec_field *field = place->field;
	struct codec_list *list = place->list;
	void *at;
	int r;

	if (vec_grow_(&list->items, &list->capacity, list->n + 1, field->size))
		return err_set(err, -ENOMEM, "out of memory");
	at = memset((char *)list->items + list->n * field->size, 0, field->size);
	codec_reset(field->table, at);
	r = codec_decode(field->table, item, at, err);
	list->n += !r;
	return r;
}

static int decode_list(const struct codec_field *field, const struct doc *object, void *self, struct err *err)
{
	struct list_place place = {field, (void *)((char *)self + field->offset)};

	return codec_get_objects(object, field->key, (size_t)field->max, decode_listed, &place, err);
}

static int decode_member(const struct codec_field *field, const struct doc *object, void *self, struct err *err)
{
	if (field->read)
		return field->read(field, object, self, err);
	if (field->read_item)
		return codec_get_objects(object, field->key, (size_t)field->max, field->read_item, self, err);
	if (field->write)
		return 0;
	if (field->type == CODEC_ROWS)
		return codec_decode(field->table, object, self, err);
	if (field->type == CODEC_OBJECT)
		return decode_inner(field, object, self, err);
	if (field->type == CODEC_OBJECTS)
		return decode_list(field, object, self, err);
	return field->type == CODEC_TEXTS ? decode_texts(field, object, self, err) : 0;
}

int codec_decode(const struct codec_table *table, const struct doc *object, void *self, struct err *err)
{
	int r;

	if (!object)
		return 0;
	if (object->type != DOC_OBJECT)
		return err_set(err, -EINVAL, "expected an object");
	r = decode_values(table, object, self, err);
	for (size_t i = 0; i < table->n && !r; i++)
		if (table->fields[i].type >= CODEC_OBJECT)
			r = decode_member(&table->fields[i], object, self, err);
	return r;
}
