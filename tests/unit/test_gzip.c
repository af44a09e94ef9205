/* SPDX-License-Identifier: Apache-2.0 */
#include "base/gzip.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

#define LONG (100 * (size_t)1000)

static void pack_long(struct strbuf *plain, struct strbuf *packed)
{
	for (int i = 0; plain->len < LONG; i++)
		strbuf_addf(plain, "%d,", i * i);
	assert_int_equal(gzip_pack(strbuf_text(plain), plain->len, GZIP_USUAL, packed), 0);
}

static void texts_come_back(void **state)
{
	static const char *const rows[] = {"", "a", "{\"runs\":[]}"};
	CLEANUP(strbuf_release)
	struct strbuf plain = STRBUF_INIT(2 * LONG), packed = STRBUF_INIT(2 * LONG), back = STRBUF_INIT(2 * LONG);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		strbuf_clear(&packed);
		strbuf_clear(&back);
		assert_int_equal(gzip_pack(rows[i], strlen(rows[i]), GZIP_USUAL, &packed), 0);
		assert_int_equal(gzip_unpack(strbuf_text(&packed), packed.len, &back), 0);
		assert_string_equal(strbuf_text(&back), rows[i]);
	}
	strbuf_clear(&packed);
	strbuf_clear(&back);
	pack_long(&plain, &packed);
	assert_true(packed.len < plain.len / 2);
	assert_int_equal(gzip_unpack(strbuf_text(&packed), packed.len, &back), 0);
	assert_string_equal(strbuf_text(&back), strbuf_text(&plain));
}

static void a_text_is_no_longer_than_its_buffer(void **state)
{
	CLEANUP(strbuf_release)
	struct strbuf plain = STRBUF_INIT(2 * LONG), packed = STRBUF_INIT(2 * LONG), fits = STRBUF_INIT(plain.max),
		      small = STRBUF_INIT(100);

	(void)state;
	pack_long(&plain, &packed);
	fits.max = plain.len;
	assert_int_equal(gzip_unpack(strbuf_text(&packed), packed.len, &fits), 0);
	strbuf_clear(&fits);
	fits.max = plain.len - 1;
	assert_int_equal(gzip_unpack(strbuf_text(&packed), packed.len, &fits), -E2BIG);
	assert_int_equal(gzip_pack(strbuf_text(&plain), plain.len, GZIP_USUAL, &small), -E2BIG);
}

/* Bytes 4 to 9 are a time and a system, which mean nothing here. */
static void damage_is_found(void **state)
{
	CLEANUP(strbuf_release)
	struct strbuf packed = STRBUF_INIT(2 * LONG), back = STRBUF_INIT(2 * LONG);
	static const char text[] = "{\"uid\":\"0123456789abcdef\",\"peak\":\"11Gi\",\"limit\":\"12Gi\"}";

	(void)state;
	assert_int_equal(gzip_pack(text, sizeof(text) - 1, GZIP_USUAL, &packed), 0);
	for (size_t i = 0; i < packed.len; i++) {
		strbuf_clear(&back);
		assert_int_equal(gzip_unpack(packed.text, i, &back), -EINVAL); /* cut */
		if (i >= 4 && i < 10)
			continue;
		packed.text[i] ^= 0x55;
		strbuf_clear(&back);
		assert_int_equal(gzip_unpack(packed.text, packed.len, &back), -EINVAL);
		packed.text[i] ^= 0x55;
	}
	strbuf_addc(&packed, 'x');
	strbuf_clear(&back);
	assert_int_equal(gzip_unpack(packed.text, packed.len, &back), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_come_back),
		cmocka_unit_test(a_text_is_no_longer_than_its_buffer),
		cmocka_unit_test(damage_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
