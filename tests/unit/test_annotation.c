/* SPDX-License-Identifier: Apache-2.0 */
/* What is read back from a decision annotation, which anybody may write who may annotate a pod. */
#include "support/test.h"

#include "base/attr.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "policy/annotation.h"
#include "policy/decide.h"

#define SET(rule, cap)                                                                                                 \
	"{\"v\":1,\"mode\":\"raise\",\"set\":[{\"c\":\"main\",\"r\":\"memory\",\"f\":\"limit\",\"to\":\"4Gi\","        \
	"\"rule\":\"" rule "\",\"cap\":\"" cap "\"}]}"
#define TEN "0123456789"
#define CAP TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void only_words_of_ours_are_taken(void **state)
{
	static const struct {
		const char *text, *rule, *cap;
	} rows[] = {
		{SET("peak+buffer", "at most 25 % a run"), "peak+buffer", "at most 25 % a run"},
		{SET("", ""), "", ""},
		{SET(TEN TEN "012", CAP "01234"), TEN TEN "012", CAP "01234"},
		{SET(TEN TEN "0123", CAP "012345"), "", ""},
		/* cut, the last one would end inside its character */
		{SET(TEN TEN "01\u20ac", CAP "0123\u20ac"), "", ""},
		{SET("\u00e9", "\u00e9"), "", ""},
		{SET("a\\u001b[2J", "LimitRange\\nb"), "", ""},
		{SET("a\\u007f", "\\u0085"), "", ""},
		{SET("oom", "\\ta"), "oom", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct annotation annotation;
		struct annotation_container set;
		const struct annotation_value *limit = &set.values[SIZE_LIMIT][ANNOTATION_MEMORY];

		test_row(rows[i].text);
		assert_true(annotation_read(rows[i].text, "main", &annotation, &set));
		assert_true(limit->is_set);
		assert_string_equal(limit->rule, rows[i].rule);
		assert_string_equal(limit->cap, rows[i].cap);
	}
}

/* Who may write an annotation cannot make its reading expensive: what is longer than we write is not ours. */
static void a_long_annotation_is_not_ours(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2 * LIMIT_ANNOTATION_BYTES);
		struct annotation annotation;

		strbuf_addf(&text, "%-*s", (int)(LIMIT_ANNOTATION_BYTES + more), SET("oom", ""));
		assert_int_equal(annotation_read(strbuf_text(&text), "main", &annotation, NULL), !more);
	}
}

static void what_is_no_entry_is_passed_over(void **state)
{
#define ENTRY(c, r, f, to) "{\"c\":" c ",\"r\":\"" r "\",\"f\":\"" f "\",\"to\":" to "}"
#define MEMORY_LIMIT	   ENTRY("\"main\"", "memory", "limit", "\"4Gi\"")
	static const struct {
		const char *set;
		int r;
		size_t n;
		bool is_whole;
	} rows[] = {
		{"[]", 0, 0, true},
		{"[" MEMORY_LIMIT "]", 0, 1, true},
		{"[" MEMORY_LIMIT "," MEMORY_LIMIT "]", 0, 2, true},
		{"[{}," MEMORY_LIMIT "]", 0, 1, false},
		{"[7," MEMORY_LIMIT "]", 0, 1, false},
		{"[" ENTRY("7", "memory", "limit", "\"4Gi\"") "]", 0, 0, false},
		{"[" ENTRY("\"main\"", "cpu", "limit", "\"4\"") "]", 0, 0, false},
		{"[" ENTRY("\"main\"", "memory", "both", "\"4\"") "]", 0, 0, false},
		{"[" ENTRY("\"main\"", "memory", "limit", "\"-4\"") "]", 0, 0, false},
		{"[" ENTRY("\"main\"", "memory", "limit", "4") "]", 0, 0, false},
		{"{}", ANNOTATION_NONE, 0, false},
		{"[],\"v\":1", ANNOTATION_NONE, 0, false},
		{"[", ANNOTATION_NONE, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KIB);
		struct annotation_set set;

		test_row(rows[i].set);
		strbuf_addf(&text, "{\"v\":1,\"set\":%s}", rows[i].set);
		assert_int_equal(annotation_parse(strbuf_text(&text), &arena, &set), rows[i].r);
		if (rows[i].r)
			continue;
		assert_int_equal(set.n, rows[i].n);
		assert_int_equal(set.is_whole, rows[i].is_whole);
		assert_false(set.has_mode || set.owner);
	}
}

/* The recommender believes the annotation about the variable, so it may only be one that memtamer sets. */
static void only_variables_of_ours_are_taken(void **state)
{
	static const struct {
		const char *env, *variable;
	} rows[] = {
		{"\"PYTORCH_CUDA_ALLOC_CONF\"", "PYTORCH_CUDA_ALLOC_CONF"},
		{"\"PYTORCH_HIP_ALLOC_CONF\"", "PYTORCH_HIP_ALLOC_CONF"},
		{"\"PYTORCH_ALLOC_CONF\"", "PYTORCH_ALLOC_CONF"},
		{"\"LD_PRELOAD\"", NULL},
		{"\"\"", NULL},
		{"[\"PYTORCH_ALLOC_CONF\"]", NULL},
		{"7", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KIB);
		struct annotation annotation;

		test_row(rows[i].env);
		strbuf_addf(&text, "{\"v\":1,\"mode\":\"fill\",\"set\":[],\"env\":%s}", rows[i].env);
		assert_true(annotation_read(strbuf_text(&text), "main", &annotation, NULL));
		if (rows[i].variable)
			assert_string_equal(annotation.variable, rows[i].variable);
		else
			assert_null(annotation.variable);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_words_of_ours_are_taken),
		cmocka_unit_test(a_long_annotation_is_not_ours),
		cmocka_unit_test(what_is_no_entry_is_passed_over),
		cmocka_unit_test(only_variables_of_ours_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
