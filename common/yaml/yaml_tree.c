/* SPDX-License-Identifier: Apache-2.0 */
/* Events become nodes on one stack; the end of a sequence or mapping moves its part of the stack into the arena as one
 * array. Nothing recurses, so depth costs nothing but the frames below. */
#include "yaml/yaml_build.h"
#include "yaml/yaml_internal.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/strmap.h"

#define FEW_KEYS 16 /* compared pairwise; beyond that a table */

static int fail_at(struct builder *b, int code, yaml_mark_t mark, const char *text)
{
	return err_set_at(b->err, code, b->name, mark.line + 1, mark.column + 1, "%s", text);
}

static int fail_memory(struct builder *b, size_t bytes)
{
	if (b->arena->max_bytes - b->arena->used_bytes < bytes)
		return err_set_at(b->err, -E2BIG, b->name, 0, 0, "too large: its tree needs more than %zu MiB",
				  b->arena->max_bytes / MIB);
	return err_set_at(b->err, -ENOMEM, b->name, 0, 0, "out of memory");
}

size_t yaml_line_break(const char *p, size_t n)
{
	if (p[0] == '\r' && n > 1 && p[1] == '\n')
		return 2;
	if (p[0] == '\r' || p[0] == '\n')
		return 1;
	if (n > 1 && memcmp(p, "\xc2\x85", 2) == 0)
		return 2;
	return n > 2 && (memcmp(p, "\xe2\x80\xa8", 3) == 0 || memcmp(p, "\xe2\x80\xa9", 3) == 0) ? 3 : 0;
}

/* Offset of a line that is not before the one asked for last. */
static size_t line_offset(struct builder *b, size_t line)
{
	while (b->cursor_line < line && b->cursor < b->n_text) {
		size_t n = yaml_line_break(b->text + b->cursor, b->n_text - b->cursor);

		b->cursor += n ? n : 1;
		b->cursor_line += n > 0;
	}
	return b->cursor;
}

/* The reader (encoding, control characters) knows an offset in bytes only. */
static int fail_reader(struct builder *b)
{
	size_t line = 1, column = 1, end = MIN(b->parser.problem_offset, b->n_text);

	for (size_t i = 0; i < end;) {
		size_t n = yaml_line_break(b->text + i, b->n_text - i);

		line += n > 0;
		column = n ? 1 : column + ((b->text[i] & 0xC0) != 0x80);
		i += n ? n : 1;
	}
	if (b->parser.problem_value == 0)
		return err_set_at(b->err, -EINVAL, b->name, line, column,
				  "NUL byte in the text: is this a binary file?");
	return err_set_at(b->err, -EINVAL, b->name, line, column, "%s (byte 0x%02x): is this UTF-8 text?",
			  b->parser.problem, (unsigned int)b->parser.problem_value);
}

static int fail_parser(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	yaml_mark_t mark = p->problem_mark;
	size_t offset;

	if (p->error == YAML_MEMORY_ERROR)
		return err_set_at(b->err, -ENOMEM, b->name, 0, 0, "out of memory");
	if (p->error == YAML_READER_ERROR)
		return fail_reader(b);
	b->cursor = b->cursor_line = 0;
	offset = line_offset(b, mark.line);
	for (size_t i = 0; i < mark.column && offset < b->n_text; i++) {
		offset++;
		while (offset < b->n_text && (b->text[offset] & 0xC0) == 0x80)
			offset++;
	}
	if (offset < b->n_text && b->text[offset] == '\t')
		return fail_at(b, -EINVAL, mark, "a tab where YAML wants spaces");
	if (p->context && p->context_mark.line != mark.line)
		return err_set_at(b->err, -EINVAL, b->name, mark.line + 1, mark.column + 1,
				  "no valid YAML: %s (%s from line %zu)", p->problem, p->context,
				  p->context_mark.line + 1);
	return err_set_at(b->err, -EINVAL, b->name, mark.line + 1, mark.column + 1, "no valid YAML: %s", p->problem);
}

enum tag { TAG_NONE, TAG_STRING, TAG_OTHER_CORE };

static int take_tag(struct builder *b, const yaml_char_t *tag, yaml_mark_t mark, enum tag *ret)
{
	static const char *const core[] = {YAML_NULL_TAG,  YAML_BOOL_TAG, YAML_INT_TAG,
					   YAML_FLOAT_TAG, YAML_SEQ_TAG,  YAML_MAP_TAG};
	const char *text = (const char *)tag;

	*ret = TAG_NONE;
	if (!text || !*text)
		return 0;
	if (streq(text, YAML_STR_TAG) || streq(text, "!")) {
		*ret = TAG_STRING;
		return 0;
	}
	*ret = TAG_OTHER_CORE;
	for (size_t i = 0; i < ARRAY_LEN(core); i++)
		if (streq(text, core[i]))
			return 0;
	return err_set_at(b->err, -EINVAL, b->name, mark.line + 1, mark.column + 1, "tag %.60s is not supported", text);
}

static int refuse_anchor(struct builder *b, const yaml_char_t *anchor, yaml_mark_t mark)
{
	if (!anchor)
		return 0;
	return err_set_at(b->err, -EINVAL, b->name, mark.line + 1, mark.column + 1,
			  "anchor &%.60s: anchors and aliases are not supported", (const char *)anchor);
}

static bool is_key(const struct builder *b)
{
	const struct frame *top = b->depth ? &b->frames[b->depth - 1] : NULL;

	return top && top->node.type == YAML_TREE_MAPPING && (b->stack.n - top->begin) % 2 == 0;
}

static int push(struct builder *b, const struct yaml_node *node)
{
	if (vec_push(&b->stack, *node))
		return err_set_at(b->err, -ENOMEM, b->name, 0, 0, "out of memory");
	return 0;
}

static int count_node(struct builder *b, yaml_mark_t mark)
{
	if (++b->n_nodes > LIMIT_YAML_NODES)
		return fail_at(b, -E2BIG, mark, "too many values in one file");
	return 0;
}

/* A mapping key as JSON will have it: the text of what the plain scalar means. */
static int key_text(struct builder *b, struct yaml_node *key, yaml_mark_t mark)
{
	struct yaml_scalar scalar = yaml_scalar_resolve(key->text, key->n_text);
	char number[40];
	const char *text = number;

	if (!key->is_plain)
		return 0;
	if (streq(key->text, "<<"))
		return fail_at(b, -EINVAL, mark, "merge keys (<<) are not supported");
	if (scalar.type == YAML_SCALAR_NULL)
		return fail_at(b, -EINVAL, mark, "a key is null");
	if (scalar.type == YAML_SCALAR_STRING || scalar.type == YAML_SCALAR_NOT_FINITE)
		return 0;
	if (scalar.type == YAML_SCALAR_BOOL)
		text = scalar.bool_value ? "true" : "false";
	else if (scalar.type == YAML_SCALAR_INT)
		snprintf(number, sizeof(number), "%lld", (long long)scalar.int_value);
	else if (scalar.type == YAML_SCALAR_UINT)
		snprintf(number, sizeof(number), "%llu", (unsigned long long)scalar.uint_value);
	else
		yaml_scalar_render_float(scalar.float_value, number);
	key->text = arena_strdup(b->arena, text);
	key->n_text = strlen(text);
	return key->text ? 0 : fail_memory(b, key->n_text + 1);
}

static int take_scalar(struct builder *b, const yaml_event_t *event)
{
	yaml_mark_t mark = event->start_mark;
	const char *text = (const char *)event->data.scalar.value;
	size_t n = event->data.scalar.length;
	struct yaml_node node = {.type = YAML_TREE_SCALAR, .line = mark.line + 1, .column = mark.column + 1};
	enum tag tag;
	int r = refuse_anchor(b, event->data.scalar.anchor, mark);

	if (!r)
		r = take_tag(b, event->data.scalar.tag, mark, &tag);
	if (!r)
		r = count_node(b, mark);
	if (r)
		return r;
	if (memchr(text, '\0', n))
		return fail_at(b, -EINVAL, mark, "a NUL character in a string");
	if (tag == TAG_OTHER_CORE && yaml_scalar_resolve(text, n).type == YAML_SCALAR_STRING)
		return fail_at(b, -EINVAL, mark, "a value that does not fit its tag");
	node.is_plain = tag == TAG_OTHER_CORE ||
			(tag == TAG_NONE && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
	node.text = arena_strndup(b->arena, text, n);
	node.n_text = n;
	if (!node.text)
		return fail_memory(b, n + 1);
	if (is_key(b))
		r = key_text(b, &node, mark);
	else if (node.is_plain && yaml_scalar_resolve(text, n).type == YAML_SCALAR_NULL)
		node.type = YAML_TREE_NULL;
	return r ? r : push(b, &node);
}

static int open_collection(struct builder *b, const yaml_event_t *event, enum yaml_type type)
{
	yaml_mark_t mark = event->start_mark;
	bool is_map = type == YAML_TREE_MAPPING;
	enum tag tag;
	int r = refuse_anchor(b, is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor, mark);

	if (!r)
		r = take_tag(b, is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag, mark, &tag);
	if (!r)
		r = count_node(b, mark);
	if (r)
		return r;
	if (is_key(b))
		return fail_at(b, -EINVAL, mark, "a key must be a scalar");
	if (b->depth >= LIMIT_YAML_DEPTH)
		return fail_at(b, -E2BIG, mark, "nested too deeply");
	b->frames[b->depth++] = (struct frame){
		.node = {.type = type, .line = mark.line + 1, .column = mark.column + 1},
		.begin = b->stack.n,
	};
	return 0;
}

static int fail_duplicate(struct builder *b, const struct yaml_node *first, const struct yaml_node *second)
{
	return err_set_at(b->err, -EINVAL, b->name, second->line, second->column,
			  "duplicate key \"%.100s\", first at line %zu column %zu", second->text, first->line,
			  first->column);
}

static int refuse_duplicates(struct builder *b, struct yaml_node *keys, size_t n)
{
	CLEANUP(strmap_release) struct strmap seen = STRMAP_INIT;

	if (n <= FEW_KEYS) {
		for (size_t i = 1; i < n; i++)
			for (size_t k = 0; k < i; k++)
				if (streq(keys[i].text, keys[k].text))
					return fail_duplicate(b, &keys[k], &keys[i]);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		const struct yaml_node *first = strmap_get(&seen, keys[i].text);

		if (first)
			return fail_duplicate(b, first, &keys[i]);
		if (strmap_put(&seen, keys[i].text, &keys[i]))
			return err_set_at(b->err, -ENOMEM, b->name, 0, 0, "out of memory");
	}
	return 0;
}

static int close_collection(struct builder *b)
{
	struct frame *top = &b->frames[--b->depth];
	struct yaml_node node = top->node;
	size_t n_children = b->stack.n - top->begin;
	bool is_map = node.type == YAML_TREE_MAPPING;

	node.n = is_map ? n_children / 2 : n_children;
	if (node.n) {
		node.items = arena_array(b->arena, node.n, sizeof(node));
		node.keys = is_map ? arena_array(b->arena, node.n, sizeof(node)) : NULL;
		if (!node.items || (is_map && !node.keys))
			return fail_memory(b, n_children * sizeof(node));
	}
	for (size_t i = 0; i < node.n; i++) {
		const struct yaml_node *child = &b->stack.items[top->begin + (is_map ? 2 * i : i)];

		if (is_map)
			node.keys[i] = *child++;
		node.items[i] = *child;
	}
	b->stack.n = top->begin;
	if (is_map) {
		int r = refuse_duplicates(b, node.keys, node.n);

		if (r)
			return r;
	}
	return push(b, &node);
}

static void open_document(struct builder *b, const yaml_event_t *event)
{
	b->start_line = event->data.document_start.implicit ? SIZE_MAX : event->start_mark.line;
	b->extent.begin = b->documents.n && b->start_line != SIZE_MAX ? line_offset(b, b->start_line) : 0;
	if (b->extents.n && !b->extents.items[b->extents.n - 1].tail)
		b->extents.items[b->extents.n - 1].tail = b->extent.begin;
}

static int close_document(struct builder *b)
{
	struct yaml_node root = b->stack.items[0];
	size_t line = root.line - 1;

	b->stack.n = 0;
	if (root.type == YAML_TREE_NULL)
		return 0;
	if (b->documents.n >= LIMIT_MANIFEST_DOCUMENTS)
		return err_set_at(b->err, -E2BIG, b->name, root.line, root.column, "more than %d documents in one file",
				  LIMIT_MANIFEST_DOCUMENTS);
	b->extent.body = line_offset(b, line);
	if (line == b->start_line)
		b->extent.body += strlen("---");
	b->extent.tail = 0; /* not known yet */
	b->extent.end = b->n_text;
	if (b->extents.n)
		b->extents.items[b->extents.n - 1].end = b->extent.begin;
	if (vec_push(&b->documents, root) || vec_push(&b->extents, b->extent))
		return err_set_at(b->err, -ENOMEM, b->name, 0, 0, "out of memory");
	return 0;
}

int yaml_build_event(struct builder *b, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		open_document(b, event);
		return 0;
	case YAML_DOCUMENT_END_EVENT:
		return close_document(b);
	case YAML_ALIAS_EVENT:
		return fail_at(b, -EINVAL, event->start_mark, "anchors and aliases are not supported");
	case YAML_SCALAR_EVENT:
		return take_scalar(b, event);
	case YAML_SEQUENCE_START_EVENT:
		return open_collection(b, event, YAML_TREE_SEQUENCE);
	case YAML_MAPPING_START_EVENT:
		return open_collection(b, event, YAML_TREE_MAPPING);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_collection(b);
	default:
		return 0;
	}
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
	size_t n = b->documents.n;
	struct yaml_documents documents = {.n = n};

	if (n) {
		documents.items = arena_array(b->arena, n, sizeof(*documents.items));
		documents.extents = arena_array(b->arena, n, sizeof(*documents.extents));
		if (!documents.items || !documents.extents)
			return fail_memory(b, n * sizeof(*documents.items));
		memcpy(documents.items, b->documents.items, n * sizeof(*documents.items));
		memcpy(documents.extents, b->extents.items, n * sizeof(*documents.extents));
	}
	*ret = documents;
	return 0;
}

/* Offsets in the whole text, byte order mark included. */
static void shift_extent(struct yaml_extent *extent, size_t n)
{
	extent->begin += n;
	extent->body += n;
	extent->tail = extent->tail ? extent->tail + n : extent->end + n;
	extent->end += n;
}

/* Start again, with what the arena has. */
static void forget(struct builder *b)
{
	b->stack.n = b->documents.n = b->extents.n = 0;
	b->depth = b->n_nodes = 0;
	b->cursor = b->cursor_line = 0;
}

static int parse_yaml(struct builder *b)
{
	int r;

	if (!yaml_parser_initialize(&b->parser))
		return err_set_at(b->err, -ENOMEM, b->name, 0, 0, "out of memory");
	yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b->parser, (const unsigned char *)b->text, b->n_text);
	r = take_events(b);
	yaml_parser_delete(&b->parser);
	return r;
}

int yaml_tree_parse(const char *text, size_t n, const char *name, struct arena *arena, struct yaml_documents *ret,
		    struct err *err)
{
	struct builder b = {.name = name, .text = n ? text : "", .n_text = n, .arena = arena, .err = err};
	size_t n_mark = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	int r;

	if (n > LIMIT_MANIFEST_BYTES)
		return err_set_at(err, -E2BIG, name, 0, 0, "larger than %zu MiB", LIMIT_MANIFEST_BYTES / MIB);
	b.text += n_mark;
	b.n_text -= n_mark;
	r = yaml_build_json(&b);
	if (r > 0) {
		forget(&b);
		r = parse_yaml(&b);
	}
	if (!r)
		r = finish(&b, ret);
	vec_release(&b.stack);
	vec_release(&b.documents);
	vec_release(&b.extents);
	for (size_t i = 0; !r && i < ret->n; i++)
		shift_extent(&ret->extents[i], n_mark);
	return r;
}
