/* SPDX-License-Identifier: Apache-2.0 */
/* Text in columns, also of others, which must not drive a terminal. */
#include "support/test.h"

#include "base/plain.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

static void text_of_others_is_made_plain(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"plain text", "plain text"},
		{"", ""},
		{"a\x1b[2Jb\n\r\t\x7f", "a?[2Jb????"},
		{"\u00e9 \u20ac \u00a0", "\u00e9 \u20ac \u00a0"},
		{"a\xc2\x9b"
		 "31m\xc2\x80",
		 "a?31m?"},
		{"cut\xc2", "cut\xc2"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char buf[PLAIN_BYTES], *printed = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&printed, &n);

		assert_non_null(out);
		plain_print(rows[i].text, out);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(printed, rows[i].want);
		assert_string_equal(plain_text(rows[i].text, buf), rows[i].want);
		free(printed);
	}
}

/* Prints a table with one row; its last line is copied. */
static void print_two(const char *name, const char *other, bool is_wide, char line[512])
{
	char *printed = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&printed, &n);
	struct table table;

	assert_non_null(out);
	table_init(&table, "~NAME,OTHER");
	table.is_wide = is_wide;
	table_add(&table, name);
	table_add(&table, other);
	assert_int_equal(table_print(&table, out, 4), 0);
	assert_int_equal(fclose(out), 0);
	snprintf(line, 512, "%s", strchr(printed, '\n') + 1);
	free(printed);
}

static void long_names_lose_their_middle_unless_wide(void **state)
{
	static const struct {
		const char *name;
		int other; /* characters of the other column */
		bool is_wide;
		const char *want;
	} rows[] = {
		{"a-name-that-fits", 90, false, "a-name-that-fits"},
		{"resnet-training-x7k2p", 98, false, "resnet-...-x7k2p"},
		{"resnet-training-x7k2p", 98, true, "resnet-training-x7k2p"},
		{"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
		 "\u20ac",
		 100, false, "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac...\u20ac\u20ac\u20ac\u20ac\u20ac"},
		{"resnet-training-x7k2p", 200, false, "resne...7k2p"},
	};
	char line[512], other[256], want[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].want);
		memset(other, 'o', sizeof(other));
		other[rows[i].other] = '\0';
		print_two(rows[i].name, other, rows[i].is_wide, line);
		snprintf(want, sizeof(want), "    %s  %s\n", rows[i].want, other);
		assert_string_equal(line, want);
	}
}

static void cells_are_plain_and_in_columns(void **state)
{
	char *printed = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&printed, &n);
	struct table table;

	(void)state;
	assert_non_null(out);
	table_init(&table, "A,>B,EMPTY,>SIZE");
	table_add(&table, "a\x1b[2J");
	table_add(&table, "1\n");
	table_add(&table, NULL);
	table_add_bytes(&table, 0);
	table_add(&table, "\u20ac\xc2\x9b");
	table_addf(&table, "%d", 22);
	table_add(&table, "");
	table_add_bytes(&table, 1536);
	assert_int_equal(table_rows(&table), 2);
	assert_int_equal(table_print(&table, out, 1), 0);
	table_init(&table, "NOTHING,BELOW");
	assert_int_equal(table_rows(&table), 0);
	assert_int_equal(table_print(&table, out, 0), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(printed, " A       B  SIZE\n a?[2J  1?     -\n \u20ac?     22   2Ki\n");
	free(printed);
}

static void columns_for_wide_tables(void **state)
{
	static const char *const want[] = {"A  SIZE\na   2Ki\n", "A  B  SIZE  MORE\na  1   2Ki     b\n"};

	(void)state;
	for (int is_wide = 0; is_wide < 2; is_wide++) {
		char *printed = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&printed, &n);
		struct table table;

		assert_non_null(out);
		table_init(&table, "A,+B,>SIZE,+>MORE");
		table.is_wide = is_wide;
		table_add(&table, "a");
		table_add(&table, "1");
		table_add_bytes(&table, 2048);
		table_add(&table, "b");
		assert_int_equal(table_print(&table, out, 0), 0);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(printed, want[is_wide]);
		free(printed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_others_is_made_plain),
		cmocka_unit_test(long_names_lose_their_middle_unless_wide),
		cmocka_unit_test(cells_are_plain_and_in_columns),
		cmocka_unit_test(columns_for_wide_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
