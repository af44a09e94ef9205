/* SPDX-License-Identifier: Apache-2.0 */
/* --print-config: the table walked in order, sections opened as paths change, every value with its origin behind it. */
#include "config/config_internal.h"

#include "base/str.h"

#include <stdio.h>

struct printer {
	const struct config_own *own;
	struct strbuf *buf;
	const char *previous; /* path of the key before; "" at first */
};

static void indent(struct printer *p, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		strbuf_adds(p->buf, "  ");
}

static void end_line(struct printer *p, size_t line)
{
	if (line)
		strbuf_addf(p->buf, "  # %s:%zu\n", p->own->public.file, line);
	else
		strbuf_adds(p->buf, "  # default\n");
}

/* Open the sections of this path that the one before was not in; returns the depth of the leaf. */
static size_t open_sections(struct printer *p, const char *path)
{
	size_t depth = 0;

	for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.'), depth++) {
		size_t n = (size_t)(dot - path) + 1, begin = n - 1;

		if (strncmp(p->previous, path, n) == 0)
			continue;
		while (begin && path[begin - 1] != '.')
			begin--;
		indent(p, depth);
		strbuf_addf(p->buf, "%.*s:\n", (int)(n - 1 - begin), path + begin);
	}
	p->previous = path;
	return depth;
}

static int64_t number_of(const struct config_key *key, const void *field)
{
	int32_t small;
	int64_t value;

	if (key->type == CONFIG_INTEGER32 || key->type == CONFIG_FRACTION) {
		memcpy(&small, field, sizeof(small));
		return small;
	}
	memcpy(&value, field, sizeof(value));
	return value;
}

/* yaml_tree_emit_string wants a terminated text. */
static void add_text_n(struct strbuf *buf, const char *text, size_t n)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%.*s", (int)n, text);
	yaml_tree_emit_string(buf, copy, strlen(copy));
}

static void add_choice(struct strbuf *buf, const char *choices, int index)
{
	while (index-- > 0)
		choices += strcspn(choices, "|") + 1;
	add_text_n(buf, choices, strcspn(choices, "|"));
}

static void add_text(struct strbuf *buf, const char *text)
{
	yaml_tree_emit_string(buf, text ? text : "", text ? strlen(text) : 0);
}

/* The value of a single-valued key. */
static void print_scalar(struct printer *p, const struct config_key *key)
{
	const void *field = config_field_const(&p->own->public, key);
	char buf[QUANTITY_TEXT_BYTES];
	const char *text;
	int index;

	switch (key->type) {
	case CONFIG_VERSION:
		strbuf_adds(p->buf, CONFIG_API_VERSION);
		break;
	case CONFIG_BOOL:
		strbuf_adds(p->buf, *(const bool *)field ? "true" : "false");
		break;
	case CONFIG_ENUM:
		memcpy(&index, field, sizeof(index));
		add_choice(p->buf, key->choices, index);
		break;
	case CONFIG_STRING:
	case CONFIG_CHOICE:
	case CONFIG_FILE:
	case CONFIG_URL:
	case CONFIG_LISTEN:
		memcpy(&text, field, sizeof(text));
		add_text(p->buf, text);
		break;
	default:
		strbuf_adds(p->buf, config_render_number(key, number_of(key, field), buf));
	}
}

static void print_list(struct printer *p, const struct config_key *key, size_t depth, size_t line)
{
	const char *const *items;

	memcpy(&items, config_field_const(&p->own->public, key), sizeof(items));
	strbuf_adds(p->buf, items[0] ? "" : " []");
	end_line(p, line);
	for (; *items; items++) {
		indent(p, depth);
		strbuf_adds(p->buf, "- ");
		add_text(p->buf, *items);
		end_line(p, line);
	}
}

static void print_headers(struct printer *p, size_t depth, size_t line)
{
	const struct prometheus_config *prometheus = &p->own->public.prometheus;

	strbuf_adds(p->buf, prometheus->n_headers ? "" : " {}");
	end_line(p, line);
	for (size_t i = 0; i < prometheus->n_headers; i++) {
		indent(p, depth + 1);
		add_text(p->buf, prometheus->headers[i].name);
		strbuf_adds(p->buf, ": ");
		add_text(p->buf, prometheus->headers[i].value);
		end_line(p, line);
	}
}

static void print_checks(struct printer *p, size_t line)
{
	end_line(p, line);
	for (int i = 0; i < CHECK_COUNT_; i++) {
		strbuf_addf(p->buf, "  %s: ", check_table[i].name);
		add_text(p->buf, check_action_names[p->own->public.policy.actions[i]]);
		end_line(p, p->own->check_lines[i]);
	}
}

static void print_shape(struct printer *p, const struct node_shape *shape, size_t line)
{
	size_t n;
	const struct config_shape_field *fields = config_shape_fields(&n);

	for (size_t i = 0; i < n; i++) {
		const char *field = (const char *)shape + fields[i].offset;
		char buf[QUANTITY_TEXT_BYTES];
		int64_t number = 0;

		if (fields[i].type != SHAPE_TEXT)
			memcpy(&number, field, sizeof(number));
		if (fields[i].type == SHAPE_BYTES && !number)
			continue;
		strbuf_addf(p->buf, "%s %s: ", i == 0 ? "-" : " ", fields[i].name);
		if (fields[i].type == SHAPE_TEXT)
			add_text(p->buf, field);
		else if (fields[i].type == SHAPE_BYTES)
			strbuf_adds(p->buf, quantity_render_bytes(number, buf));
		else
			strbuf_addf(p->buf, "%lld", (long long)number);
		end_line(p, line);
	}
}

static void print_key(struct printer *p, const struct config_key *key, size_t line)
{
	const struct config *config = &p->own->public;
	size_t depth = open_sections(p, key->path);
	const char *dot = strrchr(key->path, '.');

	indent(p, depth);
	strbuf_addf(p->buf, "%s:", dot ? dot + 1 : key->path);
	switch (key->type) {
	case CONFIG_LIST:
		print_list(p, key, depth, line);
		break;
	case CONFIG_HEADERS:
		print_headers(p, depth, line);
		break;
	case CONFIG_CHECKS:
		print_checks(p, line);
		break;
	case CONFIG_NODE_SHAPES:
		strbuf_adds(p->buf, config->n_node_shapes ? "" : " []");
		end_line(p, line);
		for (size_t i = 0; i < config->n_node_shapes; i++)
			print_shape(p, &config->node_shapes[i], line);
		break;
	default:
		strbuf_addc(p->buf, ' ');
		print_scalar(p, key);
		end_line(p, line);
	}
}

int config_print(const struct config *self, struct strbuf *buf)
{
	struct printer p = {.own = (const struct config_own *)self, .buf = buf, .previous = ""};
	size_t n;
	const struct config_key *keys = config_keys(&n);

	for (size_t i = 0; i < n; i++)
		print_key(&p, &keys[i], p.own->key_lines[i]);
	return buf->status;
}
