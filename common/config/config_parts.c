/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a configuration that have names or items of their own: headers, checks, node shapes; and the pairs of
 * keys that need each other. */
#include "config/config_internal.h"

#include "base/str.h"
#include "base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

static bool is_header_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("!#$%&'*+-.^_`|~", *p))
			return false;
	return *name;
}

static bool is_printable_text(const struct yaml_node *node)
{
	for (size_t i = 0; i < node->n_text; i++)
		if ((unsigned char)node->text[i] < 0x20 || node->text[i] == 0x7F)
			return false;
	return true;
}

static int check_header(const struct config_loader *loader, const struct yaml_node *name, const struct yaml_node *value)
{
	static const char *const reserved[] = {"Authorization", "Host", "Content-Length", "Transfer-Encoding",
					       "Connection"};

	if (!is_header_name(name->text))
		return config_fail(loader, name, "prometheus.headers", "\"%.60s\" is no header name", name->text);
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (strcasecmp(name->text, reserved[i]) == 0)
			return config_fail(loader, name, "prometheus.headers", "%s cannot be set here%s", name->text,
					   i == 0 ? ": use bearerTokenFile or basicAuth" : "");
	if (value->type != YAML_TREE_SCALAR || !is_printable_text(value))
		return config_fail(loader, value, "prometheus.headers", "the value of %.60s must be one line of text",
				   name->text);
	return 0;
}

int config_decode_headers(const struct config_loader *loader, const struct yaml_node *node)
{
	struct arena *arena = &loader->own->arena;
	struct http_header *headers = arena_array(arena, node->n + 1, sizeof(*headers));

	if (!headers)
		return config_fail_memory(loader);
	for (size_t i = 0; i < node->n; i++) {
		int r = check_header(loader, &node->keys[i], &node->items[i]);

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

static int fail_check(const struct config_loader *loader, const struct yaml_node *name)
{
	struct suggest suggest = SUGGEST_INIT(name->text);

	for (int i = 0; i < CHECK_COUNT_; i++)
		suggest_consider(&suggest, check_table[i].name);
	if (suggest_best(&suggest))
		return config_fail(loader, name, "checks", "unknown check \"%.60s\"; did you mean %s?", name->text,
				   suggest_best(&suggest));
	return config_fail(loader, name, "checks", "unknown check \"%.60s\"", name->text);
}

int config_decode_checks(const struct config_loader *loader, const struct yaml_node *node)
{
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *name = &node->keys[i], *value = &node->items[i];
		int id = check_parse(name->text), action;

		if (id < 0)
			return fail_check(loader, name);
		action = value->type == YAML_TREE_SCALAR ? check_action_parse(value->text) : -1;
		if (action < 0)
			return err_set_at(loader->err, -EINVAL, loader->name, value->line, value->column,
					  "checks.%s: must be one of off, warn, patch, deny", name->text);
		loader->own->public.policy.actions[id] = (enum check_action)action;
		loader->own->check_lines[id] = name->line;
	}
	return 0;
}

static int decode_shape_field(const struct config_loader *loader, const struct yaml_node *name,
			      const struct yaml_node *value, struct node_shape *shape)
{
	struct suggest suggest = SUGGEST_INIT(name->text);
	size_t i = 0, n_fields;
	const struct config_shape_field *fields = config_shape_fields(&n_fields);
	int64_t number = 0;

	for (; i < n_fields && !streq(fields[i].name, name->text); i++)
		suggest_consider(&suggest, fields[i].name);
	if (i == n_fields)
		return config_fail(loader, name, "nodeShapes[]", "unknown key \"%.60s\"%s%s", name->text,
				   suggest_best(&suggest) ? "; did you mean " : "",
				   suggest_best(&suggest) ? suggest_best(&suggest) : "");
	if (value->type != YAML_TREE_SCALAR || !is_printable_text(value))
		return config_fail(loader, value, "nodeShapes[]", "%s must be a single value", name->text);
	if (fields[i].type == SHAPE_TEXT) {
		if (value->n_text >= fields[i].size)
			return config_fail(loader, value, "nodeShapes[]", "%s is longer than %zu bytes", name->text,
					   fields[i].size - 1);
		memcpy((char *)shape + fields[i].offset, value->text, value->n_text + 1);
		return 0;
	}
	if (fields[i].type == SHAPE_COUNT &&
	    (config_parse_integer(value->text, value->n_text, &number) || number < 0 || number > 1024))
		return config_fail(loader, value, "nodeShapes[]", "%s: \"%.60s\" is no number from 0 to 1024",
				   name->text, value->text);
	if (fields[i].type == SHAPE_BYTES &&
	    (config_parse_quantity(value->text, value->n_text, &number) || number <= 0))
		return config_fail(loader, value, "nodeShapes[]", "%s: \"%.60s\" is not a quantity such as 512Gi",
				   name->text, value->text);
	memcpy((char *)shape + fields[i].offset, &number, sizeof(number));
	return 0;
}

static int decode_shape(const struct config_loader *loader, const struct yaml_node *node, struct node_shape *shape)
{
	size_t n_fields;
	const struct config_shape_field *fields = config_shape_fields(&n_fields);

	if (node->type != YAML_TREE_MAPPING)
		return config_fail(loader, node, "nodeShapes[]", "must be a mapping");
	shape->is_declared = true;
	snprintf(shape->resource, sizeof(shape->resource), "nvidia.com/gpu");
	for (size_t i = 0; i < node->n; i++) {
		int r = decode_shape_field(loader, &node->keys[i], &node->items[i], shape);

		if (r)
			return r;
	}
	for (size_t i = 0; i < n_fields; i++)
		if (fields[i].is_required && !yaml_tree_get(node, fields[i].name))
			return config_fail(loader, node, "nodeShapes[]", "%s is missing", fields[i].name);
	if (!shape->accelerators)
		shape->resource[0] = '\0';
	return 0;
}

int config_decode_shapes(const struct config_loader *loader, const struct yaml_node *node)
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

static size_t line_of(const struct config_own *own, const char *path)
{
	size_t n;
	const struct config_key *keys = config_keys(&n);

	for (size_t i = 0; i < n; i++)
		if (streq(keys[i].path, path))
			return own->key_lines[i];
	return 0;
}

static int fail_pair(const struct config_loader *loader, const char *path, const char *message)
{
	return err_set_at(loader->err, -EINVAL, loader->name, line_of(loader->own, path), 0, "%s: %s", path, message);
}

/* One of two paths is set and the other is not: complain at the one that is. */
static int check_both(const struct config_loader *loader, const char *a_path, const char *a, const char *b_path,
		      const char *b)
{
	char message[128];

	if (!a == !b)
		return 0;
	snprintf(message, sizeof(message), "needs %s as well", a ? b_path : a_path);
	return fail_pair(loader, a ? a_path : b_path, message);
}

int config_check_pairs(const struct config_loader *loader)
{
	const struct config *c = &loader->own->public;
	const struct sizing_policy *sizing = &c->policy.sizing;
	int r = check_both(loader, "webhook.tls.certFile", c->webhook.cert_file, "webhook.tls.keyFile",
			   c->webhook.key_file);

	if (!r)
		r = check_both(loader, "prometheus.tls.certFile", c->prometheus.cert_file, "prometheus.tls.keyFile",
			       c->prometheus.key_file);
	if (!r)
		r = check_both(loader, "prometheus.basicAuth.username", c->prometheus.basic_user,
			       "prometheus.basicAuth.passwordFile", c->prometheus.basic_password_file);
	if (r)
		return r;
	if (c->prometheus.basic_user && c->prometheus.bearer_token_file)
		return fail_pair(loader, "prometheus.bearerTokenFile", "cannot be together with basicAuth");
	if (c->webhook.client_name && !c->webhook.client_ca_file)
		return fail_pair(loader, "webhook.tls.clientName", "needs webhook.tls.clientCAFile as well");
	if (c->store.kind == STORE_FILE && !c->store.path)
		return fail_pair(loader, "store.path", "must not be empty for kind file");
	if (sizing->ceiling_bytes &&
	    sizing->ceiling_bytes < MAX(sizing->floor_limit_bytes, sizing->floor_request_bytes))
		return fail_pair(loader, "sizing.ceiling", "is below sizing.floors");
	return 0;
}
