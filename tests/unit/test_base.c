/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "base/timefmt.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void duration_rows(void **state)
{
	static const struct {
		const char *name, *text;
		int r;
		int64_t ms;
		const char *rendered;
	} rows[] = {
		{"seconds", "30s", 0, 30000, "30s"},
		{"compound", "1h30m", 0, 5400000, "1h30m"},
		{"ninety minutes", "90m", 0, 5400000, "1h30m"},
		{"days", "14d", 0, 14 * TIME_DAY_MS, "14d"},
		{"weeks", "2w", 0, 14 * TIME_DAY_MS, "14d"},
		{"milliseconds", "250ms", 0, 250, "250ms"},
		{"zero", "0", 0, 0, "0s"},
		{"zero seconds", "0s", 0, 0, "0s"},
		{"empty", "", -EINVAL, 0, NULL},
		{"no unit", "30", -EINVAL, 0, NULL},
		{"unknown unit", "3y", -EINVAL, 0, NULL},
		{"rising units", "30m1h", -EINVAL, 0, NULL},
		{"unit twice", "1h1h", -EINVAL, 0, NULL},
		{"negative", "-1s", -EINVAL, 0, NULL},
		{"fraction", "1.5h", -EINVAL, 0, NULL},
		{"beyond int64", "99999999999999999999s", -ERANGE, 0, NULL},
		{"product beyond int64", "9223372036854775807w", -ERANGE, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char buf[TIME_TEXT_BYTES];
		int64_t ms = -1;
		int r = duration_parse(rows[i].text, strlen(rows[i].text), &ms);

		test_row(rows[i].name);
		assert_int_equal(r, rows[i].r);
		assert_int_equal(ms, rows[i].r ? -1 : rows[i].ms);
		if (!r)
			assert_string_equal(duration_render(ms, buf), rows[i].rendered);
	}
}

static void time_rows(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t ms;
	} rows[] = {
		{"1970-01-01T00:00:00Z", 0, 0},
		{"2026-11-02T08:15:00Z", 0, 1793607300000},
		{"2026-11-02T10:15:00+02:00", 0, 1793607300000},
		{"2026-11-02T08:15:00.25Z", 0, 1793607300250},
		{"2026-11-02T08:15:00.123456789Z", 0, 1793607300123},
		{"2026-13-02T08:15:00Z", -EINVAL, 0},
		{"2026-11-02 08:15:00Z", -EINVAL, 0},
		{"2026-11-02T08:15:00", -EINVAL, 0},
		{"2026-11-02T08:15:00Zx", -EINVAL, 0},
		{"", -EINVAL, 0},
	};
	char buf[TIME_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t ms = 0;

		test_row(rows[i].text);
		assert_int_equal(time_parse(rows[i].text, strlen(rows[i].text), &ms), rows[i].r);
		assert_int_equal(ms, rows[i].ms);
	}
	assert_string_equal(time_render(1793607300250, buf), "2026-11-02T08:15:00.250Z");
	assert_string_equal(time_render(-1, buf), "1969-12-31T23:59:59.999Z");
}

static void strbuf_caps_and_sticks(void **state)
{
	CLEANUP(strbuf_release) struct strbuf b = STRBUF_INIT(5);

	(void)state;
	assert_int_equal(strbuf_adds(&b, "hello"), 0);
	assert_int_equal(strbuf_addc(&b, '!'), -E2BIG);
	assert_int_equal(strbuf_adds(&b, "x"), -E2BIG);
	assert_string_equal(strbuf_text(&b), "");
	strbuf_clear(&b);
	assert_int_equal(strbuf_addf(&b, "%d", 42), 0);
	assert_string_equal(strbuf_text(&b), "42");
}

static void strbuf_escapes_json(void **state)
{
	static const struct {
		const char *text, *json;
	} rows[] = {
		{"a\"b\\c\n\x01", "\"a\\\"b\\\\c\\n\\u0001\""},
		{NULL, "null"},
		/* Control characters, which are no printable characters of YAML. */
		{"a~\x7f"
		 "b",
		 "\"a~\\u007fb\""},
		{"\xc2\x80-\xc2\x85-\xc2\x9b", "\"\\u0080-\\u0085-\\u009b\""},
		{"\xc2\x9f\xc2\x9f", "\"\\u009f\\u009f\""},
		/* What begins or continues with the same bytes. */
		{"\xc2\xa0\xc2\xbf\xc3\x80\xe2\x80\x9c", "\"\xc2\xa0\xc2\xbf\xc3\x80\xe2\x80\x9c\""},
		{"cut \xc2", "\"cut \xc2\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf b = STRBUF_INIT(100);

		assert_int_equal(strbuf_add_json_string(&b, rows[i].text), 0);
		assert_string_equal(strbuf_text(&b), rows[i].json);
	}
}

static void str_copy_cuts(void **state)
{
	char buf[4];

	(void)state;
	str_copy(buf, sizeof(buf), "abcdef");
	assert_string_equal(buf, "abc");
	str_copy(buf, sizeof(buf), "ab");
	assert_string_equal(buf, "ab");
	str_copy(buf, sizeof(buf), NULL);
	assert_string_equal(buf, "");
}

static void json_is_written_with_the_commas_that_it_needs(void **state)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(1024);
	CLEANUP(strbuf_release) struct strbuf full = STRBUF_INIT(4);

	(void)state;
	json_write_open(&buf, NULL, '{');
	json_write_line(&buf, 2);
	json_write_text(&buf, "text", "ends with {");
	json_write_text(&buf, "none", NULL);
	json_write_open(&buf, "empty", '[');
	strbuf_addc(&buf, ']');
	json_write_line(&buf, 2);
	json_write_open(&buf, "items", '[');
	json_write_int(&buf, NULL, -7);
	json_write_int_or_null(&buf, NULL, 0);
	json_write_double(&buf, NULL, 0.5);
	json_write_bool(&buf, NULL, true);
	json_write_open(&buf, NULL, '{');
	json_write_time(&buf, "time", 0);
	strbuf_adds(&buf, "}]}");
	assert_string_equal(strbuf_text(&buf), "{\n  \"text\":\"ends with {\",\"none\":null,\"empty\":[],\n"
					       "  \"items\":[-7,null,0.500,true,{\"time\":\"1970-01-01T00:00:00Z\"}]}");
	json_write_text(&full, "key", "too long");
	json_write_int(&full, "key", 1);
	assert_int_equal(full.status, -E2BIG);
}

static void strmap_holds_many(void **state)
{
	struct strmap map = STRMAP_INIT;
	static char keys[5000][8];

	(void)state;
	for (size_t i = 0; i < 5000; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
		assert_int_equal(strmap_put(&map, keys[i], keys[i]), 0);
	}
	assert_int_equal(map.n, 5000);
	for (size_t i = 0; i < 5000; i++)
		assert_ptr_equal(strmap_get(&map, keys[i]), keys[i]);
	assert_null(strmap_get(&map, "none"));
	assert_false(strmap_has(&map, "none"));
	assert_int_equal(strmap_put(&map, "k7", NULL), 0);
	assert_int_equal(map.n, 5000);
	assert_null(strmap_get(&map, "k7"));
	assert_true(strmap_has(&map, "k7"));
	strmap_release(&map);
}

/* Few slots, so that removed keys are often in the middle of a run. */
static void strmap_forgets_what_is_removed(void **state)
{
	struct strmap map = STRMAP_INIT;
	bool is_there[24] = {false};
	char keys[24][8];
	size_t n = 0;

	(void)state;
	assert_null(strmap_remove(&map, "none"));
	srand(5);
	for (int round = 0; round < 20000; round++) {
		int i = rand() % 24;

		snprintf(keys[i], sizeof(keys[i]), "k%d", i);
		if (rand() % 2) {
			assert_int_equal(strmap_put(&map, keys[i], keys[i]), 0);
			n += !is_there[i];
			is_there[i] = true;
		} else {
			assert_ptr_equal(strmap_remove(&map, keys[i]), is_there[i] ? keys[i] : NULL);
			n -= is_there[i];
			is_there[i] = false;
		}
		assert_int_equal(map.n, n);
		for (int k = 0; k < 24; k++)
			if (is_there[k])
				assert_ptr_equal(strmap_get(&map, keys[k]), keys[k]);
	}
	assert_int_equal(map.capacity, 32);
	for (size_t i = 0; i < map.capacity; i++)
		n -= map.slots[i].key != NULL;
	assert_int_equal(n, 0);
	strmap_release(&map);
}

static void arena_caps(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(1000);

	(void)state;
	assert_string_equal(arena_strdup(&arena, "text"), "text");
	assert_string_equal(arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
	assert_false(arena.is_full);
	assert_null(arena_alloc(&arena, 1001));
	assert_true(arena.is_full);
	arena_reset(&arena);
	assert_false(arena.is_full);
	assert_null(arena_array(&arena, SIZE_MAX, 2));
	assert_true(arena.is_full && arena.has_failed);
	arena_reset(&arena);
	assert_non_null(arena_alloc(&arena, 900));
}

static void json_rows(void **state)
{
	static const struct {
		const char *name, *text;
		int r;
	} rows[] = {
		{"object", " {\"a\":1}\n", 0},
		{"null", "null", -EINVAL},
		{"cut", "{\"a\":", -EINVAL},
		{"behind", "{} {}", -EINVAL},
		{"empty", "", -EINVAL},
		{"comment", "{/*x*/}", -EINVAL},
		{"bad utf-8", "{\"a\":\"\xff\"}", -EINVAL},
		{"unfinished number", "12", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_putp) struct json_object *object = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		assert_int_equal(json_parse(rows[i].text, strlen(rows[i].text), 8, &object, &err), rows[i].r);
		assert_int_equal(err.code, rows[i].r);
	}
}

static void json_getters_do_not_coerce(void **state)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct err err = ERR_INIT;
	int64_t number = 7;

	(void)state;
	assert_int_equal(json_parse("{\"a\":\"12\",\"n\":null,\"i\":3}", 25, 8, &object, &err), 0);
	assert_int_equal(json_get_int64(object, "spec", "a", &number, &err), -EINVAL);
	assert_string_equal(err.where, "spec.a");
	assert_int_equal(json_get_int64(object, "spec", "n", &number, &err), JSON_ABSENT);
	assert_int_equal(json_get_int64(object, "spec", "i", &number, &err), 0);
	assert_int_equal(number, 3);
}

static void json_members_are_set_by_their_paths(void **state)
{
	struct json_object *object = json_object_new_object();

	(void)state;
	json_set_text(&object, "kind", "Lease");
	json_set_text(&object, "metadata.name", "one");
	json_set_text(&object, "metadata.uid", NULL);
	json_set(&object, "metadata.n", json_object_new_int(2));
	json_set_text(&object, "metadata.name", "two");
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
			    "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"two\",\"n\":2}}");
	json_set_text(&object, "kind.name", "a string has no members");
	assert_null(object);
	json_set_text(&object, "metadata.name", "no effect");
	assert_null(object);
	object = json_object_new_object();
	json_set(&object, "value", NULL);
	assert_null(object);
}

static void files_are_written_whole(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(100);
	char path[] = "/tmp/memtamer-test-XXXXXX";
	struct err err = ERR_INIT;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(io_write_file_atomic(path, "one", 3, 0600, &err), 0);
	assert_int_equal(io_read_file(path, &text, &err), 0);
	assert_string_equal(strbuf_text(&text), "one");
	text.max = 2;
	strbuf_clear(&text);
	assert_int_equal(io_read_file(path, &text, &err), -E2BIG);
	assert_int_equal(io_write_file_atomic("/nonexistent/x", "one", 3, 0600, &err), -ENOENT);
	assert_string_equal(err.where, "/nonexistent/x");
	unlink(path);
}

static void stable_hash_never_changes(void **state)
{
	(void)state;
	assert_true(hash_stable(HASH_STABLE_INIT, "a", 1) == 0xaf63dc4c8601ec8cu);
	assert_true(hash_seeded("a", 1) == hash_seeded("a", 1));
	assert_true(hash_seeded("a", 1) != hash_seeded("b", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(duration_rows),
		cmocka_unit_test(time_rows),
		cmocka_unit_test(strbuf_caps_and_sticks),
		cmocka_unit_test(strbuf_escapes_json),
		cmocka_unit_test(str_copy_cuts),
		cmocka_unit_test(json_is_written_with_the_commas_that_it_needs),
		cmocka_unit_test(strmap_holds_many),
		cmocka_unit_test(strmap_forgets_what_is_removed),
		cmocka_unit_test(arena_caps),
		cmocka_unit_test(json_rows),
		cmocka_unit_test(json_getters_do_not_coerce),
		cmocka_unit_test(json_members_are_set_by_their_paths),
		cmocka_unit_test(files_are_written_whole),
		cmocka_unit_test(stable_hash_never_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
