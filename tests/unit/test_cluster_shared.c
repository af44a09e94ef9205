/* SPDX-License-Identifier: Apache-2.0 */
/* What pods of one owner share: quotas, and their owner; as the API server tells them. */
#include "base/strbuf.h"
#include "cluster/cluster_internal.h"
#include "cluster_world.h"

#include <stdlib.h>

#define QUOTA(name, version, hard)                                                                                     \
	"{" META("ml", name, version) ",\"spec\":{\"hard\":{" hard "}},\"status\":{\"hard\":{" hard "}}}"
#define LIST_HEAD	       "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":["
#define SPACE_QUOTA(namespace) "{" META(namespace, "q", "1") ",\"spec\":{\"hard\":{\"requests.memory\":\"9Gi\"}}}"
#define POD(name, version, phase)                                                                                      \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"resourceVersion\":\"" version                     \
	"\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"job\","        \
	"\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":"             \
	"{\"memory\":\"2Gi\"}}}],\"overhead\":{\"memory\":\"1Gi\"}},\"status\":{\"phase\":\"" phase "\"}}"
#define JOB(version, status)                                                                                           \
	"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"j\","             \
	"\"uid\":\"job\",\"creationTimestamp\":\"2026-11-02T08:15:00Z\",\"resourceVersion\":\"" version                \
	"\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","                                                        \
	"\"kind\":\"CronJob\",\"name\":\"c\",\"uid\":\"cron\",\"controller\":true}]},\"spec\":{\"parallelism\":4,"     \
	"\"completions\":10,\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}},\"status\":{" status "}}"

static int64_t held_of(const struct world *world, int64_t *ret_pods)
{
	const struct owner_facts *root = world->snapshot ? snapshot_root_owner(world->snapshot, "job") : NULL;

	*ret_pods = root ? root->pods : 0;
	return root ? root->held[K8S_QUOTA_REQUESTS][K8S_MEMORY] / (int64_t)GIB : 0;
}

/* Pods are looked at where a quota counts memory, and only as long as it does; their owners always. */
static void test_quotas_come_and_go(void **state)
{
	static struct fake_step steps[] = {
		NOTHING(PROFILES),
		NOTHING(SHAPES),
		NOTHING(RANGES),
		NOTHING(CLASSES),
		{.fits = QUOTAS "?", .body = LIST("5", QUOTA("cpu", "1", "\"cpu\":\"5\""))},
		{.fits = QUOTAS "?watch",
		 .body = EVENT("ADDED", QUOTA("q", "6", "\"requests.memory\":\"9Gi\"")),
		 .end = FAKE_END},
		{.fits = QUOTAS "?watch", .status = 410, .body = "{}"},
		{.fits = QUOTAS "?", .status = 503, .body = "{}", .times = UNTIL_TOLD},
		{.fits = "/namespaces/ml/pods?",
		 .body = LIST("5",
			      POD("p1", "1", "Running") "," POD("p2", "2", "Running") "," POD("p3", "3", "Failed"))},
		{.fits = "/namespaces/ml/pods?watch",
		 .body = EVENT("MODIFIED", POD("p2", "6", "Succeeded")),
		 .end = FAKE_HOLD},
		{.fits = "GET /apis HTTP",
		 .body = "{\"groups\":[{\"name\":\"apps\",\"versions\":[{\"version\":\"v1\"}]},"
			 "{\"name\":\"batch\",\"versions\":[{\"version\":\"v1\"}]}]}"},
		{.fits = "GET /apis/batch/v1 HTTP",
		 .body = "{\"groupVersion\":\"batch/v1\",\"resources\":[{\"name\":\"jobs\",\"kind\":\"Job\",\"verbs\":"
			 "[\"list\",\"watch\"]},{\"name\":\"jobs/status\",\"kind\":\"Job\",\"verbs\":[\"get\"]},"
			 "{\"name\":\"cronjobs\",\"kind\":\"CronJob\",\"verbs\":[\"list\",\"watch\"]}]}"},
		{.fits = "/apis/batch/v1/jobs?", .body = LIST("5", JOB("1", "\"succeeded\":7"))},
		HELD("/apis/batch/v1/jobs"),
		NOTHING(SPACES),
		{.fits = QUOTAS "?", .body = LIST("50", QUOTA("cpu", "1", "\"cpu\":\"5\""))},
		HELD(QUOTAS),
		{0}};
	struct cluster_watch_state told;
	struct world world;
	int64_t pods;

	(void)state;
	start(&world, steps);
	/* of 10 completions 7 are there: three pods more; the root is the Job, each run of a CronJob is for itself */
	WAIT_FOR(&world, held_of(&world, &pods) == 3 && pods == 3);
	assert_int_equal(snapshot_root_owner(world.snapshot, "job")->ranks, 10);
	assert_int_equal(snapshot_root_owner(world.snapshot, "job")->created_ms, 1793607300000);
	/* the quota vanishes, and so do they */
	go_on(&world, steps);
	WAIT_FOR(&world, held_of(&world, &pods) == 0);
	assert_int_equal(pods, 3);
	cluster_watch_state(world.cluster, CLUSTER_PODS, &told);
	assert_int_equal(told.objects, 0);
	cluster_watch_state(world.cluster, CLUSTER_OWNERS, &told);
	assert_int_equal(told.objects, 1);
	assert_int_equal(fake_api_count(world.api, "cronjobs?"), 0);
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
}

/* A quota in each namespace from n0 on, as a list. */
static char *many_quotas(size_t n)
{
	struct strbuf text = STRBUF_INIT(MIB);

	for (size_t i = 0; i < n; i++)
		strbuf_addf(&text, "%s" SPACE_QUOTA("n%zu"), i ? "," : LIST_HEAD, i);
	strbuf_addf(&text, "]}");
	return strbuf_detach(&text);
}

static struct cluster_watch_state pods_told(const struct world *world)
{
	struct cluster_watch_state told;

	cluster_watch_state(world->cluster, CLUSTER_PODS, &told);
	return told;
}

/* One namespace more than pods are watched in: its turn comes when another one's quota goes. */
static void test_too_many_quotas(void **state)
{
	_Static_assert(LIMIT_QUOTA_NAMESPACES == 256, "the last one is n256");
	char *list = many_quotas(LIMIT_QUOTA_NAMESPACES + 1);
	struct fake_step steps[] = {NOTHING(PROFILES),
				    NOTHING(SHAPES),
				    NOTHING(RANGES),
				    NOTHING(CLASSES),
				    NOTHING(SPACES),
				    {.fits = QUOTAS "?watch", .status = 503, .body = "{}", .times = UNTIL_TOLD},
				    {.fits = QUOTAS "?watch",
				     .body = EVENT("ADDED", SPACE_QUOTA("n257")) EVENT("DELETED", SPACE_QUOTA("n0"))
					     EVENT("DELETED", SPACE_QUOTA("n1")),
				     .end = FAKE_HOLD},
				    {.fits = QUOTAS "?", .body = list, .times = 1000},
				    {.fits = "/namespaces/n256/pods?", .body = LIST("5", POD("p1", "1", "Running"))},
				    {.fits = "/namespaces/n257/pods?", .body = LIST("5", POD("p2", "1", "Running"))},
				    {.fits = "/pods?watch", .body = "", .end = FAKE_HOLD, .times = 1000},
				    {.fits = "/pods?", .body = LIST("1", ""), .times = 1000},
				    NO_KINDS,
				    {0}};
	struct world world;

	(void)state;
	start(&world, steps);
	WAIT_FOR(&world,
		 world.snapshot && snapshot_namespace(world.snapshot, "n256") && pods_told(&world).is_in_contact);
	assert_int_equal(pods_told(&world).objects, 0);
	go_on(&world, steps);
	WAIT_FOR(&world, pods_told(&world).objects == 2);
	stop(&world);
	free(list);
}

/* The second of three has very many owners. */
static char *pods_with_a_large_one(void)
{
	struct strbuf text = STRBUF_INIT(MIB);

	strbuf_adds(&text, LIST_HEAD POD("p1", "1", "Running") ",{\"metadata\":{\"namespace\":\"ml\",\"name\":\"p2\","
							       "\"resourceVersion\":\"2\",\"ownerReferences\":[{}");
	for (int i = 0; i < 2000; i++)
		strbuf_addf(&text, ",{\"uid\":\"%d\"}", i);
	strbuf_adds(&text, "]}}," POD("p3", "3", "Running") "]}");
	return strbuf_detach(&text);
}

/* It is no lack of memory, for which all lists would be asked for again, and the others are told. */
static void test_a_pod_too_large_is_passed_over(void **state)
{
	char *pods = pods_with_a_large_one();
	struct fake_step steps[] = {
		NOTHING(PROFILES),
		NOTHING(SHAPES),
		NOTHING(RANGES),
		NOTHING(CLASSES),
		NOTHING(SPACES),
		HELD(QUOTAS),
		{.fits = QUOTAS "?", .body = LIST("5", QUOTA("q", "5", "\"requests.memory\":\"9Gi\""))},
		{.fits = "/namespaces/ml/pods?watch", .body = "", .end = FAKE_HOLD},
		{.fits = "/namespaces/ml/pods?", .body = pods},
		{.fits = "GET /apis HTTP",
		 .body = "{\"groups\":[{\"name\":\"batch\",\"versions\":[{\"version\":\"v1\"}]}]}"},
		{.fits = "GET /apis/batch/v1 HTTP",
		 .body = "{\"groupVersion\":\"batch/v1\",\"resources\":[{\"name\":\"jobs\",\"kind\":\"Job\",\"verbs\":"
			 "[\"list\",\"watch\"]}]}"},
		{.fits = "/apis/batch/v1/jobs?", .body = LIST("5", JOB("1", ""))},
		HELD("/apis/batch/v1/jobs"),
		{0}};
	struct world world;
	int64_t n;

	(void)state;
	start(&world, steps);
	world.cluster->scratch.max_bytes = 64 * KIB;
	WAIT_FOR(&world, held_of(&world, &n) == 6 && pods_told(&world).is_in_contact);
	assert_int_equal(world.passed_over, 1);
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
	free(pods);
}

#define ODD(name, version)                                                                                             \
	"{" META("ml", name, version) ",\"spec\":{\"template\":{\"spec\":{\"priorityClassName\":\"\\u0000\"}}}}"
#define USED(name, version, used)                                                                                      \
	"{" META("ml", name, version) ",\"spec\":{\"hard\":{\"requests.memory\":\"9Gi\"}},\"status\":{\"hard\":{"      \
				      "\"requests.memory\":\"9Gi\"},\"used\":{\"requests.memory\":\"" used "\"}}}"

static int64_t used_now(const struct world *world)
{
	const struct namespace_facts *facts = world->snapshot ? snapshot_namespace(world->snapshot, "ml") : NULL;

	if (!facts || !facts->n_quotas)
		return -1;
	return facts->quotas[0]->amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY].used / (int64_t)GIB;
}

/* The status is behind the pods at first; then one of them has ended, and the status is ahead of the other. */
static void test_the_use_of_a_quota_is_the_larger_of_status_and_pods(void **state)
{
	static struct fake_step steps[] = {
		NOTHING(PROFILES),
		NOTHING(SHAPES),
		NOTHING(RANGES),
		NOTHING(CLASSES),
		NOTHING(SPACES),
		{.fits = QUOTAS "?watch", .status = 503, .body = "{}", .times = UNTIL_TOLD},
		{.fits = QUOTAS "?watch", .body = EVENT("MODIFIED", USED("q", "6", "5Gi")), .end = FAKE_HOLD},
		{.fits = QUOTAS "?", .times = 1000, .body = LIST("5", USED("q", "4", "1Gi"))},
		{.fits = "/namespaces/ml/pods?watch", .status = 503, .body = "{}", .times = UNTIL_TOLD},
		{.fits = "/namespaces/ml/pods?watch",
		 .body = EVENT("MODIFIED", POD("p2", "6", "Succeeded")),
		 .end = FAKE_HOLD},
		{.fits = "/namespaces/ml/pods?",
		 .times = 1000,
		 .body = LIST("5", POD("p1", "1", "Running") "," POD("p2", "2", "Running"))},
		NO_KINDS,
		{0}};
	struct world world;

	(void)state;
	start(&world, steps);
	WAIT_FOR(&world, used_now(&world) == 6);
	go_on(&world, steps);
	WAIT_FOR(&world, used_now(&world) == 5);
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
}

/* An owner that cannot be read stays unknown; one that could be read before stays as it was. */
static void test_owners_that_cannot_be_read(void **state)
{
	static struct fake_step steps[] = {
		NO_OBJECTS,
		{.fits = "GET /apis HTTP",
		 .body = "{\"groups\":[{\"name\":\"batch\",\"versions\":[{\"version\":\"v1\"}]}]}"},
		{.fits = "GET /apis/batch/v1 HTTP",
		 .body = "{\"groupVersion\":\"batch/v1\",\"resources\":[{\"name\":\"jobs\",\"kind\":\"Job\",\"verbs\":"
			 "[\"list\",\"watch\"]}]}"},
		{.fits = "/apis/batch/v1/jobs?",
		 .body = LIST("5", "{" META("ml", "old",
					    "5") ",\"spec\":{\"parallelism\":4,\"template\":{}}}," ODD("odd", "5"))},
		{.fits = "/apis/batch/v1/jobs?watch",
		 .body = EVENT("MODIFIED", ODD("old", "6")) EVENT("ADDED", JOB("7", "")),
		 .end = FAKE_HOLD},
		{0}};
	struct world world;

	(void)state;
	start(&world, steps);
	WAIT_FOR(&world, world.snapshot && snapshot_root_owner(world.snapshot, "job"));
	assert_int_equal(world.passed_over, 2);
	assert_null(snapshot_root_owner(world.snapshot, "odd"));
	assert_int_equal(snapshot_root_owner(world.snapshot, "old")->pods, 4);
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
}

#define SETS		 "/apis/jobset.x-k8s.io/"
#define SERVES(versions) "{\"groups\":[{\"name\":\"jobset.x-k8s.io\",\"versions\":[" versions "]}]}"
#define VERSION(version) "{\"version\":\"" version "\"}"
#define HAS_SETS(version)                                                                                              \
	"{\"groupVersion\":\"jobset.x-k8s.io/" version                                                                 \
	"\",\"resources\":[{\"name\":\"jobsets\",\"kind\":\"JobSet\",\"verbs\":"                                       \
	"[\"list\",\"watch\"]}]}"
#define JOB_SET(name) "{" META("ml", name, "5") ",\"spec\":{\"replicatedJobs\":[]}}"

/* A look that is under way is not begun anew, so it has to end first. */
static void look_again(struct world *world)
{
	while (world->cluster->discovery.call)
		poll_once(world);
	kube_timer_set(world->client, &world->cluster->discovery.timer, 0);
}

static bool knows(const struct world *world, const char *uid)
{
	return world->snapshot && snapshot_root_owner(world->snapshot, uid);
}

/* A new version that is served as well changes nothing; when the old one is served no more, it takes its place. */
static void test_another_version_is_served(void **state)
{
	static const struct fake_step steps[] = {
		NO_OBJECTS,
		{.fits = "GET /apis HTTP", .body = SERVES(VERSION("v1alpha2"))},
		{.fits = "GET /apis HTTP", .body = SERVES(VERSION("v1") "," VERSION("v1alpha2"))},
		{.fits = "GET /apis HTTP", .body = SERVES(VERSION("v1"))},
		{.fits = "GET " SETS "v1alpha2 HTTP", .body = HAS_SETS("v1alpha2"), .times = 2},
		{.fits = "GET " SETS "v1 HTTP", .body = HAS_SETS("v1"), .times = 2},
		{.fits = SETS "v1alpha2/jobsets?watch", .body = "", .end = FAKE_HOLD},
		{.fits = SETS "v1alpha2/jobsets?", .body = LIST("5", JOB_SET("old"))},
		{.fits = SETS "v1/jobsets?watch", .body = "", .end = FAKE_HOLD},
		{.fits = SETS "v1/jobsets?", .body = LIST("5", JOB_SET("new"))},
		{0}};
	struct world world;

	(void)state;
	start(&world, steps);
	WAIT_FOR(&world, knows(&world, "old"));
	look_again(&world);
	WAIT_FOR(&world, fake_api_count(world.api, "GET " SETS "v1alpha2 HTTP") == 2 && !world.cluster->discovery.call);
	assert_int_equal(fake_api_count(world.api, SETS "v1/jobsets"), 0);
	look_again(&world);
	WAIT_FOR(&world, knows(&world, "new"));
	assert_false(knows(&world, "old"));
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
}

#define KUEUE "/apis/kueue.x-k8s.io/"
#define HAS_KUEUE                                                                                                      \
	"{\"groups\":[{\"name\":\"kueue.x-k8s.io\",\"versions\":[{\"version\":\"v1beta2\"},{\"version\":\"v1beta1\"}]" \
	"}]}"
#define HAS_QUEUES(version)                                                                                            \
	"{\"groupVersion\":\"kueue.x-k8s.io/" version                                                                  \
	"\",\"resources\":[{\"name\":\"localqueues\",\"kind\":\"LocalQueue\",\"verbs\":[\"list\",\"watch\"]},"         \
	"{\"name\":\"clusterqueues\",\"kind\":\"ClusterQueue\",\"verbs\":[\"list\",\"watch\"]}]}"
#define LOCAL_QUEUE(name, version, queue) "{" META("ml", name, version) ",\"spec\":{\"clusterQueue\":\"" queue "\"}}"
#define RESOURCE(name, quota)		  "{\"name\":\"" name "\",\"nominalQuota\":" quota "}"
#define FLAVOR(name, resources)		  "{\"name\":\"" name "\",\"resources\":[" resources "]}"
#define CLUSTER_QUEUE(name, version, more, covered, flavors)                                                           \
	"{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"},\"spec\":{" more                    \
	"\"resourceGroups\":[{\"coveredResources\":[" covered "],\"flavors\":[" flavors "]}]}}"
#define MEMORY "\"cpu\",\"memory\""
#define COHORT "\"cohortName\":\"all\","

/* What the queue of namespace ml can admit of memory, in Gi; -1: the queue is not known. */
static int64_t most_of(const struct world *world, const char *queue)
{
	const struct queue_facts *facts = world->snapshot ? snapshot_queue(world->snapshot, "ml", queue) : NULL;

	return !facts ? -1 : facts->is_covered[K8S_MEMORY] ? facts->most[K8S_MEMORY] / (int64_t)GIB : -2;
}

static void test_what_queues_can_admit(void **state)
{
	static const struct fake_step steps[] = {
		NO_OBJECTS,
		{.fits = "GET /apis HTTP", .body = HAS_KUEUE},
		{.fits = "GET /apis HTTP", .body = "{\"groups\":[]}"},
		{.fits = "GET " KUEUE "v1beta2 HTTP", .body = HAS_QUEUES("v1beta2")},
		{.fits = "GET " KUEUE "v1beta1 HTTP", .body = HAS_QUEUES("v1beta1")},
		{.fits = KUEUE "v1beta2/localqueues?watch",
		 .body = EVENT("MODIFIED", LOCAL_QUEUE("moved", "6", "alone"))
			 EVENT("DELETED", LOCAL_QUEUE("gone", "7", "alone")),
		 .end = FAKE_HOLD},
		{.fits = KUEUE "v1beta2/localqueues?",
		 .body = LIST("5",
			      LOCAL_QUEUE("alone", "1", "alone") "," LOCAL_QUEUE("gpus", "1", "gpus") "," LOCAL_QUEUE("borrows", "1", "borrows") "," LOCAL_QUEUE(
				      "bounded", "1",
				      "bounded") "," LOCAL_QUEUE("moved", "1",
								 "gpus") "," LOCAL_QUEUE("gone", "1",
											 "alone") "," LOCAL_QUEUE("nowh"
														  "ere",
														  "1",
														  "miss"
														  "in"
														  "g"))},
		{.fits = KUEUE "v1beta2/clusterqueues?watch",
		 .body = EVENT("MODIFIED",
			       CLUSTER_QUEUE("alone", "6", "", MEMORY,
					     FLAVOR("a", RESOURCE("memory", "\"5Gi\"")) "," FLAVOR(
						     "b", RESOURCE("cpu", "9") "," RESOURCE("memory", "\"7Gi\"")))),
		 .end = FAKE_HOLD},
		{.fits = KUEUE "v1beta2/clusterqueues?",
		 .body = LIST(
			 "5",
			 CLUSTER_QUEUE("alone", "1", "", MEMORY, FLAVOR("a", RESOURCE("memory", "1024"))) "," CLUSTER_QUEUE("gpus", "1", "", "\"cpu\"", FLAVOR("a", RESOURCE("cpu", "9"))) "," CLUSTER_QUEUE(
				 "borrows", "1", COHORT, MEMORY,
				 FLAVOR("a",
					RESOURCE(
						"memory",
						"\"10Gi\""))) "," CLUSTER_QUEUE("bounded", "1", COHORT, MEMORY,
										FLAVOR("a",
										       RESOURCE(
											       "memory",
											       "\"20Gi\","
											       "\"borrowingLimit\":"
											       "\"3Gi\""))) "," CLUSTER_QUEUE("lends",
															      "1",
															      COHORT,
															      MEMORY,
															      FLAVOR("a", RESOURCE("memory", "\"40Gi\",\"lendingLimit\":\"4Gi\"")) "," FLAVOR(
																      "b",
																      RESOURCE(
																	      "memory",
																	      "\"99Gi\""))))},
		{0}};
	struct world world;

	(void)state;
	start(&world, steps);
	WAIT_FOR(&world,
		 most_of(&world, "alone") == 7 && most_of(&world, "moved") == 7 && most_of(&world, "gone") == -1);
	assert_int_equal(most_of(&world, "gpus"), -2);
	assert_int_equal(most_of(&world, "borrows"), 10 + 20 + 4); /* of its own flavor, as far as it is lent */
	assert_int_equal(most_of(&world, "bounded"), 20 + 3);
	assert_int_equal(most_of(&world, "nowhere"), -1);
	assert_int_equal(fake_api_count(world.api, KUEUE "v1beta1/"), 0);
	look_again(&world); /* Kueue was uninstalled */
	WAIT_FOR(&world, most_of(&world, "alone") == -1);
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quotas_come_and_go),
		cmocka_unit_test(test_too_many_quotas),
		cmocka_unit_test(test_a_pod_too_large_is_passed_over),
		cmocka_unit_test(test_the_use_of_a_quota_is_the_larger_of_status_and_pods),
		cmocka_unit_test(test_owners_that_cannot_be_read),
		cmocka_unit_test(test_another_version_is_served),
		cmocka_unit_test(test_what_queues_can_admit),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
