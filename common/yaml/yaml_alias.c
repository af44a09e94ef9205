/* SPDX-License-Identifier: Apache-2.0 */
/* Anchors, aliases and merge keys, read as kubectl reads them (go-yaml v2). An alias is a second reference to the same
 * node, so memory does not grow; what would grow is the work of whoever walks the tree. Each alias is therefore counted
 * with all values and text that it stands for, and the sum has the cap that a file without aliases has. */
#include "yaml/yaml_build.h"

#include "base/str.h"

const char yaml_merge_key[] = "<<";

int yaml_anchor_open(struct builder *b, const yaml_char_t *name, struct yaml_anchor **ret)
{
	char *key;

	*ret = NULL;
	if (!name)
		return 0;
	key = arena_strdup(b->arena, (const char *)name);
	*ret = arena_alloc(b->arena, sizeof(**ret));
	if (!key || !*ret || strmap_put(&b->anchors, key, *ret))
		return yaml_build_no_memory(b, 0);
	return 0;
}

int yaml_alias_take(struct builder *b, const yaml_event_t *event, struct yaml_node *ret, size_t *ret_height)
{
	const char *name = (const char *)event->data.alias.anchor;
	struct yaml_anchor *anchor = strmap_get(&b->anchors, name);
	yaml_mark_t mark = event->start_mark;
	int r;

	if (!anchor)
		return yaml_build_fail(b, -EINVAL, mark, "unknown anchor *%.60s", name);
	if (!anchor->is_complete)
		return yaml_build_fail(b, -EINVAL, mark, "the value of anchor &%.60s contains itself", name);
	if (b->depth + anchor->height > LIMIT_YAML_DEPTH)
		return yaml_build_fail(b, -E2BIG, mark, "nested too deeply");
	r = yaml_build_count(b, mark, anchor->n_nodes, anchor->n_bytes);
	if (r)
		return r;
	*ret = anchor->node;
	ret->line = mark.line + 1;
	ret->column = mark.column + 1;
	ret->begin = yaml_build_offset(b, mark);
	ret->end = yaml_build_offset(b, event->end_mark);
	anchor->is_used = true;
	*ret_height = anchor->height;
	return 0;
}

bool yaml_tree_is_shared(const struct yaml_node *node)
{
	return node->anchor && node->anchor->is_used;
}

/* A pair of the merged mapping goes onto the stack, or its value where the key is already. `places`: the index of each
 * key's value as a pointer. */
static int merge_pair(struct builder *b, struct strmap *places, const struct yaml_node *key,
		      const struct yaml_node *value)
{
	size_t place = (size_t)(uintptr_t)strmap_get(places, key->text);

	STEPS(1);
	if (!place)
		return vec_push(&b->stack, *key) || vec_push(&b->stack, *value)
			       ? -ENOMEM
			       : strmap_put(places, key->text, (void *)(uintptr_t)(b->stack.n - 1));
	b->stack.items[place] = *value;
	return 0;
}

static int merge_value(struct builder *b, struct strmap *places, const struct yaml_node *value, bool is_in_list)
{
	int r = 0;

	if (value->type != YAML_TREE_MAPPING && (is_in_list || value->type != YAML_TREE_SEQUENCE))
		return -EINVAL;
	for (size_t i = value->n; value->type == YAML_TREE_SEQUENCE && i > 0 && !r; i--)
		r = merge_value(b, places, &value->items[i - 1], true);
	for (size_t i = 0; value->type == YAML_TREE_MAPPING && i < value->n && !r; i++) {
		struct yaml_node item = value->items[i];

		item.anchor = value->anchor ? value->anchor : item.anchor;
		r = merge_pair(b, places, &value->keys[i], &item);
	}
	return r;
}

int yaml_merge(struct builder *b, struct yaml_node *mapping)
{
	CLEANUP(strmap_release) struct strmap places = STRMAP_INIT;
	struct yaml_node merged = *mapping;
	size_t begin = b->stack.n;

	for (size_t i = 0; i < mapping->n; i++) {
		const struct yaml_node *value = &mapping->items[i];
		int r = mapping->keys[i].text == yaml_merge_key ? merge_value(b, &places, value, false)
								: merge_pair(b, &places, &mapping->keys[i], value);

		if (r == -EINVAL)
			return err_set_at(b->err, r, b->name, value->line, value->column,
					  "a merge key (<<) wants a mapping or a list of mappings");
		if (r)
			return yaml_build_no_memory(b, 0);
	}
	if (yaml_build_take(b, begin, &merged))
		return -ENOMEM;
	mapping->keys = merged.keys;
	mapping->items = merged.items;
	mapping->n = merged.n;
	return 0;
}
