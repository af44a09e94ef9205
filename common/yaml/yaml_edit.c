/* SPDX-License-Identifier: Apache-2.0 */
/* The tree and the JSON that it shall read as are walked side by side, in the order of the text. Where both differ, the
 * text is copied up to there and the change is written, so that one pass makes the new text. Positions in unusual texts
 * need not be right: whatever was written is read again and compared. */
#include "yaml/yaml_edit.h"

#include "base/limits.h"
#include "base/steps.h"
#include "base/str.h"

#include <errno.h>

#define TREE_BYTES (1 * GIB)

struct editor {
	const char *text, *name;
	const struct yaml_document *document;
	size_t at;			/* the text up to here is written */
	const struct yaml_node *shared; /* the value around the present one that an alias or a merge key shares */
	struct yaml_style style;
	struct strbuf *buf;
	struct err *err;
};

static int fail(const struct editor *self)
{
	const struct yaml_node *node = self->shared ? self->shared : &self->document->root;

	return err_set_at(self->err, -EINVAL, self->name, node->line, node->column, "%s",
			  self->shared ? "shared by an alias (*) or a merge key (<<), so it cannot be changed for one "
					 "place alone; write the resources out in each place, or change them by hand"
				       : "cannot be changed in place; change the sizes by hand");
}

static int copy_until(struct editor *self, size_t offset)
{
	if (self->shared || offset < self->at || offset > self->document->end)
		return fail(self);
	strbuf_add(self->buf, self->text + self->at, offset - self->at);
	self->at = offset;
	return 0;
}

/* Where the text of a value ends; the node of a block scalar ends behind the empty lines below it. */
static size_t end_of(const struct editor *self, const struct yaml_node *node)
{
	size_t end = node->end;

	while (end > node->begin && strchr(" \t\r\n", self->text[end - 1]))
		end--;
	STEPS(node->end - end);
	return end;
}

/* The value below which members are added: the mapping, or its last member but one if lines below would add to the
 * last: to a block scalar that keeps the empty lines at its end, or that ends with the text, without a line break. */
static const struct yaml_node *above_of(const struct editor *self, const struct yaml_node *node)
{
	const struct yaml_node *last = node;
	size_t n;

	while (last->n)
		last = &last->items[last->n - 1];
	if (node->n < 2 || last->type != YAML_TREE_SCALAR || !strchr("|>", self->text[last->begin]))
		return node;
	for (n = last->n_text; n && last->text[n - 1] == '\n';)
		n--;
	STEPS(last->n_text - n);
	if (last->n_text - n > 1 || (n == last->n_text && self->text[last->end - 1] != '\n'))
		return &node->items[node->n - 2];
	return node;
}

static size_t end_of_line(const struct editor *self, size_t offset)
{
	size_t begin = offset;

	while (offset < self->document->end && !strchr("\r\n", self->text[offset]))
		offset++;
	STEPS(offset - begin);
	return offset;
}

/* --- Changes --- */

/* Adds members as lines below `offset`: those that come after the members of `node`. */
static int add_lines(struct editor *self, size_t offset, const struct yaml_node *node, struct json_object *object,
		     size_t indent)
{
	struct yaml_style style = self->style;
	int r = copy_until(self, end_of_line(self, offset));
	size_t i = 0;

	style.is_flow = node->n && node->items[node->n - 1].type == YAML_TREE_MAPPING &&
			node->items[node->n - 1].is_flow;
	json_object_object_foreach(object, key, value)
	{
		if (i++ >= node->n && !r)
			yaml_add_member(self->buf, key, value, &style, indent);
	}
	return r;
}

/* What separates two members of a flow mapping: a blank, or a line break and the indentation. */
static void add_separator(struct editor *self, const struct yaml_node *key)
{
	size_t from = key ? key->begin : 0;

	while (from > self->document->begin && strchr(" \t\r\n", self->text[from - 1]))
		from--;
	if (key && memchr(self->text + from, '\n', key->begin - from))
		strbuf_add(self->buf, self->text + from, key->begin - from);
	else
		strbuf_addc(self->buf, ' ');
}

/* The same between brackets. */
static int add_between(struct editor *self, const struct yaml_node *node, struct json_object *object)
{
	const struct yaml_node *last = node->n ? &node->keys[node->n - 1] : NULL;
	bool is_quoted = self->style.is_quoted || (last && self->text[last->begin] == '"');
	int r = copy_until(self, last ? node->items[node->n - 1].end : node->end - 1);
	size_t i = 0;

	json_object_object_foreach(object, key, value)
	{
		if (i++ < node->n || r)
			continue;
		strbuf_adds(self->buf, i > 1 ? "," : "");
		if (i > 1)
			add_separator(self, last);
		yaml_add_string(self->buf, key, strlen(key), is_quoted);
		strbuf_adds(self->buf, ": ");
		yaml_add_flow(self->buf, value, is_quoted);
	}
	return r;
}

static int replace(struct editor *self, const struct yaml_node *node, struct json_object *value)
{
	const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "'";
	char quote = node->begin < node->end ? self->text[node->begin] : '\0';
	int r = copy_until(self, node->begin);

	if (r)
		return r;
	self->at = end_of(self, node);
	if (node->begin && self->text[node->begin - 1] == ':')
		strbuf_addc(self->buf, ' ');
	if (quote == '\'' && !strchr(text, '\''))
		return strbuf_addf(self->buf, "'%s'", text);
	return yaml_add_flow(self->buf, value, self->style.is_quoted || quote == '"');
}

/* --- The walk --- */

static int edit(struct editor *self, const struct yaml_node *node, struct json_object *object);

static int edit_mapping(struct editor *self, const struct yaml_node *node, struct json_object *object)
{
	size_t i = 0, indent = node->key_column - 1;

	json_object_object_foreach(object, key, value)
	{
		const struct yaml_node *child;
		int r;

		(void)key;
		if (i == node->n)
			return node->is_flow
				       ? add_between(self, node, object)
				       : add_lines(self, end_of(self, above_of(self, node)), node, object, indent);
		child = &node->items[i++];
		if (!node->is_flow && child->begin == child->end && json_object_is_type(value, json_type_object))
			r = add_lines(self, child->begin, child, value, indent + self->style.step);
		else
			r = edit(self, child, value);
		if (r)
			return r;
	}
	return 0;
}

static int edit_sequence(struct editor *self, const struct yaml_node *node, struct json_object *array)
{
	int r = 0;

	for (size_t i = 0; i < node->n && !r; i++)
		r = edit(self, &node->items[i], json_object_array_get_idx(array, i));
	return r;
}

static int edit_scalar(struct editor *self, const struct yaml_node *node, struct json_object *value)
{
	CLEANUP(json_putp) struct json_object *old = NULL;
	int r = node->type == YAML_TREE_SCALAR ? yaml_tree_to_json(node, &old, self->err) : 0;

	return r || json_object_equal(old, value) ? r : replace(self, node, value);
}

static int edit(struct editor *self, const struct yaml_node *node, struct json_object *object)
{
	const struct yaml_node *shared = self->shared;
	int r;

	STEPS(1);
	if (!shared && yaml_tree_is_shared(node))
		self->shared = node;
	if (node->type == YAML_TREE_MAPPING && json_object_is_type(object, json_type_object))
		r = edit_mapping(self, node, object);
	else if (node->type == YAML_TREE_SEQUENCE && json_object_is_type(object, json_type_array))
		r = edit_sequence(self, node, object);
	else
		r = edit_scalar(self, node, object);
	self->shared = shared;
	return r;
}

/* --- One document --- */

static struct yaml_style style_of(const char *text, const struct yaml_document *document)
{
	const struct yaml_node *root = &document->root;
	const char *end = memchr(text + document->begin, '\n', document->end - document->begin);
	struct yaml_style style = {.line_break = "\n", .step = 2};

	if (end && end > text && end[-1] == '\r')
		style.line_break = "\r\n";
	if (root->type != YAML_TREE_MAPPING || !root->n)
		return style;
	style.is_quoted = root->is_flow && text[root->keys[0].begin] == '"';
	for (size_t i = 0; i < root->n; i++)
		if (!root->items[i].is_flow && root->items[i].key_column > root->key_column) {
			style.step = root->items[i].key_column - root->key_column;
			break;
		}
	return style;
}

static int check(const struct editor *self, struct json_object *object)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(TREE_BYTES);
	CLEANUP(json_putp) struct json_object *again = NULL;
	struct yaml_documents documents = {0};
	int r = yaml_tree_parse(strbuf_text(self->buf), self->buf->len, self->name, &arena, &documents, self->err);

	if (!r && documents.n == 1)
		r = yaml_tree_to_json(&documents.items[0].root, &again, self->err);
	if (r == -ENOMEM || r == -E2BIG)
		return r;
	return again && json_object_equal(object, again) ? 0 : fail(self);
}

int yaml_edit(const char *text, const struct yaml_document *document, const char *name, struct json_object *object,
	      struct strbuf *buf, struct err *err)
{
	struct editor editor = {.text = text,
				.name = name,
				.document = document,
				.at = document->begin,
				.style = style_of(text, document),
				.buf = buf,
				.err = err};
	int r = edit(&editor, &document->root, object);

	if (!r)
		r = copy_until(&editor, document->end);
	if (!r && buf->status)
		r = err_set_at(err, buf->status, name, document->root.line, document->root.column,
			       "too large after the change");
	return r ? r : check(&editor, object);
}
