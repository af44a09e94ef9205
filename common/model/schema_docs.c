/* SPDX-License-Identifier: Apache-2.0 */
/* docs/OBJECTS.md. */
#include "base/str.h"
#include "model/profile.h"
#include "model/schema_internal.h"

#include <stdio.h>

static const char intro[] =
	"# Objects\n\n<!-- Made by memtamer-docs from the program's tables; do not edit. -->\n\n"
	"What memtamer knows is kept in three kinds of objects of `" PROFILE_API_VERSION
	"`: in the API server where there is a\n"
	"cluster, else in one file. `kubectl get memtamer` lists all of them, `kubectl explain mprof.spec` says what "
	"the fields mean.\n\n"
	"- **quantity**: as in Kubernetes, a string: `64Gi`\n"
	"- **thousandths**: an integer, 500 is one half\n"
	"- A field that is absent is not known, or has its default. Unknown fields are ignored.\n";

static const char *type_name(const struct codec_field *field)
{
	switch (field->type) {
	case CODEC_BYTES:
		return "quantity";
	case CODEC_INT64:
	case CODEC_INT32:
		return "integer";
	case CODEC_DOUBLE:
		return "number";
	case CODEC_TIME:
		return "time";
	case CODEC_DURATION:
		return "duration";
	case CODEC_DATE:
		return "date";
	case CODEC_BOOL:
		return "true or false";
	case CODEC_FLAGS8:
		return "list";
	default:
		return field->n_names ? "choice" : "text";
	}
}

static void add_fields(struct strbuf *buf, const struct codec_part *part, const char *path)
{
	for (size_t i = 0; i < part->n; i++) {
		const struct codec_field *field = &part->fields[i];

		strbuf_addf(buf, "| `%s.%s` | %s", path, field->key, type_name(field));
		for (size_t k = 0; k < field->n_names; k++)
			strbuf_addf(buf, "%s`%s`", k ? ", " : ": ", field->names[k]);
		strbuf_addf(buf, " | %s |\n", field->help);
	}
}

static void add_parts(struct strbuf *buf, const struct codec_part *parts, size_t n, const char *path)
{
	static const char *const types[] = {
		[CODEC_PART_TEXT] = "text",
		[CODEC_PART_TEXTS] = "list of texts",
		[CODEC_PART_INTEGERS] = "list of integers",
		[CODEC_PART_OBJECT] = "object",
		[CODEC_PART_OBJECTS] = "list of objects",
	};

	for (size_t i = 0; i < n; i++) {
		const struct codec_part *part = &parts[i];
		char inner[160];

		if (part->type == CODEC_PART_FIELDS) {
			add_fields(buf, part, path);
			continue;
		}
		strbuf_addf(buf, "| `%s%s%s` | %s | %s |\n", path, *path ? "." : "", part->key, types[part->type],
			    part->help);
		snprintf(inner, sizeof(inner), "%s%s%s%s", path, *path ? "." : "", part->key,
			 part->type == CODEC_PART_OBJECTS ? "[]" : "");
		add_parts(buf, part->parts, part->parts ? part->n : 0, inner);
	}
}

static void add_rules(struct strbuf *buf, const struct schema *schema)
{
	if (!schema->is_spec_of_people)
		return;
	strbuf_adds(
		buf,
		"\nThe API server refuses what is no quantity, no known word or out of range in `spec`, and says:\n\n");
	for (size_t i = 0; i < schema->n_rules; i++)
		strbuf_addf(buf, "- %s\n", schema->rules[i].message);
}

static void add_columns(struct strbuf *buf, const struct schema *schema)
{
	strbuf_addf(buf, "\n`kubectl get %s` shows", schema->short_name);
	for (size_t i = 0; i < schema->n_columns; i++)
		if (!schema->columns[i].is_wide)
			strbuf_addf(buf, "%s %s", i ? "," : "", schema->columns[i].name);
	strbuf_adds(buf, "; `-o wide` also");
	for (size_t i = 0, n = 0; i < schema->n_columns; i++)
		if (schema->columns[i].is_wide)
			strbuf_addf(buf, "%s %s", n++ ? "," : "", schema->columns[i].name);
	strbuf_adds(buf, ".\n");
}

int schema_render_docs(struct strbuf *buf)
{
	strbuf_adds(buf, intro);
	for (int i = 0; i < SCHEMA_COUNT_; i++) {
		const struct schema *schema = &schema_table[i];

		strbuf_addf(buf, "\n## %s\n\n%s\n%s, short name `%s`.\n\n%s", schema->kind, schema->help,
			    schema->is_namespaced ? "Namespaced" : "Cluster-scoped", schema->short_name, schema->intro);
		add_columns(buf, schema);
		add_rules(buf, schema);
		strbuf_adds(buf, "\n| field | type | meaning |\n|---|---|---|\n");
		add_parts(buf, schema->parts->items, schema->parts->n, "");
	}
	return buf->status;
}
