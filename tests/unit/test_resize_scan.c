/* SPDX-License-Identifier: Apache-2.0 */
/* Which containers ask for a resize, by pods as the API server tells them and by what Prometheus said of their use. */
#include "support/test.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "model/identity.h"
#include "policy/annotation.h"
#include "policy/decide.h"
#include "resize/resize_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MI ((int64_t)MIB)

/* ---- pods ---- */

#define POD_HEAD(name, uid, policy, limit) POD_WITH(name, uid, policy, limit, "")
#define POD_WITH(name, uid, policy, limit, more)                                                                       \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"team-a\",\"name\":\"" name              \
	"\",\"uid\":\"" uid "\",\"labels\":{\"memtamer.io/training\":\"true\"},"                                       \
	"\"creationTimestamp\":\"2026-11-01T00:00:00Z\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","            \
	"\"kind\":\"Job\",\"name\":\"train\",\"uid\":\"j1\",\"controller\":true}]},\"spec\":{\"nodeName\":\"n1\","     \
	"\"restartPolicy\":\"" policy "\",\"containers\":[{\"name\":\"main\",\"image\":\"i\"" more ",\"resources\":"   \
	"{\"requests\":{\"memory\":\"32Mi\"},\"limits\":{\"memory\":\"" limit "\"}}}]},\"status\":{"                   \
	"\"phase\":\"Running\",\"startTime\":\"2026-11-01T00:00:01Z\",\"containerStatuses\":[{\"name\":\"main\","
#define RULE(operator_)                                                                                                \
	",\"restartPolicy\":\"Never\",\"restartPolicyRules\":[{\"action\":\"RestartAllContainers\",\"exitCodes\":{"    \
	"\"operator\":\"" operator_ "\",\"values\":[137]}}]"
#define RUNS "\"restartCount\":0,\"state\":{\"running\":{\"startedAt\":\"2026-11-01T00:00:02Z\"}}}]}}"
#define ENDED(at)                                                                                                      \
	"{\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"startedAt\":\"2026-11-01T00:00:02Z\","           \
	"\"finishedAt\":\"" at "\"}}"
#define KILLED "\"restartCount\":0,\"state\":" ENDED("2026-11-01T00:00:05Z") "}]}}"
#define KILLED_ONCE                                                                                                    \
	"\"restartCount\":1,\"state\":{\"running\":{\"startedAt\":\"2026-11-01T00:00:06Z\"}},\"lastState\":" ENDED(    \
		"2026-11-01T00:00:05Z") "}]}}"
#define KILLED_TWICE                                                                                                   \
	"\"restartCount\":2,\"state\":{\"running\":{\"startedAt\":\"2026-11-01T00:00:16Z\"}},\"lastState\":" ENDED(    \
		"2026-11-01T00:00:15Z") "}]}}"

#define ID(digits) digits digits digits digits digits digits digits digits
#define FIRST_ID   ID("0a1b2c3d")
#define SECOND_ID  ID("9f8e7d6c")
#define RESTARTED(count)                                                                                               \
	"\"containerID\":\"containerd://" SECOND_ID "\",\"restartCount\":" count                                       \
	",\"state\":{\"running\":{\"startedAt\":\"2026-11-01T00:00:06Z\"}}}]}}"

struct world {
	struct resize_scan *scan;
	struct sighting *pod, *other; /* at most two */
	struct resize_ask asks[8];
	size_t n_asks;
	struct {
		int64_t used, cache;
		double slope, cache_slope;
		const char *cgroup;
	} use;
	int64_t usual_ms;
	int usage_status, post_status;
	const char *refused_pod; /* the pod that post_status is for; NULL: all */
	size_t n_usages, n_usuals, n_used_pods;
	int64_t used_bytes; /* of the other pod, as told */
};

static void world_visit(void *context, pods_visit_fn *visit, void *visit_context)
{
	struct world *world = context;

	if (world->pod && visit(visit_context, world->pod) && world->other)
		(void)visit(visit_context, world->other);
}

static void add_row(struct usage *usage, const char *pod, const char *container, const struct world *world)
{
	struct usage_row *row = arena_array(&usage->arena, 1, sizeof(*row));

	assert_non_null(row);
	*row = (struct usage_row){.namespace_name = "team-a",
				  .pod = pod,
				  .container = container,
				  .cgroup = world->use.cgroup ? world->use.cgroup : "",
				  .working_set_bytes = world->use.used,
				  .active_file_bytes = world->use.cache,
				  .slope = world->use.slope,
				  .active_file_slope = world->use.cache_slope,
				  .has_slope = true};
	assert_int_equal(vec_push(&usage->rows, row), 0);
}

static int world_usage(void *context, int64_t now_ms, int64_t window_ms, const char *const *namespaces,
		       size_t n_namespaces, struct usage *ret, struct err *err)
{
	struct world *world = context;

	(void)now_ms;
	assert_int_equal(window_ms, 60000);
	assert_int_equal(n_namespaces, 1);
	assert_string_equal(namespaces[0], "team-a");
	world->n_usages++;
	if (world->usage_status)
		return err_set(err, world->usage_status, "no answer");
	add_row(ret, "another", "main", world);
	add_row(ret, "train-x", "helper", world);
	add_row(ret, "train-x", "main", world);
	return 0;
}

static int world_pod_usage(void *context, int64_t now_ms, struct usage *ret, struct err *err)
{
	(void)now_ms;
	(void)err;
	add_row(ret, "another", "", context);
	return 0;
}

static void world_usual(void *context, const struct resize_workload *workload, struct resize_usual *ret)
{
	struct world *world = context;

	assert_string_equal(workload->namespace_name, "team-a");
	assert_string_equal(workload->container, "main");
	assert_string_equal(workload->identity->keys[0].text, "Job/train");
	world->n_usuals++;
	ret->duration_ms = world->usual_ms;
}

static int world_post(void *context, const struct resize_ask *ask)
{
	struct world *world = context;

	if (world->post_status && (!world->refused_pod || streq(world->refused_pod, ask->pod)))
		return world->post_status;
	assert_true(world->n_asks < ARRAY_LEN(world->asks));
	world->asks[world->n_asks++] = *ask;
	return 0;
}

static void world_set_used(void *context, struct resize_used *take_used)
{
	struct world *world = context;
	const int64_t *used = strmap_get(&take_used->pods, "team-a/another");

	world->n_used_pods = take_used->pods.n;
	world->used_bytes = used ? *used : -1;
	take_used->free(take_used);
}

static void world_start(struct world *world, enum resize_mode mode)
{
	const struct resize_scan_config config = {
		.mode = mode,
		.look_ms = 8000,
		.window_ms = 60000,
		.visit = world_visit,
		.usage = world_usage,
		.pod_usage = world_pod_usage,
		.usual = world_usual,
		.post = world_post,
		.set_used = world_set_used,
		.context = world,
	};

	*world = (struct world){.n_asks = 0};
	assert_int_equal(resize_scan_new(&config, &world->scan, NULL), 0);
}

static void world_stop(struct world *world)
{
	resize_scan_free(world->scan);
	sighting_free(world->pod);
	sighting_free(world->other);
}

static void tell_one(struct sighting **pod, const char *text)
{
	struct arena arena = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	const struct sighting_look look_ = {.before = *pod, .now_ms = 1793491300000};
	struct sighting *now = NULL;

	assert_int_equal(sighting_read(text, strlen(text), &look_, &arena, &now, NULL), 0);
	assert_non_null(now);
	sighting_free(*pod);
	*pod = now;
	arena_release(&arena);
}

/* The API server tells the pod. */
static void tell(struct world *world, const char *text)
{
	tell_one(&world->pod, text);
}

/* ---- kills ---- */

static void each_kill_at_the_limit_asks_once(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, RESIZE_ON_OOM);
	tell(&world, POD_HEAD("train-x", "u1", "OnFailure", "64Mi") RUNS);
	assert_int_equal(resize_scan_kills(world.scan, NULL), 0);
	assert_int_equal(world.n_asks, 0);
	tell(&world, POD_HEAD("train-x", "u1", "OnFailure", "64Mi") KILLED_ONCE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(resize_scan_kills(world.scan, NULL), 0);
	assert_int_equal(world.n_asks, 1);
	assert_int_equal(world.asks[0].kind, RESIZE_KIND_OOM);
	assert_int_equal(world.asks[0].killed_bytes, 64 * MI);
	assert_string_equal(world.asks[0].uid, "u1");
	assert_string_equal(world.asks[0].container, "main");
	assert_string_equal(world.asks[0].root.kind, "Job");
	/* Nothing came of it, and it is killed again. */
	tell(&world, POD_HEAD("train-x", "u1", "OnFailure", "64Mi") KILLED_TWICE);
	assert_int_equal(resize_scan_kills(world.scan, NULL), 0);
	assert_int_equal(world.n_asks, 2);
	/* Raised. */
	tell(&world, POD_HEAD("train-x", "u1", "OnFailure", "128Mi") KILLED_TWICE);
	assert_int_equal(resize_scan_kills(world.scan, NULL), 0);
	assert_int_equal(world.n_asks, 2);
	assert_int_equal(resize_scan_next_ms(world.scan), INT64_MAX);
	world_stop(&world);
}

static void what_was_not_taken_is_asked_again(void **state)
{
	static const struct {
		int posted, status;
	} rows[] = {{-EAGAIN, -EAGAIN}, {-ENOMEM, -ENOMEM}, {1, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;

		world_start(&world, RESIZE_ON_OOM);
		tell(&world, POD_HEAD("train-x", "u1", "OnFailure", "64Mi") KILLED_ONCE);
		world.post_status = rows[i].posted;
		assert_int_equal(resize_scan_kills(world.scan, NULL), rows[i].status);
		world.post_status = 0;
		for (int again = 0; again < 2; again++)
			assert_int_equal(resize_scan_kills(world.scan, NULL), 0);
		assert_int_equal(world.n_asks, 1);
		world_stop(&world);
	}
}

static void who_is_not_asked_for(void **state)
{
	static const struct {
		const char *name, *pod;
		enum resize_mode mode;
		size_t n;
	} rows[] = {
		{"restarts", POD_HEAD("train-x", "u1", "OnFailure", "64Mi") KILLED_ONCE, RESIZE_ON_OOM, 1},
		{"restarts always", POD_HEAD("train-x", "u1", "Always", "64Mi") KILLED_ONCE, RESIZE_ON_OOM, 1},
		{"is about to restart", POD_HEAD("train-x", "u1", "OnFailure", "64Mi") KILLED, RESIZE_ON_OOM, 1},
		{"never restarts", POD_HEAD("train-x", "u1", "Never", "64Mi") KILLED, RESIZE_ON_OOM, 0},
		{"has a rule to restart", POD_WITH("train-x", "u1", "Never", "64Mi", RULE("In")) KILLED, RESIZE_ON_OOM,
		 1},
		{"has no rule for a kill", POD_WITH("train-x", "u1", "Never", "64Mi", RULE("NotIn")) KILLED,
		 RESIZE_ON_OOM, 0},
		{"has a policy of its own",
		 POD_WITH("train-x", "u1", "Never", "64Mi", ",\"restartPolicy\":\"OnFailure\"") KILLED, RESIZE_ON_OOM,
		 1},
		{"never restarts, unlike its pod",
		 POD_WITH("train-x", "u1", "OnFailure", "64Mi", ",\"restartPolicy\":\"Never\"") KILLED, RESIZE_ON_OOM,
		 0},
		{"was restarted by a rule of another", POD_HEAD("train-x", "u1", "Never", "64Mi") KILLED_ONCE,
		 RESIZE_ON_OOM, 1},
		{"is off", POD_HEAD("train-x", "u1", "OnFailure", "64Mi") KILLED_ONCE, RESIZE_OFF, 0},
		{"was not killed", POD_HEAD("train-x", "u1", "OnFailure", "64Mi") RUNS, RESIZE_ON_OOM, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;

		test_row(rows[i].name);
		world_start(&world, rows[i].mode);
		tell(&world, rows[i].pod);
		assert_int_equal(resize_scan_kills(world.scan, NULL), 0);
		assert_int_equal(world.n_asks, rows[i].n);
		world_stop(&world);
	}
}

/* ---- what rises ---- */

static void use(struct world *world, int64_t used_mi, double slope_mi)
{
	world->use.used = used_mi * MI;
	world->use.slope = slope_mi * (double)MI;
}

static void look(struct world *world, int64_t monotonic_ms)
{
	assert_int_equal(resize_scan_ramps(world->scan, monotonic_ms, 1793491300000, NULL), 0);
}

static void a_step_is_asked_for_once(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, RESIZE_BEFORE_OOM);
	tell(&world, POD_HEAD("train-x", "u1", "Never", "100Mi") RUNS);
	use(&world, 40, 1);
	look(&world, 1000);
	assert_int_equal(world.n_usages, 1);
	assert_int_equal(world.n_usuals, 0); /* far from its limit: nobody reads its history */
	use(&world, 80, 1);
	look(&world, 2000); /* too early */
	assert_int_equal(world.n_usages, 1);
	look(&world, 9000);
	assert_int_equal(world.n_asks, 1);
	assert_int_equal(world.asks[0].kind, RESIZE_KIND_BEFORE);
	assert_int_equal(world.asks[0].want_bytes, 150 * MI);
	assert_string_equal(world.asks[0].node, "n1");
	assert_int_equal(world.n_used_pods, 1);
	assert_int_equal(world.used_bytes, 80 * MI);
	look(&world, 17000); /* asked for, nothing has come of it yet */
	assert_int_equal(world.n_asks, 1);
	/* Raised: not again while use is below the limit before. */
	tell(&world, POD_HEAD("train-x", "u1", "Never", "110Mi") RUNS);
	use(&world, 95, 1);
	look(&world, 25000);
	assert_int_equal(world.n_asks, 1);
	use(&world, 105, 1);
	look(&world, 33000);
	assert_int_equal(world.n_asks, 2);
	assert_int_equal(world.n_usuals, 1);
	/* Not raised: again after some minutes. */
	look(&world, 41000);
	assert_int_equal(world.n_asks, 2);
	look(&world, 33000 + 2 * TIME_MINUTE_MS);
	assert_int_equal(world.n_asks, 3);
	world_stop(&world);
}

static void a_step_that_was_not_accepted_is_asked_again(void **state)
{
	static const struct {
		int posted, status;
	} rows[] = {{-EAGAIN, -EAGAIN}, {-ENOMEM, -ENOMEM}, {1, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;

		world_start(&world, RESIZE_BEFORE_OOM);
		tell(&world, POD_HEAD("train-x", "u1", "Never", "100Mi") RUNS);
		tell_one(&world.other, POD_HEAD("another", "u2", "Never", "100Mi") RUNS);
		use(&world, 80, 1);
		world.post_status = rows[i].posted;
		world.refused_pod = "another";
		assert_int_equal(resize_scan_ramps(world.scan, 0, 1793491300000, NULL), rows[i].status);
		assert_int_equal(world.n_asks, 1); /* those after it are asked for */
		assert_string_equal(world.asks[0].pod, "train-x");
		world.post_status = 0;
		look(&world, 8000);
		assert_int_equal(world.n_asks, 2);
		assert_string_equal(world.asks[1].pod, "another");
		look(&world, 16000);
		assert_int_equal(world.n_asks, 2);
		world_stop(&world);
	}
}

static void what_counts_as_use(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, RESIZE_BEFORE_OOM);
	tell(&world, POD_HEAD("train-x", "0b5e4d1c-0000-4000-8000-000000000001", "Never", "100Mi") RUNS);
	/* Page cache. */
	use(&world, 95, 1);
	world.use.cache = 60 * MI;
	look(&world, 0);
	world.use.cache = 10 * MI;
	world.use.cache_slope = (double)MI;
	look(&world, 8000);
	assert_int_equal(world.n_asks, 0);
	/* A pod of this name that was there before. */
	world.use.cache = 0;
	world.use.cache_slope = 0;
	world.use.cgroup = "/kubepods/burstable/pod0b5e4d1c-0000-4000-8000-000000000002/x";
	look(&world, 16000);
	assert_int_equal(world.n_asks, 0);
	world.use.cgroup = "/kubepods/burstable/pod0b5e4d1c-0000-4000-8000-000000000001/x";
	look(&world, 24000);
	assert_int_equal(world.n_asks, 1);
	world_stop(&world);
}

static void a_dead_container_is_not_what_runs(void **state)
{
#define SLICE "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu1.slice/"
	static const struct {
		const char *name, *cgroup, *pod;
		int64_t now_ms;
		size_t n;
	} rows[] = {
		{"its cgroup", SLICE "cri-containerd-" FIRST_ID ".scope", RESTARTED("1"), 1793491300000, 0},
		{"later", SLICE "cri-containerd-" FIRST_ID ".scope", RESTARTED("1"), 1793491600000, 0},
		{"the new one's", SLICE "cri-containerd-" SECOND_ID ".scope", RESTARTED("1"), 1793491300000, 1},
		{"of cgroupfs", "/kubepods/burstable/podu1/" SECOND_ID, RESTARTED("1"), 1793491300000, 1},
		{"not told", "", RESTARTED("1"), 1793491300000, 0},
		{"not told, later", "", RESTARTED("1"), 1793491600000, 1},
		{"not told, never restarted", "", RESTARTED("0"), 1793491300000, 1},
		{"its id is not told", "/kubepods/burstable/podu1/" FIRST_ID, KILLED_ONCE, 1793491300000, 0},
	};
#undef SLICE

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;
		char text[4096];

		test_row(rows[i].name);
		world_start(&world, RESIZE_BEFORE_OOM);
		snprintf(text, sizeof(text), "%s%s", POD_HEAD("train-x", "u1", "OnFailure", "100Mi"), rows[i].pod);
		tell(&world, text);
		use(&world, 95, 1);
		world.use.cgroup = rows[i].cgroup;
		assert_int_equal(resize_scan_ramps(world.scan, 0, rows[i].now_ms, NULL), 0);
		assert_int_equal(world.n_asks, rows[i].n);
		world_stop(&world);
	}
}

static void nothing_is_asked_without_need(void **state)
{
	struct world world;
	struct err err = ERR_INIT;

	(void)state;
	world_start(&world, RESIZE_BEFORE_OOM);
	look(&world, 0); /* no pods */
	assert_int_equal(world.n_usages, 0);
	tell(&world, POD_HEAD("train-x", "u1", "OnFailure", "64Mi") KILLED);
	look(&world, 8000); /* none that runs */
	assert_int_equal(world.n_usages, 0);
	tell(&world, POD_HEAD("train-x", "u1", "Never", "64Mi") RUNS);
	world.usage_status = EVIDENCE_UNREACHABLE;
	assert_int_equal(resize_scan_ramps(world.scan, 16000, 0, &err), EVIDENCE_UNREACHABLE);
	assert_int_equal(resize_scan_ramps(world.scan, 17000, 0, &err), 0); /* not in a hurry */
	assert_int_equal(world.n_usages, 1);
	world_stop(&world);
}

/* ---- what stands in the pod ---- */

#define MANAGED(manager, container)                                                                                    \
	",\"managedFields\":[{\"manager\":\"" manager "\",\"operation\":\"Update\",\"subresource\":\"resize\","        \
	"\"time\":\"1970-01-01T00:01:00Z\",\"fieldsV1\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":"             \
	"\\\"" container "\\\"}\":{\"f:resources\":{\"f:limits\":{\"f:memory\":{}}}}}}}}]"
#define ANNOTATION(set)                                                                                                \
	",\"annotations\":{\"memtamer.io/decision\":\"{\\\"v\\\":1,\\\"mode\\\":\\\"enforce\\\",\\\"rev\\\":7,"        \
	"\\\"set\\\":[" set "]}\"}"
#define ENTRY                                                                                                          \
	"{\\\"c\\\":\\\"main\\\",\\\"r\\\":\\\"memory\\\",\\\"f\\\":\\\"limit\\\",\\\"from\\\":\\\"200Mi\\\","         \
	"\\\"to\\\":\\\"100Mi\\\","                                                                                    \
	"\\\"rule\\\":\\\"peak+buffer\\\"}"

static void a_resize_counts_as_a_decision(void **state)
{
	static const struct {
		const char *name, *meta, *requests;
		bool is_set;
		int64_t from_mi, to_mi;
		const char *rule;
		bool has_request;
	} rows[] = {
		{"after a kill", MANAGED("memtamer-resize-oom-64Mi", "main"), "32Mi", true, 64, 128, "resize-oom",
		 false},
		{"before one", MANAGED("memtamer-resize-before-100Mi", "main"), "32Mi", true, 100, 128, "resize-before",
		 false},
		{"with its request", MANAGED("memtamer-resize-oom-64Mi", "main"), "128Mi", true, 64, 128, "resize-oom",
		 true},
		{"of what we had set", MANAGED("memtamer-resize-oom-100Mi", "main") ANNOTATION(ENTRY), "32Mi", true,
		 200, 128, "resize-oom", false},
		{"of another container", MANAGED("memtamer-resize-oom-64Mi", "other"), "32Mi", false, 0, 0, "", false},
		{"taken back", MANAGED("memtamer-resize-oom-128Mi", "main"), "32Mi", false, 0, 0, "", false},
		{"by somebody else", MANAGED("kubectl-patch", "main"), "32Mi", false, 0, 0, "", false},
		{"a label of that name", ",\"annotations\":{\"manager\":\"memtamer-resize-oom-64Mi\"}", "32Mi", false,
		 0, 0, "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct annotation_container values = {0};
		struct annotation annotation;
		struct world world;
		char text[4096];

		test_row(rows[i].name);
		world_start(&world, RESIZE_OFF);
		snprintf(text, sizeof(text),
			 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"team-a\",\"name\":"
			 "\"train-x\","
			 "\"uid\":\"u1\",\"labels\":{\"memtamer.io/"
			 "training\":\"true\"}%s},\"spec\":{\"containers\":[{\"name\":"
			 "\"main\",\"resources\":{\"requests\":{\"memory\":\"%s\"},\"limits\":{\"memory\":\"128Mi\"}}}]"
			 "},"
			 "\"status\":{\"phase\":\"Running\"}}",
			 rows[i].meta, rows[i].requests);
		tell(&world, text);
		(void)!annotation_read(world.pod->decision, "main", &annotation, &values);
		assert_int_equal(values.values[SIZE_LIMIT][ANNOTATION_MEMORY].is_set, rows[i].is_set);
		assert_int_equal(values.values[SIZE_LIMIT][ANNOTATION_MEMORY].from_bytes, rows[i].from_mi * MI);
		assert_int_equal(values.values[SIZE_LIMIT][ANNOTATION_MEMORY].to_bytes, rows[i].to_mi * MI);
		assert_string_equal(values.values[SIZE_LIMIT][ANNOTATION_MEMORY].rule, rows[i].rule);
		assert_int_equal(values.values[SIZE_LIMIT][ANNOTATION_MEMORY].at_ms, rows[i].is_set ? 60000 : 0);
		assert_int_equal(values.values[SIZE_REQUEST][ANNOTATION_MEMORY].is_set, rows[i].has_request);
		world_stop(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kill_at_the_limit_asks_once),
		cmocka_unit_test(what_was_not_taken_is_asked_again),
		cmocka_unit_test(who_is_not_asked_for),
		cmocka_unit_test(a_step_is_asked_for_once),
		cmocka_unit_test(a_step_that_was_not_accepted_is_asked_again),
		cmocka_unit_test(what_counts_as_use),
		cmocka_unit_test(a_dead_container_is_not_what_runs),
		cmocka_unit_test(nothing_is_asked_without_need),
		cmocka_unit_test(a_resize_counts_as_a_decision),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
