/* SPDX-License-Identifier: Apache-2.0 */
/* VerticalPodAutoscalers, as the API server tells them. */
#include "base/strbuf.h"
#include "cluster/cluster_internal.h"
#include "cluster_world.h"

#include <stdlib.h>

#define VPAS	  "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"
#define LIST_HEAD "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":["
#define HAS_BOTH                                                                                                       \
	{                                                                                                              \
		.fits = "GET /apis HTTP",                                                                              \
		.body = "{\"groups\":[{\"name\":\"autoscaling.k8s.io\",\"versions\":[{\"version\":\"v1\"}]},"          \
			"{\"name\":\"batch\",\"versions\":[{\"version\":\"v1\"}]}]}"                                   \
	}
#define HAS_VPAS                                                                                                       \
	{                                                                                                              \
		.fits = "GET /apis/autoscaling.k8s.io/v1 HTTP",                                                        \
		.body = "{\"groupVersion\":\"autoscaling.k8s.io/v1\",\"resources\":[{\"name\":"                        \
			"\"verticalpodautoscalers\",\"kind\":\"VerticalPodAutoscaler\",\"verbs\":[\"list\","           \
			"\"watch\"]}]}"                                                                                \
	}
#define HAS_ONLY_VPAS                                                                                                  \
	{.fits = "GET /apis HTTP",                                                                                     \
	 .body = "{\"groups\":[{\"name\":\"autoscaling.k8s.io\",\"versions\":[{\"version\":\"v1\"}]}]}"},              \
		HAS_VPAS
#define HAS_JOBS                                                                                                       \
	{                                                                                                              \
		.fits = "GET /apis/batch/v1 HTTP",                                                                     \
		.body = "{\"groupVersion\":\"batch/v1\",\"resources\":[{\"name\":\"jobs\",\"kind\":\"Job\",\"verbs\":" \
			"[\"list\",\"watch\"]}]}"                                                                      \
	}
#define JOB                                                                                                            \
	"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"by-hand\","       \
	"\"uid\":\"job\",\"resourceVersion\":\"1\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","                 \
	"\"kind\":\"CronJob\",\"name\":\"nightly\",\"uid\":\"cron\",\"controller\":true}]},\"spec\":{\"template\":{}}" \
	"}"
#define VPA(name, version, kind, target, more)                                                                         \
	"{" META("ml", name, version) ",\"spec\":{\"targetRef\":{\"kind\":\"" kind "\",\"name\":\"" target "\"}" more  \
				      "},\"status\":{\"recommendation\":{\"seen\":" version "}}}"
#define AFTER "resourceVersion=7&timeoutSeconds="
#define OFF   ",\"updatePolicy\":{\"updateMode\":\"Off\"}"

#define FOUR  "{},{},{},{},"
#define EIGHT FOUR FOUR
/* One more than LIMIT_VPA_POLICIES. */
#define MANY EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT "{}"

#define BEFORE                                                                                                         \
	VPA("cron", "1", "CronJob", "nightly", "")                                                                     \
	"," VPA("off", "1", "Job", "off", OFF) "," VPA("stays", "1", "Job", "stays", "") "," VPA(                      \
		"turned-off", "1", "Job", "turned-off",                                                                \
		"") "," VPA("moved", "1", "Job", "here",                                                               \
			    "") "," VPA("gone", "1", "Job", "gone",                                                    \
					"") "," VPA("broken", "1", "Job", "b",                                         \
						    ",\"resourcePolicy\":{\"containerPolicies\":[" MANY "]}")
#define CHANGES                                                                                                        \
	EVENT("MODIFIED", VPA("stays", "6", "Job", "stays", ""))                                                       \
	EVENT("MODIFIED", VPA("turned-off", "7", "Job", "turned-off", OFF))                                            \
	EVENT("MODIFIED", VPA("moved", "8", "Job", "there", ""))                                                       \
	EVENT("DELETED", VPA("gone", "9", "Job", "gone", "")) EVENT("ADDED", VPA("new", "10", "Job", "new", ""))

/* The name of what is found for the pods of a Job; "" when nothing is. */
static const char *found_for(const struct world *world, const char *name, const char *uid)
{
	const struct k8s_owner controller = {.kind = "Job", .name = name, .uid = uid};
	const struct k8s_vpa *vpa = world->snapshot ? snapshot_vpa(world->snapshot, "ml", &controller) : NULL;

	return vpa ? vpa->name : "";
}

static void test_they_come_and_go(void **state)
{
	static struct fake_step steps[] = {NO_OBJECTS,
					   HAS_BOTH,
					   {.fits = "GET /apis HTTP", .body = "{\"groups\":[]}"},
					   HAS_VPAS,
					   HAS_JOBS,
					   {.fits = "/apis/batch/v1/jobs?", .body = LIST("5", JOB)},
					   HELD("/apis/batch/v1/jobs"),
					   {.fits = VPAS "?watch", .status = 503, .body = "{}", .times = UNTIL_TOLD},
					   {.fits = VPAS "?watch", .body = CHANGES, .end = FAKE_HOLD},
					   {.fits = VPAS "?", .times = 1000, .body = LIST("5", BEFORE)},
					   {0}};
	struct world world;

	(void)state;
	start(&world, steps);
	WAIT_FOR(&world, *found_for(&world, "stays", "u") && *found_for(&world, "by-hand", "job"));
	assert_string_equal(found_for(&world, "by-hand", "job"), "cron");
	assert_string_equal(found_for(&world, "off", "u"), "");
	assert_string_equal(found_for(&world, "turned-off", "u"), "turned-off");
	assert_string_equal(found_for(&world, "here", "u"), "moved");
	assert_int_equal(world.passed_over, 1);
	go_on(&world, steps);
	WAIT_FOR(&world, *found_for(&world, "new", "u"));
	assert_string_equal(found_for(&world, "stays", "u"), "stays");
	assert_string_equal(found_for(&world, "turned-off", "u"), "");
	assert_string_equal(found_for(&world, "here", "u"), "");
	assert_string_equal(found_for(&world, "there", "u"), "moved");
	assert_string_equal(found_for(&world, "gone", "u"), "");
	/* the CustomResourceDefinition is deleted */
	kube_timer_set(world.client, &world.cluster->discovery.timer, 0);
	WAIT_FOR(&world, !*found_for(&world, "stays", "u"));
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
}

/* Its recommender writes the status of each once a minute. */
static void test_a_status_makes_no_snapshot(void **state)
{
	static struct fake_step steps[] = {
		NO_OBJECTS,
		HAS_ONLY_VPAS,
		{.fits = VPAS "?watch", .status = 503, .body = "{}", .times = UNTIL_TOLD},
		{.fits = VPAS "?watch",
		 .body = EVENT("MODIFIED", VPA("a", "6", "Job", "a", ""))
			 EVENT("MODIFIED", VPA("a", "7", "Job", "a", "")),
		 .end = FAKE_END},
		/* asked for once what came before was taken */
		{.fits = AFTER, .body = "", .end = FAKE_HOLD},
		{.fits = VPAS "?", .body = LIST("5", VPA("a", "1", "Job", "a", "")), .times = 1000},
		{0}};
	struct world world;
	size_t before;

	(void)state;
	start(&world, steps);
	WAIT_FOR(&world, *found_for(&world, "a", "u"));
	before = world.built;
	go_on(&world, steps);
	WAIT_FOR(&world, fake_api_count(world.api, AFTER) == 1 && !world.cluster->timer.is_set);
	assert_int_equal(world.built, before);
	stop(&world);
}

static void test_too_many(void **state)
{
	static const char *const last[] = {"v9999", "v10000"};
	struct strbuf text = STRBUF_INIT(4 * MIB);
	struct world world;

	(void)state;
	_Static_assert(LIMIT_VPAS == 10000, "the last one is v9999");
	for (size_t i = 0; i <= LIMIT_VPAS; i++)
		strbuf_addf(
			&text,
			"%s{" META("ml", "v%zu", "1") ",\"spec\":{\"targetRef\":{\"kind\":\"Job\",\"name\":\"v%zu\"}}}",
			i ? "," : LIST_HEAD, i, i, i);
	strbuf_adds(&text, "]}");
	{
		char *list = strbuf_detach(&text);
		struct fake_step steps[] = {
			NO_OBJECTS, HAS_ONLY_VPAS, HELD(VPAS), {.fits = VPAS "?", .body = list}, {0}};

		start(&world, steps);
		WAIT_FOR(&world, *found_for(&world, last[0], "u"));
		assert_string_equal(found_for(&world, last[1], "u"), "");
		assert_int_equal(world.passed_over, 1);
		stop(&world);
		free(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_they_come_and_go),
		cmocka_unit_test(test_a_status_makes_no_snapshot),
		cmocka_unit_test(test_too_many),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
