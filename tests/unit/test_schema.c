/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas against what the encoders write. tests/support/data/objects holds objects of each kind, one a line,
 * which together have every field;
 * tests/e2e applies the same to a real API server. */
#include "support/history_text.h"
#include "support/object_json.h"
#include "support/test.h"

#include "model/history.h"
#include "model/node_shape.h"
#include "model/profile.h"
#include "generate/schema.h"

#include "base/io.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static struct json_object *parse(const char *text, size_t n)
{
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	if (json_parse(text, n, 32, &object, &err))
		fail_msg("%s", err.msg);
	return object;
}

/* An array of the objects; they stay in the order in which they are written. */
static struct json_object *read_file(const char *name, struct strbuf *text)
{
	struct json_object *all = json_object_new_array();
	struct err err = ERR_INIT;
	char path[512];

	snprintf(path, sizeof(path), TEST_SOURCE_DIR "/support/data/objects/%s.jsonl", name);
	if (io_read_file(path, text, &err))
		fail_msg("%s: %s", path, err.msg);
	for (const char *line = strbuf_text(text); *line; line += strcspn(line, "\n") + 1)
		json_object_array_add(all, parse(line, strcspn(line, "\n")));
	assert_int_not_equal(json_object_array_length(all), 0);
	return all;
}

static struct json_object *read_objects(enum schema_object object, struct strbuf *text)
{
	return read_file(schema_plural(object), text);
}

/* Histories with the members that release 0.1 wrote into spec. */
static struct json_object *read_old_histories(struct strbuf *text)
{
	return read_file("memoryhistories-0.1", text);
}

static struct json_object *render(enum schema_object object)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);

	assert_int_equal(schema_render_spec(object, &text), 0);
	return parse(strbuf_text(&text), text.len);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

/* What `kubectl get` and the API server call the schema of the first version. */
static struct json_object *schema_of(struct json_object *spec)
{
	struct json_object *version = json_object_array_get_idx(member(spec, "versions"), 0);

	return member(member(version, "schema"), "openAPIV3Schema");
}

static int encode(enum schema_object object, struct json_object *json, struct strbuf *ret)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	CLEANUP(history_freep) struct history *history = NULL;
	struct node_shape shape;
	struct err err = ERR_INIT;
	int r = object == SCHEMA_PROFILE   ? profile_decode(json, &profile, &err)
		: object == SCHEMA_HISTORY ? history_decode(json, &history, &err)
					   : node_shape_decode(json, &shape, &err);

	if (r)
		fail_msg("%s: %s", err.where, err.msg);
	return object == SCHEMA_PROFILE	  ? profile_encode(profile, ret)
	       : object == SCHEMA_HISTORY ? history_encode(history, ret)
					  : node_shape_encode(&shape, ret);
}

/* How well zlib compresses differs between its versions, so what is compressed is compared as text. */
static void assert_same_objects(enum schema_object object, const struct strbuf *a, const struct strbuf *b)
{
	CLEANUP(strbuf_release) struct strbuf plain_a = STRBUF_INIT(64 * KIB), plain_b = STRBUF_INIT(64 * KIB);

	if (object != SCHEMA_HISTORY) {
		assert_string_equal(strbuf_text(a), strbuf_text(b));
		return;
	}
	history_text(strbuf_text(a), &plain_a);
	history_text(strbuf_text(b), &plain_b);
	assert_string_equal(strbuf_text(&plain_a), strbuf_text(&plain_b));
}

static void encode_all(enum schema_object object, struct json_object *all, struct strbuf *ret)
{
	for (size_t k = 0; k < json_object_array_length(all); k++) {
		assert_int_equal(encode(object, json_object_array_get_idx(all, k), ret), 0);
		strbuf_addc(ret, '\n');
	}
}

static void objects_are_as_they_are_written(void **state)
{
	(void)state;
	for (enum schema_object i = 0; i < SCHEMA_COUNT_; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB), again = STRBUF_INIT(64 * KIB);
		CLEANUP(json_putp) struct json_object *all = read_objects(i, &text);

		encode_all(i, all, &again);
		assert_same_objects(i, &again, &text);
	}
}

/* memoryhistories.jsonl has the same history as memoryhistories-0.1.jsonl, as it is written now. */
static void histories_of_release_0_1_lose_nothing(void **state)
{
	CLEANUP(strbuf_release)
	struct strbuf old_text = STRBUF_INIT(64 * KIB), text = STRBUF_INIT(64 * KIB), again = STRBUF_INIT(64 * KIB);
	CLEANUP(json_putp)
	struct json_object *old = read_old_histories(&old_text), *now = read_objects(SCHEMA_HISTORY, &text);

	(void)state;
	assert_int_equal(json_object_array_length(old), json_object_array_length(now));
	encode_all(SCHEMA_HISTORY, old, &again);
	assert_same_objects(SCHEMA_HISTORY, &again, &text);
}

/* ---- what is written is in the schema ---- */

static bool is_type(struct json_object *value, const char *type)
{
	static const struct {
		const char *name;
		enum json_type type;
	} types[] = {{"object", json_type_object},
		     {"array", json_type_array},
		     {"string", json_type_string},
		     {"integer", json_type_int},
		     {"boolean", json_type_boolean}};

	if (streq(type, "number"))
		return json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (streq(type, types[i].name))
			return json_object_is_type(value, types[i].type);
	return false;
}

static void check_value(struct json_object *value, struct json_object *schema, const char *path)
{
	const char *type = json_object_get_string(member(schema, "type"));
	struct json_object *properties = member(schema, "properties"), *items = member(schema, "items");
	char inner[256];

	if (!type || !is_type(value, type))
		fail_msg("%s: written is %s, not %s", path, json_object_to_json_string(value), type);
	for (size_t i = 0; items && i < json_object_array_length(value); i++)
		check_value(json_object_array_get_idx(value, i), items, path);
	if (streq(type, "array"))
		assert_non_null(items);
	if (!properties || !json_object_is_type(value, json_type_object))
		return;
	json_object_object_foreach(value, key, child)
	{
		snprintf(inner, sizeof(inner), "%s.%s", path, key);
		if (!member(properties, key))
			fail_msg("%s is written, and the schema lacks it", inner);
		check_value(child, member(properties, key), inner);
	}
}

static void what_is_written_is_in_the_schema(void **state)
{
	(void)state;
	for (enum schema_object i = 0; i < SCHEMA_COUNT_; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
		CLEANUP(json_putp) struct json_object *all = read_objects(i, &text), *spec = render(i);

		for (size_t k = 0; k < json_object_array_length(all); k++)
			check_value(json_object_array_get_idx(all, k), schema_of(spec), schema_plural(i));
	}
}

/* The API server drops what the schema lacks, also from objects that it has stored. */
static void what_release_0_1_wrote_is_in_the_schema(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	CLEANUP(json_putp) struct json_object *all = read_old_histories(&text), *spec = render(SCHEMA_HISTORY);

	(void)state;
	for (size_t k = 0; k < json_object_array_length(all); k++)
		check_value(json_object_array_get_idx(all, k), schema_of(spec), "memoryhistories of 0.1");
}

/* ---- what is in the schema is written ---- */

/* The values of `key` in all of these, and items of arrays as if they stood there themselves. */
static struct json_object *gather(struct json_object *values, const char *key)
{
	struct json_object *found = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(values); i++) {
		struct json_object *value = member(json_object_array_get_idx(values, i), key);
		bool is_array = json_object_is_type(value, json_type_array);

		for (size_t k = 0; is_array && k < json_object_array_length(value); k++)
			json_object_array_add(found, json_object_get(json_object_array_get_idx(value, k)));
		if (value && !is_array)
			json_object_array_add(found, json_object_get(value));
	}
	return found;
}

static void check_schema(struct json_object *schema, struct json_object *values, const char *path)
{
	struct json_object *items = member(schema, "items");
	struct json_object *properties = member(items ? items : schema, "properties");
	char inner[256];

	if (!properties)
		return;
	json_object_object_foreach(properties, key, child)
	{
		CLEANUP(json_putp) struct json_object *found = gather(values, key);

		snprintf(inner, sizeof(inner), "%s.%s", path, key);
		if (!json_object_array_length(found))
			fail_msg("%s is in the schema and never written", inner);
		if (*path && !member(child, "description"))
			fail_msg("%s has no description", inner);
		check_schema(child, found, inner);
	}
}

static void what_is_in_the_schema_is_written(void **state)
{
	(void)state;
	for (enum schema_object i = 0; i < SCHEMA_COUNT_; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB), old_text = STRBUF_INIT(64 * KIB);
		CLEANUP(json_putp)
		struct json_object *all = read_objects(i, &text), *spec = render(i),
				   *old = i == SCHEMA_HISTORY ? read_old_histories(&old_text) : NULL;

		for (size_t k = 0; old && k < json_object_array_length(old); k++)
			json_object_array_add(all, json_object_get(json_object_array_get_idx(old, k)));
		check_schema(schema_of(spec), all, "");
	}
}

/* ---- columns and names ---- */

/* The schema at ".status.recommendation.runs" or ".spec.runs[-1:].start"; metadata is Kubernetes' own. */
static struct json_object *schema_at(struct json_object *schema, const char *path)
{
	while (schema && *path) {
		size_t n = strcspn(++path, ".[");
		char key[64];

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		schema = member(member(schema, "properties"), key);
		path += n;
		if (*path != '[')
			continue;
		schema = member(schema, "items");
		path = strchr(path, ']') + 1;
	}
	return schema;
}

static void columns_show_fields(void **state)
{
	(void)state;
	for (enum schema_object i = 0; i < SCHEMA_COUNT_; i++) {
		CLEANUP(json_putp) struct json_object *spec = render(i);
		struct json_object *version = json_object_array_get_idx(member(spec, "versions"), 0);
		struct json_object *columns = member(version, "additionalPrinterColumns");

		assert_in_range(json_object_array_length(columns), 5, 20);
		for (size_t k = 0; k < json_object_array_length(columns); k++) {
			struct json_object *column = json_object_array_get_idx(columns, k);
			const char *path = json_object_get_string(member(column, "jsonPath"));
			const char *type = json_object_get_string(member(column, "type"));
			struct json_object *schema = schema_at(schema_of(spec), path);

			if (streq(path, ".metadata.creationTimestamp"))
				continue;
			if (!schema)
				fail_msg("%s: no field at %s", schema_plural(i), path);
			assert_string_equal(json_object_get_string(member(schema, "type")),
					    streq(type, "date") ? "string" : type);
			if (streq(type, "date"))
				assert_string_equal(json_object_get_string(member(schema, "format")), "date-time");
		}
	}
}

/* The chart is a template: nothing in a schema may look like one. Definitions stay small. */
static void definitions_are_plain_and_small(void **state)
{
	(void)state;
	for (enum schema_object i = 0; i < SCHEMA_COUNT_; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);

		assert_int_equal(schema_render_spec(i, &text), 0);
		assert_null(strstr(strbuf_text(&text), "{{"));
		assert_in_range(text.len, 1 * KIB, 20 * KIB);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_as_they_are_written),
		cmocka_unit_test(what_is_written_is_in_the_schema),
		cmocka_unit_test(histories_of_release_0_1_lose_nothing),
		cmocka_unit_test(what_release_0_1_wrote_is_in_the_schema),
		cmocka_unit_test(what_is_in_the_schema_is_written),
		cmocka_unit_test(columns_show_fields),
		cmocka_unit_test(definitions_are_plain_and_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
