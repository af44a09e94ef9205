/* SPDX-License-Identifier: Apache-2.0 */
/* What is read back from a decision annotation, which anybody may write who may annotate a pod. */
#include "support/test.h"

#include "base/attr.h"
#include "base/str.h"
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
		{SET("peak+buffer", "at most 25% a run"), "peak+buffer", "at most 25% a run"},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_words_of_ours_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
