/* SPDX-License-Identifier: Apache-2.0 */
#include "model/schema.h"

#include "base/str.h"
#include "k8s/quantity.h"
#include "model/profile.h"
#include "model/schema_internal.h"

#include <stdio.h>

/* The version's part of "memtamer.io/v1alpha1". */
#define VERSION (&PROFILE_API_VERSION[sizeof(SCHEMA_GROUP)])

#define QUANTITY_RULE	 "isQuantity(self) && quantity(self).compareTo(quantity('0')) >= 0"
#define QUANTITY_MESSAGE "must be a quantity that is not negative, such as 64Gi"

/* Members of a JSON object, one after the other. */
struct writer {
	struct strbuf *buf;
	const char *comma;
	bool is_of_people; /* refuse what would not be understood */
};

static void put_number(struct writer *w, const char *key, long long value)
{
	codec_key(w->buf, &w->comma, key);
	strbuf_addf(w->buf, "%lld", value);
}

static void put_true(struct writer *w, const char *key)
{
	codec_key(w->buf, &w->comma, key);
	strbuf_adds(w->buf, "true");
}

static void put_text(struct writer *w, const char *key, const char *text)
{
	codec_text(w->buf, &w->comma, key, text);
}

/* Open the member `key`, or the next item of an array where it is NULL. */
static void open_object(struct writer *w, const char *key)
{
	if (key)
		codec_key(w->buf, &w->comma, key);
	else
		strbuf_adds(w->buf, w->comma);
	strbuf_addc(w->buf, '{');
	w->comma = "";
}

static void open_array(struct writer *w, const char *key)
{
	codec_key(w->buf, &w->comma, key);
	strbuf_addc(w->buf, '[');
	w->comma = "";
}

static void close(struct writer *w, char bracket)
{
	strbuf_addc(w->buf, bracket);
	w->comma = ",";
}

static void put_rule(struct writer *w, const char *rule, const char *message)
{
	open_object(w, NULL);
	put_text(w, "rule", rule);
	put_text(w, "message", message);
	close(w, '}');
}

static void put_rules(struct writer *w, const struct schema *schema, const char *at)
{
	bool is_open = false;

	for (size_t i = 0; i < schema->n_rules; i++) {
		if (!streq(schema->rules[i].at, at))
			continue;
		if (!is_open)
			open_array(w, "x-kubernetes-validations");
		is_open = true;
		put_rule(w, schema->rules[i].rule, schema->rules[i].message);
	}
	if (is_open)
		close(w, ']');
}

/* ---- fields ---- */

static void put_string(struct writer *w, const char *format)
{
	put_text(w, "type", "string");
	put_text(w, "format", format);
}

static void put_integer(struct writer *w, const struct codec_field *field)
{
	put_text(w, "type", "integer");
	put_text(w, "format", field->type == CODEC_INT64 ? "int64" : "int32");
	if (!w->is_of_people)
		return;
	put_number(w, "minimum", 0);
	if (field->max)
		put_number(w, "maximum", field->max);
}

static void put_quantity(struct writer *w)
{
	put_text(w, "type", "string");
	if (!w->is_of_people)
		return;
	put_number(w, "maxLength", QUANTITY_TEXT_BYTES - 1); /* bounds what the rule may cost */
	open_array(w, "x-kubernetes-validations");
	put_rule(w, QUANTITY_RULE, QUANTITY_MESSAGE);
	close(w, ']');
}

/* A text of a struct: what does not fit would not be understood. */
static void put_sized_text(struct writer *w, const struct codec_field *field)
{
	put_text(w, "type", "string");
	if (!w->is_of_people)
		return;
	if (field->n_names)
		codec_texts(w->buf, &w->comma, "enum", field->names, field->n_names);
	else
		put_number(w, "maxLength", (long long)field->size - 1);
}

static void put_array(struct writer *w, const char *item_type)
{
	put_text(w, "type", "array");
	open_object(w, "items");
	put_text(w, "type", item_type);
	close(w, '}');
}

/* "How it ended. One of unknown, running, ...": for what has names but is not refused for others. */
static void put_help(struct writer *w, const struct codec_field *field)
{
	CLEANUP(strbuf_release) struct strbuf help = STRBUF_INIT(4 * KIB);

	strbuf_adds(&help, field->help);
	if (field->n_names && !(w->is_of_people && field->type == CODEC_TEXT))
		strbuf_adds(&help, field->type == CODEC_FLAGS8 ? " Any of " : " One of ");
	for (size_t i = 0; i < field->n_names && !(w->is_of_people && field->type == CODEC_TEXT); i++)
		strbuf_addf(&help, "%s%s", field->names[i], i + 1 < field->n_names ? ", " : ".");
	put_text(w, "description", strbuf_text(&help));
}

static void put_field(struct writer *w, const struct codec_field *field)
{
	open_object(w, field->key);
	put_help(w, field);
	switch (field->type) {
	case CODEC_BYTES:
		put_quantity(w);
		break;
	case CODEC_INT64:
	case CODEC_INT32:
		put_integer(w, field);
		break;
	case CODEC_DOUBLE:
		put_text(w, "type", "number");
		put_text(w, "format", "double");
		break;
	case CODEC_TIME:
		put_string(w, "date-time");
		break;
	case CODEC_DATE:
		put_string(w, "date");
		break;
	case CODEC_TEXT:
		put_sized_text(w, field);
		break;
	case CODEC_DURATION: /* has days, which the API server's format lacks */
	case CODEC_ENUM:
	case CODEC_ENUM8:
	case CODEC_NAME:
		put_string(w, NULL);
		break;
	case CODEC_BOOL:
		put_text(w, "type", "boolean");
		break;
	case CODEC_FLAGS8:
		put_array(w, "string");
		break;
	}
	close(w, '}');
}

/* ---- objects ---- */

static void put_properties(struct writer *w, const struct codec_part *parts, size_t n);

static void put_part(struct writer *w, const struct codec_part *part)
{
	if (part->type == CODEC_PART_FIELDS) {
		for (size_t i = 0; i < part->n; i++)
			put_field(w, &part->fields[i]);
		return;
	}
	open_object(w, part->key);
	put_text(w, "description", part->help);
	switch (part->type) {
	case CODEC_PART_TEXT:
		put_string(w, NULL);
		break;
	case CODEC_PART_TEXTS:
		put_array(w, "string");
		break;
	case CODEC_PART_INTEGERS:
		put_array(w, "integer");
		break;
	case CODEC_PART_OBJECTS:
		put_text(w, "type", "array");
		open_object(w, "items");
		put_text(w, "type", "object");
		put_properties(w, part->parts, part->n);
		close(w, '}');
		break;
	default:
		put_text(w, "type", "object");
		put_properties(w, part->parts, part->n);
		break;
	}
	close(w, '}');
}

static void put_properties(struct writer *w, const struct codec_part *parts, size_t n)
{
	open_object(w, "properties");
	for (size_t i = 0; i < n; i++)
		put_part(w, &parts[i]);
	close(w, '}');
}

/* spec or status: rules where it is people's, one piece where it is the recommender's. */
static void put_top(struct writer *w, const struct schema *schema, const struct codec_part *part)
{
	w->is_of_people = schema_is_of_people(schema, part->key);
	open_object(w, part->key);
	put_text(w, "description", part->help);
	put_text(w, "type", "object");
	if (!w->is_of_people)
		put_text(w, "x-kubernetes-map-type", "atomic");
	put_properties(w, part->parts, part->n);
	put_rules(w, schema, part->key);
	close(w, '}');
	w->is_of_people = false;
}

static void put_plain(struct writer *w, const char *key, const char *type)
{
	open_object(w, key);
	put_text(w, "type", type);
	close(w, '}');
}

static void put_schema(struct writer *w, const struct schema *schema)
{
	open_object(w, "schema");
	open_object(w, "openAPIV3Schema");
	put_text(w, "description", schema->help);
	put_text(w, "type", "object");
	open_object(w, "properties");
	put_plain(w, "apiVersion", "string");
	put_plain(w, "kind", "string");
	put_plain(w, "metadata", "object");
	for (size_t i = 0; i < schema->parts->n; i++)
		put_top(w, schema, &schema->parts->items[i]);
	close(w, '}');
	put_rules(w, schema, "");
	close(w, '}');
	close(w, '}');
}

/* ---- the definition ---- */

static void put_names(struct writer *w, const struct schema *schema)
{
	open_object(w, "names");
	put_text(w, "kind", schema->kind);
	strbuf_addf(w->buf, ",\"listKind\":\"%sList\"", schema->kind);
	put_text(w, "plural", schema->plural);
	put_text(w, "singular", schema->singular);
	codec_texts(w->buf, &w->comma, "shortNames", &schema->short_name, 1);
	codec_texts(w->buf, &w->comma, "categories", (const char *const[]){"memtamer"}, 1);
	close(w, '}');
}

static void put_columns(struct writer *w, const struct schema *schema)
{
	open_array(w, "additionalPrinterColumns");
	for (size_t i = 0; i < schema->n_columns; i++) {
		const struct schema_column *column = &schema->columns[i];

		open_object(w, NULL);
		put_text(w, "name", column->name);
		put_text(w, "type", column->type);
		put_text(w, "jsonPath", column->path);
		put_text(w, "description", column->help);
		if (column->is_wide)
			put_number(w, "priority", 1);
		close(w, '}');
	}
	close(w, ']');
}

static void put_version(struct writer *w, const struct schema *schema)
{
	open_array(w, "versions");
	open_object(w, NULL);
	put_text(w, "name", VERSION);
	put_true(w, "served");
	put_true(w, "storage");
	if (schema->has_status) {
		open_object(w, "subresources");
		open_object(w, "status");
		close(w, '}');
		close(w, '}');
	}
	put_columns(w, schema);
	put_schema(w, schema);
	close(w, '}');
	close(w, ']');
}

int schema_render_spec(enum schema_object object, struct strbuf *buf)
{
	const struct schema *schema = &schema_table[object];
	struct writer w = {.buf = buf, .comma = ""};

	open_object(&w, NULL);
	put_text(&w, "group", SCHEMA_GROUP);
	put_text(&w, "scope", schema->is_namespaced ? "Namespaced" : "Cluster");
	put_names(&w, schema);
	put_version(&w, schema);
	close(&w, '}');
	return buf->status;
}
