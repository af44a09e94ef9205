/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml_tree.h"

#include "base/str.h"

static const struct yaml_node *get_n(const struct yaml_node *node, const char *key, size_t n)
{
	if (!node || node->type != YAML_TREE_MAPPING)
		return NULL;
	for (size_t i = 0; i < node->n; i++)
		if (node->keys[i].n_text == n && memcmp(node->keys[i].text, key, n) == 0)
			return &node->items[i];
	return NULL;
}

const struct yaml_node *yaml_tree_get(const struct yaml_node *node, const char *key)
{
	return get_n(node, key, strlen(key));
}

static const struct yaml_node *get_index(const struct yaml_node *node, const char *digits, size_t n)
{
	size_t index = 0;

	if (!n || n > 9)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return NULL;
		index = index * 10 + (size_t)(digits[i] - '0');
	}
	return index < node->n ? &node->items[index] : NULL;
}

/* A key with escapes compared piece by piece: ~1 is '/', ~0 is '~'. */
static const struct yaml_node *get_escaped(const struct yaml_node *node, const char *token, size_t n)
{
	for (size_t k = 0; k < node->n; k++) {
		const struct yaml_node *key = &node->keys[k];
		size_t i = 0, at = 0;

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
