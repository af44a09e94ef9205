/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster store read: lists that fail or expire, objects that make no sense, profiles for admission. */
#include "store_kube_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

static void lists_say_what_is_missing(void **state)
{
	static const struct fault rows[] = {
		{"no custom resources", "GET", PROFILES, 404, "NotFound",
		 "the server could not find the requested resource", -ENOENT, PROFILES, "install", 0},
		{"not allowed", "GET", PROFILES, 403, "Forbidden", "User \\\"x\\\" cannot list", -EACCES, PROFILES,
		 "not allowed to list memoryprofiles.memtamer.io", 0},
		{"unknown", "GET", PROFILES, 401, "Unauthorized", "Unauthorized", -EPERM, PROFILES, "unauthorized", 0},
		{"broken", "GET", PROFILES, 500, "InternalError", "etcd", -EIO, PROFILES, "etcd", 0},
		{"gone for good", "GET", PROFILES, 410, "Expired", "too old", -EIO, PROFILES, "too old", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		struct fault fault = rows[i];
		struct err err = ERR_INIT;
		struct world world;

		test_row(rows[i].name);
		start(&world);
		fake_objects_hook(world.objects, play_fault, &fault);
		assert_int_equal(dump(world.store, &text, &err), fault.want);
		if (!strstr(err.where, fault.where) || !strstr(err.msg, fault.msg))
			fail_msg("%s: %s", err.where, err.msg);
		stop(&world);
	}
}

/* The second page is too old: the list comes anew. */
static int expire_once(void *context, struct fake_objects *self, const char *method, const char *path,
		       const char **ret_reason, const char **ret_message)
{
	int *pages = context;

	if (!streq(method, "GET") || !strstr(path, PROFILES) || ++*pages != 2)
		return 0;
	fake_objects_page(self, 0);
	*ret_reason = "Expired";
	*ret_message = "the provided continue parameter is too old";
	return 410;
}

static int count_profile(void *context, struct profile *take_profile, struct err *err)
{
	int *times = context;

	(void)err;
	times[strtol(take_profile->name + strlen("bert-"), NULL, 10)]++;
	profile_free(take_profile);
	return 0;
}

static void a_list_that_expires_comes_anew(void **state)
{
	int times[MANY] = {0};
	const struct store_visitor visitor = {.context = times, .profile = count_profile};
	struct world world;
	int pages = 0;

	(void)state;
	start(&world);
	assert_int_equal(commit(world.store, 0, MANY, 1, &world), 0);
	fake_objects_page(world.objects, 10);
	fake_objects_hook(world.objects, expire_once, &pages);
	assert_int_equal(store_visit(world.store, &visitor, NULL), 0);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(times[i], 1);
	/* and what was seen twice is written once */
	fake_objects_count_anew(world.objects);
	assert_int_equal(commit(world.store, 0, MANY, 1, &world), 0);
	stop(&world);
}

static void nonsense_is_told_and_passed_over(void **state)
{
	static const struct {
		const char *plural, *text, *told;
	} rows[] = {
		{PROFILES, HEAD("MemoryProfile", "ml", "a") "\"spec\":{},\"status\":{\"updated\":\"lately\"}}",
		 "MemoryProfile ml/a: status.updated: not a time"},
		{PROFILES, HEAD("MemoryProfile", "ml", "b") "\"spec\":7}", "MemoryProfile ml/b: spec"},
		{PROFILES, HEAD("MemoryProfile", "ml", "c") "\"spec\":{},\"status\":{\"variants\":[{}]}}",
		 "MemoryProfile ml/c: status.variants[0]"},
		{PROFILES,
		 "{\"apiVersion\":\"memtamer.io/v2\",\"kind\":\"MemoryProfile\",\"metadata\":{\"namespace\":\"ml\","
		 "\"name\":\"d\"},\"spec\":{}}",
		 "MemoryProfile ml/d: "},
		{PROFILES, HEAD("Goose", "ml", "e") "\"spec\":{}}", "MemoryProfile ml/e: "},
		{HISTORIES, HEAD("MemoryHistory", "ml", "f") "\"spec\":{\"runs\":[{\"uid\":7}]}}",
		 "MemoryHistory ml/f: spec.runs[0]"},
		{HISTORIES, HEAD("MemoryHistory", "ml", "bert-00001") "\"spec\":{\"days\":7}}",
		 "MemoryHistory ml/bert-00001: spec.days"},
	};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct world world;

	(void)state;
	start(&world);
	assert_int_equal(commit(world.store, 0, 4, 1, &world), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		fake_objects_put(world.objects, rows[i].plural, rows[i].text);
	assert_int_equal(dump(world.store, &text, NULL), 0);
	assert_int_equal(lines(&text), 4 + 3 + 1); /* profiles, histories, a shape */
	assert_int_equal(world.n_told, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strstr(world.told, rows[i].told))
			fail_msg("%s is not in: %s", rows[i].told, world.told);
	/* it is not overwritten either, nor is a profile written without its history; nothing else is held up */
	fake_objects_count_anew(world.objects);
	world.told[0] = '\0';
	assert_int_equal(commit(world.store, 0, 4, 2, &world), 0);
	assert_non_null(strstr(world.told, "MemoryHistory ml/bert-00001: not written"));
	assert_int_equal(count(&world, "PUT " GROUP "namespaces/ml/memoryhistories/bert-00001"), 0);
	assert_int_equal(count(&world, "PUT " GROUP "namespaces/ml/memoryprofiles/bert-00001"), 0);
	assert_int_equal(count(&world, "PUT " GROUP "namespaces/ml/memoryprofiles/bert-00003/status"), 1);
	stop(&world);
}

static void profiles_for_admission(void **state)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct snapshot *snapshot;
	struct world world;
	size_t n_shapes;

	(void)state;
	start(&world);
	assert_int_equal(commit(world.store, 0, 5, 1, &world), 0);
	fake_objects_put(world.objects, PROFILES, HEAD("MemoryProfile", "ml", "a") "\"spec\":{\"floor\":\"x\"}}");
	fake_objects_put(world.objects, PROFILES, HEAD("MemoryProfile", "ml", "b") "\"spec\":7}");
	assert_int_equal(store_read_profiles(world.store, builder, NULL), 0);
	snapshot = snapshot_builder_finish(builder, 1);
	assert_int_equal(snapshot_profile_count(snapshot), 6);
	assert_string_equal(snapshot_profile_by_name(snapshot, "ml", "a")->spec->mode_cap, "observe");
	assert_non_null(snapshot_profile(snapshot, "ml", "Job/bert-00003", "worker", "pytorch"));
	assert_non_null(snapshot_node_shapes(snapshot, &n_shapes));
	assert_int_equal(n_shapes, 1);
	assert_int_equal(world.n_told, 2);
	assert_non_null(strstr(world.told, "MemoryProfile ml/a: spec.floor: not a quantity"));
	snapshot_unref(snapshot);
	/* of one namespace only */
	assert_int_equal(store_set_namespace(world.store, "research"), 0);
	fake_objects_count_anew(world.objects);
	builder = snapshot_builder_new(NULL);
	assert_int_equal(store_read_profiles(world.store, builder, NULL), 0);
	snapshot = snapshot_builder_finish(builder, 1);
	assert_int_equal(snapshot_profile_count(snapshot), 3);
	assert_int_equal(count(&world, "GET " GROUP "memoryprofiles"), 0);
	snapshot_unref(snapshot);
	stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_say_what_is_missing),
		cmocka_unit_test(a_list_that_expires_comes_anew),
		cmocka_unit_test(nonsense_is_told_and_passed_over),
		cmocka_unit_test(profiles_for_admission),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
