/* SPDX-License-Identifier: Apache-2.0 */
#include "model/codec_internal.h"

#include "base/timefmt.h"
#include "k8s/quantity.h"
#include "model/profile.h"

#include <math.h>

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

void codec_store(const struct codec_field *field, void *self, struct codec_value value)
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
