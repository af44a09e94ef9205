/* SPDX-License-Identifier: Apache-2.0 */
/* JSON is nearly, not quite, a subset of the YAML that libyaml reads: surrogate pairs ("\ud83d\ude00", which Python
 * writes) are errors there, keys of more than 1024 characters too, and U+2028 in a string is folded. So a text that is
 * one JSON value, or several, is read as JSON. Whatever is no JSON is left to YAML. The builder's caps on depth and on
 * values end recursion and work. */
#include "yaml/yaml_build.h"

#include "base/json_text.h"

#include <errno.h>
#include <stdlib.h>

struct reader {
	struct builder *b;
	struct json_text in;
	struct yaml_cursor cursor; /* of the last mark */
};

/* The mark of an offset that is not before the offset of the call before. */
static yaml_mark_t mark_at(struct reader *r, size_t offset)
{
	while (r->cursor.offset < offset)
		yaml_cursor_step(&r->cursor, r->in.text, r->in.n);
	return r->cursor.mark;
}

static int emit(struct reader *r, yaml_event_type_t type)
{
	yaml_mark_t mark = mark_at(r, r->in.pos);
	yaml_event_t event = {.type = type, .start_mark = mark, .end_mark = mark};

	event.data.document_start.implicit = type == YAML_DOCUMENT_START_EVENT;
	return yaml_build_event(r->b, &event);
}

/* `begin` and `n`: the place of the value in the text. */
static int emit_scalar(struct reader *r, size_t begin, size_t n, struct str value, yaml_scalar_style_t style)
{
	yaml_event_t event = {.type = YAML_SCALAR_EVENT, .start_mark = mark_at(r, begin)};

	event.end_mark = mark_at(r, begin + n);
	event.data.scalar.value = (yaml_char_t *)(uintptr_t)value.p;
	event.data.scalar.length = value.n;
	event.data.scalar.style = style;
	return yaml_build_event(r->b, &event);
}

static int take_string(struct reader *r, const struct json_string *string)
{
	CLEANUP(freep) char *plain = string->has_escape ? malloc(string->inside.n) : NULL;
	struct str value = string->inside;

	if (string->has_escape && !plain)
		return yaml_build_no_memory(r->b, 0);
	if (plain)
		value = (struct str){plain, json_text_unescape(string->inside, plain)};
	return emit_scalar(r, string->from, string->inside.n + 2, value, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

static int read_string(struct reader *r)
{
	struct json_string string;
	int result = json_text_string(&r->in, &string);

	return result ? result : take_string(r, &string);
}

static int read_other(struct reader *r)
{
	size_t begin = r->in.pos;
	int result = json_text_scalar(&r->in);
	struct str value = {r->in.text + begin, r->in.pos - begin};

	return result ? result : emit_scalar(r, begin, value.n, value, YAML_PLAIN_SCALAR_STYLE);
}

static int read_value(struct reader *r);

static int read_collection(struct reader *r, bool is_object)
{
	struct json_string key;
	int result = emit(r, is_object ? YAML_MAPPING_START_EVENT : YAML_SEQUENCE_START_EVENT);

	r->in.tokens = 0; /* the builder caps values, so their brackets and commas need no cap */
	if (!result)
		result = json_text_enter(&r->in, 0);
	while (!result && (result = is_object ? json_text_member(&r->in, &key) : json_text_next(&r->in, ']')) > 0) {
		result = is_object ? take_string(r, &key) : 0;
		if (!result)
			result = read_value(r);
	}
	return result ? result : emit(r, is_object ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT);
}

static int read_value(struct reader *r)
{
	char first = json_text_peek(&r->in);

	if (first == '{' || first == '[')
		return read_collection(r, first == '{');
	return first == '"' ? read_string(r) : read_other(r);
}

int yaml_build_json(struct builder *b)
{
	struct reader r = {
		.b = b, .in = {.text = b->text, .n = b->n_text, .pos = b->n_mark}, .cursor = {.offset = b->n_mark}};
	char first = json_text_peek(&r.in);
	int result;

	/* One value after the other, as kubectl reads a file that begins with a brace. */
	do {
		if (first != '{' && first != '[')
			return 1;
		result = emit(&r, YAML_DOCUMENT_START_EVENT);
		if (!result)
			result = read_value(&r);
		if (!result)
			result = emit(&r, YAML_DOCUMENT_END_EVENT);
		first = json_text_peek(&r.in);
	} while (!result && r.in.pos < r.in.n);
	return result == -EINVAL ? 1 : result;
}
