/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml_tree.h"

#include "base/str.h"

#include <stdlib.h>

const struct yaml_node *yaml_tree_get(const struct yaml_node *node, const char *key)
{
	for (size_t i = 0; node && node->type == YAML_TREE_MAPPING && i < node->n; i++) {
		STEPS(1);
		if (streq(node->keys[i].text, key))
			return &node->items[i];
	}
	return NULL;
}

const char *yaml_tree_text(const struct yaml_node *node, const char *key)
{
	const struct yaml_node *value = yaml_tree_get(node, key);

	return value && value->type == YAML_TREE_SCALAR ? value->text : "";
}

static const struct yaml_node *get_index(const struct yaml_node *node, const char *digits, size_t n)
{
	char *end;
	size_t index = strtoul(digits, &end, 10);

	return end == digits + n && *digits >= '0' && *digits <= '9' && index < node->n ? &node->items[index] : NULL;
}

/* A key with escapes compared piece by piece: ~1 is '/', ~0 is '~'. */
static const struct yaml_node *get_escaped(const struct yaml_node *node, const char *token, size_t n)
{
	for (size_t k = 0; k < node->n; k++) {
		const struct yaml_node *key = &node->keys[k];
		size_t i = 0, at = 0;

		STEPS(1);
		for (; i < n && at < key->n_text; i++, at++) {
			char c = token[i];

			if (c == '~' && i + 1 < n)
				c = token[++i] == '1' ? '/' : '~';
			if (c != key->text[at])
				break;
		}
		if (i == n && at == key->n_text)
			return &node->items[k];
	}
	return NULL;
}

const struct yaml_node *yaml_tree_at(const struct yaml_node *root, const char *json_pointer)
{
	const struct yaml_node *node = root;

	while (*json_pointer == '/') {
		const char *token = json_pointer + 1;
		size_t n = strcspn(token, "/");
		const struct yaml_node *child = NULL;

		if (node->type == YAML_TREE_SEQUENCE)
			child = get_index(node, token, n);
		else if (node->type == YAML_TREE_MAPPING)
			child = get_escaped(node, token, n);
		if (!child)
			break;
		node = child;
		json_pointer = token + n;
	}
	return node;
}
