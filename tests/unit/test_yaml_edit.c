/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml_fixture.h"

#include "base/json.h"
#include "base/steps.h"
#include "base/str.h"
#include "yaml/yaml_edit.h"

#include <errno.h>
#include <stdlib.h>

/* Written as a member, read back, compared. */
static void check_round_trip(struct json_object *value)
{
	static const struct yaml_style styles[] = {
		{"\n", 2, false, false}, {"\r\n", 4, false, false}, {"\n", 1, false, true}, {"\n", 2, true, false}};

	for (size_t i = 0; i < ARRAY_LEN(styles); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		CLEANUP(json_putp) struct json_object *back = NULL;
		CLEANUP(parsed_release) struct parsed p = {0};

		assert_int_equal(yaml_add_member(&text, "key", value, &styles[i], 3), 0);
		p = parse(strbuf_text(&text));
		if (p.r)
			print_message("%s: %s\n%s", p.err.where, p.err.msg, strbuf_text(&text));
		assert_int_equal(p.r, 0);
		assert_int_equal(p.documents.n, 1);
		assert_int_equal(yaml_tree_to_json(&p.documents.items[0].root, &back, &p.err), 0);
		if (!json_object_equal(value, json_member(back, "key")))
			assert_string_equal(json_object_to_json_string(value), json_object_to_json_string(back));
	}
}

static void check_flow(struct json_object *value)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	CLEANUP(json_putp) struct json_object *back = NULL;
	CLEANUP(parsed_release) struct parsed p = {0};

	strbuf_adds(&text, "[");
	yaml_add_flow(&text, value, false);
	assert_int_equal(strbuf_adds(&text, "]"), 0);
	p = parse(strbuf_text(&text));
	assert_int_equal(p.r, 0);
	assert_int_equal(yaml_tree_to_json(&p.documents.items[0].root, &back, &p.err), 0);
	assert_true(json_object_equal(value, json_object_array_get_idx(back, 0)));
}

static void strings_round_trip(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"a",
		" a",
		"a ",
		"yes",
		"No",
		"y",
		"on",
		"null",
		"~",
		"Null",
		"true",
		"1",
		"-1",
		"+1",
		"1e3",
		"0x1f",
		"0o7",
		"017",
		"08",
		"1_0",
		".5",
		"1.",
		".inf",
		".NaN",
		"-.inf",
		"2024-01-01",
		"2024-01-01T00:00:00Z",
		"12:30",
		"190:20:30",
		"96Gi",
		"100m",
		"1.5Gi",
		"-Xmx4g",
		"--flag",
		"-",
		"- a",
		"---",
		"--- a",
		"...",
		"?",
		"? a",
		":",
		": a",
		"a: b",
		"a:",
		"a:b",
		"a #b",
		"a#b",
		"#",
		"*a",
		"&a",
		"!a",
		"|",
		">",
		"%a",
		"@a",
		"`a`",
		"'a'",
		"\"a\"",
		"a\"b'c",
		"[a]",
		"{a}",
		"a, b",
		",",
		"=",
		"<<",
		"a\\b",
		"a\tb",
		"\t",
		"a\n",
		"a\nb",
		"a\nb\n",
		"a\nb\n\n",
		"\n",
		"\n\n",
		"\na",
		"\na\n",
		" a\nb",
		"\ta\nb",
		"a\n b\n",
		"a\n\nb",
		"a \nb",
		"a\n \nb",
		"a\n\tb",
		"a\n# b\n",
		"a\r\nb",
		"a\rb",
		"\xc3\xa4",
		"\xe6\xbc\xa2\xe5\xad\x97",
		"\xf0\x9f\x98\x80",
		"\xc2\x85",
		"a\xc2\x80",
		"a\xc2\x9bz",
		"a\x7f",
		"\xe2\x80\xa8",
		"\xef\xbb\xbf z",
		"\x7f",
		"\x01",
		"a\x1b[0m",
		"https://example.org/a?b=c&d=e#f",
		"$(cat /x | grep '^a: ')",
		"{{ .Values.x }}",
		"#!/bin/sh\nset -e\npython train.py --lr 1e-3\n",
		"  indented\nscript\n",
		"key: value\nother: [1, 2]\n",
		"a\n---\nb\n",
		"|\n  a",
		"\n a",
		"%YAML 1.2",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_putp) struct json_object *object = json_object_new_object();
		struct json_object *inner = json_object_new_object(), *list = json_object_new_array();
		CLEANUP(json_putp) struct json_object *root = json_object_new_string(rows[i]);

		test_row(rows[i]);
		json_object_array_add(list, json_object_new_string(rows[i]));
		json_object_array_add(list, NULL);
		json_object_object_add(inner, rows[i], json_object_new_string("v"));
		json_object_object_add(inner, "k", json_object_new_string(rows[i]));
		json_object_array_add(list, inner);
		json_object_object_add(object, "s", json_object_new_string(rows[i]));
		json_object_object_add(object, "l", list);
		check_round_trip(object);
		check_round_trip(root);
		check_flow(object);
	}
}

static void values_round_trip(void **state)
{
	static const char *const rows[] = {
		"{}",
		"[]",
		"0",
		"-1",
		"1.5",
		"1e-7",
		"1.7976931348623157e308",
		"9223372036854775807",
		"18446744073709551615",
		"true",
		"{\"a\":{}}",
		"{\"a\":[]}",
		"[[]]",
		"[[1,[2,[]]],{}]",
		"[{\"a\":[{\"b\":1}]}]",
		"{\"a\":null,\"b\":false,\"c\":[null,{\"d\":{\"e\":[1]}}]}",
		"{\"\":\"\"}",
		"{\"memtamer.io/mode\":\"off\",\"0\":0,\"true\":true,\"a b\":\"c: d\"}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_putp) struct json_object *object = json_tokener_parse(rows[i]);

		test_row(rows[i]);
		assert_non_null(object);
		check_round_trip(object);
		check_flow(object);
	}
}

static void members_look_like_kubectls(void **state)
{
	CLEANUP(json_putp)
	struct json_object *object = json_tokener_parse(
		"{\"containers\":[{\"name\":\"a\",\"args\":[\"-lr\",\"1e-3\",\"on\"],"
		"\"resources\":{\"limits\":{\"memory\":\"96Gi\",\"cpu\":\"8\"}}}],\"volumes\":[]}");
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(4096);

	(void)state;
	assert_int_equal(yaml_add_member(&buf, "spec", object, &(struct yaml_style){.line_break = "\n", .step = 2}, 0),
			 0);
	assert_string_equal(strbuf_text(&buf), "\nspec:\n"
					       "  containers:\n"
					       "  - name: a\n"
					       "    args:\n"
					       "    - -lr\n"
					       "    - \"1e-3\"\n"
					       "    - \"on\"\n"
					       "    resources:\n"
					       "      limits:\n"
					       "        memory: 96Gi\n"
					       "        cpu: \"8\"\n"
					       "  volumes: []");
}

/* --- Edits --- */

/* What an edit sets: pointers that begin at the root; absent parents are made. */
struct change {
	const char *pointer, *text;
};

static void set(struct json_object *root, const struct change *change)
{
	CLEANUP(freep) char *pointer = strdup(change->pointer);
	struct json_object *parent;

	assert_non_null(pointer);
	for (char *slash = strchr(pointer + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (json_pointer_get(root, pointer, &parent) || !parent)
			assert_int_equal(json_pointer_set(&root, pointer, json_object_new_object()), 0);
		*slash = '/';
	}
	assert_int_equal(json_pointer_set(&root, pointer, json_object_new_string(change->text)), 0);
}

/* Edits the last document of a text; the others are copied. */
static int edit(const char *text, const struct change *changes, size_t n, struct strbuf *ret, struct err *err)
{
	CLEANUP(parsed_release) struct parsed p = parse(text);
	CLEANUP(json_putp) struct json_object *object = NULL;
	CLEANUP(strbuf_release) struct strbuf edited = STRBUF_INIT(MIB);
	const struct yaml_document *document;
	int r;

	assert_int_equal(p.r, 0);
	document = &p.documents.items[p.documents.n - 1];
	assert_int_equal(yaml_tree_to_json(&document->root, &object, &p.err), 0);
	for (size_t i = 0; i < n && changes[i].pointer; i++)
		set(object, &changes[i]);
	r = yaml_edit(text, document, "f.yaml", object, &edited, err);
	strbuf_add(ret, text, document->begin);
	strbuf_add(ret, strbuf_text(&edited), edited.len);
	return r;
}

static void edits_keep_the_text_around_them(void **state)
{
	static const struct {
		const char *name, *before;
		struct change changes[3];
		const char *after;
	} rows[] = {
		{"nothing", "a:  1 # x\n", {{0}}, "a:  1 # x\n"},
		{"a value", "a:  1Gi   # x\nb: 2\n", {{"/a", "2Gi"}}, "a:  2Gi   # x\nb: 2\n"},
		{"quotes", "a: '1Gi'\nb: \"1Gi\"\n", {{"/a", "2Gi"}, {"/b", "3Gi"}}, "a: '2Gi'\nb: \"3Gi\"\n"},
		{"a quote in quotes", "a: 'x'\n", {{"/a", "it's"}}, "a: it's\n"},
		{"a number", "a: 1024\n", {{"/a", "2Ki"}}, "a: 2Ki\n"},
		{"text like a number", "a: 1Ki\n", {{"/a", "2048"}}, "a: \"2048\"\n"},
		{"the same text, not the same value", "a: 2048\n", {{"/a", "2048"}}, "a: \"2048\"\n"},
		{"text of several lines", "a: >-\n  1\n  2\n\n# x\nb: 2\n", {{"/a", "3"}}, "a: \"3\"\n\n# x\nb: 2\n"},
		{"a tag", "a: !!str 1\n", {{"/a", "2"}}, "a: \"2\"\n"},
		{"null", "a: ~\nb: null\nc: 1\n", {{"/a/x", "2"}, {"/b", "v"}}, "a: {x: \"2\"}\nb: v\nc: 1\n"},
		{"null without a word",
		 "a:\n  b: # x\n  c: 1\n",
		 {{"/a/b/d", "v"}, {"/a/b/e/f", "w"}},
		 "a:\n  b: # x\n    d: v\n    e:\n      f: w\n  c: 1\n"},
		{"null in brackets", "{a: , b: }\n", {{"/a/c", "v"}, {"/b", "w"}}, "{a: {c: v}, b: w}\n"},
		{"members", "a: 1\n# x\n", {{"/b", "v"}, {"/c/d", "w"}}, "a: 1\nb: v\nc:\n  d: w\n# x\n"},
		{"a comment behind", "a:\n  b: 1 # x\nc: 1\n", {{"/a/d", "v"}}, "a:\n  b: 1 # x\n  d: v\nc: 1\n"},
		{"indentation of four",
		 "a:\n    b:\n        c: 1\n",
		 {{"/a/d/e", "v"}},
		 "a:\n    b:\n        c: 1\n    d:\n        e: v\n"},
		{"nested ends",
		 "a:\n  b:\n    c: 1\n\nd: 1\n",
		 {{"/a/b/x", "v"}, {"/a/k", "w"}},
		 "a:\n  b:\n    c: 1\n    x: v\n  k: w\n\nd: 1\n"},
		{"an item", "- a: 1\n\n- a: 2\n", {{"/0/b", "v"}}, "- a: 1\n  b: v\n\n- a: 2\n"},
		{"behind a list",
		 "l:\n-  a:\n   - x\n   - y\n-  a: 2\n",
		 {{"/l/0/b", "v"}},
		 "l:\n-  a:\n   - x\n   - y\n   b: v\n-  a: 2\n"},
		{"behind a script",
		 "- a: |\n    x\n\n    y\n\n\n- b\n",
		 {{"/0/c", "v"}},
		 "- a: |\n    x\n\n    y\n  c: v\n\n\n- b\n"},
		{"above text whose last lines count",
		 "- a: 1 # x\n  b:\n  - |+\n    x\n\n- b\n",
		 {{"/0/c", "v"}},
		 "- a: 1 # x\n  c: v\n  b:\n  - |+\n    x\n\n- b\n"},
		{"above text without a line break", "a: 1\nb: |\n  x", {{"/c", "v"}}, "a: 1\nc: v\nb: |\n  x"},
		{"below text without a line break", "a: 1\nb: |-\n  x\n", {{"/c", "v"}}, "a: 1\nb: |-\n  x\nc: v\n"},
		{"no line break at the end", "a:\n  b: 1", {{"/a/c", "v"}}, "a:\n  b: 1\n  c: v"},
		{"CR LF", "a:\r\n  b: 1\r\nc: 1\r\n", {{"/a/d", "v"}}, "a:\r\n  b: 1\r\n  d: v\r\nc: 1\r\n"},
		{"a byte order mark",
		 "\xef\xbb\xbf"
		 "a: 1Gi\n",
		 {{"/a", "2Gi"}},
		 "\xef\xbb\xbf"
		 "a: 2Gi\n"},
		{"umlauts before it",
		 "\xc3\xa4: \xf0\x9f\x98\x80 # \xc3\xbc\na: 1Gi\n",
		 {{"/a", "2Gi"}},
		 "\xc3\xa4: \xf0\x9f\x98\x80 # \xc3\xbc\na: 2Gi\n"},
		{"beside brackets",
		 "a:\n  b: {c: 1}\n",
		 {{"/a/d/e", "v"}, {"/f/g", "w"}},
		 "a:\n  b: {c: 1}\n  d: {e: v}\nf:\n  g: w\n"},
		{"brackets", "a: {b: 1}\n", {{"/a/c", "v"}, {"/a/d/e", "w"}}, "a: {b: 1, c: v, d: {e: w}}\n"},
		{"empty brackets", "a: {}\nb: { }\n", {{"/a/c", "v"}, {"/a/d", "w"}}, "a: {c: v, d: w}\nb: { }\n"},
		{"quoted keys", "a: {\"b\": 1}\n", {{"/a/c", "v"}}, "a: {\"b\": 1, \"c\": \"v\"}\n"},
		{"a comma at the end", "a: {b: 1,}\n", {{"/a/c", "v"}}, "a: {b: 1, c: v,}\n"},
		{"brackets over several lines",
		 "a: {\n  b: 1, # x\n  c: 2 # y\n  }\n",
		 {{"/a/d", "v"}},
		 "a: {\n  b: 1, # x\n  c: 2,\n  d: v # y\n  }\n"},
		{"JSON",
		 "{\"a\": {\n\t\"b\": 1,\n\t\"c\": null\n}, \"d\": {}}",
		 {{"/a/c", "v"}, {"/a/e", "w"}, {"/d/f/g", "x"}},
		 "{\"a\": {\n\t\"b\": 1,\n\t\"c\": \"v\",\n\t\"e\": \"w\"\n}, \"d\": {\"f\": {\"g\": \"x\"}}}"},
		{"one JSON value of several",
		 "{\"a\": 1} {\"b\":2}\n",
		 {{"/a", "v"}},
		 "{\"a\": 1} {\"b\":2, \"a\": \"v\"}\n"},
		{"a document of several",
		 "a: 1\n--- # x\na: 2\n...\n# y\n",
		 {{"/a", "v"}},
		 "a: 1\n--- # x\na: v\n...\n# y\n"},
		{"directives", "%YAML 1.1\n---\na: 2\n", {{"/a", "v"}}, "%YAML 1.1\n---\na: v\n"},
		{"an anchor that nobody uses", "a: &x {b: 1}\n", {{"/a/c", "v"}}, "a: &x {b: 1, c: v}\n"},
		{"beside an alias",
		 "a: &x {b: 1}\nc:\n  d: *x\n",
		 {{"/c/e", "v"}},
		 "a: &x {b: 1}\nc:\n  d: *x\n  e: v\n"},
		{"beside a merge key",
		 "a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n",
		 {{"/c/d", "v"}, {"/c/e/f", "w"}},
		 "a: &x {b: 1}\nc:\n  <<: *x\n  d: v\n  e:\n    f: w\n"},
		{"in a mapping that is merged where it stands",
		 "<<: {a: {b: 1}}\n",
		 {{"/a/b", "v"}},
		 "<<: {a: {b: v}}\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf after = STRBUF_INIT(MIB);
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		assert_int_equal(edit(rows[i].before, rows[i].changes, 3, &after, &err), 0);
		assert_string_equal(strbuf_text(&after), rows[i].after);
	}
}

#define SHARED "shared by an alias (*) or a merge key (<<)"
#define OTHER  "cannot be changed in place"

static void shared_values_are_refused(void **state)
{
	static const struct {
		const char *name, *text;
		struct change change;
		const char *where, *msg;
	} rows[] = {
		{"an alias", "a: &x {b: 1}\nc: *x\n", {"/c/b", "v"}, "f.yaml:2:4", SHARED},
		{"an anchor", "a: &x {b: 1}\nc: *x\n", {"/a/b", "v"}, "f.yaml:1:4", SHARED},
		{"an alias of a scalar", "a: &x 1\nb: *x\n", {"/b", "v"}, "f.yaml:2:4", SHARED},
		{"far below an alias", "a: &x\n  b: {c: [{d: 1}]}\ne: *x\n", {"/e/b/c/0/f", "v"}, "f.yaml:3:4", SHARED},
		{"an alias in a value to extend", "a: &x {b: 1}\nc: {d: *x}\n", {"/c/d/e", "v"}, "f.yaml:2:8", SHARED},
		{"a merged value", "a: &x {b: {c: 1}}\nd:\n  <<: *x\n", {"/d/b/c", "v"}, "f.yaml:1:11", SHARED},
		{"text whose last lines count", "- a: |+\n    x\n\n- b\n", {"/0/c", "v"}, "f.yaml:1:1", OTHER},
		{"text without a line break", "- a: |\n    x", {"/0/c", "v"}, "f.yaml:1:1", OTHER},
		{"a pair without brackets", "[a: 1]\n", {"/0/b", "v"}, "f.yaml:1:1", OTHER},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf after = STRBUF_INIT(MIB);
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		assert_int_equal(edit(rows[i].text, &rows[i].change, 1, &after, &err), -EINVAL);
		assert_string_equal(err.where, rows[i].where);
		assert_memory_equal(err.msg, rows[i].msg, strlen(rows[i].msg));
	}
}

/* Many nested mappings that end at the same place, behind text that an edit has to walk over. */
static void edits_take_linear_time(void **state)
{
	uint64_t steps[2] = {0};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB), after = STRBUF_INIT(MIB);
		struct change change = {"/0/b/c/d/e", "v"};
		struct err err = ERR_INIT;

		for (size_t k = 0; k < (i ? 2000 : 1000); k++)
			strbuf_adds(&text, "- a: {x: 1} # comment\n  b:\n    c:\n      d: # comment\n");
#ifdef MEMTAMER_STEPS
		steps_counted = 0;
#endif
		assert_int_equal(edit(strbuf_text(&text), &change, 1, &after, &err), 0);
#ifdef MEMTAMER_STEPS
		steps[i] = steps_counted;
#endif
	}
	if (!steps[0])
		skip(); /* this build does not count */
	assert_true(steps[0] > 1000);
	assert_true(steps[1] <= 2 * steps[0] + 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_round_trip),	      cmocka_unit_test(values_round_trip),
		cmocka_unit_test(members_look_like_kubectls), cmocka_unit_test(edits_keep_the_text_around_them),
		cmocka_unit_test(shared_values_are_refused),  cmocka_unit_test(edits_take_linear_time),
	};

	return cmocka_run_group_tests_name("yaml-edit", tests, NULL, NULL);
}
