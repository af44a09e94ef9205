/* SPDX-License-Identifier: Apache-2.0 */
/* What is written must read back as the same value with our parser, with kubectl and with YAML 1.2 parsers. So a string
 * is plain only where none of them could see anything else in it; text of several lines becomes a literal block where
 * a block can hold it exactly; all else is double-quoted. */
#include "yaml/yaml_internal.h"

#include "base/str.h"

#define SIMPLE_KEY_BYTES 1000 /* YAML reads `key:` up to 1024 characters; longer ones need `? key` */

/* Characters that may stand in the text as they are: printable, and no line break of any YAML version. */
static bool is_printable(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7F && code <= 0xA0))
		return false;
	return code != 0x2028 && code != 0x2029 && code != 0xFEFF && code != 0xFFFE && code != 0xFFFF;
}

static bool all_printable(const char *text, size_t n, const char *also)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + n;

	while (p < end) {
		uint32_t code = 0;
		size_t length = yaml_utf8_decode(p, (size_t)(end - p), &code);

		if (!length || (!is_printable(code) && !(code && code < 0x80 && strchr(also, (int)code))))
			return false;
		p += length;
	}
	return true;
}

/* Digits, signs and separators only: a date, a base-60 number or another number of some YAML version. */
static bool is_number_like(const char *text, size_t n)
{
	return strspn(text, "0123456789+-.:_eExXoObBtTzZ") >= n && strpbrk(text, "0123456789");
}

static bool is_plain_safe(const char *text, size_t n)
{
	if (!n || strlen(text) != n || yaml_scalar_resolve(text, n).type != YAML_SCALAR_STRING)
		return false;
	if (strchr("?:,[]{}#&*!|>'\"%@`=<~ ", text[0]) || text[n - 1] == ' ' || text[n - 1] == ':')
		return false;
	if (text[0] == '-' && (n == 1 || text[1] == ' ' || strstarts(text, "---")))
		return false;
	if (strstarts(text, "...") || strstr(text, ": ") || strstr(text, " #") || is_number_like(text, n))
		return false;
	return all_printable(text, n, "");
}

static void add_quoted(struct strbuf *buf, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + n;

	strbuf_addc(buf, '"');
	while (p < end) {
		uint32_t code = 0;
		size_t length = yaml_utf8_decode(p, (size_t)(end - p), &code);

		if (!length)
			strbuf_adds(buf, "\\uFFFD");
		else if (code == '"' || code == '\\')
			strbuf_addf(buf, "\\%c", (int)code);
		else if (code == '\n')
			strbuf_adds(buf, "\\n");
		else if (code == '\t')
			strbuf_adds(buf, "\\t");
		else if (is_printable(code))
			strbuf_add(buf, (const char *)p, length);
		else
			strbuf_addf(buf, "\\u%04X", (unsigned int)code);
		p += length ? length : 1;
	}
	strbuf_addc(buf, '"');
}

int yaml_tree_emit_string(struct strbuf *buf, const char *text, size_t n)
{
	if (is_plain_safe(text, n))
		strbuf_add(buf, text, n);
	else
		add_quoted(buf, text, n);
	return buf->status;
}

/* A literal block holds text of several lines that ends with at most one line break and whose first line that is not
 * empty does not start with a blank (that would be taken for indentation). */
static bool is_block_safe(const char *text, size_t n)
{
	size_t first = strspn(text, "\n");

	if (!n || strlen(text) != n || !memchr(text, '\n', n) || first == n || strchr(" \t", text[first]))
		return false;
	if (n >= 2 && text[n - 1] == '\n' && text[n - 2] == '\n')
		return false;
	return all_printable(text, n, "\n\t");
}

static void add_indent(struct strbuf *buf, size_t indent)
{
	for (size_t i = 0; i < indent; i++)
		strbuf_addc(buf, ' ');
}

static void add_block(struct strbuf *buf, const char *text, size_t n, size_t indent)
{
	strbuf_adds(buf, text[n - 1] == '\n' ? "|\n" : "|-\n");
	for (const char *end = text + n; text < end;) {
		size_t length = strcspn(text, "\n");

		if (length)
			add_indent(buf, indent);
		strbuf_add(buf, text, length);
		strbuf_addc(buf, '\n');
		text += length + 1;
	}
}

/* A value that fits on the line of its key; ends the line. */
static void emit_scalar(struct json_object *object, struct strbuf *buf, size_t indent)
{
	bool is_string = json_object_is_type(object, json_type_string);
	const char *text = is_string ? json_object_get_string(object) : "";
	size_t n = is_string ? (size_t)json_object_get_string_len(object) : 0;
	char number[40];

	switch (json_object_get_type(object)) {
	case json_type_string:
		if (is_block_safe(text, n)) {
			add_block(buf, text, n, indent);
			return;
		}
		yaml_tree_emit_string(buf, text, n);
		break;
	case json_type_object:
		strbuf_adds(buf, "{}");
		break;
	case json_type_array:
		strbuf_adds(buf, "[]");
		break;
	case json_type_null:
		strbuf_adds(buf, "null");
		break;
	case json_type_double:
		strbuf_adds(buf, yaml_scalar_render_float(json_object_get_double(object), number));
		break;
	default:
		strbuf_adds(buf, json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	}
	strbuf_addc(buf, '\n');
}

static bool is_block_collection(struct json_object *object)
{
	return (json_object_is_type(object, json_type_object) && json_object_object_length(object) > 0) ||
	       (json_object_is_type(object, json_type_array) && json_object_array_length(object) > 0);
}

static void emit(struct json_object *object, struct strbuf *buf, size_t indent, bool is_on_dash);

static void emit_key(const char *key, struct strbuf *buf, size_t indent)
{
	size_t before = buf->len;

	yaml_tree_emit_string(buf, key, strlen(key));
	if (buf->status || buf->len - before <= SIMPLE_KEY_BYTES) {
		strbuf_addc(buf, ':');
		return;
	}
	buf->len = before;
	buf->text[before] = '\0';
	strbuf_adds(buf, "? ");
	add_quoted(buf, key, strlen(key));
	strbuf_addc(buf, '\n');
	add_indent(buf, indent);
	strbuf_addc(buf, ':');
}

/* Members of one object; the first one may stand behind a dash. Sequences are not indented below their key. */
static void emit_object(struct json_object *object, struct strbuf *buf, size_t indent, bool is_on_dash)
{
	json_object_object_foreach(object, key, value)
	{
		bool is_array = json_object_is_type(value, json_type_array);

		if (!is_on_dash)
			add_indent(buf, indent);
		is_on_dash = false;
		emit_key(key, buf, indent);
		if (is_block_collection(value)) {
			strbuf_addc(buf, '\n');
			emit(value, buf, is_array ? indent : indent + 2, false);
		} else {
			strbuf_addc(buf, ' ');
			emit_scalar(value, buf, indent + 2);
		}
	}
}

static void emit_array(struct json_object *array, struct strbuf *buf, size_t indent, bool is_on_dash)
{
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		struct json_object *item = json_object_array_get_idx(array, i);

		if (!is_on_dash || i)
			add_indent(buf, indent);
		strbuf_adds(buf, "- ");
		if (is_block_collection(item))
			emit(item, buf, indent + 2, true);
		else
			emit_scalar(item, buf, indent + 2);
	}
}

static void emit(struct json_object *object, struct strbuf *buf, size_t indent, bool is_on_dash)
{
	if (json_object_is_type(object, json_type_object))
		emit_object(object, buf, indent, is_on_dash);
	else
		emit_array(object, buf, indent, is_on_dash);
}

int yaml_tree_emit(struct json_object *object, struct strbuf *buf)
{
	if (is_block_collection(object))
		emit(object, buf, 0, false);
	else
		emit_scalar(object, buf, 2);
	return buf->status;
}
