/* SPDX-License-Identifier: Apache-2.0 */
/* What a cluster's API server tells, as snapshots; by a server that plays its part. */
#include "base/log.h"
#include "cluster_world.h"

#define PROFILE(name, version, limit)                                                                                  \
	"{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\"," META(                                   \
		"ml", name, version) ",\"status\":{\"workload\":\"Job/" name                                           \
				     "\",\"container\":\"main\",\"recommendation\":{\"limit\":\"" limit "\"}}}"
#define SHAPE(name, version, memory)                                                                                   \
	"{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"NodeShape\",\"metadata\":{\"name\":\"" name               \
	"\",\"resourceVersion\":\"" version                                                                            \
	"\"},\"spec\":{\"accelerator\":\"nvidia.com/gpu\",\"count\":8,\"memory\":\"" memory "\"}}"
#define NAMESPACE(name, version, labels)                                                                               \
	"{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\",\"labels\":{" labels "}}}"

static int64_t limit_of(const struct world *world, const char *name)
{
	const struct profile *profile = world->snapshot ? snapshot_profile_by_name(world->snapshot, "ml", name) : NULL;

	return profile ? profile->parent.limit_bytes / (int64_t)GIB : -1;
}

static void test_changes_come_in(void **state)
{
	static const struct fake_step steps[] = {
		{.fits = PROFILES "?", .body = LIST("5", PROFILE("a", "1", "1Gi") "," PROFILE("b", "2", "2Gi"))},
		{.fits = PROFILES "?watch",
		 .body = EVENT("MODIFIED", PROFILE("a", "6", "3Gi")) EVENT("DELETED", PROFILE("b", "7", "2Gi"))
			 EVENT("ADDED", PROFILE("c", "8", "4Gi")) EVENT("MODIFIED", PROFILE("c", "9", "nonsense")),
		 .end = FAKE_HOLD},
		{.fits = SHAPES "?", .body = LIST("5", SHAPE("x", "1", "1Ti") "," SHAPE("y", "2", "2Ti"))},
		{.fits = SHAPES "?watch", .body = EVENT("DELETED", SHAPE("y", "6", "2Ti")), .end = FAKE_HOLD},
		{.fits = SPACES "?",
		 .body = LIST(
			 "5",
			 NAMESPACE("ml", "1", "") "," NAMESPACE("odd", "2", "\"memtamer.io/mode\":7") "," NAMESPACE(
				 "gone", "3", "\"memtamer.io/mode\":\"fill\""))},
		{.fits = SPACES "?watch",
		 .body = EVENT("MODIFIED", NAMESPACE("ml", "6", "\"memtamer.io/mode\":\"off\""))
			 EVENT("ADDED", NAMESPACE("mine", "7", "\"memtamer.io/ignore\":\"true\""))
				 EVENT("DELETED", NAMESPACE("gone", "8", "\"memtamer.io/mode\":\"fill\"")),
		 .end = FAKE_HOLD},
		NOTHING(RANGES),
		NOTHING(QUOTAS),
		{.fits = CLASSES "?",
		 .body = LIST("5", "{\"metadata\":{\"name\":\"gold\",\"resourceVersion\":\"1\",\"annotations\":"
				   "{\"memtamer.io/critical\":\"true\"}}},{\"metadata\":{\"name\":\"tin\","
				   "\"resourceVersion\":\"1\"}}")},
		HELD(CLASSES),
		NO_KINDS,
		{0}};
	const struct namespace_facts *facts;
	struct cluster_watch_state told;
	struct world world;
	size_t n;

	(void)state;
	start(&world, steps);
	WAIT_FOR(&world, limit_of(&world, "c") == 4 && world.passed_over == 2 &&
				 snapshot_namespace(world.snapshot, "mine") &&
				 !snapshot_namespace(world.snapshot, "gone") &&
				 snapshot_is_critical_class(world.snapshot, "gold") &&
				 (snapshot_node_shapes(world.snapshot, &n), n == 1));
	assert_int_equal(limit_of(&world, "a"), 3);
	assert_int_equal(limit_of(&world, "b"), -1);
	facts = snapshot_namespace(world.snapshot, "ml");
	assert_string_equal(facts ? facts->mode : NULL, "off");
	assert_true(snapshot_namespace(world.snapshot, "mine")->is_ignored);
	assert_false(snapshot_is_critical_class(world.snapshot, "tin"));
	assert_string_equal(snapshot_node_shapes(world.snapshot, &n)->name, "x");
	cluster_watch_state(world.cluster, CLUSTER_PROFILES, &told);
	assert_true(told.is_synced && told.is_in_contact);
	assert_int_equal(told.objects, 2);
	assert_int_equal(world.failed, 0);
	assert_int_equal(fake_api_unexpected(world.api), 0);
	/* no quota: nobody looks for pods */
	assert_int_equal(fake_api_count(world.api, "/pods"), 0);
	stop(&world);
}

static void count_line(void *context, const char *line, size_t n)
{
	size_t *counts = context;

	counts[0] += memmem(line, n, "object skipped", 14) != NULL;
	counts[1] += memmem(line, n, "is not applied", 14) != NULL;
}

/* Whoever may write objects of a namespace must not fill the log. */
static void test_lines_about_objects_are_limited(void **state)
{
	enum { OBJECTS = 200, LINES = 100 };
	CLEANUP(strbuf_release) struct strbuf events = STRBUF_INIT(256 * KIB);
	size_t counts[2] = {0, 0};
	struct world world;

	(void)state;
	for (size_t i = 10; i < 10 + OBJECTS; i++) {
		strbuf_addf(&events, EVENT("ADDED", PROFILE("a", "%zu", "nonsense")), i);
		strbuf_addf(&events,
			    EVENT("ADDED", "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\"," META(
						   "ml", "b", "%zu") ",\"spec\":{\"pinLimit\":\"1\"}}"),
			    i);
	}
	assert_int_equal(strbuf_adds(&events, EVENT("ADDED", PROFILE("c", "999", "4Gi"))), 0);
	log_set_sink(&(struct log_sink){.context = counts, .write = count_line});
	start(&world,
	      (const struct fake_step[]){{.fits = PROFILES "?", .body = LIST("5", "")},
					 {.fits = PROFILES "?watch", .body = strbuf_text(&events), .end = FAKE_HOLD},
					 NOTHING(SHAPES),
					 NOTHING(SPACES),
					 NOTHING(RANGES),
					 NOTHING(QUOTAS),
					 NOTHING(CLASSES),
					 NO_KINDS,
					 {0}});
	WAIT_FOR(&world, limit_of(&world, "c") == 4);
	log_set_sink(NULL);
	assert_int_equal(world.passed_over, OBJECTS);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		assert_in_range(counts[i], 20, LINES);
	stop(&world);
}

/* What vanishes between two lists goes; what a person declared in the configuration wins. */
static void test_new_list_after_410(void **state)
{
	static const struct fake_step steps[] = {
		{.fits = PROFILES "?", .body = LIST("5", PROFILE("a", "1", "1Gi") "," PROFILE("b", "2", "2Gi"))},
		{.fits = PROFILES "?watch", .status = 410, .body = "{}"},
		{.fits = PROFILES "?", .body = LIST("50", PROFILE("a", "1", "1Gi") "," PROFILE("c", "9", "4Gi"))},
		HELD(PROFILES),
		{.fits = SHAPES "?", .body = LIST("5", SHAPE("x", "1", "1Ti"))},
		HELD(SHAPES),
		NOTHING(SPACES),
		NOTHING(RANGES),
		NOTHING(QUOTAS),
		NOTHING(CLASSES),
		NO_KINDS,
		{0}};
	struct node_shape declared = {.name = "x", .memory_bytes = 7, .is_declared = true};
	struct world world;
	size_t n, built;

	(void)state;
	start(&world, steps);
	WAIT_FOR(&world, limit_of(&world, "c") == 4 && limit_of(&world, "b") == -1);
	assert_int_equal(limit_of(&world, "a"), 1);
	assert_int_equal(snapshot_profile_count(world.snapshot), 2);
	assert_int_equal(snapshot_node_shapes(world.snapshot, &n)->memory_bytes, (1024 * (int64_t)GIB));
	world.config->node_shapes = &declared;
	world.config->n_node_shapes = 1;
	built = world.built;
	cluster_reconfigure(world.cluster);
	WAIT_FOR(&world, world.built > built);
	assert_int_equal(snapshot_node_shapes(world.snapshot, &n)->memory_bytes, 7);
	assert_int_equal(n, 1);
	world.config->n_node_shapes = 0;
	built = world.built;
	cluster_reconfigure(world.cluster);
	WAIT_FOR(&world, world.built > built);
	assert_int_equal(snapshot_node_shapes(world.snapshot, &n)->memory_bytes, (1024 * (int64_t)GIB));
	stop(&world);
}

static void test_says_what_it_waits_for(void **state)
{
	static struct fake_step steps[] = {
		{.fits = PROFILES "?", .status = 404, .body = "404 page not found\n", .times = UNTIL_TOLD},
		NOTHING(PROFILES),
		{.fits = SPACES "?",
		 .status = 403,
		 .body = "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,\"message\":\"namespaces is "
			 "forbidden\"}",
		 .times = UNTIL_TOLD},
		NOTHING(SPACES),
		NOTHING(SHAPES),
		NOTHING(RANGES),
		NOTHING(QUOTAS),
		/* nobody waits for these */
		{.fits = CLASSES, .status = 403, .body = "{}", .times = 1000},
		NO_KINDS,
		{0}};
	struct world world;
	char words[1024];

	(void)state;
	start(&world, steps);
	assert_non_null(strstr(cluster_missing(world.cluster, words, sizeof(words)),
			       "memoryprofiles, nodeshapes, namespaces, limitranges, resourcequotas: the list is "
			       "not here yet"));
	assert_int_equal(cluster_confirmed_ms(world.cluster), 0);
	WAIT_FOR(&world, strstr(cluster_missing(world.cluster, words, sizeof(words)), "CustomResourceDefinitions"));
	assert_non_null(strstr(words, "memoryprofiles: not-found"));
	WAIT_FOR(&world, strstr(cluster_missing(world.cluster, words, sizeof(words)),
				"namespaces: forbidden: namespaces is forbidden (its ClusterRole"));
	assert_null(world.snapshot);
	go_on(&world, steps);
	WAIT_FOR(&world, cluster_is_synced(world.cluster));
	assert_string_equal(cluster_missing(world.cluster, words, sizeof(words)), "");
	WAIT_FOR(&world, world.snapshot);
	WAIT_FOR(&world, cluster_confirmed_ms(world.cluster) > 0);
	stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_come_in),
		cmocka_unit_test(test_lines_about_objects_are_limited),
		cmocka_unit_test(test_new_list_after_410),
		cmocka_unit_test(test_says_what_it_waits_for),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
