/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster store written: it holds what a file holds, leaves what people wrote, and removes what nobody wants; one
 * object's failure does not hold up the others. */
#include "store_kube_fixture.h"
#include "support/object_json.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void check_same(struct store *a, struct store *b)
{
	CLEANUP(strbuf_release) struct strbuf left = STRBUF_INIT(64 * MIB), right = STRBUF_INIT(64 * MIB);

	assert_int_equal(dump(a, &left, NULL), 0);
	assert_int_equal(dump(b, &right, NULL), 0);
	assert_true(left.len > 100);
	assert_string_equal(strbuf_text(&left), strbuf_text(&right));
}

static void both_kinds_hold_the_same(void **state)
{
	const struct store_name gone[] = {{"research", "bert-00000"}, {"ml", "bert-00003"}, {"ml", "never-was"}};
	char folder[] = "/tmp/memtamer-store-XXXXXX", path[64], lock[80];
	struct store *file = NULL;
	struct world world;
	size_t removed[2];

	(void)state;
	start(&world);
	fake_objects_page(world.objects, 7);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/p.json", folder);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	assert_int_equal(store_open_file(path, true, &file, NULL), 0);
	for (int round = 0; round < 2; round++) {
		/* first all are new; then some change */
		assert_int_equal(commit(file, round * 3, round ? 9 : 20, 2 + round, NULL), 0);
		assert_int_equal(commit(world.store, round * 3, round ? 9 : 20, 2 + round, &world), 0);
		check_same(file, world.store);
	}
	assert_int_equal(store_remove(file, gone, ARRAY_LEN(gone), &removed[0], NULL), 0);
	assert_int_equal(store_remove(world.store, gone, ARRAY_LEN(gone), &removed[1], NULL), 0);
	assert_int_equal(removed[0], 2);
	assert_int_equal(removed[1], 2);
	check_same(file, world.store);
	assert_int_equal(world.n_told, 0);
	store_close(file);
	unlink(path);
	unlink(lock);
	assert_int_equal(rmdir(folder), 0);
	stop(&world);
}

static void nothing_to_write_writes_nothing_and_names_find(void **state)
{
	const struct store_name names[] = {{"ml", "bert-00001"}, {"ml", "nobody"}, {"research", "bert-00002"}};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	const struct store_visitor histories = {.context = &text, .history = see_history};
	const struct store_visitor both = {.context = &text, .history = see_history, .profile = see_profile};
	const struct store_change nothing = {.n_profiles = 0};
	struct world world;

	(void)state;
	start(&world);
	assert_int_equal(commit(world.store, 0, 10, 1, &world), 0);
	fake_objects_count_anew(world.objects);
	assert_int_equal(store_commit(world.store, &nothing, NULL), 0);
	assert_int_equal(store_visit_named(world.store, &histories, names, 3, NULL), 0);
	assert_int_equal(lines(&text), 2);
	assert_int_equal(count(&world, "GET"), 3);
	strbuf_clear(&text);
	assert_int_equal(store_visit_named(world.store, &both, names, 3, NULL), 0);
	assert_int_equal(lines(&text), 4);
	assert_int_equal(writes(&world), 0);
	stop(&world);
}

/* Somebody pins a profile and labels its history, while we know older ones. */
static void pin(struct world *world)
{
	struct json_object *profile = fake_objects_get(world->objects, PROFILES, "ml", "bert-00001");
	struct json_object *history = fake_objects_get(world->objects, HISTORIES, "ml", "bert-00001");
	char *text;

	json_object_object_add(json_member(profile, "spec"), "pinLimit", json_object_new_string("3Gi"));
	text = strdup(json_object_to_json_string(profile));
	fake_objects_put(world->objects, PROFILES, text);
	free(text);
	json_object_object_add(json_member(history, "metadata"), "labels", json_tokener_parse("{\"team\":\"a/b\"}"));
	text = strdup(json_object_to_json_string(history));
	fake_objects_put(world->objects, HISTORIES, text);
	free(text);
}

static int take_profiles(void *context, struct profile *take_profile, struct err *err)
{
	(void)err;
	*(int64_t *)context += take_profile->spec->pin_limit_bytes;
	profile_free(take_profile);
	return 0;
}

static void what_people_wrote_stays(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	int64_t pinned = 0;
	const struct store_visitor visitor = {.context = &pinned, .profile = take_profiles};
	CLEANUP(history_freep) struct history *history = NULL;
	struct json_object *object;
	struct world world;

	(void)state;
	start(&world);
	assert_int_equal(commit(world.store, 0, 4, 1, &world), 0);
	pin(&world);
	fake_objects_count_anew(world.objects);
	/* we do not know of it yet: its history is not written, and so not its profile; the others are */
	assert_int_equal(commit(world.store, 0, 4, 2, &world), -EAGAIN);
	assert_string_equal(world.conflicts, "ml/bert-00001 ");
	assert_non_null(strstr(world.err.where, "MemoryHistory ml/bert-00001"));
	assert_int_equal(count(&world, "PUT " GROUP "namespaces/ml/memoryprofiles/bert-00001"), 0);
	assert_int_equal(count(&world, "PUT " GROUP "namespaces/ml/memoryprofiles/bert-00003/status"), 1);
	/* read again: now we do */
	assert_int_equal(dump(world.store, &text, NULL), 0);
	assert_int_equal(commit(world.store, 0, 4, 3, &world), 0);
	assert_int_equal(store_visit(world.store, &visitor, NULL), 0);
	assert_int_equal(pinned, 3 * (int64_t)GIB);
	object = fake_objects_get(world.objects, HISTORIES, "ml", "bert-00001");
	assert_string_equal(
		json_object_get_string(json_member(json_member(json_member(object, "metadata"), "labels"), "team")),
		"a/b");
	assert_int_equal(history_decode(object, &history, NULL), 0);
	assert_int_equal(history->runs.n, 3);
	/* nothing but status was ever sent for a profile that is there */
	assert_int_equal(count(&world, "PUT " GROUP "namespaces/ml/memoryprofiles/bert-00001"),
			 count(&world, "PUT " GROUP "namespaces/ml/memoryprofiles/bert-00001/status"));
	stop(&world);
}

static void a_failure_names_the_object_and_leaves_the_rest(void **state)
{
	static const struct fault rows[] = {
		{"too large", "PUT", "ml/memoryhistories/bert-00001", 413, "RequestEntityTooLarge", "too large",
		 -EMSGSIZE, "MemoryHistory ml/bert-00001", "too-large", 0},
		{"refused by a policy", "PUT", "ml/memoryhistories/bert-00001", 403, "Forbidden",
		 "exceeded quota: objects", -EACCES, "MemoryHistory ml/bert-00001", "exceeded quota", 0},
		{"wrong by an old schema", "PUT", "ml/memoryhistories/bert-00001", 422, "Invalid",
		 "spec.runs: too many", -EINVAL, "MemoryHistory ml/bert-00001", "spec.runs", 0},
		{"no subresource", "PUT", "bert-00001/status", 404, "NotFound",
		 "the server could not find the requested resource", -ENOENT, "MemoryProfile ml/bert-00001",
		 "not those of this release", 0},
		{"gone meanwhile", "PUT", "ml/memoryhistories/bert-00001", 404, "NotFound",
		 "memoryhistories.memtamer.io \\\"bert-00001\\\" not found", -EAGAIN, "MemoryHistory ml/bert-00001", "",
		 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fault fault = rows[i];
		struct world world;

		test_row(rows[i].name);
		start(&world);
		assert_int_equal(commit(world.store, 0, 6, 1, &world), 0);
		fake_objects_count_anew(world.objects);
		fake_objects_hook(world.objects, play_fault, &fault);
		assert_int_equal(commit(world.store, 0, 6, 2, &world), fault.want);
		if (!strstr(world.err.where, fault.where) || !strstr(world.err.msg, fault.msg))
			fail_msg("%s: %s", world.err.where, world.err.msg);
		assert_int_equal(fault.seen, 1);
		/* its profile is not ahead of its history, and everything else is there */
		if (strstr(fault.part, "histories"))
			assert_int_equal(count(&world, "PUT " GROUP "namespaces/ml/memoryprofiles/bert-00001"), 0);
		assert_int_equal(count(&world, "PUT " GROUP "namespaces/ml/memoryprofiles/bert-00005/status"), 1);
		assert_int_equal(count(&world, "PUT " GROUP "namespaces/research/memoryprofiles"), 3);
		stop(&world);
	}
}

static void a_namespace_that_is_gone_is_no_failure(void **state)
{
	struct fault rows[] = {
		{"gone", "POST", "namespaces/ml/", 404, "NotFound", "namespaces \\\"ml\\\" not found", 0, "", "", 0},
		{"going", "POST", "namespaces/ml/", 403, "Forbidden",
		 "memoryhistories.memtamer.io \\\"x\\\" is forbidden: unable to create new content in namespace ml "
		 "because it is being terminated",
		 0, "", "", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;

		test_row(rows[i].name);
		start(&world);
		fake_objects_hook(world.objects, play_fault, &rows[i]);
		assert_int_equal(commit(world.store, 0, 20, 1, &world), 0);
		assert_true(strstarts(world.told, "namespace ml: it is deleted"));
		assert_int_equal(world.n_told, 1);
		assert_int_equal(count(&world, "PUT " GROUP "namespaces/research/memoryprofiles"), 10);
		assert_int_equal(commit(world.store, 0, 20, 1, &world), 0); /* found again in the next cycle */
		assert_int_equal(world.n_told, 1);
		assert_non_null(fake_objects_get(world.objects, PROFILES, "research", "bert-00018"));
		stop(&world);
	}
}

/* Somebody pins it in the moment between our look and our deletion. */
static int pin_late(void *context, struct fake_objects *self, const char *method, const char *path,
		    const char **ret_reason, const char **ret_message)
{
	(void)ret_reason;
	(void)ret_message;
	if (streq(method, "DELETE") && strstr(path, "memoryprofiles/bert-00005"))
		fake_objects_put(self, PROFILES,
				 HEAD("MemoryProfile", "ml", "bert-00005") "\"spec\":{\"pinLimit\":\"1Gi\"}}");
	(void)context;
	return 0;
}

static void only_what_nobody_wants_is_removed(void **state)
{
	const struct store_name names[] = {
		{"ml", "bert-00001"},	      {"ml", "bert-00003"}, {"ml", "bert-00005"}, {"research", "bert-00000"},
		{"ml", "memtamer-namespace"}, {"ml", "bert-00007"}, {"ml", "nobody"}};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct world world;
	size_t n = 77;

	(void)state;
	start(&world);
	assert_int_equal(commit(world.store, 0, 9, 1, &world), 0);
	pin(&world);
	fake_objects_put(world.objects, PROFILES,
			 HEAD("MemoryProfile", "ml", "memtamer-namespace") "\"spec\":{\"modeCap\":\"observe\"}}");
	assert_int_equal(dump(world.store, &text, NULL), 0);
	/* this one changes after it was read */
	fake_objects_put(world.objects, PROFILES, HEAD("MemoryProfile", "ml", "bert-00007") "\"spec\":{}}");
	fake_objects_hook(world.objects, pin_late, NULL);
	assert_int_equal(store_remove(world.store, names, ARRAY_LEN(names), &n, NULL), 0);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < ARRAY_LEN(names) - 1; i++) {
		bool is_gone = i == 1 || i == 3;

		assert_int_equal(is_gone,
				 !fake_objects_get(world.objects, PROFILES, names[i].namespace_name, names[i].name));
		if (i != 4)
			assert_int_equal(is_gone, !fake_objects_get(world.objects, HISTORIES, names[i].namespace_name,
								    names[i].name));
	}
	stop(&world);
}

static bool is_over(void *context)
{
	int *left = context;

	return (*left)-- <= 0;
}

static void it_stops_when_asked_to(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct world world;
	int left = 0;

	(void)state;
	start(&world);
	assert_int_equal(commit(world.store, 0, 4, 1, &world), 0);
	store_set_cancelled(world.store, is_over, &left);
	assert_int_equal(dump(world.store, &text, NULL), -ECANCELED);
	left = 0;
	fake_objects_count_anew(world.objects);
	assert_int_equal(commit(world.store, 0, 4, 2, &world), -ECANCELED);
	assert_int_equal(writes(&world), 0);
	stop(&world);
}

static void readers_do_not_write(void **state)
{
	struct store *reader = NULL;
	struct world world;

	(void)state;
	start(&world);
	assert_int_equal(store_open_kube(world.client, "memtamer", false, &reader, NULL), 0);
	assert_int_equal(commit(reader, 0, 1, 1, &world), -EACCES);
	assert_int_equal(store_state_save(reader, "{}", 2, NULL), -EACCES);
	assert_int_equal(store_watch_fd(reader, NULL), -ENOTSUP);
	assert_false(store_watch_changed(reader));
	assert_int_equal(count(&world, ""), 0);
	store_close(reader);
	stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_kinds_hold_the_same),
		cmocka_unit_test(nothing_to_write_writes_nothing_and_names_find),
		cmocka_unit_test(what_people_wrote_stays),
		cmocka_unit_test(a_failure_names_the_object_and_leaves_the_rest),
		cmocka_unit_test(a_namespace_that_is_gone_is_no_failure),
		cmocka_unit_test(only_what_nobody_wants_is_removed),
		cmocka_unit_test(it_stops_when_asked_to),
		cmocka_unit_test(readers_do_not_write),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
