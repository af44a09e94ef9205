/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a text as JSON, or else by libyaml, into the builder. */
#include "yaml/yaml_build.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

/* Resets everything except the arena, which keeps what it contains. */
static void forget(struct builder *b)
{
	b->stack.n = b->documents.n = 0;
	b->depth = b->n_flow = b->n_nodes = b->n_bytes = 0;
	b->has_begun = false;
	b->cursor = (struct yaml_cursor){.offset = b->n_mark};
}

/* libyaml's reader (encoding, control characters) knows an offset in bytes only. */
static int fail_reader(struct builder *b)
{
	size_t end = MIN(b->n_mark + b->parser.problem_offset, b->n_text);

	forget(b);
	while (b->cursor.offset < end)
		yaml_cursor_step(&b->cursor, b->text, b->n_text);
	if (b->parser.problem_value == 0)
		return yaml_build_fail(b, -EINVAL, b->cursor.mark, "NUL byte in the text: is this a binary file?");
	return yaml_build_fail(b, -EINVAL, b->cursor.mark, "%s (byte 0x%02x): is this UTF-8 text?", b->parser.problem,
			       (unsigned int)b->parser.problem_value);
}

static int fail_parser(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	yaml_mark_t mark = p->problem_mark;
	size_t offset;

	if (p->error == YAML_MEMORY_ERROR)
		return yaml_build_no_memory(b, 0);
	if (p->error == YAML_READER_ERROR)
		return fail_reader(b);
	forget(b);
	offset = yaml_build_offset(b, mark);
	if (offset < b->n_text && b->text[offset] == '\t')
		return yaml_build_fail(b, -EINVAL, mark, "a tab where YAML wants spaces");
	if (p->context && p->context_mark.line != mark.line)
		return yaml_build_fail(b, -EINVAL, mark, "no valid YAML: %s (%s from line %zu)", p->problem, p->context,
				       p->context_mark.line + 1);
	return yaml_build_fail(b, -EINVAL, mark, "no valid YAML: %s", p->problem);
}

static int take_events(struct builder *b)
{
	for (;;) {
		yaml_event_t event;
		bool is_end;
		int r;

		if (!yaml_parser_parse(&b->parser, &event))
			return fail_parser(b);
		is_end = event.type == YAML_STREAM_END_EVENT;
		r = yaml_build_event(b, &event);
		yaml_event_delete(&event);
		if (r || is_end)
			return r;
	}
}

static int finish(struct builder *b, struct yaml_documents *ret)
{
	size_t bytes = b->documents.n * sizeof(*b->documents.items);
	struct yaml_documents documents = {.items = arena_alloc(b->arena, bytes + 1), .n = b->documents.n};

	if (b->arena->has_failed)
		return yaml_build_no_memory(b, bytes);
	if (bytes)
		memcpy(documents.items, b->documents.items, bytes);
	*ret = documents;
	return 0;
}

/* libyaml compares each %TAG directive with all before it. It takes `%` for one at the begin of each line, and knows
 * the line breaks of Unicode too: the last bytes of these are compared here. */
static int refuse_many_tags(struct builder *b)
{
	static const char breaks[] = "\n\r\x85\xa8\xa9";
	const char *begin = b->text + b->n_mark, *end = b->text + b->n_text, *at = begin;
	size_t n = 0;

	STEPS_BULK(b->n_text);
	for (; (at = memchr(at, '%', (size_t)(end - at))); at++) {
		STEPS(1);
		if ((at > begin && !memchr(breaks, at[-1], sizeof(breaks) - 1)) ||
		    !str_starts((struct str){at, (size_t)(end - at)}, STR("%TAG")) || ++n <= LIMIT_YAML_TAG_LINES)
			continue;
		while (b->cursor.offset < (size_t)(at - b->text))
			yaml_cursor_step(&b->cursor, b->text, b->n_text);
		return yaml_build_fail(b, -E2BIG, b->cursor.mark, "more than %d %%TAG directives",
				       LIMIT_YAML_TAG_LINES);
	}
	return 0;
}

static int parse_yaml(struct builder *b)
{
	int r = refuse_many_tags(b);

	if (r)
		return r;
	if (!yaml_parser_initialize(&b->parser))
		return yaml_build_no_memory(b, 0);
	yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b->parser, (const unsigned char *)b->text + b->n_mark, b->n_text - b->n_mark);
	r = take_events(b);
	yaml_parser_delete(&b->parser);
	return r;
}

static int parse(struct builder *b, struct yaml_documents *ret)
{
	int r;

	if (b->n_text > LIMIT_MANIFEST_BYTES)
		return err_set_at(b->err, -E2BIG, b->name, 0, 0, "larger than %zu MiB", LIMIT_MANIFEST_BYTES / MIB);
	b->n_mark = str_starts((struct str){b->text, b->n_text}, YAML_BYTE_ORDER_MARK) ? YAML_BYTE_ORDER_MARK.n : 0;
	forget(b);
	r = yaml_build_json(b);
	if (r > 0) {
		forget(b);
		r = parse_yaml(b);
	}
	if (!r)
		r = finish(b, ret);
	vec_release(&b->stack);
	vec_release(&b->documents);
	strmap_release(&b->anchors);
	return r;
}

int yaml_tree_parse_lenient(const char *text, size_t n, const char *name, struct arena *arena,
			    struct yaml_documents *ret, struct err *err)
{
	struct builder b = {.name = name, .text = n ? text : "", .n_text = n, .arena = arena, .err = err};

	return parse(&b, ret);
}

int yaml_tree_parse(const char *text, size_t n, const char *name, struct arena *arena, struct yaml_documents *ret,
		    struct err *err)
{
	struct yaml_documents documents = {0};
	int r = yaml_tree_parse_lenient(text, n, name, arena, &documents, err);

	for (size_t i = 0; i < documents.n && !r; i++) {
		if (!documents.items[i].problem)
			continue;
		r = -EINVAL;
		if (err)
			*err = *documents.items[i].problem;
	}
	if (!r)
		*ret = documents;
	return r;
}
