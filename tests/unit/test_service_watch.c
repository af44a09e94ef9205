/* SPDX-License-Identifier: Apache-2.0 */
/* What the recommender makes of what the API server tells of nodes and of pods that a quota refused. */
#include "service_fixture.h"

#include "base/attr.h"
#include "base/timefmt.h"
#include "service/ignored_namespaces.h"
#include "service/nodes.h"
#include "service/refusals.h"

#include <signal.h>
#include <string.h>

/* ---- nodes ---- */

#define FARGATE		  "\"eks.amazonaws.com/compute-type\":\"fargate\""
#define EVENT(type, node) "{\"type\":\"" type "\",\"object\":" node "}\n"

static void count_failure(void *context, const struct err *why)
{
	(void)why;
	++*(int *)context;
}

static int64_t accelerators_in(struct nodes *nodes, size_t *ret_n)
{
	struct shapes shapes = {.items = VEC_INIT};
	int64_t sum = 0;

	assert_int_equal(nodes_shapes(nodes, &shapes), 0);
	for (size_t i = 0; i < shapes.items.n; i++)
		sum += shapes.items.items[i].accelerators;
	*ret_n = shapes.items.n;
	vec_release(&shapes.items);
	return sum;
}

static void nodes_come_change_and_go(void **state)
{
	static const struct fake_step steps[] = {
		{"GET /api/v1/nodes?", .status = 500, .body = STATUS("500", "InternalError")},
		{"GET /api/v1/nodes?",
		 .body = LIST(NODE("b", "1", "", GPUS("8")) "," NODE("a", "2", "", "") "," NODE(
			 "f", "3", FARGATE, "") "," NODE("c", "4", "\"nvidia.com/gpu.present\":\"true\"", ""))},
		{"GET /api/v1/nodes?watch=",
		 .body = EVENT("MODIFIED", NODE("c", "11", "", GPUS("4")))
			 EVENT("ADDED", NODE("d", "12", "", GPUS("2"))) EVENT("DELETED", NODE("b", "13", "", GPUS("8")))
				 EVENT("ADDED", NODE("z", "14", "", GPUS("100"))),
		 .end = FAKE_HOLD},
		{.fits = NULL},
	};
	struct shapes none = {.items = VEC_INIT};
	struct nodes *nodes = NULL;
	struct world world;
	int failures = 0;
	size_t n;

	(void)state;
	world_start(&world, steps);
	assert_int_equal(nodes_start(world.client, count_failure, &failures, &nodes, NULL), 0);
	assert_int_equal(nodes_shapes(nodes, &none), 1);
	assert_int_equal(nodes_count(nodes), 0);
	while (!nodes_count(nodes))
		poll_once(&world);
	assert_int_equal(failures, 1);
	assert_int_equal(nodes_count(nodes), 4);
	assert_int_equal(accelerators_in(nodes, &n), 8);
	assert_int_equal(n, 2); /* the GPU node and the one without; not Fargate, nor the one that comes up */
	while (accelerators_in(nodes, &n) != 106)
		poll_once(&world);
	assert_int_equal(n, 4); /* a c d z */
	nodes_free(nodes);
	world_stop(&world);
}

/* ---- namespaces that people want to be ignored ---- */

#define IGNORED			 "GET /api/v1/namespaces?labelSelector=memtamer.io%2Fignore%3Dtrue"
#define NAMESPACE(name, version) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"

static void note_namespace(void *context, const char *namespace_name, bool is_ignored)
{
	char *said = context;

	snprintf(said + strlen(said), 64 - strlen(said), "%c%s ", is_ignored ? '+' : '-', namespace_name);
}

static void note_synced(void *context)
{
	note_namespace(context, "synced", true);
}

static void note_failed(void *context, const struct err *why)
{
	(void)why;
	note_namespace(context, "failed", false);
}

static void namespaces_are_ignored_while_they_have_the_label(void **state)
{
	static const struct fake_step steps[] = {
		{IGNORED "&watch=",
		 .body = EVENT("ADDED", NAMESPACE("c", "11")) EVENT("DELETED", NAMESPACE("a", "12"))
			 EVENT("MODIFIED", NAMESPACE("b", "13")),
		 .end = FAKE_HOLD},
		{IGNORED, .status = 403, .body = STATUS("403", "Forbidden")},
		{IGNORED, .body = LIST(NAMESPACE("a", "1") "," NAMESPACE("b", "2"))},
		{.fits = NULL},
	};
	static const char *const rows[] = {"a", "b", "c", "d"};
	struct ignored_namespaces_config config = {
		.changed = note_namespace, .synced = note_synced, .failed = note_failed};
	struct ignored_namespaces *ignored = NULL;
	char said[64] = "";
	struct world world;

	(void)state;
	config.context = said;
	world_start(&world, steps);
	assert_int_equal(ignored_namespaces_start(world.client, &config, &ignored, NULL), 0);
	assert_int_equal(ignored_namespaces_find(ignored, "a"), ENGINE_LEFT_OUT_UNKNOWN);
	while (!strstr(said, "-a"))
		poll_once(&world);
	assert_string_equal(said, "-failed +a +b +synced +c -a ");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(ignored_namespaces_find(ignored, rows[i]) == ENGINE_LEFT_OUT,
				 streq(rows[i], "b") || streq(rows[i], "c"));
	ignored_namespaces_free(ignored);
	world_stop(&world);
}

/* ---- owners that a quota refused ---- */

static void refusals_are_read(void **state)
{
	static const struct {
		const char *message;
		bool is_ours;
	} rows[] = {
		{"pods \"a\" is forbidden: exceeded quota: q, requested: requests.memory=2Gi, used: "
		 "requests.memory=3Gi, "
		 "limited: requests.memory=4Gi",
		 true},
		{"exceeded quota: q, requested: limits.memory=2Gi,pods=1, used: limits.memory=3Gi,pods=1, limited: "
		 "pods=1",
		 true},
		{"exceeded quota: q, requested: memory=2Gi, used: memory=3Gi, limited: memory=4Gi", true},
		{"exceeded quota: q, requested: pods=1, used: pods=9,requests.memory=3Gi, limited: pods=9", false},
		{"exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=9, limited: requests.cpu=9", false},
		{"pods \"a\" is forbidden: must specify limits.memory for: main; requests.memory for: main", false},
		{"exceeded quota: q", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(refusals_is_memory_quota(rows[i].message), rows[i].is_ours);
}

static void note_refused(void *context, const char *namespace_name, const char *uid)
{
	char *said = context;

	snprintf(said + strlen(said), 64 - strlen(said), "%s/%s ", namespace_name, uid);
}

static void fail_loudly(void *context, const struct err *why)
{
	(void)context;
	fail_msg("%s", why->msg);
}

static bool is_marked(struct refusals *refusals, const char *namespace_name, const char *owner_uid)
{
	const struct evidence_window window = {.end_ms = 1000, .is_open = true};
	struct evidence_batch batch;
	struct pod *pod;
	bool is_marked;

	evidence_batch_init(&batch, &window);
	pod = evidence_pod_put(&batch, namespace_name, "train-y", "u");
	assert_non_null(pod);
	pod->owner_kind = "Job";
	pod->owner_name = "train";
	pod->owner_uid = owner_uid;
	refusals_mark(refusals, &batch);
	is_marked = pod->ends & END_QUOTA;
	evidence_batch_release(&batch);
	return is_marked;
}

/* A Job that was deleted and made again is another owner, and so is one of the same uid elsewhere. */
static void a_refusal_is_of_one_owner_not_of_a_name(void **state)
{
	static const struct fake_step steps[] = {
		{"GET /api/v1/events?fieldSelector=reason%3DFailedCreate&watch=", .body = "", .end = FAKE_HOLD},
		{"GET /api/v1/events?fieldSelector=reason%3DFailedCreate",
		 .body = LIST(REFUSED("e1", "monday") "," REFUSED("e2", "monday"))},
		{.fits = NULL},
	};
	struct refusals_config config = {.refused = note_refused, .failed = fail_loudly};
	struct refusals *refusals = NULL;
	char said[64] = "";
	struct world world;

	(void)state;
	config.context = said;
	world_start(&world, steps);
	assert_int_equal(refusals_start(world.client, &config, &refusals, NULL), 0);
	while (!fake_api_count(world.api, "watch="))
		poll_once(&world);
	assert_string_equal(said, "ml/monday ");
	assert_true(is_marked(refusals, "ml", "monday"));
	assert_false(is_marked(refusals, "ml", "tuesday"));
	assert_false(is_marked(refusals, "other", "monday"));
	assert_false(is_marked(refusals, "ml", ""));
	refusals_free(refusals);
	world_stop(&world);
}

static _Atomic int64_t refusals_clock_ms;

static int64_t read_refusals_clock(void)
{
	return refusals_clock_ms;
}

static void let_time_pass(void *context, const char *namespace_name, const char *uid)
{
	(void)context, (void)namespace_name, (void)uid;
	refusals_clock_ms += 8 * TIME_HOUR_MS;
}

/* What is told again stays, and what nobody tells of any more goes within a day. */
static void refusals_are_forgotten_after_a_day(void **state)
{
	static const struct fake_step steps[] = {
		{"GET /api/v1/events?fieldSelector=reason%3DFailedCreate&watch=", .body = "", .end = FAKE_HOLD},
		{"GET /api/v1/events?fieldSelector=reason%3DFailedCreate",
		 .body = LIST(REFUSED("e1", "a") "," REFUSED("e2", "b") "," REFUSED("e3", "c") "," REFUSED(
			 "e4", "a") "," REFUSED("e5", "d") "," REFUSED("e6", "e"))},
		{.fits = NULL},
	};
	const struct refusals_config config = {.refused = let_time_pass, .failed = fail_loudly};
	struct refusals *refusals = NULL;
	struct world world = {.api = fake_api_start(steps)};

	(void)state;
	refusals_clock_ms = 20000 * TIME_DAY_MS;
	world.server.url = fake_api_url(world.api);
	assert_int_equal(kube_client_new(&world.server, &(struct kube_client_config){.now_ms = read_refusals_clock},
					 &world.client, NULL),
			 0);
	assert_int_equal(refusals_start(world.client, &config, &refusals, NULL), 0);
	while (!fake_api_count(world.api, "watch="))
		poll_once(&world);
	assert_true(is_marked(refusals, "ml", "a"));
	assert_false(is_marked(refusals, "ml", "b"));
	assert_true(is_marked(refusals, "ml", "c"));
	assert_true(is_marked(refusals, "ml", "e"));
	refusals_free(refusals);
	world_stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_come_change_and_go),
		cmocka_unit_test(namespaces_are_ignored_while_they_have_the_label),
		cmocka_unit_test(refusals_are_read),
		cmocka_unit_test(a_refusal_is_of_one_owner_not_of_a_name),
		cmocka_unit_test(refusals_are_forgotten_after_a_day),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
