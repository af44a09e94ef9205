/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output.h"

#include "base/limits.h"
#include "base/str.h"

#include <stdio.h>

#define YAML_BYTES (GIB)

bool output_is_object(const struct cli_args *args)
{
	return streq(cli_get(args, "output"), "json") || streq(cli_get(args, "output"), "yaml");
}

bool output_is_wide(const struct cli_args *args)
{
	return streq(cli_get(args, "output"), "wide");
}

int output_print_object(const struct cli_args *args, const struct strbuf *json)
{
	CLEANUP(strbuf_release) struct strbuf yaml = STRBUF_INIT(YAML_BYTES);
	bool is_yaml = streq(cli_get(args, "output"), "yaml");

	if (is_yaml && output_yaml(strbuf_text(json), &yaml))
		return yaml.status;
	fputs(strbuf_text(is_yaml ? &yaml : json), stdout);
	return 0;
}

/* ---- YAML ---- */

/* The rest of the JSON text, which our own writers made: it is well-formed, and its keys need no quotes. */
struct reader {
	const char *at;
	struct strbuf *buf;
};

static void write_value(struct reader *self, int indent, bool is_item);

static void skip(struct reader *self, const char *bytes)
{
	self->at += strspn(self->at, bytes);
}

static size_t string_length(const char *text)
{
	size_t n = 1;

	while (text[n] && text[n] != '"')
		n += text[n] == '\\' && text[n + 1] ? 2 : 1;
	return n + (text[n] == '"');
}

static void write_scalar(struct reader *self)
{
	size_t n = *self->at == '"' ? string_length(self->at) : strcspn(self->at, ",]} \n");

	strbuf_addc(self->buf, ' ');
	strbuf_add(self->buf, self->at, n);
	self->at += n;
}

/* The members of a mapping; with `is_begun` the first one is in the line that was begun. */
static void write_members(struct reader *self, int indent, bool is_begun)
{
	for (; *self->at == '"'; skip(self, ", \n")) {
		size_t n = string_length(self->at);

		if (!is_begun)
			strbuf_addf(self->buf, "\n%*s", indent, "");
		is_begun = false;
		strbuf_addf(self->buf, "%.*s:", (int)n - 2, self->at + 1);
		self->at += n;
		skip(self, ": ");
		write_value(self, indent + 2, false);
	}
}

static void write_items(struct reader *self, int indent)
{
	for (; *self->at && *self->at != ']'; skip(self, ", \n")) {
		strbuf_addf(self->buf, "\n%*s-", indent, "");
		write_value(self, indent + 2, true);
	}
}

/* `indent`: of the members, if the value is a mapping. A list that is no item begins below its key. */
static void write_value(struct reader *self, int indent, bool is_item)
{
	bool is_mapping = *self->at == '{';

	if (!is_mapping && *self->at != '[') {
		write_scalar(self);
		return;
	}
	self->at++;
	skip(self, " \n");
	if (*self->at == '}' || *self->at == ']') {
		strbuf_adds(self->buf, is_mapping ? " {}" : " []");
	} else if (is_mapping) {
		strbuf_adds(self->buf, is_item ? " " : "");
		write_members(self, indent, is_item);
	} else {
		write_items(self, is_item ? indent : indent - 2);
	}
	self->at += *self->at != '\0';
}

int output_yaml(const char *json, struct strbuf *buf)
{
	struct reader reader = {.at = json, .buf = buf};

	skip(&reader, "{ \n");
	write_members(&reader, 0, true);
	return strbuf_addc(buf, '\n');
}
