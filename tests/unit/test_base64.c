/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

static void test_base64(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text, *plain; /* NULL: refused */
	} rows[] = {
		{"empty", "", ""},
		{"one", "Zg==", "f"},
		{"two", "Zm8=", "fo"},
		{"three", "Zm9v", "foo"},
		{"four", "Zm9vYg==", "foob"},
		{"line breaks", "Zm\r\n9v\n", "foo"},
		{"plus slash", "+/8=", "\xfb\xff"},
		{"cut", "Zm9", NULL},
		{"one too few", "Zg=", NULL},
		{"early padding", "Z===", NULL},
		{"text behind", "Zg==Zg==", NULL},
		{"space", "Zm 9v", NULL},
		{"bits left", "Zh==", NULL},
		{"URL alphabet", "-_8=", NULL},
		{"three padding", "Zg===", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT(100), again = STRBUF_INIT(100);

		test_row(rows[i].name);
		assert_int_equal(base64_decode(rows[i].text, strlen(rows[i].text), &plain),
				 rows[i].plain ? 0 : -EINVAL);
		if (!rows[i].plain)
			continue;
		assert_string_equal(strbuf_text(&plain), rows[i].plain);
		assert_int_equal(base64_encode(strbuf_text(&plain), plain.len, &again), 0);
		if (!strpbrk(rows[i].text, "\r\n"))
			assert_string_equal(strbuf_text(&again), rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
