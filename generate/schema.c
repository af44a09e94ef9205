/* SPDX-License-Identifier: Apache-2.0 */
#include "generate/schema_internal.h"

#include "base/str.h"
#include "k8s/quantity.h"
#include "model/profile.h"

/* The version in "memtamer.io/v1alpha1". */
#define VERSION (&PROFILE_API_VERSION[sizeof(SCHEMA_GROUP)])

/* JSON is written as text: a member of an object after a comma, where another one precedes it. */
#define TYPE(type)		  ",\"type\":\"" type "\""
#define TYPE_FORMAT(type, format) TYPE(type) ",\"format\":\"" format "\""
#define LIST(type)		  TYPE("array") ",\"items\":{\"type\":\"" type "\""

/* Lists of objects are closed by put_field. */
const struct schema_type schema_types[CODEC_TYPES] = {
	[CODEC_BYTES] = {"quantity", TYPE("string")},
	[CODEC_INT64] = {"integer", TYPE_FORMAT("integer", "int64")},
	[CODEC_INT32] = {"integer", TYPE_FORMAT("integer", "int32")},
	[CODEC_TIME] = {"time", TYPE_FORMAT("string", "date-time")},
	/* Durations may have days, which the API server's format lacks. */
	[CODEC_DURATION] = {"duration", TYPE("string")},
	[CODEC_DATE] = {"date", TYPE_FORMAT("string", "date")},
	[CODEC_TEXT] = {"text", TYPE("string")},
	[CODEC_STRING] = {"text", TYPE("string")},
	[CODEC_BOOL] = {"true or false", TYPE("boolean")},
	[CODEC_ENUM] = {"choice", TYPE("string")},
	[CODEC_ENUM8] = {"choice", TYPE("string")},
	[CODEC_FLAGS8] = {"list", LIST("string") "}"},
	[CODEC_NAME] = {"choice", TYPE("string")},
	[CODEC_OBJECT] = {"object", TYPE("object")},
	[CODEC_OBJECTS] = {"list of objects", LIST("object")},
	[CODEC_TEXTS] = {"list of texts", LIST("string") "}"},
	[CODEC_INTEGERS] = {"list of integers", LIST("integer") "}"},
	[CODEC_CUSTOM] = {"text", TYPE("string")},
};

static void put_rules(struct strbuf *buf, const struct schema *schema, const char *at)
{
	bool is_open = false;

	for (size_t i = 0; i < schema->n_rules; i++) {
		const char *comma = "";

		if (!streq(schema->rules[i].at, at))
			continue;
		strbuf_adds(buf, is_open ? ",{" : ",\"x-kubernetes-validations\":[{");
		codec_text(buf, &comma, "rule", schema->rules[i].rule);
		codec_text(buf, &comma, "message", schema->rules[i].message);
		strbuf_addc(buf, '}');
		is_open = true;
	}
	strbuf_adds(buf, is_open ? "]" : "");
}

/* ---- fields ---- */

/* Whether the schema restricts the field to its names. */
static bool is_restricted(const struct codec_field *field, bool is_of_people)
{
	return is_of_people && field->type == CODEC_TEXT && field->n_names;
}

/* Rejects values that the decoder would not understand. The length of a quantity bounds the cost of its rule. */
static void put_limits(struct strbuf *buf, const struct codec_field *field)
{
	const char *comma = ",";

	if (is_restricted(field, true))
		codec_texts(buf, &comma, "enum", field->names, field->n_names);
	else if (field->type == CODEC_TEXT || field->type == CODEC_STRING)
		strbuf_addf(buf, ",\"maxLength\":%lld",
			    field->type == CODEC_STRING ? (long long)field->max : (long long)field->size - 1);
	if (field->type == CODEC_INT64 || field->type == CODEC_INT32)
		strbuf_adds(buf, ",\"minimum\":0");
	if ((field->type == CODEC_INT64 || field->type == CODEC_INT32) && field->max)
		strbuf_addf(buf, ",\"maximum\":%lld", (long long)field->max);
	if (field->type == CODEC_BYTES)
		strbuf_addf(buf,
			    ",\"maxLength\":%d,\"x-kubernetes-validations\":[{\"rule\":\"isQuantity(self) && "
			    "quantity(self).compareTo(quantity('%s')) >= 0\",\"message\":\"must be a quantity %s, such "
			    "as 64Gi\"}]",
			    QUANTITY_TEXT_BYTES - 1, field->min ? "1Mi" : "0",
			    field->min ? "of at least 1Mi" : "that is not negative");
}

/* Appends the possible names to the help, "How it ended. One of unknown, running, ...", where the schema does not
 * restrict them. */
static void put_help(struct strbuf *buf, const struct codec_field *field, bool is_of_people)
{
	CLEANUP(strbuf_release) struct strbuf help = STRBUF_INIT(4 * KIB);
	size_t n_names = is_restricted(field, is_of_people) ? 0 : field->n_names;

	strbuf_adds(&help, field->help);
	for (size_t i = 0; i < n_names; i++)
		strbuf_addf(&help, "%s%s",
			    i				  ? ", "
			    : field->type == CODEC_FLAGS8 ? " Any of "
							  : " One of ",
			    field->names[i]);
	strbuf_adds(&help, n_names ? "." : "");
	strbuf_adds(buf, "\"description\":");
	strbuf_add_json_string(buf, strbuf_text(&help));
}

static void put_properties(struct strbuf *buf, const struct codec_table *table, bool is_of_people);

static void put_fields(struct strbuf *buf, const struct codec_table *table, bool is_of_people, const char **comma)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct codec_field *field = &table->fields[i];

		if (field->type == CODEC_ROWS) {
			put_fields(buf, field->table, is_of_people, comma);
			continue;
		}
		codec_key(buf, comma, field->key);
		strbuf_addc(buf, '{');
		put_help(buf, field, is_of_people);
		strbuf_adds(buf, schema_types[field->type].json);
		if (is_of_people)
			put_limits(buf, field);
		if (field->table)
			put_properties(buf, field->table, is_of_people);
		strbuf_adds(buf, field->type == CODEC_OBJECTS ? "}}" : "}");
	}
}

static void put_properties(struct strbuf *buf, const struct codec_table *table, bool is_of_people)
{
	const char *comma = "";

	strbuf_adds(buf, ",\"properties\":{");
	put_fields(buf, table, is_of_people, &comma);
	strbuf_addc(buf, '}');
}

/* ---- the definition ---- */

/* Writes spec or status: with rules if people write it, as one atomic part if the recommender does. */
static void put_part(struct strbuf *buf, const struct schema *schema, const struct codec_field *part)
{
	bool is_of_people = schema_is_of_people(schema, part->key);

	strbuf_addf(buf, ",\"%s\":{", part->key);
	put_help(buf, part, is_of_people);
	strbuf_adds(buf, is_of_people ? TYPE("object") : TYPE("object") ",\"x-kubernetes-map-type\":\"atomic\"");
	put_properties(buf, part->table, is_of_people);
	put_rules(buf, schema, part->key);
	strbuf_addc(buf, '}');
}

static void put_columns(struct strbuf *buf, const struct schema *schema)
{
	strbuf_adds(buf, "\"additionalPrinterColumns\":[");
	for (size_t i = 0; i < schema->n_columns; i++) {
		const struct schema_column *column = &schema->columns[i];
		const char *comma = "";

		strbuf_adds(buf, i ? ",{" : "{");
		codec_text(buf, &comma, "name", column->name);
		codec_text(buf, &comma, "type", column->type);
		codec_text(buf, &comma, "jsonPath", column->path);
		codec_text(buf, &comma, "description", column->help);
		strbuf_adds(buf, column->is_wide ? ",\"priority\":1}" : "}");
	}
	strbuf_addc(buf, ']');
}

int schema_render_spec(enum schema_object object, struct strbuf *buf)
{
	const struct schema *schema = &schema_table[object];

	strbuf_addf(buf,
		    "{\"group\":\"" SCHEMA_GROUP
		    "\",\"scope\":\"%s\",\"names\":{\"kind\":\"%s\",\"listKind\":\"%sList\","
		    "\"plural\":\"%s\",\"singular\":\"%s\",\"shortNames\":[\"%s\"],\"categories\":[\"memtamer\"]},"
		    "\"versions\":[{\"name\":\"%s\",\"served\":true,\"storage\":true,%s",
		    schema->is_namespaced ? "Namespaced" : "Cluster", schema->kind, schema->kind, schema->plural,
		    schema->singular, schema->short_name, VERSION,
		    schema->has_status ? "\"subresources\":{\"status\":{}}," : "");
	put_columns(buf, schema);
	strbuf_adds(buf, ",\"schema\":{\"openAPIV3Schema\":{\"description\":");
	strbuf_add_json_string(buf, schema->help);
	strbuf_adds(buf, TYPE("object") ",\"properties\":{\"apiVersion\":{\"type\":\"string\"},"
					"\"kind\":{\"type\":\"string\"},\"metadata\":{\"type\":\"object\"}");
	for (size_t i = 0; i < schema->table->n; i++)
		put_part(buf, schema, &schema->table->fields[i]);
	strbuf_addc(buf, '}');
	put_rules(buf, schema, "");
	return strbuf_adds(buf, "}}}]}");
}
