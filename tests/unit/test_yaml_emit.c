/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/limits.h"
#include "base/str.h"
#include "yaml/yaml_tree.h"

#include <errno.h>
#include <stdlib.h>

struct parsed {
	struct arena arena;
	struct yaml_documents documents;
	struct err err;
	int r;
};

static struct parsed parse(const char *text)
{
	struct parsed p = {.arena = ARENA_INIT(64 * MIB)};

	p.r = yaml_tree_parse(text, strlen(text), "f.yaml", &p.arena, &p.documents, &p.err);
	return p;
}

static void parsed_release(struct parsed *p)
{
	arena_release(&p->arena);
}

static char *repeat(const char *unit, size_t times)
{
	size_t n = strlen(unit);
	char *text = malloc(n * times + 1);

	assert_non_null(text);
	for (size_t i = 0; i < times; i++)
		memcpy(text + i * n, unit, n);
	text[n * times] = '\0';
	return text;
}

/* Emit, read back, compare; then emit again: the same bytes. */
static void check_round_trip(struct json_object *object)
{
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf second = STRBUF_INIT(MIB);
	CLEANUP(json_putp) struct json_object *back = NULL;
	CLEANUP(parsed_release) struct parsed p = {0};

	assert_int_equal(yaml_tree_emit(object, &first), 0);
	p = parse(strbuf_text(&first));
	if (p.r)
		print_message("%s: %s\n%s", p.err.where, p.err.msg, strbuf_text(&first));
	assert_int_equal(p.r, 0);
	assert_int_equal(p.documents.n, 1);
	assert_int_equal(yaml_tree_to_json(p.documents.items, &back, &p.err), 0);
	if (!json_object_equal(object, back))
		assert_string_equal(json_object_to_json_string(object), json_object_to_json_string(back));
	assert_int_equal(yaml_tree_emit(back, &second), 0);
	assert_string_equal(strbuf_text(&first), strbuf_text(&second));
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
	CLEANUP(freep) char *key = repeat("k", 3000);
	CLEANUP(json_putp) struct json_object *long_key = json_object_new_object();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_putp) struct json_object *object = json_tokener_parse(rows[i]);

		test_row(rows[i]);
		assert_non_null(object);
		check_round_trip(object);
	}
	json_object_object_add(long_key, key, json_object_new_string("v"));
	check_round_trip(long_key);
}

static void output_looks_like_kubectls(void **state)
{
	CLEANUP(json_putp)
	struct json_object *object = json_tokener_parse(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"a\","
		"\"args\":[\"--lr\",\"1e-3\"],\"command\":[\"sh\",\"-c\",\"a\\nb\\n\"],"
		"\"resources\":{\"limits\":{\"memory\":\"96Gi\",\"cpu\":\"8\"}}}],\"volumes\":[]}}");
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(4096);

	(void)state;
	assert_int_equal(yaml_tree_emit(object, &buf), 0);
	assert_string_equal(strbuf_text(&buf), "apiVersion: v1\n"
					       "kind: Pod\n"
					       "spec:\n"
					       "  containers:\n"
					       "  - name: a\n"
					       "    args:\n"
					       "    - --lr\n"
					       "    - \"1e-3\"\n"
					       "    command:\n"
					       "    - sh\n"
					       "    - -c\n"
					       "    - |\n"
					       "      a\n"
					       "      b\n"
					       "    resources:\n"
					       "      limits:\n"
					       "        memory: 96Gi\n"
					       "        cpu: \"8\"\n"
					       "  volumes: []\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_round_trip),
		cmocka_unit_test(values_round_trip),
		cmocka_unit_test(output_looks_like_kubectls),
	};

	return cmocka_run_group_tests_name("yaml-emit", tests, NULL, NULL);
}
