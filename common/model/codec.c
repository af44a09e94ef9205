/* SPDX-License-Identifier: Apache-2.0 */
#include "model/codec_internal.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "k8s/quantity.h"

#include <stdio.h>

static bool is_text(const struct codec_field *field)
{
	return field->type == CODEC_TEXT || field->type == CODEC_STRING || field->type == CODEC_NAME;
}

static struct codec_value codec_load(const struct codec_field *field, const void *self)
{
	const void *at = (const char *)self + field->offset;
	struct codec_value value = {0};

	if (is_text(field)) {
		value.text = field->type == CODEC_TEXT ? at : *(const char *const *)at;
		if (field->type == CODEC_STRING && !value.text)
			value.text = "";
	} else if (field->size == sizeof(int64_t)) {
		value.number = *(const int64_t *)at;
	} else if (field->size == sizeof(int32_t)) {
		value.number = *(const int32_t *)at;
	} else {
		value.number = *(const uint8_t *)at;
	}
	return value;
}

void codec_store(const struct codec_field *field, void *self, struct codec_value value)
{
	void *at = (char *)self + field->offset;

	if (field->type == CODEC_TEXT)
		snprintf(at, field->size, "%s", value.text ? value.text : "");
	else if (is_text(field))
		*(const char **)at = value.text ? value.text : field->type == CODEC_NAME ? "unknown" : "";
	else if (field->size == sizeof(int64_t))
		*(int64_t *)at = value.number;
	else if (field->size == sizeof(int32_t))
		*(int32_t *)at = (int32_t)value.number;
	else
		*(uint8_t *)at = (uint8_t)value.number;
}

static bool has_functions(const struct codec_field *field)
{
	return field->read || field->read_item || field->write;
}

static bool codec_is_absent(const struct codec_field *field, struct codec_value value)
{
	if (field->type == CODEC_TEXT || field->type == CODEC_STRING)
		return !*value.text;
	if (field->type == CODEC_NAME)
		return !value.text || streq(value.text, "unknown");
	return value.number == field->absent;
}

static bool codec_equal(const struct codec_field *field, struct codec_value a, struct codec_value b)
{
	return is_text(field) ? streq(a.text, b.text) : a.number == b.number;
}

void codec_reset(const struct codec_table *table, void *self)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct codec_field *field = &table->fields[i];

		if (field->type < CODEC_OBJECT)
			codec_store(field, self, (struct codec_value){.number = field->absent});
		else if (field->type == CODEC_OBJECT || field->type == CODEC_ROWS)
			codec_reset(field->table, (char *)self + field->offset);
		else if (field->type == CODEC_TEXTS && !has_functions(field))
			*((uint8_t *)self + field->n_offset) = 0;
	}
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
	case CODEC_STRING:
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
	default: /* members of several values are not rendered here */
		break;
	}
}

static void encode_value(const struct codec_field *field, const void *self, const void *baseline, struct strbuf *buf,
			 const char **comma)
{
	struct codec_value value = codec_load(field, self);

	if (baseline ? codec_equal(field, value, codec_load(field, baseline)) : codec_is_absent(field, value))
		return;
	codec_key(buf, comma, field->key);
	codec_render(field, value, buf);
}

static void encode_texts(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const void *at = (const char *)self + field->offset;

	codec_texts(buf, comma, field->key, *(const char *const *const *)at,
		    *((const uint8_t *)self + field->n_offset));
}

static void encode_list(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct codec_list *list = (const void *)((const char *)self + field->offset);
	size_t n = MIN(list->n, (size_t)field->max);
	const char *items = list->items;

	if (n < list->n)
		items += (list->n - n) * field->size;
	codec_encode_objects(field, items, n, NULL, buf, comma);
}

void codec_encode(const struct codec_table *table, const void *self, const void *baseline, struct strbuf *buf,
		  const char **comma)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct codec_field *field = &table->fields[i];

		if (field->write) {
			field->write(field, self, buf, comma);
		} else if (field->type < CODEC_OBJECT) {
			encode_value(field, self, baseline, buf, comma);
		} else if (field->type == CODEC_ROWS) {
			codec_encode(field->table, self, baseline, buf, comma);
		} else if (field->type == CODEC_TEXTS) {
			encode_texts(field, self, buf, comma);
		} else if (field->type == CODEC_OBJECTS) {
			encode_list(field, self, buf, comma);
		} else if (field->type == CODEC_OBJECT) {
			codec_key(buf, comma, field->key);
			codec_encode_object(field->table, (const char *)self + field->offset, NULL, buf);
		}
	}
}

void codec_encode_object(const struct codec_table *table, const void *self, const void *baseline, struct strbuf *buf)
{
	const char *comma = "";

	strbuf_addc(buf, '{');
	codec_encode(table, self, baseline, buf, &comma);
	strbuf_addc(buf, '}');
}

void codec_encode_objects(const struct codec_field *field, const void *items, size_t n, const void *baseline,
			  struct strbuf *buf, const char **comma)
{
	if (!n)
		return;
	codec_key(buf, comma, field->key);
	for (size_t i = 0; i < n; i++) {
		strbuf_addc(buf, i ? ',' : '[');
		codec_encode_object(field->table, (const char *)items + i * field->size, baseline, buf);
	}
	strbuf_addc(buf, ']');
}

/* A value is rendered as JSON, so without its quotes it may stand in a JSON string as it is. */
void codec_encode_line(const struct codec_table *table, const void *self, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf value = STRBUF_INIT(4 * KIB);
	const char *space = "";

	strbuf_addc(buf, '"');
	for (size_t i = 0; i < table->n && !value.status; i++) {
		const struct codec_field *field = &table->fields[i];
		size_t quote;

		if (codec_is_absent(field, codec_load(field, self)))
			continue;
		strbuf_clear(&value);
		codec_render(field, codec_load(field, self), &value);
		quote = *strbuf_text(&value) == '"';
		strbuf_addf(buf, "%s%s=%.*s", space, field->key, (int)(value.len - 2 * quote),
			    strbuf_text(&value) + quote);
		space = " ";
	}
	strbuf_addc(buf, '"');
	if (value.status) {
		strbuf_release(buf);
		buf->status = value.status;
	}
}

static bool same_texts(const struct codec_field *field, const void *a, const void *b)
{
	const void *at_a = (const char *)a + field->offset, *at_b = (const char *)b + field->offset;
	const char *const *texts_a = *(const char *const *const *)at_a;
	const char *const *texts_b = *(const char *const *const *)at_b;
	size_t n = *((const uint8_t *)a + field->n_offset);
	bool is_same = n == *((const uint8_t *)b + field->n_offset);

	for (size_t i = 0; i < n && is_same; i++)
		is_same = streq(texts_a[i], texts_b[i]);
	return is_same;
}

static bool same_member(const struct codec_field *field, const void *a, const void *b)
{
	if (field->type < CODEC_OBJECT)
		return codec_equal(field, codec_load(field, a), codec_load(field, b));
	if (has_functions(field) || field->type == CODEC_OBJECTS)
		return true;
	if (field->type == CODEC_TEXTS)
		return same_texts(field, a, b);
	return codec_same(field->table, (const char *)a + field->offset, (const char *)b + field->offset);
}

bool codec_same(const struct codec_table *table, const void *a, const void *b)
{
	for (size_t i = 0; i < table->n; i++)
		if (!same_member(&table->fields[i], a, b))
			return false;
	return true;
}
