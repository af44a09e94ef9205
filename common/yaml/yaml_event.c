/* SPDX-License-Identifier: Apache-2.0 */
/* Events become nodes on one stack; the end of a sequence or mapping moves its part of the stack into the arena as one
 * array. Nothing recurses, so depth costs nothing but the frames of the builder. */
#include "yaml/yaml_build.h"
#include "yaml/yaml_internal.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>

enum tag { TAG_NONE, TAG_STRING, TAG_OTHER_CORE };

static enum tag tag_of(struct builder *b, const yaml_char_t *tag, yaml_mark_t mark)
{
	static const char *const core[] = {YAML_NULL_TAG,  YAML_BOOL_TAG, YAML_INT_TAG,
					   YAML_FLOAT_TAG, YAML_SEQ_TAG,  YAML_MAP_TAG};
	const char *text = (const char *)tag;

	if (!text || !*text)
		return TAG_NONE;
	if (streq(text, YAML_STR_TAG) || streq(text, "!"))
		return TAG_STRING;
	for (size_t i = 0; i < ARRAY_LEN(core); i++)
		if (streq(text, core[i]))
			return TAG_OTHER_CORE;
	yaml_build_refuse(b, mark, "tag %.60s is not supported", text);
	return TAG_NONE;
}

static bool is_key(const struct builder *b)
{
	const struct frame *top = b->depth ? &b->frames[b->depth - 1] : NULL;

	return top && top->node.type == YAML_TREE_MAPPING && (b->stack.n - top->begin) % 2 == 0;
}

static int push(struct builder *b, const struct yaml_node *node, size_t height)
{
	struct frame *top = b->depth ? &b->frames[b->depth - 1] : NULL;

	if (top)
		top->height = MAX(top->height, height);
	if (vec_push(&b->stack, *node))
		return yaml_build_no_memory(b, 0);
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
	if (streq(key->text, yaml_merge_key)) {
		key->text = yaml_merge_key;
		b->frames[b->depth - 1].has_merge = true;
		return 0;
	}
	if (scalar.type == YAML_SCALAR_NULL)
		yaml_build_refuse(b, mark, "a key is null");
	if (scalar.type == YAML_SCALAR_NULL || scalar.type == YAML_SCALAR_STRING ||
	    scalar.type == YAML_SCALAR_NOT_FINITE)
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
	return key->text ? 0 : yaml_build_no_memory(b, key->n_text + 1);
}

/* A value or key is complete: on the stack, keys as text, null as null. */
static int push_node(struct builder *b, struct yaml_node *node, yaml_mark_t mark, size_t height)
{
	int r = 0;

	if (!is_key(b)) {
		if (node->type == YAML_TREE_SCALAR && node->is_plain &&
		    yaml_scalar_resolve(node->text, node->n_text).type == YAML_SCALAR_NULL)
			node->type = YAML_TREE_NULL;
		return push(b, node, height);
	}
	if (node->type == YAML_TREE_SCALAR) {
		r = key_text(b, node, mark);
	} else {
		node->type = YAML_TREE_SCALAR;
		node->text = "";
		node->n = 0;
		yaml_build_refuse(b, mark, "a key must be a scalar");
	}
	return r ? r : push(b, node, height);
}

static int take_scalar(struct builder *b, const yaml_event_t *event)
{
	yaml_mark_t mark = event->start_mark;
	const char *text = (const char *)event->data.scalar.value;
	size_t n = event->data.scalar.length;
	struct yaml_node node = {.type = YAML_TREE_SCALAR, .line = mark.line + 1, .column = mark.column + 1};
	struct yaml_anchor *anchor;
	enum tag tag = tag_of(b, event->data.scalar.tag, mark);
	int r = yaml_build_count(b, mark, 1, n);

	if (!r && memchr(text, '\0', n))
		r = yaml_build_fail(b, -EINVAL, mark, "a NUL character in a string");
	if (tag == TAG_OTHER_CORE && yaml_scalar_resolve(text, n).type == YAML_SCALAR_STRING)
		yaml_build_refuse(b, mark, "a value that does not fit its tag");
	if (!r)
		r = yaml_anchor_open(b, event->data.scalar.anchor, &anchor);
	if (r)
		return r;
	node.is_plain = tag == TAG_OTHER_CORE ||
			(tag == TAG_NONE && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
	node.text = arena_strndup(b->arena, text, n);
	node.n_text = n;
	node.begin = yaml_build_offset(b, mark);
	node.end = yaml_build_offset(b, event->end_mark);
	node.anchor = anchor;
	if (!node.text)
		return yaml_build_no_memory(b, n + 1);
	if (anchor)
		*anchor = (struct yaml_anchor){.node = node, .is_complete = true, .n_nodes = 1, .n_bytes = n};
	return push_node(b, &node, mark, 0);
}

static int take_alias(struct builder *b, const yaml_event_t *event)
{
	struct yaml_node node;
	size_t height;
	int r = yaml_alias_take(b, event, &node, &height);

	return r ? r : push_node(b, &node, event->start_mark, height);
}

static int open_collection(struct builder *b, const yaml_event_t *event, enum yaml_type type)
{
	yaml_mark_t mark = event->start_mark;
	bool is_map = type == YAML_TREE_MAPPING;
	/* the styles of both have the same numbers; JSON has none */
	int style = is_map ? (int)event->data.mapping_start.style : (int)event->data.sequence_start.style;
	bool is_flow = style == YAML_FLOW_MAPPING_STYLE;
	struct yaml_anchor *anchor;
	size_t n_nodes = b->n_nodes, n_bytes = b->n_bytes;
	int r = yaml_build_count(b, mark, 1, 0);

	tag_of(b, is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag, mark);
	if (!r && (b->depth >= LIMIT_YAML_DEPTH || b->n_flow + is_flow > LIMIT_YAML_FLOW_DEPTH))
		r = yaml_build_fail(b, -E2BIG, mark, "nested too deeply");
	if (!r)
		r = yaml_anchor_open(b, is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor,
				     &anchor);
	if (r)
		return r;
	b->n_flow += is_flow;
	b->frames[b->depth++] = (struct frame){
		.node = {.type = type,
			 .is_flow = style != YAML_BLOCK_MAPPING_STYLE,
			 .line = mark.line + 1,
			 .column = mark.column + 1,
			 .begin = yaml_build_offset(b, mark),
			 .anchor = anchor},
		.begin = b->stack.n,
		.n_nodes = n_nodes,
		.n_bytes = n_bytes,
		.is_flow = is_flow,
	};
	return 0;
}

static int refuse_duplicates(struct builder *b, const struct yaml_node *keys, size_t n)
{
	CLEANUP(strmap_release) struct strmap seen = STRMAP_INIT;

	for (size_t i = 0; i < n && n > 1; i++) {
		const struct yaml_node *first = strmap_get(&seen, keys[i].text);
		yaml_mark_t mark = {.line = keys[i].line - 1, .column = keys[i].column - 1};

		if (!first && strmap_put(&seen, keys[i].text, (void *)(uintptr_t)&keys[i]))
			return yaml_build_no_memory(b, 0);
		if (first && keys[i].text != yaml_merge_key)
			yaml_build_refuse(b, mark, "duplicate key \"%.100s\", first at line %zu column %zu",
					  keys[i].text, first->line, first->column);
	}
	return 0;
}

static int close_collection(struct builder *b, const yaml_event_t *event)
{
	struct frame *top = &b->frames[--b->depth];
	struct yaml_node node = top->node;
	yaml_mark_t mark = {.line = node.line - 1, .column = node.column - 1};
	int r;

	if (node.is_flow)
		node.end = yaml_build_offset(b, event->end_mark);
	r = yaml_build_take(b, top->begin, &node);

	b->n_flow -= top->is_flow;
	if (!r && node.type == YAML_TREE_MAPPING)
		r = refuse_duplicates(b, node.keys, node.n);
	if (!r && top->has_merge)
		r = yaml_merge(b, &node);
	if (r)
		return r;
	if (node.anchor)
		*node.anchor = (struct yaml_anchor){
			.node = node,
			.is_complete = true,
			.n_nodes = b->n_nodes - top->n_nodes,
			.n_bytes = b->n_bytes - top->n_bytes,
			.height = top->height + 1,
		};
	return push_node(b, &node, mark, top->height + 1);
}

static void open_document(struct builder *b, const yaml_event_t *event)
{
	size_t begin = b->has_begun ? yaml_build_offset(b, event->start_mark) : 0;

	if (!b->has_begun || b->documents.n)
		b->document = (struct yaml_document){
			.begin = begin,
			.has_marker = !event->data.document_start.implicit,
		};
	b->has_begun = true;
	b->document.problem = NULL;
	strmap_release(&b->anchors);
}

static int close_document(struct builder *b)
{
	struct yaml_node root = b->stack.items[0];

	b->stack.n = 0;
	if (root.type == YAML_TREE_NULL)
		return 0;
	if (b->documents.n >= LIMIT_MANIFEST_DOCUMENTS)
		return err_set_at(b->err, -E2BIG, b->name, root.line, root.column, "more than %d documents in one file",
				  LIMIT_MANIFEST_DOCUMENTS);
	b->document.root = root;
	b->document.end = b->n_text;
	if (b->documents.n)
		b->documents.items[b->documents.n - 1].end = b->document.begin;
	if (vec_push(&b->documents, b->document))
		return yaml_build_no_memory(b, 0);
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
		return take_alias(b, event);
	case YAML_SCALAR_EVENT:
		return take_scalar(b, event);
	case YAML_SEQUENCE_START_EVENT:
		return open_collection(b, event, YAML_TREE_SEQUENCE);
	case YAML_MAPPING_START_EVENT:
		return open_collection(b, event, YAML_TREE_MAPPING);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_collection(b, event);
	default:
		return 0;
	}
}
