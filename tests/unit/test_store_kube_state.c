/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's state in a cluster: whole at any moment, of one writer at a time, and refused when it is torn. */
#include "store_kube_fixture.h"

#include "base/base64.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <zlib.h>

#define STATE "memtamer-collector"

/* Text that does not become smaller. */
static char *noise(size_t n, unsigned int seed)
{
	char *text = malloc(n + 1);

	assert_non_null(text);
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		text[i] = (char)(seed >> 16);
	}
	text[n] = '\0';
	return text;
}

static void check_state(struct store *store, const char *wanted, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(16 * MIB);
	struct err err = ERR_INIT;

	if (store_state_load(store, &text, &err))
		fail_msg("%s: %s", err.where, err.msg);
	assert_int_equal(text.len, n);
	assert_memory_equal(strbuf_text(&text), wanted, n);
}

static void state_comes_back_whole(void **state)
{
	static const size_t sizes[] = {1, 100000, MIB - 1000, 3, 0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct store *other = NULL;
	struct world world;

	(void)state;
	start(&world);
	assert_int_equal(store_open_kube(world.client, "memtamer", true, &other, NULL), 0);
	assert_int_equal(store_state_load(world.store, &text, NULL), 1);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char *saved = noise(sizes[i], (unsigned int)i);

		assert_int_equal(store_state_save(world.store, saved, sizes[i], NULL), 0);
		check_state(world.store, saved, sizes[i]);
		check_state(other, saved, sizes[i]);
		free(saved);
	}
	store_close(other);
	stop(&world);
}

/* More than the API server takes in a ConfigMap is not sent. */
static void a_state_that_does_not_fit_changes_nothing(void **state)
{
	char *large = noise(MIB + 1, 1);
	struct err err = ERR_INIT;
	struct world world;
	size_t before;

	(void)state;
	start(&world);
	assert_int_equal(store_state_save(world.store, "old", 3, NULL), 0);
	before = writes(&world);
	assert_int_equal(store_state_save(world.store, large, MIB + 1, &err), -E2BIG);
	assert_int_equal(writes(&world), before);
	check_state(world.store, "old", 3);
	assert_int_equal(store_state_save(world.store, "next", 4, NULL), 0);
	free(large);
	stop(&world);
}

/* A writer dies (or is cut off) at each of its writes: the state is the old one, whole, and the next save works. */
struct outage {
	int left;
};

static int cut_off(void *context, struct fake_objects *self, const char *method, const char *path,
		   const char **ret_reason, const char **ret_message)
{
	struct outage *outage = context;

	(void)self;
	(void)path;
	if (streq(method, "GET") || --outage->left >= 0)
		return 0;
	*ret_reason = "InternalError";
	*ret_message = "cut off";
	return 500;
}

static void state_survives_an_end_at_any_write(void **state)
{
	int at = 0;

	(void)state;
	for (bool is_done = false; !is_done; at++) {
		struct outage outage = {.left = at};
		struct store *next = NULL;
		struct world world;

		start(&world);
		assert_int_equal(store_state_save(world.store, "old", 3, NULL), 0);
		fake_objects_hook(world.objects, cut_off, &outage);
		is_done = store_state_save(world.store, "new", 3, NULL) == 0;
		fake_objects_hook(world.objects, NULL, NULL);
		assert_int_equal(store_open_kube(world.client, "memtamer", true, &next, NULL), 0);
		check_state(next, is_done ? "new" : "old", 3);
		assert_int_equal(store_state_save(next, "again", 5, NULL), 0);
		check_state(next, "again", 5);
		store_close(next);
		stop(&world);
	}
	assert_int_equal(at, 2);
}

static void a_second_writer_is_refused_and_harms_nothing(void **state)
{
	static const char text[] = "what the first one knows";
	struct store *second = NULL;
	struct world world;

	(void)state;
	start(&world);
	assert_int_equal(store_state_save(world.store, "old", 3, NULL), 0);
	assert_int_equal(store_open_kube(world.client, "memtamer", true, &second, NULL), 0);
	check_state(second, "old", 3);
	assert_int_equal(store_state_save(world.store, text, sizeof(text), NULL), 0);
	assert_int_equal(store_state_save(second, "stale", 5, NULL), -EAGAIN);
	check_state(world.store, text, sizeof(text));
	/* one that has not looked at all does not overwrite either */
	store_closep(&second);
	assert_int_equal(store_open_kube(world.client, "memtamer", true, &second, NULL), 0);
	assert_int_equal(store_state_save(second, "blind", 5, NULL), -EAGAIN);
	check_state(world.store, text, sizeof(text));
	/* who reads again may write */
	check_state(second, text, sizeof(text));
	assert_int_equal(store_state_save(second, "next", 4, NULL), 0);
	check_state(world.store, "next", 4);
	store_close(second);
	stop(&world);
}

/* ---- version 0.1 ---- */

static void put_object(struct world *world, const char *name, const char *rest)
{
	CLEANUP(strbuf_release) struct strbuf object = STRBUF_INIT(2 * MIB);

	strbuf_addf(&object, "{\"metadata\":{\"namespace\":\"memtamer\",\"name\":\"%s\"}%s}", name, rest);
	assert_int_equal(object.status, 0);
	fake_objects_put(world->objects, "configmaps", strbuf_text(&object));
}

/* Puts the bytes of `packed` into pieces of a set. */
static void put_pieces(struct world *world, int set, int n, const char *packed, size_t n_packed)
{
	for (int i = 0; i < n; i++) {
		CLEANUP(strbuf_release) struct strbuf rest = STRBUF_INIT(MIB);
		size_t from = n_packed * (size_t)i / (size_t)n, to = n_packed * (size_t)(i + 1) / (size_t)n;
		char name[64];

		snprintf(name, sizeof(name), STATE "-%d-%d", set, i);
		strbuf_adds(&rest, ",\"binaryData\":{\"state.gz\":\"");
		base64_encode(packed + from, to - from, &rest);
		strbuf_adds(&rest, "\"}");
		put_object(world, name, strbuf_text(&rest));
	}
}

static void put_version_0_1(struct world *world, const char *text)
{
	char packed[512];
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)text,
			   .avail_in = (uInt)strlen(text),
			   .next_out = (Bytef *)packed,
			   .avail_out = sizeof(packed)};

	assert_int_equal(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	put_pieces(world, 1, 3, packed, stream.total_out);
	put_pieces(world, 0, 2, "of the generation before", 24);
	put_object(world, STATE,
		   ",\"data\":{\"generation\":\"7\",\"bytes\":\"1\",\"hash\":\"0\",\"chunks0\":\"2\",\"chunks1\":\"3\","
		   "\"claim\":\"\"}");
}

static void pieces_of_version_0_1_are_read_until_the_first_save(void **state)
{
	static const char text[] = "what version 0.1 knew of open runs";
	struct json_object *head;
	struct world world;

	(void)state;
	start(&world);
	put_version_0_1(&world, text);
	for (int i = 0; i < 2; i++)
		check_state(world.store, text, strlen(text));
	assert_int_equal(store_state_save(world.store, "new", 3, NULL), 0);
	check_state(world.store, "new", 3);
	head = fake_objects_get(world.objects, "configmaps", "memtamer", STATE);
	assert_null(json_member(head, "data"));
	for (int set = 0; set < 2; set++)
		for (int i = 0; i < 3; i++) {
			char name[64];

			snprintf(name, sizeof(name), STATE "-%d-%d", set, i);
			assert_null(fake_objects_get(world.objects, "configmaps", "memtamer", name));
		}
	stop(&world);
}

static void a_torn_state_of_version_0_1_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		struct err err = ERR_INIT;
		struct world world;
		char name[64];

		start(&world);
		put_version_0_1(&world, "what version 0.1 knew of open runs");
		snprintf(name, sizeof(name), STATE "-1-%d", i);
		if (i < 2)
			fake_objects_delete(world.objects, "configmaps", "memtamer", name);
		else
			put_object(&world, name, ",\"binaryData\":{\"state.gz\":\"aGVsbG8=\"}");
		assert_int_equal(store_state_load(world.store, &text, &err), -EINVAL);
		assert_non_null(strstr(err.where, STATE));
		assert_int_equal(count(&world, "DELETE"), 0);
		stop(&world);
	}
}

/* ---- damage ---- */

static void a_torn_state_is_refused(void **state)
{
	static const struct {
		const char *name, *rest;
		int want;
	} rows[] = {
		{"no base64", ",\"binaryData\":{\"state.gz\":\"!\"}", -EINVAL},
		{"no gzip", ",\"binaryData\":{\"state.gz\":\"aGVsbG8=\"}", -EINVAL},
		{"empty", ",\"binaryData\":{\"state.gz\":\"\"}", -EINVAL},
		{"\"old\" with another length", ",\"binaryData\":{\"state.gz\":\"H4sIAAAAAAACA8vPSQEA5dRdPwQAAAA=\"}",
		 -EINVAL},
		{"foreign", ",\"data\":{\"generation\":\"x\"}", -EINVAL},
		{"rendered by the chart", "", 1},
		{"claimed by version 0.1 and never written", ",\"data\":{\"generation\":\"0\",\"claim\":\"1\"}", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		struct err err = ERR_INIT;
		struct world world;

		test_row(rows[i].name);
		start(&world);
		put_object(&world, STATE, rows[i].rest);
		assert_int_equal(store_state_load(world.store, &text, &err), rows[i].want);
		if (rows[i].want < 0)
			assert_non_null(strstr(err.where, STATE));
		assert_int_equal(writes(&world), 0);
		if (rows[i].want > 0)
			assert_int_equal(store_state_save(world.store, "new", 3, NULL), 0);
		stop(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_comes_back_whole),
		cmocka_unit_test(state_survives_an_end_at_any_write),
		cmocka_unit_test(a_second_writer_is_refused_and_harms_nothing),
		cmocka_unit_test(a_state_that_does_not_fit_changes_nothing),
		cmocka_unit_test(pieces_of_version_0_1_are_read_until_the_first_save),
		cmocka_unit_test(a_torn_state_of_version_0_1_is_refused),
		cmocka_unit_test(a_torn_state_is_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
