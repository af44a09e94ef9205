/* SPDX-License-Identifier: Apache-2.0 */
/* --print-config: prints the table in order, opens sections when paths change, and adds the origin to every value. */
#include "config/config_internal.h"

#include "base/str.h"
#include "yaml/yaml_edit.h"

#include <stdio.h>

struct printer {
	const struct config_own *own;
	struct strbuf *buf;
	const char *previous; /* path of the previous key; "" at first */
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

/* Opens the sections of this path that the previous path was not in. @return the depth of the key. */
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

static void add_choice(struct strbuf *buf, const char *choices, int index)
{
	char choice[64];

	while (index-- > 0)
		choices += strcspn(choices, "|") + 1;
	snprintf(choice, sizeof(choice), "%.*s", (int)strcspn(choices, "|"), choices);
	yaml_add_string(buf, choice, strlen(choice), false);
}

static void add_text(struct strbuf *buf, const char *text)
{
	yaml_add_string(buf, text ? text : "", text ? strlen(text) : 0, false);
}

/* The value of a single-valued key. */
static void print_scalar(struct printer *p, const struct config_key *key, const void *field)
{
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
	case CONFIG_NAME:
		add_text(p->buf, field);
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

static void print_list(struct printer *p, const void *field, size_t depth, size_t line)
{
	const char *const *items;

	memcpy(&items, field, sizeof(items));
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

static void print_shapes(struct printer *p, size_t line)
{
	const struct config *config = &p->own->public;

	strbuf_adds(p->buf, config->n_node_shapes ? "" : " []");
	end_line(p, line);
	for (size_t i = 0; i < config->n_node_shapes; i++)
		for (size_t k = 0; k < config_shape_table.n; k++) {
			const struct config_key *key = &config_shape_table.keys[k];
			const void *field = (const char *)&config->node_shapes[i] + key->offset;

			if (key->type == CONFIG_QUANTITY && !number_of(key, field))
				continue;
			strbuf_addf(p->buf, "%s %s: ", k ? " " : "-", key->path);
			print_scalar(p, key, field);
			end_line(p, line);
		}
}

static void print_key(struct printer *p, const struct config_key *key, size_t line)
{
	const void *field = (const char *)&p->own->public + key->offset;
	size_t depth = open_sections(p, key->path);
	const char *dot = strrchr(key->path, '.');

	indent(p, depth);
	strbuf_addf(p->buf, "%s:", dot ? dot + 1 : key->path);
	switch (key->type) {
	case CONFIG_LIST:
		print_list(p, field, depth, line);
		break;
	case CONFIG_HEADERS:
		print_headers(p, depth, line);
		break;
	case CONFIG_CHECKS:
		print_checks(p, line);
		break;
	case CONFIG_NODE_SHAPES:
		print_shapes(p, line);
		break;
	default:
		strbuf_addc(p->buf, ' ');
		print_scalar(p, key, field);
		end_line(p, line);
	}
}

int config_print(const struct config *self, struct strbuf *buf)
{
	struct printer p = {.own = (const struct config_own *)self, .buf = buf, .previous = ""};

	for (size_t i = 0; i < config_table.n; i++)
		print_key(&p, &config_table.keys[i], p.own->key_lines[i]);
	return buf->status;
}
