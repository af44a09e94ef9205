/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes single values and lists by type. Strings are checked for control characters here, once, so they are safe in a
 * log line, in a header and in --print-config. */
#include "config/config_internal.h"

#include "base/str.h"
#include "base/suggest.h"
#include "base/timefmt.h"
#include "k8s/quantity.h"

#include <errno.h>
#include <stdio.h>

static void *field_of(const struct config_loader *loader, const struct config_key *key)
{
	return (char *)loader->base + key->offset;
}

/* Reads the text of a scalar without control characters. */
static int take_text(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node,
		     const char **ret)
{
	if (str_has_control((struct str){node->text, node->n_text}))
		return config_fail(loader, node, key->path, "a control character in the text");
	*ret = arena_strndup(&loader->own->arena, node->text, node->n_text);
	return *ret ? 0 : config_fail_memory(loader);
}

static int decode_string(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	const char **field = field_of(loader, key);

	*field = NULL;
	return node->n_text ? take_text(loader, key, node, field) : 0;
}

static int decode_name(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	const char *text = "";
	int r = take_text(loader, key, node, &text);

	if (!r && node->n_text > (size_t)key->max)
		r = config_fail(loader, node, key->path, "is longer than %lld bytes", (long long)key->max);
	if (!r)
		memcpy(field_of(loader, key), text, node->n_text + 1);
	return r;
}

static int decode_file(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	const char **field = field_of(loader, key);
	int r = decode_string(loader, key, node);

	if (r || !*field || **field == '/' || !loader->folder || !*loader->folder)
		return r;
	*field = arena_printf(&loader->own->arena, "%s/%s", loader->folder, *field);
	return *field ? 0 : config_fail_memory(loader);
}

/* Finds the choice that the node names: its index and its text. */
static int take_choice(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node,
		       int *ret_index, const char **ret_text)
{
	struct suggest suggest = SUGGEST_INIT(node->text);
	int index = 0;

	for (const char *at = key->choices; *at; index++) {
		size_t n = strcspn(at, "|");
		const char *choice = arena_strndup(&loader->own->arena, at, n);

		if (!choice)
			return config_fail_memory(loader);
		if (streq(choice, node->text)) {
			*ret_index = index;
			*ret_text = choice;
			return 0;
		}
		suggest_consider(&suggest, choice);
		at += n + (at[n] == '|');
	}
	return config_fail(loader, node, key->path, "\"%.60s\" is none of %s%s", node->text, key->choices,
			   suggest_hint(&suggest));
}

static int decode_choice(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	void *field = field_of(loader, key);
	const char *text = NULL;
	int index = 0, r = take_choice(loader, key, node, &index, &text);

	if (!r && key->type == CONFIG_ENUM)
		memcpy(field, &index, sizeof(index));
	else if (!r)
		memcpy(field, &text, sizeof(text));
	return r;
}

static int decode_bool(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	bool *field = field_of(loader, key);

	if (!node->is_plain || (!streq(node->text, "true") && !streq(node->text, "false")))
		return config_fail(loader, node, key->path, "\"%.60s\" is neither true nor false", node->text);
	*field = streq(node->text, "true");
	return 0;
}

const char *config_render_number(const struct config_key *key, int64_t value, char buf[QUANTITY_TEXT_BYTES])
{
	if (key->type == CONFIG_DURATION)
		return duration_render(value, buf);
	if (key->type == CONFIG_QUANTITY)
		return quantity_render_bytes(value, buf);
	if (key->type == CONFIG_FRACTION)
		snprintf(buf, QUANTITY_TEXT_BYTES, value % 10 ? "%lld.%lld%%" : "%lld%%", (long long)value / 10,
			 (long long)value % 10);
	else
		snprintf(buf, QUANTITY_TEXT_BYTES, "%lld", (long long)value);
	return buf;
}

static int decode_number(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	const struct config_type *type = &config_types[key->type];
	void *field = field_of(loader, key);
	char low[QUANTITY_TEXT_BYTES], high[QUANTITY_TEXT_BYTES];
	int64_t value = 0;
	int32_t small;
	int r = type->parse(node->text, node->n_text, &value);

	if (r == -ERANGE && key->type == CONFIG_FRACTION)
		return config_fail(loader, node, key->path, "\"%.60s\" is too large or finer than 0.1%%", node->text);
	if (r == -EINVAL)
		return config_fail(loader, node, key->path, "\"%.60s\" is not %s", node->text, type->form);
	if (r || ((key->min || key->max) && (value < key->min || value > key->max)))
		return config_fail(loader, node, key->path, "%.60s is out of range: from %s to %s", node->text,
				   config_render_number(key, key->min, low), config_render_number(key, key->max, high));
	small = (int32_t)value;
	if (key->type == CONFIG_INTEGER32 || key->type == CONFIG_FRACTION)
		memcpy(field, &small, sizeof(small));
	else
		memcpy(field, &value, sizeof(value));
	return 0;
}

static int decode_url(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	const char **field = field_of(loader, key);
	size_t n = node->n_text, n_scheme = strstarts(node->text, "https://")  ? strlen("https://")
					    : strstarts(node->text, "http://") ? strlen("http://")
									       : 0;
	size_t n_host;

	if (!n_scheme)
		return config_fail(loader, node, key->path, "\"%.100s\" does not start with http:// or https://",
				   node->text);
	if (strpbrk(node->text, " ?#\"<>\\^`{|}"))
		return config_fail(loader, node, key->path, "\"%.100s\": a base URL has no spaces, `?` or `#`",
				   node->text);
	n_host = strcspn(node->text + n_scheme, "/");
	if (!n_host || node->text[n_scheme] == ':')
		return config_fail(loader, node, key->path, "\"%.100s\" names no host", node->text);
	if (memchr(node->text + n_scheme, '@', n_host))
		return config_fail(loader, node, key->path, "no user or password in the URL: use basicAuth");
	while (n > n_scheme && node->text[n - 1] == '/')
		n--;
	return take_text(
		loader, key,
		&(struct yaml_node){.text = node->text, .n_text = n, .line = node->line, .column = node->column},
		field);
}

static int decode_listen(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	const char *colon = strrchr(node->text, ':'), *text = node->text;
	size_t n_address = colon ? (size_t)(colon - text) : 0;
	bool is_bracketed = n_address >= 2 && text[0] == '[' && text[n_address - 1] == ']';
	int64_t port;

	if (!*text && !*key->fallback) /* an optional address */
		return take_text(loader, key, node, field_of(loader, key));
	if (!colon || config_parse_integer(colon + 1, strlen(colon + 1), &port) || port < 0 || port > 65535)
		return config_fail(loader, node, key->path, "\"%.60s\" is no address:port", node->text);
	if (!is_bracketed && (memchr(text, ':', n_address) || strpbrk(text, "[] /")))
		return config_fail(loader, node, key->path, "\"%.60s\": write an IPv6 address in brackets, [::1]:8443",
				   node->text);
	return take_text(loader, key, node, field_of(loader, key));
}

static int decode_list(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	const char **items = arena_array(&loader->own->arena, node->n + 1, sizeof(*items));

	if (!items)
		return config_fail_memory(loader);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *item = &node->items[i];
		int r;

		if (item->type != YAML_TREE_SCALAR || !item->n_text)
			return config_fail(loader, item, key->path, "an item of this list is a text that is not empty");
		r = take_text(loader, key, item, &items[i]);
		if (r)
			return r;
	}
	memcpy(field_of(loader, key), &items, sizeof(items));
	return 0;
}

static int decode_version(const struct config_loader *loader, const struct config_key *key,
			  const struct yaml_node *node)
{
	if (streq(node->text, CONFIG_API_VERSION))
		return 0;
	return config_fail(loader, node, key->path, "\"%.100s\" is not supported; this program reads %s", node->text,
			   CONFIG_API_VERSION);
}

const struct config_type config_types[] = {
	[CONFIG_STRING] = {"text", YAML_TREE_SCALAR, decode_string, NULL, NULL},
	[CONFIG_NAME] = {"text", YAML_TREE_SCALAR, decode_name, NULL, NULL},
	[CONFIG_ENUM] = {"choice", YAML_TREE_SCALAR, decode_choice, NULL, NULL},
	[CONFIG_CHOICE] = {"choice", YAML_TREE_SCALAR, decode_choice, NULL, NULL},
	[CONFIG_BOOL] = {"true or false", YAML_TREE_SCALAR, decode_bool, NULL, NULL},
	[CONFIG_INTEGER] = {"integer", YAML_TREE_SCALAR, decode_number, config_parse_integer, "a whole number"},
	[CONFIG_INTEGER32] = {"integer", YAML_TREE_SCALAR, decode_number, config_parse_integer, "a whole number"},
	[CONFIG_DURATION] = {"duration", YAML_TREE_SCALAR, decode_number, duration_parse,
			     "a duration such as 30s, 5m or 14d"},
	[CONFIG_QUANTITY] = {"quantity", YAML_TREE_SCALAR, decode_number, config_parse_quantity,
			     "a quantity such as 512Mi or 10Gi"},
	[CONFIG_FRACTION] = {"fraction", YAML_TREE_SCALAR, decode_number, config_parse_fraction,
			     "a fraction such as 5% or 0.05"},
	[CONFIG_FILE] = {"file", YAML_TREE_SCALAR, decode_file, NULL, NULL},
	[CONFIG_URL] = {"URL", YAML_TREE_SCALAR, decode_url, NULL, NULL},
	[CONFIG_LISTEN] = {"address:port", YAML_TREE_SCALAR, decode_listen, NULL, NULL},
	[CONFIG_LIST] = {"list of texts", YAML_TREE_SEQUENCE, decode_list, NULL, NULL},
	[CONFIG_HEADERS] = {"mapping", YAML_TREE_MAPPING, NULL, NULL, NULL},
	[CONFIG_CHECKS] = {"mapping", YAML_TREE_MAPPING, NULL, NULL, NULL},
	[CONFIG_NODE_SHAPES] = {"list of shapes", YAML_TREE_SEQUENCE, NULL, NULL, NULL},
	[CONFIG_VERSION] = {"text", YAML_TREE_SCALAR, decode_version, NULL, NULL},
};

int config_decode(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	static const char *const faults[] = {[YAML_TREE_SCALAR] = "must be a single value",
					     [YAML_TREE_SEQUENCE] = "must be a list",
					     [YAML_TREE_MAPPING] = "must be a mapping"};

	if (node->type == YAML_TREE_NULL)
		return config_fail(loader, node, key->path, "has no value");
	if (node->type != config_types[key->type].wants)
		return config_fail(loader, node, key->path, "%s", faults[config_types[key->type].wants]);
	return config_types[key->type].decode ? config_types[key->type].decode(loader, key, node) : 0;
}

/* Decodes a default: a scalar, a list with ", " between its items, or an empty mapping. */
int config_decode_text(const struct config_loader *loader, const struct config_key *key, const char *text)
{
	struct yaml_node items[8] = {{0}},
			 node = {.type = config_types[key->type].wants, .is_plain = true, .items = items};

	if (node.type == YAML_TREE_SCALAR) {
		node.text = text;
		node.n_text = strlen(text);
	}
	while (node.type == YAML_TREE_SEQUENCE && *text && node.n < ARRAY_LEN(items)) {
		size_t n = strcspn(text, ",");

		items[node.n++] = (struct yaml_node){.type = YAML_TREE_SCALAR, .text = text, .n_text = n};
		text += n + (text[n] ? strlen(", ") : 0);
	}
	return config_decode(loader, key, &node);
}
