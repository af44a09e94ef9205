/* SPDX-License-Identifier: Apache-2.0 */
/* docs_objects: docs/OBJECTS.md. */
#include "generate/docs.h"
#include "generate/schema_internal.h"

#include "base/str.h"
#include "model/profile.h"

#include <stdio.h>

static const char intro[] =
	"# Objects\n\n<!-- Made by memtamer-docs from the program's tables; do not edit. -->\n\n"
	"For platform teams that read or write these objects. memtamer stores what it knows in three kinds of\n"
	"`" PROFILE_API_VERSION
	"`, in the API server of a cluster or in one file. `kubectl get memtamer` lists them, and\n"
	"`kubectl explain mprof.spec` describes their fields.\n\n"
	"- **quantity**: as in Kubernetes, a string: `64Gi`\n"
	"- **thousandths**: an integer, 500 is one half\n"
	"- A field that is absent is not known, or has its default. Unknown fields are ignored.\n";

/* The rows that an object shares with others. NULL: none. */
static const struct codec_table *shared_rows(const struct codec_field *object)
{
	const struct codec_table *shared = NULL;

	for (size_t i = 0; object->table && i < object->table->n; i++)
		if (object->table->fields[i].type == CODEC_ROWS)
			shared = object->table->fields[i].table;
	return shared;
}

/* The object before row `i` that has the same shared rows. NULL: none. */
static const struct codec_field *twin_of(const struct codec_table *table, size_t i)
{
	const struct codec_table *shared = shared_rows(&table->fields[i]);

	for (size_t k = 0; shared && k < i; k++)
		if (shared_rows(&table->fields[k]) == shared)
			return &table->fields[k];
	return NULL;
}

static void add_table(struct strbuf *buf, const struct codec_table *table, const char *path,
		      const struct codec_field *twin);

static void add_field(struct strbuf *buf, const struct codec_field *field, const char *path,
		      const struct codec_field *twin)
{
	bool is_choice = field->type == CODEC_TEXT && field->n_names;
	char inner[160];

	strbuf_addf(buf, "| `%s%s%s` | %s", path, *path ? "." : "", field->key,
		    is_choice ? "choice" : schema_types[field->type].name);
	for (size_t k = 0; k < field->n_names; k++)
		strbuf_addf(buf, "%s`%s`", k ? ", " : ": ", field->names[k]);
	strbuf_addf(buf, " | %s |\n", field->help);
	if (!field->table)
		return;
	snprintf(inner, sizeof(inner), "%s%s%s%s", path, *path ? "." : "", field->key,
		 field->type == CODEC_OBJECTS ? "[]" : "");
	add_table(buf, field->table, inner, twin);
}

/* Fields that `twin`, an object beside this one, has as well are not listed again. */
static void add_table(struct strbuf *buf, const struct codec_table *table, const char *path,
		      const struct codec_field *twin)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct codec_field *field = &table->fields[i];

		if (field->type != CODEC_ROWS)
			add_field(buf, field, path, twin_of(table, i));
		else if (twin && field->table == shared_rows(twin))
			strbuf_addf(buf, "| `%s.*` | | The fields of `%s`. |\n", path, twin->key);
		else
			add_table(buf, field->table, path, NULL);
	}
}

static void add_rules(struct strbuf *buf, const struct schema *schema)
{
	if (!schema->is_spec_of_people)
		return;
	strbuf_adds(
		buf,
		"\nThe API server refuses invalid types, words and ranges in `spec`, and enforces these rules:\n\n");
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

int objects_render_docs(struct strbuf *buf)
{
	strbuf_adds(buf, intro);
	for (int i = 0; i < SCHEMA_COUNT_; i++) {
		const struct schema *schema = &schema_table[i];

		strbuf_addf(buf, "\n## %s\n\n%s\n%s, short name `%s`.\n\n%s", schema->kind, schema->help,
			    schema->is_namespaced ? "Namespaced" : "Cluster-scoped", schema->short_name, schema->intro);
		add_columns(buf, schema);
		add_rules(buf, schema);
		strbuf_adds(buf, "\n| field | type | meaning |\n|---|---|---|\n");
		add_table(buf, schema->table, "", NULL);
	}
	return buf->status;
}
