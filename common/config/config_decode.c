/* SPDX-License-Identifier: Apache-2.0 */
/* Values by type. Texts are checked for control characters once, here: what passes can stand in a log line, in a header
 * and in --print-config. */
#include "config/config_internal.h"

#include "base/str.h"
#include "base/suggest.h"
#include "base/timefmt.h"
#include "k8s/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int config_fail(const struct config_loader *loader, const struct yaml_node *node, const char *path, const char *fmt,
		...)
{
	char message[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	return err_set_at(loader->err, -EINVAL, loader->name, node->line, node->column, "%s: %s", path, message);
}

int config_fail_memory(const struct config_loader *loader)
{
	return err_set_at(loader->err, -ENOMEM, loader->name, 0, 0, "out of memory");
}

int config_parse_integer(const char *text, size_t n, int64_t *ret)
{
	bool is_negative = n && text[0] == '-';
	int64_t value = 0;

	if (n == (size_t)is_negative)
		return -EINVAL;
	for (size_t i = is_negative; i < n; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9)
			return -EINVAL;
		if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
		    __builtin_sub_overflow(value, (int64_t)digit, &value))
			return -ERANGE;
	}
	if (!is_negative && value == INT64_MIN)
		return -ERANGE;
	*ret = is_negative ? value : -value;
	return 0;
}

int config_parse_quantity(const char *text, size_t n, int64_t *ret_bytes)
{
	struct quantity quantity;

	if (quantity_parse(text, n, &quantity, NULL))
		return -EINVAL;
	*ret_bytes = quantity_value(&quantity);
	return 0;
}

int config_parse_fraction(const char *text, size_t n, int64_t *ret_permille)
{
	bool is_percent = n && text[n - 1] == '%';
	int64_t value = 0, scale = is_percent ? 10 : 1000; /* what one unit of the next digit's predecessor is worth */
	size_t end = n - is_percent, n_digits = 0;
	bool is_fraction = false;

	for (size_t i = 0; i < end; i++) {
		int digit = text[i] - '0';

		if (text[i] == '.' && !is_fraction) {
			is_fraction = true;
			continue;
		}
		if (digit < 0 || digit > 9)
			return -EINVAL;
		n_digits++;
		if (!is_fraction && value > INT64_MAX / 100)
			return -ERANGE;
		if (is_fraction && digit && scale % 10)
			return -ERANGE;
		if (is_fraction)
			scale /= 10;
		value = is_fraction ? value + digit * scale : value * 10 + digit * scale;
	}
	if (!n_digits)
		return -EINVAL;
	*ret_permille = value;
	return 0;
}

/* The text of a scalar, free of control characters. */
static int take_text(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node,
		     const char **ret)
{
	for (size_t i = 0; i < node->n_text; i++)
		if ((unsigned char)node->text[i] < 0x20 || node->text[i] == 0x7F)
			return config_fail(loader, node, key->path, "a control character in the text");
	*ret = arena_strndup(&loader->own->arena, node->text, node->n_text);
	return *ret ? 0 : config_fail_memory(loader);
}

static int decode_string(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	const char **field = config_field(&loader->own->public, key);

	*field = NULL;
	return node->n_text ? take_text(loader, key, node, field) : 0;
}

static int decode_file(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	const char **field = config_field(&loader->own->public, key);
	int r = decode_string(loader, key, node);

	if (r || !*field || **field == '/' || !loader->folder || !*loader->folder)
		return r;
	*field = arena_printf(&loader->own->arena, "%s/%s", loader->folder, *field);
	return *field ? 0 : config_fail_memory(loader);
}

static int fail_choice(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node,
		       const char *nearest)
{
	if (nearest)
		return config_fail(loader, node, key->path, "\"%.60s\" is none of %s; did you mean %s?", node->text,
				   key->choices, nearest);
	return config_fail(loader, node, key->path, "\"%.60s\" is none of %s", node->text, key->choices);
}

/* Index of the choice that the node names, and its text. */
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
	return fail_choice(loader, key, node, suggest_best(&suggest));
}

static int decode_choice(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	void *field = config_field(&loader->own->public, key);
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
	bool *field = config_field(&loader->own->public, key);

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

static const struct {
	const char *wants; /* for messages */
	int (*parse)(const char *text, size_t n, int64_t *ret);
} number_types[] = {
	[CONFIG_INTEGER] = {"a whole number", config_parse_integer},
	[CONFIG_INTEGER32] = {"a whole number", config_parse_integer},
	[CONFIG_DURATION] = {"a duration such as 30s, 5m or 14d", duration_parse},
	[CONFIG_QUANTITY] = {"a quantity such as 512Mi or 10Gi", config_parse_quantity},
	[CONFIG_FRACTION] = {"a fraction such as 5% or 0.05", config_parse_fraction},
};

static int decode_number(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	void *field = config_field(&loader->own->public, key);
	bool is_integer = key->type == CONFIG_INTEGER || key->type == CONFIG_INTEGER32;
	char low[QUANTITY_TEXT_BYTES], high[QUANTITY_TEXT_BYTES];
	int64_t value = 0;
	int32_t small;
	int r = is_integer && !node->is_plain ? -EINVAL
					      : number_types[key->type].parse(node->text, node->n_text, &value);

	if (r == -ERANGE && key->type == CONFIG_FRACTION)
		return config_fail(loader, node, key->path, "\"%.60s\" is too large or finer than 0.1%%", node->text);
	if (r == -EINVAL)
		return config_fail(loader, node, key->path, "\"%.60s\" is not %s", node->text,
				   number_types[key->type].wants);
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
	const char **field = config_field(&loader->own->public, key);
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

	if (!*text && !*key->fallback) /* one that need not be there */
		return take_text(loader, key, node, config_field(&loader->own->public, key));
	if (!colon || config_parse_integer(colon + 1, strlen(colon + 1), &port) || port < 0 || port > 65535)
		return config_fail(loader, node, key->path, "\"%.60s\" is no address:port", node->text);
	if (!is_bracketed && (memchr(text, ':', n_address) || strpbrk(text, "[] /")))
		return config_fail(loader, node, key->path, "\"%.60s\": write an IPv6 address in brackets, [::1]:8443",
				   node->text);
	return take_text(loader, key, node, config_field(&loader->own->public, key));
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
	memcpy(config_field(&loader->own->public, key), &items, sizeof(items));
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

static int decode_scalar(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	switch (key->type) {
	case CONFIG_VERSION:
		return decode_version(loader, key, node);
	case CONFIG_STRING:
		return decode_string(loader, key, node);
	case CONFIG_FILE:
		return decode_file(loader, key, node);
	case CONFIG_URL:
		return decode_url(loader, key, node);
	case CONFIG_LISTEN:
		return decode_listen(loader, key, node);
	case CONFIG_BOOL:
		return decode_bool(loader, key, node);
	case CONFIG_ENUM:
	case CONFIG_CHOICE:
		return decode_choice(loader, key, node);
	default:
		return decode_number(loader, key, node);
	}
}

int config_decode(const struct config_loader *loader, const struct config_key *key, const struct yaml_node *node)
{
	bool wants_map = key->type == CONFIG_HEADERS || key->type == CONFIG_CHECKS;
	bool wants_list = key->type == CONFIG_LIST || key->type == CONFIG_NODE_SHAPES;

	if (node->type == YAML_TREE_NULL)
		return config_fail(loader, node, key->path, "has no value");
	if (wants_map && node->type != YAML_TREE_MAPPING)
		return config_fail(loader, node, key->path, "must be a mapping");
	if (wants_list && node->type != YAML_TREE_SEQUENCE)
		return config_fail(loader, node, key->path, "must be a list");
	if (!wants_map && !wants_list && node->type != YAML_TREE_SCALAR)
		return config_fail(loader, node, key->path, "must be a single value");
	if (key->type == CONFIG_HEADERS)
		return config_decode_headers(loader, node);
	if (key->type == CONFIG_CHECKS)
		return config_decode_checks(loader, node);
	if (key->type == CONFIG_NODE_SHAPES)
		return config_decode_shapes(loader, node);
	return key->type == CONFIG_LIST ? decode_list(loader, key, node) : decode_scalar(loader, key, node);
}

/* A default: a scalar, or a list with ", " between its items. */
int config_decode_text(const struct config_loader *loader, const struct config_key *key, const char *text)
{
	struct yaml_node items[8] = {{0}}, list = {.type = YAML_TREE_SEQUENCE, .items = items};
	struct yaml_node scalar = {.type = YAML_TREE_SCALAR, .is_plain = true, .text = text, .n_text = strlen(text)};

	if (key->type == CONFIG_HEADERS || key->type == CONFIG_CHECKS || key->type == CONFIG_NODE_SHAPES)
		return 0;
	if (key->type != CONFIG_LIST)
		return config_decode(loader, key, &scalar);
	while (*text && list.n < ARRAY_LEN(items)) {
		size_t n = strcspn(text, ",");

		items[list.n++] = (struct yaml_node){.type = YAML_TREE_SCALAR, .text = text, .n_text = n};
		text += n + (text[n] ? strlen(", ") : 0);
	}
	return config_decode(loader, key, &list);
}
