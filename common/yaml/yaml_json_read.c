/* SPDX-License-Identifier: Apache-2.0 */
/* JSON is nearly, not quite, a subset of the YAML that libyaml reads: surrogate pairs ("\ud83d\ude00", which Python
 * writes) are errors there, keys of more than 1024 characters too, and U+2028 in a string is folded. So a text that is
 * one JSON value is read as JSON. Whatever is no JSON is left to YAML. Recursion ends at the builder's depth cap. */
#include "yaml/yaml_build.h"
#include "yaml/yaml_internal.h"

#include "base/str.h"

enum { NO_JSON = 1 };

struct reader {
	struct builder *b;
	const char *text;
	size_t n, at;
	size_t line, column; /* 0-based, in characters */
	struct strbuf string;
};

static int peek(const struct reader *r)
{
	return r->at < r->n ? (unsigned char)r->text[r->at] : -1;
}

/* Move over one byte or line break. */
static void advance(struct reader *r)
{
	size_t n = yaml_line_break(r->text + r->at, r->n - r->at);

	if (n) {
		r->line++;
		r->column = 0;
	} else {
		r->column += (r->text[r->at] & 0xC0) != 0x80;
	}
	r->at += n ? n : 1;
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->n && strchr(" \t\r\n", r->text[r->at]) && r->text[r->at])
		advance(r);
}

static bool take_char(struct reader *r, char c)
{
	skip_blanks(r);
	if (peek(r) != (unsigned char)c)
		return false;
	advance(r);
	return true;
}

static yaml_mark_t mark_of(const struct reader *r)
{
	return (yaml_mark_t){.index = r->at, .line = r->line, .column = r->column};
}

static int emit(struct reader *r, yaml_event_type_t type, yaml_mark_t mark)
{
	yaml_event_t event = {.type = type, .start_mark = mark};

	event.data.document_start.implicit = type == YAML_DOCUMENT_START_EVENT;
	return yaml_build_event(r->b, &event);
}

static int emit_scalar(struct reader *r, const char *text, size_t n, bool is_string, yaml_mark_t mark)
{
	yaml_event_t event = {.type = YAML_SCALAR_EVENT, .start_mark = mark};

	event.data.scalar.value = (yaml_char_t *)(uintptr_t)text;
	event.data.scalar.length = n;
	event.data.scalar.style = is_string ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE;
	return yaml_build_event(r->b, &event);
}

/* Four hex digits behind \u; -1 when they are none. */
static long take_hex4(struct reader *r)
{
	long code = 0;

	for (int i = 0; i < 4; i++) {
		int c = peek(r);
		const char *digits = "0123456789abcdef";
		const char *digit = c > 0 ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

		if (!digit)
			return -1;
		code = code * 16 + (digit - digits);
		advance(r);
	}
	return code;
}

static void add_utf8(struct strbuf *buf, unsigned long code)
{
	static const unsigned char heads[] = {0, 0, 0xC0, 0xE0, 0xF0};
	size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = 0; i < length; i++) {
		size_t shift = 6 * (length - 1 - i);

		strbuf_addc(buf, (char)(i ? 0x80 | (code >> shift & 0x3F) : heads[length] | code >> shift));
	}
}

/* Behind \u: a character, or a pair of surrogates that make one. */
static int take_unicode(struct reader *r)
{
	long code = take_hex4(r), low;

	if (code < 0 || (code >= 0xDC00 && code <= 0xDFFF))
		return NO_JSON;
	if (code >= 0xD800 && code <= 0xDBFF) {
		if (peek(r) != '\\')
			return NO_JSON;
		advance(r);
		if (peek(r) != 'u')
			return NO_JSON;
		advance(r);
		low = take_hex4(r);
		if (low < 0xDC00 || low > 0xDFFF)
			return NO_JSON;
		code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
	}
	add_utf8(&r->string, (unsigned long)code);
	return 0;
}

static int take_escape(struct reader *r)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name;
	int c;

	advance(r);
	c = peek(r);
	name = c > 0 ? strchr(names, c) : NULL;
	if (c < 0)
		return NO_JSON;
	advance(r);
	if (c == 'u')
		return take_unicode(r);
	if (!name)
		return NO_JSON;
	return strbuf_addc(&r->string, values[name - names]) == -ENOMEM ? -ENOMEM : 0;
}

/* The inside of a string into r->string; the opening quote is next. */
static int take_string(struct reader *r)
{
	strbuf_clear(&r->string);
	advance(r);
	for (;;) {
		int c = peek(r), result = 0;
		uint32_t code;
		size_t n;

		if (c < 0x20)
			return NO_JSON;
		if (c == '"') {
			advance(r);
			return r->string.status == -ENOMEM ? -ENOMEM : r->string.status ? NO_JSON : 0;
		}
		if (c == '\\') {
			result = take_escape(r);
			if (result)
				return result;
			continue;
		}
		n = yaml_utf8_decode((const unsigned char *)r->text + r->at, r->n - r->at, &code);
		if (!n)
			return NO_JSON;
		strbuf_add(&r->string, r->text + r->at, n);
		for (size_t end = r->at + n; r->at < end;)
			advance(r);
	}
}

static size_t count_digits(const struct reader *r, size_t at)
{
	size_t n = 0;

	while (at + n < r->n && r->text[at + n] >= '0' && r->text[at + n] <= '9')
		n++;
	return n;
}

/* Length of the JSON number that is next, 0 for none. */
static size_t number_length(const struct reader *r)
{
	size_t at = r->at + (peek(r) == '-' ? 1 : 0), n = count_digits(r, at);

	if (!n || (n > 1 && r->text[at] == '0'))
		return 0;
	at += n;
	if (at < r->n && r->text[at] == '.') {
		n = count_digits(r, at + 1);
		if (!n)
			return 0;
		at += 1 + n;
	}
	if (at < r->n && (r->text[at] | 0x20) == 'e') {
		at++;
		if (at < r->n && (r->text[at] == '-' || r->text[at] == '+'))
			at++;
		n = count_digits(r, at);
		if (!n)
			return 0;
		at += n;
	}
	return at - r->at;
}

static int read_literal(struct reader *r)
{
	static const char *const words[] = {"true", "false", "null"};
	yaml_mark_t mark = mark_of(r);
	const char *text = r->text + r->at;
	size_t n = number_length(r);

	for (size_t i = 0; !n && i < ARRAY_LEN(words); i++)
		if (r->n - r->at >= strlen(words[i]) && memcmp(text, words[i], strlen(words[i])) == 0)
			n = strlen(words[i]);
	if (!n)
		return NO_JSON;
	r->at += n;
	r->column += n;
	return emit_scalar(r, text, n, false, mark);
}

static int read_value(struct reader *r);

static int read_string(struct reader *r)
{
	yaml_mark_t mark = mark_of(r);
	int result = take_string(r);

	return result ? result : emit_scalar(r, strbuf_text(&r->string), r->string.len, true, mark);
}

static int read_member(struct reader *r)
{
	int result;

	skip_blanks(r);
	if (peek(r) != '"')
		return NO_JSON;
	result = read_string(r);
	if (result)
		return result;
	return take_char(r, ':') ? read_value(r) : NO_JSON;
}

static int read_collection(struct reader *r, bool is_object)
{
	char close = is_object ? '}' : ']';
	int result = emit(r, is_object ? YAML_MAPPING_START_EVENT : YAML_SEQUENCE_START_EVENT, mark_of(r));

	if (result)
		return result;
	advance(r);
	if (!take_char(r, close)) {
		do
			result = is_object ? read_member(r) : read_value(r);
		while (!result && take_char(r, ','));
		if (result)
			return result;
		if (!take_char(r, close))
			return NO_JSON;
	}
	return emit(r, is_object ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, mark_of(r));
}

static int read_value(struct reader *r)
{
	skip_blanks(r);
	switch (peek(r)) {
	case '{':
		return read_collection(r, true);
	case '[':
		return read_collection(r, false);
	case '"':
		return read_string(r);
	default:
		return read_literal(r);
	}
}

static int read_document(struct reader *r)
{
	int result;

	skip_blanks(r);
	if (peek(r) != '{' && peek(r) != '[')
		return NO_JSON;
	result = emit(r, YAML_DOCUMENT_START_EVENT, mark_of(r));
	if (!result)
		result = read_value(r);
	if (result)
		return result;
	skip_blanks(r);
	return r->at == r->n ? emit(r, YAML_DOCUMENT_END_EVENT, mark_of(r)) : NO_JSON;
}

int yaml_build_json(struct builder *b)
{
	struct reader r = {.b = b, .text = b->text, .n = b->n_text, .string = STRBUF_INIT(LIMIT_MANIFEST_BYTES)};
	int result = read_document(&r);

	strbuf_release(&r.string);
	return result && result != -ENOMEM ? NO_JSON : result;
}
