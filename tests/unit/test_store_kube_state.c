/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's state in a cluster: whole at any moment, of one writer at a time, and refused when it is torn. */
#include "store_kube_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* Text that does not become smaller: one chunk takes 700 KiB of it. */
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
	static const size_t sizes[] = {1, 100000, 2000000, 700 * 1024, 3, 0};
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
	/* no chunks of larger states are left behind */
	assert_null(fake_objects_get(world.objects, "configmaps", "memtamer", "memtamer-collector-1-1"));
	assert_null(fake_objects_get(world.objects, "configmaps", "memtamer", "memtamer-collector-0-1"));
	assert_non_null(fake_objects_get(world.objects, "configmaps", "memtamer", "memtamer-collector-0-0"));
	store_close(other);
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
	char *old = noise(1500000, 1), *new = noise(1600000, 2);
	int at = 0;

	(void)state;
	for (bool is_done = false; !is_done; at++) {
		struct outage outage = {.left = at};
		struct store *next = NULL;
		struct world world;

		start(&world);
		assert_int_equal(store_state_save(world.store, old, 1500000, NULL), 0);
		fake_objects_hook(world.objects, cut_off, &outage);
		is_done = store_state_save(world.store, new, 1600000, NULL) == 0;
		fake_objects_hook(world.objects, NULL, NULL);
		assert_int_equal(store_open_kube(world.client, "memtamer", true, &next, NULL), 0);
		check_state(next, is_done ? new : old, is_done ? 1600000 : 1500000);
		assert_int_equal(store_state_save(next, "again", 5, NULL), 0);
		check_state(next, "again", 5);
		store_close(next);
		stop(&world);
	}
	assert_true(at > 4); /* claim, three chunks, head */
	free(old);
	free(new);
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

/* The second writer does all its work in the middle of the first one's. */
struct interloper {
	struct world *world;
	const char *method, *part;
	struct kube_client *client;
	bool has_struck;
};

static int strike(void *context, struct fake_objects *self, const char *method, const char *path,
		  const char **ret_reason, const char **ret_message)
{
	struct interloper *it = context;
	struct json_object *head = fake_objects_get(self, "configmaps", "memtamer", "memtamer-collector");
	char *text;

	(void)ret_reason;
	(void)ret_message;
	if (it->has_struck || !streq(method, it->method) || !strstr(path, it->part))
		return 0;
	it->has_struck = true;
	text = strdup(json_object_to_json_string(head));
	fake_objects_put(self, "configmaps", text); /* its claim */
	free(text);
	return 0;
}

static void a_claim_in_between_is_noticed(void **state)
{
	static const struct {
		const char *method, *part;
	} rows[] = {{"GET", "memtamer-collector-0-0"}, {"POST", "configmaps"}, {"PUT", "memtamer-collector"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct interloper it = {.method = rows[i].method, .part = rows[i].part};
		struct world world;

		test_row(rows[i].part);
		start(&world);
		assert_int_equal(store_state_save(world.store, "old", 3, NULL), 0);
		fake_objects_hook(world.objects, strike, &it);
		assert_int_equal(store_state_save(world.store, "new", 3, NULL), -EAGAIN);
		assert_true(it.has_struck);
		check_state(world.store, "old", 3);
		stop(&world);
	}
}

static int note_first_write(void *context, struct fake_objects *self, const char *method, const char *path,
			    const char **ret_reason, const char **ret_message)
{
	char *first = context;

	(void)self;
	(void)ret_reason;
	(void)ret_message;
	if (!streq(method, "GET") && !*first)
		snprintf(first, 300, "%s %s", method, path);
	return 0;
}

/* Else a writer that read the head before could replace chunks that the head is about to speak of. */
static void a_save_begins_with_a_claim(void **state)
{
	struct world world;
	char first[300] = "";

	(void)state;
	start(&world);
	assert_int_equal(store_state_save(world.store, "old", 3, NULL), 0);
	fake_objects_hook(world.objects, note_first_write, first);
	assert_int_equal(store_state_save(world.store, "new", 3, NULL), 0);
	assert_string_equal(first, "PUT /api/v1/namespaces/memtamer/configmaps/memtamer-collector");
	stop(&world);
}

static void a_torn_state_is_refused(void **state)
{
	static const struct {
		const char *name, *object; /* NULL: the chunk goes */
		int want;
	} rows[] = {
		{"chunk", NULL, -EINVAL},
		{"hash",
		 "{\"metadata\":{\"namespace\":\"memtamer\",\"name\":\"memtamer-collector\"},\"data\":{\"generation\":"
		 "\"1\","
		 "\"bytes\":\"3\",\"chunks1\":\"1\",\"hash\":\"0000000000000000\"}}",
		 -EINVAL},
		{"length",
		 "{\"metadata\":{\"namespace\":\"memtamer\",\"name\":\"memtamer-collector\"},\"data\":{\"generation\":"
		 "\"1\","
		 "\"bytes\":\"99999999999999\",\"chunks1\":\"1\",\"hash\":\"0000000000000000\"}}",
		 -EINVAL},
		{"foreign",
		 "{\"metadata\":{\"namespace\":\"memtamer\",\"name\":\"memtamer-collector\"},\"data\":{\"generation\":"
		 "\"x\"}}",
		 -EINVAL},
		{"chunk that is none",
		 "{\"metadata\":{\"namespace\":\"memtamer\",\"name\":\"memtamer-collector-1-0\"},\"binaryData\":{"
		 "\"state.gz\":\"aGVsbG8=\"}}",
		 -EINVAL},
		{"claimed and never written",
		 "{\"metadata\":{\"namespace\":\"memtamer\",\"name\":\"memtamer-collector\"},\"data\":{\"generation\":"
		 "\"0\","
		 "\"claim\":\"1\"}}",
		 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		struct err err = ERR_INIT;
		struct world world;

		test_row(rows[i].name);
		start(&world);
		assert_int_equal(store_state_save(world.store, "old", 3, NULL), 0);
		if (rows[i].object)
			fake_objects_put(world.objects, "configmaps", rows[i].object);
		else
			fake_objects_delete(world.objects, "configmaps", "memtamer", "memtamer-collector-1-0");
		assert_int_equal(store_state_load(world.store, &text, &err), rows[i].want);
		if (rows[i].want < 0)
			assert_non_null(strstr(err.where, "memtamer-collector"));
		assert_int_equal(count(&world, "DELETE"), 0);
		stop(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_comes_back_whole),
		cmocka_unit_test(state_survives_an_end_at_any_write),
		cmocka_unit_test(a_second_writer_is_refused_and_harms_nothing),
		cmocka_unit_test(a_claim_in_between_is_noticed),
		cmocka_unit_test(a_save_begins_with_a_claim),
		cmocka_unit_test(a_torn_state_is_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
