/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes mappings: those of keys, headers, checks and node shapes. */
#include "config/config_internal.h"

#include "base/str.h"
#include "base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#define PATH_BYTES 128

static bool is_header_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("!#$%&'*+-.^_`|~", *p))
			return false;
	return *name;
}

/* Whether the value is one line of text. */
static bool is_text(const struct yaml_node *node)
{
	return node->type == YAML_TREE_SCALAR && !str_has_control((struct str){node->text, node->n_text});
}

static int check_header(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *name,
			const struct yaml_node *value)
{
	static const char *const reserved[] = {"Authorization", "Host", "Content-Length", "Transfer-Encoding",
					       "Connection"};

	if (!is_header_name(name->text))
		return config_fail(loader, name, key->path, "\"%.60s\" is no header name", name->text);
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (strcasecmp(name->text, reserved[i]) == 0)
			return config_fail(loader, name, key->path, "%s cannot be set here%s", name->text,
					   i == 0 ? ": use bearerTokenFile or basicAuth" : "");
	if (!is_text(value))
		return config_fail(loader, value, key->path, "the value of %.60s must be one line of text", name->text);
	return 0;
}

static int decode_headers(const struct config_loader *loader, const struct config_key *key,
			  const struct yaml_node *node)
{
	struct arena *arena = &loader->own->arena;
	struct http_header *headers = arena_array(arena, node->n + 1, sizeof(*headers));

	if (!headers)
		return config_fail_memory(loader);
	for (size_t i = 0; i < node->n; i++) {
		int r = check_header(loader, key, &node->keys[i], &node->items[i]);

		if (r)
			return r;
		headers[i].name = arena_strdup(arena, node->keys[i].text);
		headers[i].value = arena_strdup(arena, node->items[i].text);
		if (!headers[i].name || !headers[i].value)
			return config_fail_memory(loader);
	}
	loader->own->public.prometheus.headers = headers;
	loader->own->public.prometheus.n_headers = node->n;
	return 0;
}

static int fail_check(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *name)
{
	struct suggest suggest = SUGGEST_INIT(name->text);

	for (int i = 0; i < CHECK_COUNT_; i++)
		suggest_consider(&suggest, check_table[i].name);
	return config_fail(loader, name, key->path, "unknown check \"%.60s\"%s", name->text, suggest_hint(&suggest));
}

static int decode_checks(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *name = &node->keys[i], *value = &node->items[i];
		int id = check_parse(name->text), action;

		if (id < 0)
			return fail_check(loader, key, name);
		action = value->type == YAML_TREE_SCALAR ? check_action_parse(value->text) : -1;
		if (action < 0)
			return err_set_at(loader->err, -EINVAL, loader->name, value->line, value->column,
					  "checks.%s: must be one of off, warn, patch, deny", name->text);
		loader->own->public.policy.actions[id] = (enum check_action)action;
		loader->own->check_lines[id] = name->line;
	}
	return 0;
}

static int decode_shape(const struct config_loader *loader, const struct yaml_node *node, struct node_shape *shape)
{
	struct config_loader inner = *loader;
	int r;

	if (node->type != YAML_TREE_MAPPING)
		return config_fail(loader, node, "nodeShapes[]", "must be a mapping");
	inner.table = &config_shape_table;
	inner.prefix = "nodeShapes[].";
	inner.base = shape;
	inner.lines = NULL;
	shape->is_declared = true;
	snprintf(shape->resource, sizeof(shape->resource), "nvidia.com/gpu");
	r = config_decode_mapping(&inner, "", node);
	for (size_t i = 0; i < config_shape_table.n && !r; i++)
		if (!config_shape_table.keys[i].fallback && !yaml_tree_get(node, config_shape_table.keys[i].path))
			r = config_fail(&inner, node, config_shape_table.keys[i].path, "is missing");
	if (!shape->accelerators)
		shape->resource[0] = '\0';
	return r;
}

static int decode_shapes(const struct config_loader *loader, const struct yaml_node *node)
{
	struct node_shape *shapes = arena_array(&loader->own->arena, node->n + 1, sizeof(*shapes));

	if (!shapes)
		return config_fail_memory(loader);
	for (size_t i = 0; i < node->n; i++) {
		int r = decode_shape(loader, &node->items[i], &shapes[i]);

		if (r)
			return r;
		if (!shapes[i].name[0])
			snprintf(shapes[i].name, sizeof(shapes[i].name), "shape-%zu", i + 1);
		for (size_t k = 0; k < i; k++)
			if (streq(shapes[i].name, shapes[k].name))
				return config_fail(loader, &node->items[i], "nodeShapes[]",
						   "a second shape named \"%s\"", shapes[i].name);
	}
	loader->own->public.node_shapes = shapes;
	loader->own->public.n_node_shapes = node->n;
	return 0;
}

/* Index of the key with exactly this path; table->n: none. *ret_is_section: there are keys below it. */
static size_t find_key(const struct config_table *table, const char *path, bool *ret_is_section)
{
	size_t n_path = strlen(path), found = table->n;

	*ret_is_section = false;
	for (size_t i = 0; i < table->n; i++) {
		if (streq(table->keys[i].path, path))
			found = i;
		else if (strstarts(table->keys[i].path, path) && table->keys[i].path[n_path] == '.')
			*ret_is_section = true;
	}
	return found;
}

/* Suggests the most similar key of the section. */
static int fail_unknown(const struct config_loader *loader, const char *section, const struct yaml_node *name)
{
	struct suggest suggest = SUGGEST_INIT(name->text);
	char names[CONFIG_KEYS][PATH_BYTES];

	for (size_t i = 0; i < loader->table->n; i++) {
		const char *path = loader->table->keys[i].path, *rest;

		if (!strstarts(path, section))
			continue;
		rest = path + strlen(section);
		snprintf(names[i], PATH_BYTES, "%.*s", (int)strcspn(rest, "."), rest);
		suggest_consider(&suggest, names[i]);
	}
	return err_set_at(loader->err, -EINVAL, loader->name, name->line, name->column, "unknown key %s%s%.60s%s",
			  loader->prefix, section, name->text, suggest_hint(&suggest));
}

static int decode(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	int r = config_decode(loader, key, node);

	if (r)
		return r;
	switch (key->type) {
	case CONFIG_HEADERS:
		return decode_headers(loader, key, node);
	case CONFIG_CHECKS:
		return decode_checks(loader, key, node);
	case CONFIG_NODE_SHAPES:
		return decode_shapes(loader, node);
	default:
		return 0;
	}
}

/* The recursion is as deep as the longest paths of both tables. */
int config_decode_mapping(const struct config_loader *loader, const char *section, const struct yaml_node *node)
{
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *name = &node->keys[i], *value = &node->items[i];
		size_t key = loader->table->n;
		char path[PATH_BYTES];
		bool is_section = false;
		int n = snprintf(path, sizeof(path), "%s%s", section, name->text), r = 0;

		if (n < (int)sizeof(path) - 1 && !strchr(name->text, '.'))
			key = find_key(loader->table, path, &is_section);
		if (key == loader->table->n && !is_section)
			return fail_unknown(loader, section, name);
		if (key < loader->table->n) {
			if (loader->lines)
				loader->lines[key] = name->line;
			r = decode(loader, &loader->table->keys[key], value);
		} else if (value->type == YAML_TREE_MAPPING) {
			path[n] = '.';
			path[n + 1] = '\0';
			r = config_decode_mapping(loader, path, value);
		} else if (value->type != YAML_TREE_NULL) { /* null: every line of the section is commented out */
			r = config_fail(loader, value, path, "must be a mapping");
		}
		if (r)
			return r;
	}
	return 0;
}
