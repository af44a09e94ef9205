/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml_build.h"

#include <errno.h>
#include <string.h>

#define EXPANDED_BYTES (4 * LIMIT_MANIFEST_BYTES)

struct err *yaml_build_problem(struct builder *b)
{
	struct err *problem = b->document.problem ? NULL : arena_alloc(b->arena, sizeof(*problem));

	b->document.problem = problem ? problem : b->document.problem;
	return problem;
}

int yaml_build_count(struct builder *b, yaml_mark_t mark, size_t n_nodes, size_t n_bytes)
{
	b->n_nodes += n_nodes;
	b->n_bytes += n_bytes;
	/* A file has less text than that; aliases may repeat it. */
	if (b->n_nodes > LIMIT_YAML_NODES || b->n_bytes > EXPANDED_BYTES)
		return yaml_build_fail(b, -E2BIG, mark, "too many values in one file%s",
				       b->anchors.n ? ", with aliases expanded" : "");
	return 0;
}

int yaml_build_no_memory(struct builder *b, size_t bytes)
{
	if (b->arena->max_bytes - b->arena->used_bytes < bytes)
		return err_set_at(b->err, -E2BIG, b->name, 0, 0, "too large: its tree needs more than %zu MiB",
				  b->arena->max_bytes / MIB);
	return err_set_at(b->err, -ENOMEM, b->name, 0, 0, "out of memory");
}

/* Whether a line ends at `p`, by libyaml's rules: LF, CR, CR LF, NEL, LS, PS. */
static bool is_line_end(const char *p, size_t n)
{
	if (p[0] == '\r')
		return n == 1 || p[1] != '\n';
	return p[0] == '\n' || (n > 1 && memcmp(p, "\xc2\x85", 2) == 0) ||
	       (n > 2 && (memcmp(p, "\xe2\x80\xa8", 3) == 0 || memcmp(p, "\xe2\x80\xa9", 3) == 0));
}

void yaml_cursor_step(struct yaml_cursor *self, const char *text, size_t n)
{
	bool is_end = is_line_end(text + self->offset, n - self->offset);

	do
		self->offset++;
	while (self->offset < n && (text[self->offset] & 0xC0) == 0x80);
	STEPS(1);
	self->mark.index++;
	self->mark.line += is_end;
	self->mark.column = is_end ? 0 : self->mark.column + 1;
}

size_t yaml_build_offset(struct builder *b, yaml_mark_t mark)
{
	while (b->cursor.mark.index < mark.index && b->cursor.offset < b->n_text)
		yaml_cursor_step(&b->cursor, b->text, b->n_text);
	return b->cursor.offset;
}

int yaml_build_take(struct builder *b, size_t begin, struct yaml_node *node)
{
	bool is_map = node->type == YAML_TREE_MAPPING;
	size_t n = b->stack.n - begin;

	node->n = is_map ? n / 2 : n;
	if (!n)
		return 0;
	node->items = arena_array(b->arena, node->n, sizeof(*node));
	node->keys = is_map ? arena_array(b->arena, node->n, sizeof(*node)) : NULL;
	if (!node->items || (is_map && !node->keys))
		return yaml_build_no_memory(b, n * sizeof(*node));
	STEPS_BULK(n * sizeof(*node));
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *child = &b->stack.items[begin + (is_map ? 2 * i : i)];

		if (is_map)
			node->keys[i] = *child++;
		node->items[i] = *child;
	}
	b->stack.n = begin;
	node->key_column = is_map ? node->keys[0].column : 0;
	if (!node->is_flow)
		node->end = node->items[node->n - 1].end;
	return 0;
}
