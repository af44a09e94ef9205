/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml_edit.h"
#include "yaml/yaml_internal.h"

#include "base/str.h"
#include "base/utf8.h"

#include <ctype.h>

/* Characters that YAML allows in a text as they are: printable, and no line break of any YAML version. */
static bool is_printable(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7F && code <= 0xA0))
		return false;
	return code != 0x2028 && code != 0x2029 && code != 0xFEFF && code != 0xFFFE && code != 0xFFFF;
}

/* Digits, signs and separators only: a date, a base-60 number or another number of some YAML version. */
static bool is_number_like(const char *text, size_t n)
{
	return strspn(text, "0123456789+-.:_eExXoObBtTzZ") >= n && strpbrk(text, "0123456789");
}

/* libyaml refuses ":?" between brackets. */
static bool is_plain_safe(const char *text, size_t n)
{
	size_t first = strspn(text, "-./");

	if (!isalnum((unsigned char)text[first]) || first > 1 || is_number_like(text, n) || strlen(text) != n ||
	    yaml_scalar_resolve(text, n).type != YAML_SCALAR_STRING)
		return false;
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7F ||
		    (p[0] == ':' && (p[1] == ' ' || p[1] == '?' || !p[1])) || (p[0] == ' ' && (p[1] == '#' || !p[1])))
			return false;
	return true;
}

/* As JSON has it, where all characters have at most four hexadecimal digits. */
static void add_quoted(struct strbuf *buf, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + n;

	strbuf_addc(buf, '"');
	while (p < end) {
		uint32_t code = 0xFFFD;
		size_t length = utf8_decode(p, (size_t)(end - p), &code);

		if (code == '"' || code == '\\')
			strbuf_addc(buf, '\\');
		if (length && is_printable(code))
			strbuf_add(buf, (const char *)p, length);
		else
			strbuf_addf(buf, "\\u%04X", (unsigned int)code);
		p += length ? length : 1;
	}
	strbuf_addc(buf, '"');
}

int yaml_add_string(struct strbuf *buf, const char *text, size_t n, bool is_quoted)
{
	if (!is_quoted && is_plain_safe(text, n))
		strbuf_add(buf, text, n);
	else
		add_quoted(buf, text, n);
	return buf->status;
}

static bool is_collection(struct json_object *value)
{
	return (json_object_is_type(value, json_type_object) && json_object_object_length(value) > 0) ||
	       (json_object_is_type(value, json_type_array) && json_object_array_length(value) > 0);
}

/* `special`: characters that a plain string may not have where the value is. */
static int add_inline(struct strbuf *buf, struct json_object *value, bool is_quoted, const char *special)
{
	const char *text = json_object_get_string(value), *separator = "{";

	if (json_object_is_type(value, json_type_string))
		return yaml_add_string(buf, text, (size_t)json_object_get_string_len(value),
				       is_quoted || strpbrk(text, special));
	if (!is_collection(value))
		return strbuf_adds(buf, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++) {
			strbuf_adds(buf, i ? ", " : "[");
			yaml_add_flow(buf, json_object_array_get_idx(value, i), is_quoted);
		}
		return strbuf_addc(buf, ']');
	}
	json_object_object_foreach(value, key, member)
	{
		strbuf_adds(buf, separator);
		yaml_add_string(buf, key, strlen(key), is_quoted || strpbrk(key, ",[]{}"));
		strbuf_adds(buf, ": ");
		yaml_add_flow(buf, member, is_quoted);
		separator = ", ";
	}
	return strbuf_addc(buf, '}');
}

int yaml_add_flow(struct strbuf *buf, struct json_object *value, bool is_quoted)
{
	return add_inline(buf, value, is_quoted, ",[]{}");
}

/* --- Block style --- */

static void add_indent(struct strbuf *buf, const struct yaml_style *style, size_t indent)
{
	strbuf_addf(buf, "%s%*s", style->line_break, (int)indent, "");
}

static void add_lines(struct strbuf *buf, struct json_object *value, const struct yaml_style *style, size_t indent,
		      bool is_on_dash);

/* A value behind a key and its colon, or behind a dash, on whose line a collection begins. */
static void add_value(struct strbuf *buf, struct json_object *value, const struct yaml_style *style, size_t indent,
		      bool is_on_dash)
{
	bool is_inline = style->is_flow || !is_collection(value);

	strbuf_adds(buf, is_inline || is_on_dash ? " " : "");
	if (is_inline)
		add_inline(buf, value, style->is_quoted, "");
	else
		add_lines(buf, value, style, indent, is_on_dash);
}

static void add_member(struct strbuf *buf, const char *key, struct json_object *value, const struct yaml_style *style,
		       size_t indent)
{
	yaml_add_string(buf, key, strlen(key), style->is_quoted);
	strbuf_addc(buf, ':');
	add_value(buf, value, style, indent + (json_object_is_type(value, json_type_array) ? 0 : style->step), false);
}

static void add_lines(struct strbuf *buf, struct json_object *value, const struct yaml_style *style, size_t indent,
		      bool is_on_dash)
{
	size_t n = json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;

	for (size_t i = 0; i < n; i++) {
		if (i || !is_on_dash)
			add_indent(buf, style, indent);
		strbuf_addc(buf, '-');
		add_value(buf, json_object_array_get_idx(value, i), style, indent + 2, true);
	}
	if (n)
		return;
	json_object_object_foreach(value, key, member)
	{
		if (!is_on_dash)
			add_indent(buf, style, indent);
		is_on_dash = false;
		add_member(buf, key, member, style, indent);
	}
}

int yaml_add_member(struct strbuf *buf, const char *key, struct json_object *value, const struct yaml_style *style,
		    size_t indent)
{
	add_indent(buf, style, indent);
	add_member(buf, key, value, style, indent);
	return buf->status;
}
