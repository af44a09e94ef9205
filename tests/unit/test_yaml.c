/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml_fixture.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

static void nodes_know_their_place(void **state)
{
	CLEANUP(parsed_release)
	struct parsed p = parse("# top\n"
				"apiVersion: v1\n"
				"spec:\n"
				"  containers:\n"
				"  - name: \"a\"\n"
				"    m\xc3\xa4n: {x: ~, z: [1, two]}\n"
				"  - {}\n");
	const struct yaml_node *root, *node;

	(void)state;
	assert_int_equal(p.r, 0);
	assert_int_equal(p.documents.n, 1);
	root = &p.documents.items[0].root;
	assert_int_equal(root->type, YAML_TREE_MAPPING);
	assert_int_equal(root->line, 2);
	assert_int_equal(root->column, 1);
	node = yaml_tree_at(root, "/spec/containers/0/name");
	assert_string_equal(node->text, "a");
	assert_false(node->is_plain);
	assert_int_equal(node->line, 5);
	assert_int_equal(node->column, 11);
	node = yaml_tree_at(root, "/spec/containers/0/m\xc3\xa4n/z/1");
	assert_string_equal(node->text, "two");
	assert_int_equal(node->line, 6);
	assert_int_equal(node->column, 24);
	assert_int_equal(yaml_tree_at(root, "/spec/containers/0/m\xc3\xa4n/x")->type, YAML_TREE_NULL);
	assert_ptr_equal(yaml_tree_at(root, "/spec/containers/7/name"),
			 yaml_tree_get(yaml_tree_get(root, "spec"), "containers"));
	assert_ptr_equal(yaml_tree_at(root, "/nope/deeper"), root);
	assert_ptr_equal(yaml_tree_at(root, ""), root);
	assert_int_equal(yaml_tree_at(root, "/spec/containers/1")->n, 0);
	assert_null(yaml_tree_get(root, "nope"));
	assert_null(yaml_tree_get(NULL, "nope"));
}

static void pointers_are_unescaped(void **state)
{
	CLEANUP(parsed_release) struct parsed p = parse("a/b: 1\n\"c~d\": 2\n\"\": 3\n\"~1\": 4\n");
	const struct yaml_node *root = &p.documents.items[0].root;

	(void)state;
	assert_int_equal(p.r, 0);
	assert_string_equal(yaml_tree_at(root, "/a~1b")->text, "1");
	assert_string_equal(yaml_tree_at(root, "/c~0d")->text, "2");
	assert_string_equal(yaml_tree_at(root, "/")->text, "3");
	assert_string_equal(yaml_tree_at(root, "/~01")->text, "4");
	assert_ptr_equal(yaml_tree_at(root, "/a"), root);
}

static void documents_cover_the_text(void **state)
{
	static const struct {
		const char *name, *text;
		size_t n;
		const char *parts[3]; /* the text of each document, and before it whether it has a `---` line */
	} rows[] = {
		{"one", "a: 1\n", 1, {"0a: 1\n"}},
		{"comments on top and behind", "# x\na: 1\n# y\n", 1, {"0# x\na: 1\n# y\n"}},
		{"two", "a: 1\n---\nb: 2\n", 2, {"0a: 1\n", "1---\nb: 2\n"}},
		{"a document start and a comment",
		 "# x\n---\n# y\na: 1\n...\n# z\n--- # w\n# v\nb: 2\n",
		 2,
		 {"1# x\n---\n# y\na: 1\n...\n# z\n", "1--- # w\n# v\nb: 2\n"}},
		{"empty ones in between",
		 "---\n---\n# nothing\n---\na: 1\n---\nnull\n---\n\n---\nb: 2\n---\n",
		 2,
		 {"1---\n---\n# nothing\n---\na: 1\n---\nnull\n---\n\n", "1---\nb: 2\n---\n"}},
		{"an empty one that has no line", "null\n---\na: 1\n", 1, {"0null\n---\na: 1\n"}},
		{"flow on the line of the dashes", "a: 1\n--- {b: 2}\n", 2, {"0a: 1\n", "1--- {b: 2}\n"}},
		{"umlauts, CR LF",
		 "a: \"\xc3\xa4\xc3\xb6\"\r\n---\r\nb: 2\r\n",
		 2,
		 {"0a: \"\xc3\xa4\xc3\xb6\"\r\n", "1---\r\nb: 2\r\n"}},
		{"JSON", "{\"a\": 1}\n{\"b\": 2}\n", 2, {"0{\"a\": 1}\n", "0{\"b\": 2}\n"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(parsed_release) struct parsed p = parse(rows[i].text);

		test_row(rows[i].name);
		assert_int_equal(p.r, 0);
		assert_int_equal(p.documents.n, rows[i].n);
		for (size_t k = 0; k < p.documents.n; k++) {
			const struct yaml_document *document = &p.documents.items[k];
			CLEANUP(strbuf_release) struct strbuf part = STRBUF_INIT(4096);

			strbuf_addf(&part, "%d", document->has_marker);
			strbuf_add(&part, rows[i].text + document->begin, document->end - document->begin);
			assert_string_equal(strbuf_text(&part), rows[i].parts[k]);
		}
	}
}

static void json_follows_kubectl(void **state)
{
	static const struct {
		const char *yaml, *json;
	} rows[] = {
		{"true", "true"},
		{"yes", "true"},
		{"On", "true"},
		{"y", "true"},
		{"NO", "false"},
		{"off", "false"},
		{"n", "false"},
		{"tRUE", "\"tRUE\""},
		{"\"yes\"", "\"yes\""},
		{"'on'", "\"on\""},
		{"oN", "\"oN\""},
		{"nope", "\"nope\""},
		{"12", "12"},
		{"-12", "-12"},
		{"+12", "12"},
		{"1_000", "1000"},
		{"0x1f", "31"},
		{"-0x1F", "-31"},
		{"0o17", "15"},
		{"017", "15"},
		{"0b101", "5"},
		{"08", "8"},
		{"0", "0"},
		{"0x", "\"0x\""},
		{"1e3", "1000"},
		{"1.5", "1.5"},
		{".5", "0.5"},
		{"1.", "1"},
		{"-1.25e-3", "-0.00125"},
		{"1e400", "\"1e400\""},
		{"96Gi", "\"96Gi\""},
		{"10 Gi", "\"10 Gi\""},
		{"100m", "\"100m\""},
		{"1e3x", "\"1e3x\""},
		{"-", "[null]"},
		{"--", "\"--\""},
		{"2024-01-01", "\"2024-01-01\""},
		{"2024-01-01T00:00:00Z", "\"2024-01-01T00:00:00Z\""},
		{"12:30:45", "\"12:30:45\""},
		{"9223372036854775807", "9223372036854775807"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"18446744073709551615", "18446744073709551615"},
		{"18446744073709551616", "1.8446744073709552e+19"},
		{"0.1", "0.1"},
		{"12345678901234567.0", "12345678901234568"},
		{"!!str 12", "\"12\""},
		{"!!int \"12\"", "12"},
		{"! 12", "\"12\""},
		{"|\n  a\n  b\n", "\"a\\nb\\n\""},
		{">\n  a\n  b\n", "\"a b\\n\""},
		{"[null, ~, , \"\"]", NULL},
		{"[null, ~, \"\", {}, []]", "[null,null,\"\",{},[]]"},
		{"{on: 1, 0x10: 2, 1.0: 3, \"no\": 4, no: 5}", "{\"true\":1,\"16\":2,\"1\":3,\"no\":4,\"false\":5}"},
		{"{\"a\": [1, {\"b\": \"\\u00e4\\/\\n\"}]}", "{\"a\":[1,{\"b\":\"\xc3\xa4/\\n\"}]}"},
		{".inf", NULL},
		{"-.Inf", NULL},
		{".nan", NULL},
		{"a: .NaN", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(parsed_release) struct parsed p = parse(rows[i].yaml);
		CLEANUP(json_putp) struct json_object *object = NULL;

		test_row(rows[i].yaml);
		if (!p.r) {
			assert_int_equal(p.documents.n, 1);
			p.r = yaml_tree_to_json(&p.documents.items[0].root, &object, &p.err);
		}
		assert_int_equal(p.r, rows[i].json ? 0 : -EINVAL);
		if (rows[i].json)
			assert_string_equal(json_object_to_json_string_ext(
						    object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
					    rows[i].json);
	}
}

static void refused_rows(void **state)
{
	static const struct {
		const char *name, *text;
		int r;
		const char *where, *msg;
	} rows[] = {
		{"JSON with a duplicate", "{\"a\": 1,\n \"a\": 2}", -EINVAL, "f.yaml:2:2",
		 "duplicate key \"a\", first"},
		{"JSON with a NUL", "{\"a\": \"\\u0000\"}", -EINVAL, "f.yaml:1:7", "a NUL character"},
		{"JSON with half a surrogate pair in UTF-8", "{\"a\": \"\xed\xa0\x80\"}", -EINVAL, "f.yaml:1:8",
		 "invalid Unicode character"},
		{"JSON cut off", "{\"a\": [1, 2", -EINVAL, "f.yaml:2:1", "no valid YAML"},
		{"JSON with something behind", "{\"a\": 1} x", -EINVAL, "f.yaml:1:10", "no valid YAML"},
		{"tab as indentation", "a:\n\tb: 1\n", -EINVAL, "f.yaml:2:1", "a tab where YAML wants spaces"},
		{"unclosed quote", "a: 1\nb: \"x\n", -EINVAL, "f.yaml:3:1",
		 "no valid YAML: found unexpected end of stream"},
		{"unclosed bracket", "a: [1,\n", -EINVAL, "f.yaml:2:1", "no valid YAML: did not find"},
		{"no key", "a: 1\nb\nc: 2\n", -EINVAL, "f.yaml:3:1", "no valid YAML: could not find expected ':'"},
		{"template", "a: {{ .Values.x }}\n", -EINVAL, "f.yaml:1:5", "a key must be a scalar"},
		{"duplicate", "a: 1\nb: 2\na: 3\n", -EINVAL, "f.yaml:3:1",
		 "duplicate key \"a\", first at line 1 column 1"},
		{"duplicate by meaning", "1: a\n\"1\": b\n", -EINVAL, "f.yaml:2:1", "duplicate key \"1\", first"},
		{"duplicate of many",
		 "{a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1, m: 1, o: 1, p: 1, q: 1, r: "
		 "1, "
		 "d: 2}",
		 -EINVAL, "f.yaml:1:104", "duplicate key \"d\", first at line 1 column 20"},
		{"alias of nothing", "a: *x\n", -EINVAL, "f.yaml:1:4", "unknown anchor *x"},
		{"alias into itself", "a: &x [1, *x]\n", -EINVAL, "f.yaml:1:11",
		 "the value of anchor &x contains itself"},
		{"alias of another document", "a: &x 1\n---\nb: *x\n", -EINVAL, "f.yaml:3:4", "unknown anchor *x"},
		{"merge of a number", "a: {<<: 3}\n", -EINVAL, "f.yaml:1:9", "a merge key (<<) wants a mapping"},
		{"merge of a list of numbers", "a: {<<: [1]}\n", -EINVAL, "f.yaml:1:9", "a merge key (<<) wants"},
		{"merge of nothing", "a:\n  <<:\n", -EINVAL, "f.yaml:2:6", "a merge key (<<) wants a mapping"},
		{"duplicate beside a merge", "a: {b: 1, <<: {c: 1}, b: 2}\n", -EINVAL, "f.yaml:1:23",
		 "duplicate key \"b\", first at line 1 column 5"},
		{"foreign tag", "a: !Ref x\n", -EINVAL, "f.yaml:1:4", "tag !Ref is not supported"},
		{"binary tag", "a: !!binary aGk=\n", -EINVAL, "f.yaml:1:4",
		 "tag tag:yaml.org,2002:binary is not supported"},
		{"tag that lies", "a: !!int x\n", -EINVAL, "f.yaml:1:4", "a value that does not fit its tag"},
		{"null key", "~: 1\n", -EINVAL, "f.yaml:1:1", "a key is null"},
		{"list as key", "? [a]\n: 1\n", -EINVAL, "f.yaml:1:3", "a key must be a scalar"},
		{"escaped NUL", "a: \"x\\0y\"\n", -EINVAL, "f.yaml:1:4", "a NUL character in a string"},
		{"escaped NUL in a key", "\"x\\u0000y\": 1\n", -EINVAL, "f.yaml:1:1", "a NUL character in a string"},
		{"invalid UTF-8", "a: 1\nb: \xc3\x28\n", -EINVAL, "f.yaml:2:5", "invalid trailing UTF-8 octet"},
		{"stray byte", "a: \xff\n", -EINVAL, "f.yaml:1:4", "invalid leading UTF-8 octet (byte 0xff)"},
		{"control character", "a: \x01\n", -EINVAL, "f.yaml:1:4", "control characters are not allowed"},
		{"UTF-16",
		 "\xff\xfe"
		 "a",
		 -EINVAL, "f.yaml:1:1", "invalid leading UTF-8 octet"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(parsed_release) struct parsed p = parse(rows[i].text);

		test_row(rows[i].name);
		assert_int_equal(p.r, rows[i].r);
		assert_int_equal(p.err.code, rows[i].r);
		if (strncmp(p.err.msg, rows[i].msg, strlen(rows[i].msg)) != 0)
			assert_string_equal(p.err.msg, rows[i].msg);
		assert_string_equal(p.err.where, rows[i].where);
	}
}

static void a_nul_byte_is_a_binary_file(void **state)
{
	CLEANUP(parsed_release) struct parsed p = parse_n("a: 1\nb: \0\n", 10);

	(void)state;
	assert_int_equal(p.r, -EINVAL);
	assert_string_equal(p.err.where, "f.yaml:2:4");
	assert_non_null(strstr(p.err.msg, "binary"));
}

static void nothing_is_no_document(void **state)
{
	static const char *const rows[] = {
		"", "\n", "# only a comment\n", "---\n", "---\n...\n---\n# x\n", "null\n", "\xef\xbb\xbf"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(parsed_release) struct parsed p = parse(rows[i]);

		test_row(rows[i]);
		assert_int_equal(p.r, 0);
		assert_int_equal(p.documents.n, 0);
	}
}

static void a_byte_order_mark_is_skipped(void **state)
{
	CLEANUP(parsed_release)
	struct parsed p = parse("\xef\xbb\xbf"
				"a: 1\n");

	(void)state;
	assert_int_equal(p.r, 0);
	assert_int_equal(p.documents.items[0].root.column, 1);
	assert_int_equal(p.documents.items[0].begin, 0);
	assert_int_equal(p.documents.items[0].end, 8);
}

static void check_same_tree(const struct yaml_node *a, const struct yaml_node *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->line + 1, b->line);
	assert_int_equal(a->column, b->column);
	assert_int_equal(a->n, b->n);
	if (a->type == YAML_TREE_SCALAR) {
		assert_string_equal(a->text, b->text);
		assert_int_equal(a->is_plain, b->is_plain);
	}
	for (size_t i = 0; i < a->n; i++) {
		check_same_tree(&a->items[i], &b->items[i]);
		if (a->keys)
			check_same_tree(&a->keys[i], &b->keys[i]);
	}
}

/* A comment on top makes it YAML; the tree is the same, one line further down. */
static void json_is_read_as_yaml_would_be(void **state)
{
	static const char *const rows[] = {
		"{}",
		"[]",
		" [ ] ",
		"{\"a\": 1}",
		"{\n\t\"a\": [1, -2.5e+3, 0, true, false, null, \"x\"],\r\n\t\"b\": {}}\n",
		"[\"\xc3\xa4\", \"\\u00e4\\n\\/\\\"\\\\\", [[{}]]]",
		"{\"true\": \"true\", \"1\": \"1\", \"\": \"\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf commented = STRBUF_INIT(4096);
		CLEANUP(parsed_release) struct parsed json = parse(rows[i]), yaml = {0};

		test_row(rows[i]);
		strbuf_addf(&commented, "# x\n%s", rows[i]);
		yaml = parse(strbuf_text(&commented));
		assert_int_equal(json.r, 0);
		assert_int_equal(yaml.r, 0);
		assert_int_equal(json.documents.n, 1);
		check_same_tree(&json.documents.items[0].root, &yaml.documents.items[0].root);
		assert_int_equal(json.documents.items->end, strlen(rows[i]));
	}
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

/* libyaml's own loader needs many seconds for each of these; here the depth cap answers before it can. */
static void nesting_bombs_end_at_the_cap(void **state)
{
	static const char *const units[] = {"[", "{[", "- ", "{a: ", "[{\"a\":", "? "};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		CLEANUP(freep) char *text = repeat(units[i], 100000);
		CLEANUP(parsed_release) struct parsed p = parse(text);

		test_row(units[i]);
		assert_true(p.r == -E2BIG || p.r == -EINVAL);
		assert_true(p.arena.used_bytes < MIB);
	}
}

/* What libyaml refuses or changes although it is JSON. */
static void json_that_libyaml_cannot_read(void **state)
{
	CLEANUP(freep) char *key = repeat("k", 3000);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	CLEANUP(parsed_release)
	struct parsed p = parse("{\"a\": \"\\ud83d\\ude00\", \"b\": \"x\xe2\x80\xa8y\", \"c\": \"\\ud83d\"}"), q = {0};

	(void)state;
	assert_int_equal(p.r, 0);
	assert_string_equal(p.documents.items[0].root.items[0].text, "\xf0\x9f\x98\x80");
	assert_string_equal(p.documents.items[0].root.items[1].text, "x\xe2\x80\xa8y");
	assert_string_equal(p.documents.items[0].root.items[2].text, "\xef\xbf\xbd"); /* as kubectl reads half a pair */
	strbuf_addf(&text, "{\"%s\": 1}", key);
	q = parse(strbuf_text(&text));
	assert_int_equal(q.r, 0);
	assert_string_equal(q.documents.items[0].root.keys[0].text, key);
}

static void depth_to_the_cap_is_fine(void **state)
{
	static const struct {
		const char *name, *head, *open, *close;
		size_t depth;
		const char *where; /* one deeper */
	} rows[] = {
		{"flow", "# no JSON\n", "[", "]", LIMIT_YAML_FLOW_DEPTH, "f.yaml:2:49"},
		{"JSON", "", "[", "]", LIMIT_YAML_DEPTH, "f.yaml:1:129"},
		{"block", "", "- ", "x", LIMIT_YAML_DEPTH, "f.yaml:1:257"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool is_block = rows[i].open[0] == '-';

		test_row(rows[i].name);
		for (size_t deeper = 0; deeper < 2; deeper++) {
			CLEANUP(freep) char *open = repeat(rows[i].open, rows[i].depth + deeper);
			CLEANUP(freep) char *close = repeat(rows[i].close, is_block ? 1 : rows[i].depth + deeper);
			CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);
			CLEANUP(parsed_release) struct parsed p = {0};

			strbuf_addf(&text, "%s%s%s", rows[i].head, open, close);
			p = parse(strbuf_text(&text));
			assert_int_equal(p.r, deeper ? -E2BIG : 0);
			if (deeper)
				assert_string_equal(p.err.where, rows[i].where);
		}
	}
}

/* Brackets and commas together are more than LIMIT_REVIEW_TOKENS, values are fewer than LIMIT_YAML_NODES. */
static void json_may_have_as_many_values_as_yaml(void **state)
{
	enum { LISTS = LIMIT_REVIEW_TOKENS / 5 * 3 };
	CLEANUP(freep) char *text = repeat(",[]", LISTS);
	CLEANUP(parsed_release) struct parsed p = {0};

	(void)state;
	assert_true(LISTS < LIMIT_YAML_NODES);
	text[0] = '[';
	text[strlen(text) - 2] = '1';
	p = parse(text);
	assert_int_equal(p.r, 0);
	assert_int_equal(p.documents.items[0].root.n, LISTS);
}

/* libyaml is quadratic in them. They are counted wherever libyaml sees one: behind each of its line breaks. */
static void tag_directives_are_capped(void **state)
{
	static const struct {
		const char *name, *line, *where;
	} rows[] = {
		{"LF", "%TAG !a! x\n", "f.yaml:65:1"},
		{"CR", "%TAG !a! x\r", "f.yaml:65:1"},
		{"a line separator", "%TAG !a! x\xe2\x80\xa8", NULL},
		{"other text", "a: '%TAG'\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *text = repeat(rows[i].line, LIMIT_YAML_TAG_LINES + 1);
		CLEANUP(parsed_release) struct parsed p = parse(text);
		bool is_many = strstr(p.err.msg, "more than 64 %TAG directives");

		test_row(rows[i].name);
		assert_int_equal(is_many, !rows[i].where || *rows[i].where);
		if (is_many)
			assert_int_equal(p.r, -E2BIG);
		if (is_many && rows[i].where)
			assert_string_equal(p.err.where, rows[i].where);
	}
}

static void sizes_are_capped(void **state)
{
	CLEANUP(freep) char *large = repeat("# a comment of sixteen bytes....", 17 * MIB / 32);
	CLEANUP(freep) char *many = repeat("- x\n", LIMIT_YAML_NODES + 1);
	CLEANUP(freep) char *documents = repeat("---\na\n", LIMIT_MANIFEST_DOCUMENTS + 1);
	CLEANUP(parsed_release) struct parsed a = parse(large), b = parse(many), c = parse(documents);
	struct arena small = ARENA_INIT(4096);
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(a.r, -E2BIG);
	assert_string_equal(a.err.msg, "larger than 16 MiB");
	assert_int_equal(b.r, -E2BIG);
	assert_int_equal(c.r, -E2BIG);
	assert_int_equal(yaml_tree_parse(many, 4000, "f.yaml", &small, &c.documents, &err), -E2BIG);
	arena_release(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_know_their_place),
		cmocka_unit_test(pointers_are_unescaped),
		cmocka_unit_test(documents_cover_the_text),
		cmocka_unit_test(json_follows_kubectl),
		cmocka_unit_test(refused_rows),
		cmocka_unit_test(a_nul_byte_is_a_binary_file),
		cmocka_unit_test(nothing_is_no_document),
		cmocka_unit_test(a_byte_order_mark_is_skipped),
		cmocka_unit_test(json_is_read_as_yaml_would_be),
		cmocka_unit_test(json_that_libyaml_cannot_read),
		cmocka_unit_test(nesting_bombs_end_at_the_cap),
		cmocka_unit_test(depth_to_the_cap_is_fine),
		cmocka_unit_test(json_may_have_as_many_values_as_yaml),
		cmocka_unit_test(sizes_are_capped),
		cmocka_unit_test(tag_directives_are_capped),
	};

	return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
