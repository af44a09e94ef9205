/* SPDX-License-Identifier: Apache-2.0 */
/* Which pod of a run is read, with which requests, and what is made of it. */
#include "service_fixture.h"

#include "base/timefmt.h"
#include "pods/pods.h"
#include "service/pod_diagnoser.h"

#define NOW_MS	((int64_t)1793606400000) /* 2026-11-02T08:00:00Z */
#define WATCHED "GET /api/v1/pods?fieldSelector"
#define JOB(name)                                                                                                      \
	{                                                                                                              \
		"GET /apis/batch/v1/namespaces/ml/jobs/" name " ",                                                     \
			.body = "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"" name "\"}}"     \
	}
/* A pod of a Job; `meta` ends with a comma, `ended` is what its container's state says. */
#define POD_(name, uid, job, meta, env, ended)                                                                         \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"" uid                                     \
	"\",\"resourceVersion\":\"1\"," meta "\"creationTimestamp\":\"2026-11-02T07:00:00Z\","                         \
	"\"labels\":{\"memtamer.io/training\":\"true\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"   \
	"\"Job\",\"name\":\"" job "\",\"uid\":\"" job                                                                  \
	"\",\"controller\":true}]},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\","          \
	"\"image\":\"i\"" env ",\"resources\":{\"limits\":{\"memory\":\"64Gi\"}}}]},\"status\":{\"phase\":\"Failed\"," \
	"\"startTime\":\"2026-11-02T07:00:00Z\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"  \
	"{" ended "}}}]}}"
#define POD(name, job, ended) POD_(name, "u-" name, job, "", "", ended)
#define KILLED(minute)	      "\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":\"2026-11-02T07:" minute ":00Z\""
#define FAILED(minute)	      "\"reason\":\"Error\",\"exitCode\":1,\"finishedAt\":\"2026-11-02T07:" minute ":00Z\""
#define ONE(name)	      "GET /api/v1/namespaces/ml/pods?limit=1&fieldSelector=metadata.name%3D" name " "
#define EVENTS(name)	      "GET /api/v1/namespaces/ml/events?"
#define LOG(name)	      "GET /api/v1/namespaces/ml/pods/" name "/log?tailLines=2000&"
#define CUDA_LINE                                                                                                      \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 " \
	"GiB of which 1.05 GiB is free. Including non-PyTorch memory, this process has 78.09 GiB memory in use. Of "   \
	"the allocated memory 60.00 GiB is allocated by PyTorch, and 16.50 GiB is reserved by PyTorch but "            \
	"unallocated. If reserved but unallocated memory is large try setting "                                        \
	"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."

static int64_t read_clock(void)
{
	return NOW_MS;
}

static void fail_loudly(void *context, const struct err *why)
{
	(void)context;
	fail_msg("%s", why->msg);
}

struct scene {
	struct world world;
	struct pods *pods;
	struct pod_diagnoser diagnoser;
	struct diagnoser asked;
};

static void start(struct scene *self, const struct fake_step *steps, bool reads_logs)
{
	const struct pods_config config = {.failed = fail_loudly};
	struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};
	struct evidence_batch batch;
	bool is_partial = true;

	*self = (struct scene){.world = {.api = fake_api_start(steps)}};
	self->world.server.url = fake_api_url(self->world.api);
	assert_int_equal(kube_client_new(&self->world.server, &(struct kube_client_config){.now_ms = read_clock},
					 &self->world.client, NULL),
			 0);
	assert_int_equal(pods_new(&config, &self->pods, NULL), 0);
	assert_int_equal(pods_watch(self->pods, self->world.client, NULL), 0);
	while (is_partial) { /* until the owners are known */
		poll_once(&self->world);
		evidence_batch_init(&batch, &window);
		is_partial = pods_batch(self->pods, NOW_MS, 0, &batch, NULL) != 0 || batch.is_partial;
		evidence_batch_release(&batch);
	}
	pod_diagnoser_connect(&self->diagnoser, self->pods, self->world.client, reads_logs);
	self->asked = pod_diagnoser_interface(&self->diagnoser);
}

static void stop(struct scene *self)
{
	assert_int_equal(fake_api_unexpected(self->world.api), 0);
	pods_unwatch(self->pods);
	pods_free(self->pods);
	world_stop(&self->world);
}

static int read_job(struct scene *self, const char *job, struct diagnosed *ret)
{
	struct found_run found = {.container = "main", .is_main = true};

	snprintf(found.namespace_name, sizeof(found.namespace_name), "ml");
	snprintf(found.identity.run_key, sizeof(found.identity.run_key), "Job/%s", job);
	return self->asked.read(self->asked.context, &found, ret);
}

/* The status alone shows a kill. Of the pods of a run the one that died first is read, and only once. */
static void the_first_pod_that_died_is_read_once(void **state)
{
	static const struct fake_step steps[] = {
		{WATCHED,
		 .body = LIST(POD("b", "train", KILLED("58")) "," POD("a", "train", KILLED("57")) "," POD(
			 "old", "old", KILLED("00")) "," POD_("gone", "u-gone", "gone",
							      "\"deletionTimestamp\":\"2026-11-02T07:50:00Z\",", "",
							      FAILED("51")))},
		{WATCHED, .body = "", .end = FAKE_HOLD},
		JOB("train"),
		JOB("old"),
		JOB("gone"),
		{ONE("a"), .body = LIST(POD("a", "train", KILLED("57")))},
		{EVENTS("a"), .body = LIST("")},
		{.fits = NULL},
	};
	struct diagnosed diagnosed;
	struct scene scene;

	(void)state;
	start(&scene, steps, false);
	assert_true(scene.asked.begin(scene.asked.context, NOW_MS + 1));
	assert_int_equal(read_job(&scene, "train", &diagnosed), 0);
	assert_string_equal(diagnosed.diagnosis.kind, "container-limit");
	assert_int_equal(diagnosed.diagnosis.time_ms, NOW_MS - 3 * TIME_MINUTE_MS);
	assert_string_not_equal(diagnosed.diagnosis.evidence, "");
	assert_string_equal(diagnosed.diagnosis.variable, "");
	assert_false(diagnosed.has_setting);
	assert_int_equal(read_job(&scene, "train", &diagnosed), 0); /* another role of the run: no request */
	assert_int_equal(read_job(&scene, "gone", &diagnosed), 1);
	assert_int_equal(read_job(&scene, "other", &diagnosed), 1);
	assert_false(scene.asked.begin(scene.asked.context, NOW_MS + 1)); /* "old" died an hour ago */
	assert_int_equal(fake_api_count(scene.world.api, "/log?"), 0);
	stop(&scene);
}

static void the_end_of_the_log_tells_fragmentation(void **state)
{
#define SETTING ",\"env\":[{\"name\":\"PYTORCH_CUDA_ALLOC_CONF\",\"value\":\"expandable_segments:True\"}]"
	static const struct {
		const char *name;
		struct fake_step steps[8];
		bool has_setting;
	} rows[] = {
		{"without the setting",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD("a", "train", FAILED("57")))},
		  {LOG("a"), .body = "step 100 loss 2.1\n" CUDA_LINE "\n"},
		  {EVENTS("a"), .body = LIST("")},
		  {.fits = NULL}},
		 false},
		{"with the setting",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD_("a", "u-a", "train", "", SETTING, FAILED("57")))},
		  {LOG("a"), .body = "step 100 loss 2.1\n" CUDA_LINE "\n"},
		  {EVENTS("a"), .body = LIST("")},
		  {.fits = NULL}},
		 true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct diagnosed diagnosed;
		struct scene scene;

		test_row(rows[i].name);
		start(&scene, rows[i].steps, true);
		assert_true(scene.asked.begin(scene.asked.context, NOW_MS));
		assert_int_equal(read_job(&scene, "train", &diagnosed), 0);
		assert_string_equal(diagnosed.diagnosis.kind, "fragmentation");
		assert_string_equal(diagnosed.diagnosis.variable, ALLOCATOR_VARIABLE_CUDA);
		assert_int_equal(strncmp(diagnosed.diagnosis.evidence, CUDA_LINE, 60), 0);
		assert_int_equal(diagnosed.has_setting, rows[i].has_setting);
		stop(&scene);
	}
}

/* What the API server refuses is not asked for again: a pod of the same name, no right to read it, no pod at all. */
static void refusals_are_final(void **state)
{
	static const struct {
		const char *name;
		struct fake_step steps[5];
	} rows[] = {
		{"another pod of the name",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD_("a", "u-new", "train", "", "", FAILED("57")))},
		  {.fits = NULL}}},
		{"it is deleted",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST("")},
		  {.fits = NULL}}},
		{"no right",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .status = 403, .body = STATUS("403", "Forbidden")},
		  {.fits = NULL}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct diagnosed diagnosed;
		struct scene scene;

		test_row(rows[i].name);
		start(&scene, rows[i].steps, true);
		assert_true(scene.asked.begin(scene.asked.context, NOW_MS));
		assert_int_equal(read_job(&scene, "train", &diagnosed), 1);
		assert_false(scene.asked.begin(scene.asked.context, NOW_MS));
		stop(&scene);
	}
}

/* At most LIMIT_DIAGNOSE_PODS in a cycle; the next one goes on. */
static void a_cycle_reads_few_pods(void **state)
{
	static const struct fake_step steps[] = {
		{WATCHED,
		 .body = LIST(POD("a", "j1", KILLED("57")) "," POD("b", "j2", KILLED("57")) "," POD(
			 "c", "j3", KILLED("57")) "," POD("d", "j4", KILLED("57")) "," POD("e", "j5", KILLED("57")))},
		{WATCHED, .body = "", .end = FAKE_HOLD},
		JOB("j1"),
		JOB("j2"),
		JOB("j3"),
		JOB("j4"),
		JOB("j5"),
		{"GET /api/v1/namespaces/ml/pods?limit=1&", .body = LIST(""), .times = 5},
		{.fits = NULL},
	};
	struct diagnosed diagnosed;
	struct scene scene;
	char job[8];

	(void)state;
	start(&scene, steps, false);
	for (size_t n = LIMIT_DIAGNOSE_PODS; n <= 5; n++) {
		assert_true(scene.asked.begin(scene.asked.context, NOW_MS));
		for (int i = 1; i <= 5; i++) {
			snprintf(job, sizeof(job), "j%d", i);
			assert_int_equal(read_job(&scene, job, &diagnosed), 1);
		}
		assert_int_equal(fake_api_count(scene.world.api, "/pods?limit=1&"), n);
	}
	assert_false(scene.asked.begin(scene.asked.context, NOW_MS));
	stop(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_pod_that_died_is_read_once),
		cmocka_unit_test(the_end_of_the_log_tells_fragmentation),
		cmocka_unit_test(refusals_are_final),
		cmocka_unit_test(a_cycle_reads_few_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
