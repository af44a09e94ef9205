/* SPDX-License-Identifier: Apache-2.0 */
/* Aliases, merge keys, streams of JSON, and what the lenient parser lets pass. The values are those that kubectl's YAML
 * library (sigs.k8s.io/yaml 1.6) makes of the same text. */
#include "yaml_fixture.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

static struct parsed parse_lenient(const char *text)
{
	struct parsed p = {.arena = ARENA_INIT(512 * MIB)};

	p.r = yaml_tree_parse_lenient(text, strlen(text), "f.yaml", &p.arena, &p.documents, &p.err);
	return p;
}

static struct json_object *to_json(const struct parsed *p)
{
	struct json_object *object = NULL;

	assert_int_equal(p->r, 0);
	assert_int_equal(yaml_tree_to_json(&p->documents.items[0].root, &object, NULL), 0);
	return object;
}

static void aliases_and_merges_follow_kubectl(void **state)
{
	static const struct {
		const char *yaml, *json;
	} rows[] = {
		{"a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}"},
		{"a: &x {b: 1}\nc: [*x, *x]\n", "{\"a\":{\"b\":1},\"c\":[{\"b\":1},{\"b\":1}]}"},
		{"a: &a\nb: *a\n", "{\"a\":null,\"b\":null}"},
		{"a: &a \"12\"\nb: *a\n", "{\"a\":\"12\",\"b\":\"12\"}"},
		{"? &k key\n: 1\n? *k\n: 2\n", NULL}, /* the same key twice */
		{"? &k key\n: {x: 1}\nb: {? *k : 2}\n", "{\"key\":{\"x\":1},\"b\":{\"key\":2}}"},
		{"b: &b {x: 1, z: 2}\na:\n  x: 9\n  <<: *b\n", "{\"a\":{\"x\":1,\"z\":2},\"b\":{\"x\":1,\"z\":2}}"},
		{"b: &b {x: 1, z: 2}\na:\n  <<: *b\n  x: 9\n", "{\"a\":{\"x\":9,\"z\":2},\"b\":{\"x\":1,\"z\":2}}"},
		{"b: &b {x: 1}\nc: &c {x: 2, z: 3}\na:\n  <<: [*b, *c]\n",
		 "{\"a\":{\"x\":1,\"z\":3},\"b\":{\"x\":1},\"c\":{\"x\":2,\"z\":3}}"},
		{"b: &b {x: 1}\nc: &c {x: 2, z: 3}\na:\n  <<: *b\n  <<: *c\n",
		 "{\"a\":{\"x\":2,\"z\":3},\"b\":{\"x\":1},\"c\":{\"x\":2,\"z\":3}}"},
		{"b: &b {x: 1, <<: {z: 5}}\na: {<<: *b}\n", "{\"a\":{\"x\":1,\"z\":5},\"b\":{\"x\":1,\"z\":5}}"},
		{"a: {<<: [{x: 1}, {x: 2}], x: 3}\n", "{\"a\":{\"x\":3}}"},
		{"a: {\"<<\": {x: 1}}\n", "{\"a\":{\"<<\":{\"x\":1}}}"},
		{"a: {<<: {}}\n", "{\"a\":{}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(parsed_release) struct parsed p = parse(rows[i].yaml);
		CLEANUP(json_putp) struct json_object *object = NULL, *expected = NULL;

		test_row(rows[i].yaml);
		if (!rows[i].json) {
			assert_int_equal(p.r, -EINVAL);
			continue;
		}
		object = to_json(&p);
		assert_int_equal(json_parse(rows[i].json, strlen(rows[i].json), 16, &expected, NULL), 0);
		if (!json_object_equal(object, expected))
			assert_string_equal(json_object_to_json_string(object), rows[i].json);
	}
}

/* A finding in a repeated value points to the alias, one inside of it to the text itself. */
static void aliased_nodes_know_both_places(void **state)
{
	CLEANUP(parsed_release) struct parsed p = parse("a: &x\n  b: 1\nc: *x\n");
	const struct yaml_node *alias = yaml_tree_at(&p.documents.items[0].root, "/c");

	(void)state;
	assert_int_equal(p.r, 0);
	assert_int_equal(alias->line, 3);
	assert_int_equal(alias->column, 4);
	assert_int_equal(yaml_tree_at(&p.documents.items[0].root, "/c/b")->line, 2);
}

/* Each level repeats the one before it ten times: of eight levels, a hundred million values. */
static void alias_bombs_end_at_the_cap(void **state)
{
	static const struct {
		const char *name, *first, *open, *between, *close;
	} rows[] = {
		{"lists", "[x]", "[", ",", "]"},
		{"mappings", "{k: v}", "{", ",", "}"},
		{"merged mappings", "{k: [x, x, x]}", "{<<: [", ",", "]}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
		CLEANUP(parsed_release) struct parsed p = {0};
		bool is_map = streq(rows[i].open, "{");

		test_row(rows[i].name);
		strbuf_addf(&text, "a0: &a0 %s\n", rows[i].first);
		for (int k = 1; k <= 8; k++) {
			strbuf_addf(&text, "a%d: &a%d %s", k, k, rows[i].open);
			for (int n = 0; n < 10; n++) {
				strbuf_adds(&text, n ? rows[i].between : "");
				if (is_map)
					strbuf_addf(&text, "k%d: ", n);
				strbuf_addf(&text, "*a%d", k - 1);
			}
			strbuf_addf(&text, "%s\n", rows[i].close);
		}
		p = parse(strbuf_text(&text));
		assert_int_equal(p.r, -E2BIG);
		assert_string_equal(p.err.msg, "too many values in one file, with aliases expanded");
		assert_memory_equal(p.err.where, "f.yaml:", 7);
		assert_true(p.arena.used_bytes < MIB);
	}
}

/* Few values, but a text of 64 KiB two thousand times. */
static void repeated_text_counts(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	CLEANUP(parsed_release) struct parsed p = {0};

	(void)state;
	strbuf_adds(&text, "a: &a \"");
	for (int i = 0; i < 65536; i++)
		strbuf_addc(&text, 'x');
	strbuf_adds(&text, "\"\nb:\n");
	for (int i = 0; i < 2000; i++)
		strbuf_adds(&text, "- *a\n");
	p = parse(strbuf_text(&text));
	assert_int_equal(p.r, -E2BIG);
	assert_true(p.arena.used_bytes < 2 * MIB);
}

/* Each level is one deeper than the one before it, in a file that is never deeper than two. */
static void aliases_do_not_hide_depth(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	CLEANUP(parsed_release) struct parsed p = {0};

	(void)state;
	strbuf_adds(&text, "a0: &a0 [x]\n");
	for (int i = 1; i <= LIMIT_YAML_DEPTH; i++)
		strbuf_addf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
	p = parse(strbuf_text(&text));
	assert_int_equal(p.r, -E2BIG);
	assert_string_equal(p.err.msg, "nested too deeply");
}

static void json_values_follow_each_other(void **state)
{
	static const char text[] = "{\"a\": 1}\n{\"b\":\n 2}{\"c\": 3}\n\n[4]\n";
	static const size_t begins[] = {0, 9, 18, 28};
	CLEANUP(parsed_release) struct parsed p = parse(text), yaml = parse("{\"a\": 1}\n---\n{\"b\": 2}\n");

	(void)state;
	assert_int_equal(p.r, 0);
	assert_int_equal(p.documents.n, ARRAY_LEN(begins));
	for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
		const struct yaml_document *document = &p.documents.items[i];

		assert_int_equal(document->begin, begins[i]);
		assert_int_equal(document->end, i + 1 < ARRAY_LEN(begins) ? begins[i + 1] : sizeof(text) - 1);
	}
	assert_int_equal(yaml_tree_get(&p.documents.items[1].root, "b")->line, 3);
	assert_int_equal(yaml.r, 0);
	assert_int_equal(yaml.documents.n, 2);
}

/* What is no Kubernetes object may use all of YAML; where it stands is known all the same. */
static void lenient_parsing_notes_problems(void **state)
{
	static const struct {
		const char *name, *text, *where, *msg;
	} rows[] = {
		{"a tag", "Resources:\n  a: !Ref b\n", "f.yaml:2:6", "tag !Ref is not supported"},
		{"a tagged mapping", "a: !Sub {b: !GetAtt [c, d]}\n", "f.yaml:1:4", "tag !Sub is not supported"},
		{"a duplicate", "a: 1\na: 2\n", "f.yaml:2:1", "duplicate key \"a\", first at line 1 column 1"},
		{"a mapping as key", "a: {{ .Values.x }}\n", "f.yaml:1:5", "a key must be a scalar"},
		{"an alias of a list as key", "a: &a [1]\nb: {? *a : 1}\n", "f.yaml:2:7", "a key must be a scalar"},
		{"null as key", "~: 1\n", "f.yaml:1:1", "a key is null"},
		{"nothing", "kind: Pod\n", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
		CLEANUP(parsed_release) struct parsed p = {0};

		test_row(rows[i].name);
		strbuf_addf(&text, "%s---\nlast: 1\n", rows[i].text);
		p = parse_lenient(strbuf_text(&text));
		assert_int_equal(p.r, 0);
		assert_int_equal(p.documents.n, 2);
		assert_null(p.documents.items[1].problem);
		assert_string_equal(yaml_tree_get(&p.documents.items[1].root, "last")->text, "1");
		assert_int_equal(p.documents.items[0].problem != NULL, rows[i].where != NULL);
		if (!rows[i].where)
			continue;
		assert_string_equal(p.documents.items[0].problem->where, rows[i].where);
		assert_string_equal(p.documents.items[0].problem->msg, rows[i].msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aliases_and_merges_follow_kubectl), cmocka_unit_test(aliased_nodes_know_both_places),
		cmocka_unit_test(alias_bombs_end_at_the_cap),	     cmocka_unit_test(repeated_text_counts),
		cmocka_unit_test(aliases_do_not_hide_depth),	     cmocka_unit_test(json_values_follow_each_other),
		cmocka_unit_test(lenient_parsing_notes_problems),
	};

	return cmocka_run_group_tests_name("yaml-alias", tests, NULL, NULL);
}
