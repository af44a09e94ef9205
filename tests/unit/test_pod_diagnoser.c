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
/* A pod of a Job; `meta` ends with a comma, `status` is its phase and what its container's status says. */
#define POD_(name, uid, job, meta, env, status)                                                                        \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"" uid "\"," meta                          \
	"\"creationTimestamp\":\"2026-11-02T07:00:00Z\","                                                              \
	"\"labels\":{\"memtamer.io/training\":\"true\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"   \
	"\"Job\",\"name\":\"" job "\",\"uid\":\"" job                                                                  \
	"\",\"controller\":true}]},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\","          \
	"\"image\":\"i\"" env ",\"resources\":{\"limits\":{\"memory\":\"64Gi\"}}}]},\"status\":{\"startTime\":"        \
	"\"2026-11-02T07:00:00Z\"," status "}}"
#define VERSION(n)	       "\"resourceVersion\":\"" n "\","
#define POD(name, job, status) POD_(name, "u-" name, job, VERSION("1"), "", status)
#define ENDED(reason, code, from, to)                                                                                  \
	"{\"terminated\":{\"reason\":\"" reason "\",\"exitCode\":" code ",\"startedAt\":\"2026-11-02T07:" from         \
	":00Z\",\"finishedAt\":\"2026-11-02T07:" to ":00Z\"}}"
#define OVER(state)    "\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\",\"state\":" state "}]"
#define KILLED(minute) OVER(ENDED("OOMKilled", "137", "00", minute))
#define FAILED(minute) OVER(ENDED("Error", "1", "00", minute))
/* Restarted in place after an end. */
#define AGAIN(restarts, from, to)                                                                                      \
	"\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\",\"restartCount\":" restarts                   \
	",\"state\":{\"running\":{}},\"lastState\":" ENDED("Error", "1", from, to) "}]"
#define ONE(name)    "GET /api/v1/namespaces/ml/pods?limit=1&fieldSelector=metadata.name%3D" name " "
#define EVENTS(name) "GET /api/v1/namespaces/ml/events?"
#define LOG(name)    "GET /api/v1/namespaces/ml/pods/" name "/log?tailLines=2000&"
#define CUDA_LINE                                                                                                      \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 " \
	"GiB of which 1.05 GiB is free. Including non-PyTorch memory, this process has 78.09 GiB memory in use. Of "   \
	"the allocated memory 60.00 GiB is allocated by PyTorch, and 16.50 GiB is reserved by PyTorch but "            \
	"unallocated. If reserved but unallocated memory is large try setting "                                        \
	"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."

#define OLD_LINE                                                                                                       \
	"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total "         \
	"capacity; 60.00 GiB already allocated; 1.05 GiB free; 76.50 GiB reserved in total by PyTorch)"

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
	self->diagnoser.written_seq = INT64_MAX;
	self->asked = pod_diagnoser_interface(&self->diagnoser);
}

static void stop(struct scene *self)
{
	assert_int_equal(fake_api_unexpected(self->world.api), 0);
	pods_unwatch(self->pods);
	pods_free(self->pods);
	world_stop(&self->world);
}

/* Whether a pod of this Job was found at this time; "": no pod of any Job. */
static void find(struct scene *self, int64_t now_ms, const char *job)
{
	struct evidence_window window = {.end_ms = now_ms, .is_open = true};
	struct evidence_batch batch;
	int r;

	evidence_batch_init(&batch, &window);
	r = self->asked.next(self->asked.context, now_ms, &batch);
	assert_int_equal(r, *job ? 0 : 1);
	assert_true(*job ? batch.pods.n > 0 : batch.pods.n == 0);
	for (size_t i = 0; i < batch.pods.n; i++)
		assert_string_equal(batch.pods.items[i]->owner_name, job);
	evidence_batch_release(&batch);
}

static int read_found(struct scene *self, struct diagnosed *ret)
{
	return self->asked.read(self->asked.context, ret);
}

static void store(struct scene *self)
{
	self->asked.stored(self->asked.context);
}

/* The status alone shows a kill. Of the pods of a run the one that died first is read, and only once. */
static void the_first_pod_that_died_is_read_once(void **state)
{
	static const struct fake_step steps[] = {
		{WATCHED, .body = LIST(POD("b", "train", KILLED("58")) "," POD("a", "train", KILLED("57")) "," POD(
				  "old", "old",
				  KILLED("00")) "," POD_("gone", "u-gone", "gone",
							 VERSION("1") "\"deletionTimestamp\":\"2026-11-02T07:50:00Z\",",
							 "", FAILED("51")))},
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
	find(&scene, NOW_MS + 1, "train");
	assert_int_equal(read_found(&scene, &diagnosed), 0);
	assert_string_equal(diagnosed.diagnosis.kind, "container-limit");
	assert_int_equal(diagnosed.diagnosis.time_ms, NOW_MS - 3 * TIME_MINUTE_MS);
	assert_string_not_equal(diagnosed.diagnosis.evidence, "");
	assert_int_equal(diagnosed.diagnosis.limit_bytes, (int64_t)64 << 30);
	assert_int_equal(diagnosed.diagnosis.step, DIAGNOSIS_NONE);
	assert_string_equal(diagnosed.diagnosis.variable, "");
	assert_false(diagnosed.has_setting);
	assert_false(diagnosed.is_again);
	store(&scene);
	find(&scene, NOW_MS + DIAGNOSE_REST_MS + 1, ""); /* "old" died an hour ago, "gone" was deleted before */
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
		const char *variable;
	} rows[] = {
		{"by a version that refuses the setting",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD("a", "train", FAILED("57")))},
		  {LOG("a"), .body = "torch==2.0.1\nstep 100 loss 2.1\n" CUDA_LINE "\n"},
		  {EVENTS("a"), .body = LIST("")},
		  {.fits = NULL}},
		 false,
		 ""},
		{"by an old version, as the form of its message tells",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD("a", "train", FAILED("57")))},
		  {LOG("a"), .body = "step 100 loss 2.1\n" OLD_LINE "\n"},
		  {EVENTS("a"), .body = LIST("")},
		  {.fits = NULL}},
		 false,
		 ""},
		{"by a version with the new variable",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD("a", "train", FAILED("57")))},
		  {LOG("a"), .body = "torch==2.9.0\nstep 100 loss 2.1\n" CUDA_LINE "\n"},
		  {EVENTS("a"), .body = LIST("")},
		  {.fits = NULL}},
		 false,
		 ALLOCATOR_VARIABLE},
		{"by a version that ignores the new variable",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD("a", "train", FAILED("57")))},
		  {LOG("a"), .body = "torch==2.9.1\nstep 100 loss 2.1\n" CUDA_LINE "\n"},
		  {EVENTS("a"), .body = LIST("")},
		  {.fits = NULL}},
		 false,
		 ALLOCATOR_VARIABLE_CUDA},
		{"without the setting",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD("a", "train", FAILED("57")))},
		  {LOG("a"), .body = "step 100 loss 2.1\n" CUDA_LINE "\n"},
		  {EVENTS("a"), .body = LIST("")},
		  {.fits = NULL}},
		 false,
		 ALLOCATOR_VARIABLE_CUDA},
		{"with the setting",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD_("a", "u-a", "train", VERSION("1"), SETTING, FAILED("57")))},
		  {LOG("a"), .body = "step 100 loss 2.1\n" CUDA_LINE "\n"},
		  {EVENTS("a"), .body = LIST("")},
		  {.fits = NULL}},
		 true,
		 ALLOCATOR_VARIABLE_CUDA},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct diagnosed diagnosed;
		struct scene scene;

		test_row(rows[i].name);
		start(&scene, rows[i].steps, true);
		find(&scene, NOW_MS, "train");
		assert_int_equal(read_found(&scene, &diagnosed), 0);
		assert_string_equal(diagnosed.diagnosis.kind, "fragmentation");
		assert_string_equal(diagnosed.diagnosis.variable, rows[i].variable);
		assert_true(strstarts(diagnosed.diagnosis.evidence, "torch."));
		assert_int_equal(diagnosed.has_setting, rows[i].has_setting);
		stop(&scene);
	}
}

/* The step and the figures of a log, also of the part of it that is in the status, for `triage --verify`. */
static void numbers_need_the_right_to_read_logs(void **state)
{
#define TOLD                                                                                                           \
	OVER("{\"terminated\":{\"reason\":\"Error\",\"exitCode\":1,\"startedAt\":\"2026-11-02T07:00:00Z\","            \
	     "\"finishedAt\":\"2026-11-02T07:57:00Z\",\"message\":\"" CUDA_LINE "\"}}")
#define STEPS_OF(pod_, log)                                                                                            \
	{                                                                                                              \
		{WATCHED, .body = LIST(pod_)}, {WATCHED, .body = "", .end = FAKE_HOLD}, JOB("train"),                  \
			{ONE("a"), .body = LIST(pod_)}, {LOG("a"), .body = (log)}, {EVENTS("a"), .body = LIST("")},    \
		{                                                                                                      \
			.fits = NULL                                                                                   \
		}                                                                                                      \
	}
	static const struct {
		const char *name;
		bool reads_logs;
		struct fake_step steps[8];
		int64_t epoch, step, n_steps, tried_mib;
	} rows[] = {
		{"a step of all", true, STEPS_OF(POD("a", "train", FAILED("57")), "step 90/500\n" CUDA_LINE "\n"), -1,
		 90, 500, 2048},
		{"an epoch", true, STEPS_OF(POD("a", "train", FAILED("57")), "Epoch 3 step 90\n" CUDA_LINE "\n"), 3, 90,
		 -1, 2048},
		{"steps that begin anew", true,
		 STEPS_OF(POD("a", "train", FAILED("57")), "step 90\nstep 10\nstep 50\n" CUDA_LINE "\n"), -1, -1, -1,
		 2048},
		{"no step", true, STEPS_OF(POD("a", "train", FAILED("57")), CUDA_LINE "\n"), -1, -1, -1, 2048},
		{"no right",
		 false,
		 {{WATCHED, .body = LIST(POD("a", "train", TOLD))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD("a", "train", TOLD))},
		  {EVENTS("a"), .body = LIST("")},
		  {.fits = NULL}},
		 -1,
		 -1,
		 -1,
		 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct diagnosed diagnosed;
		struct scene scene;

		test_row(rows[i].name);
		start(&scene, rows[i].steps, rows[i].reads_logs);
		find(&scene, NOW_MS, "train");
		assert_int_equal(read_found(&scene, &diagnosed), 0);
		assert_string_equal(diagnosed.diagnosis.kind, "fragmentation");
		assert_int_equal(diagnosed.diagnosis.epoch, rows[i].epoch);
		assert_int_equal(diagnosed.diagnosis.step, rows[i].step);
		assert_int_equal(diagnosed.diagnosis.n_steps, rows[i].n_steps);
		assert_int_equal(diagnosed.diagnosis.tried_bytes, rows[i].tried_mib << 20);
		assert_true((diagnosed.diagnosis.capacity_bytes > 0) == rows[i].reads_logs);
		assert_true((diagnosed.diagnosis.unallocated_bytes > 0) == rows[i].reads_logs);
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
		  {ONE("a"), .body = LIST(POD_("a", "u-new", "train", VERSION("1"), "", FAILED("57")))},
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
		find(&scene, NOW_MS, "train");
		assert_int_equal(read_found(&scene, &diagnosed), 1);
		find(&scene, NOW_MS + DIAGNOSE_REST_MS, "");
		stop(&scene);
	}
}

/* Of a pod of an ignored namespace nothing is read: there is no step for its Events and its log. */
static void a_pod_of_an_ignored_namespace_is_not_read(void **state)
{
	static const struct fake_step steps[] = {
		{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		{WATCHED, .body = "", .end = FAKE_HOLD},
		JOB("train"),
		{.fits = NULL},
	};
	struct scene scene;

	(void)state;
	start(&scene, steps, true);
	pods_set_ignored(scene.pods, "ml", true);
	find(&scene, NOW_MS, "");
	pods_set_ignored(scene.pods, "ml", false);
	find(&scene, NOW_MS, "train");
	stop(&scene);
}

#define REFUSED_LOG                                                                                                    \
	{                                                                                                              \
		LOG("a"), .status = 503, .body = STATUS("503", "ServiceUnavailable"), .times = 64                      \
	}

/* What gangs that hang learn about the pod: the kind, if it ended for memory. */
static void expect_told(struct pods *pods, const char *kind)
{
	struct pods_found_end found[LIMIT_DIAGNOSE_RUNS];

	assert_int_equal(pods_found_ends(pods, found), kind != NULL);
	if (!kind)
		return;
	assert_string_equal(found[0].uid, "u-a");
	assert_string_equal(found[0].kind, kind);
	assert_int_equal(found[0].end_ms, NOW_MS - 3 * TIME_MINUTE_MS);
}

/* What the status says is told at once, and the log is read as soon as it can be. */
static void a_log_that_cannot_be_read_is_tried_again(void **state)
{
	static const struct fake_step steps[] = {
		{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		{WATCHED, .body = "", .end = FAKE_HOLD},
		JOB("train"),
		{ONE("a"), .body = LIST(POD("a", "train", FAILED("57"))), .times = 4},
		{EVENTS("a"), .body = LIST(""), .times = 4},
		{LOG("a"), .status = 503, .body = STATUS("503", "ServiceUnavailable"), .times = 2},
		{LOG("a"), .body = CUDA_LINE "\n"},
		{.fits = NULL},
	};
	struct diagnosed diagnosed;
	struct pods *other;
	struct scene scene;

	(void)state;
	start(&scene, steps, true);
	find(&scene, NOW_MS, "train");
	assert_int_equal(read_found(&scene, &diagnosed), 0);
	assert_string_not_equal(diagnosed.diagnosis.kind, "fragmentation");
	expect_told(scene.pods, NULL);
	store(&scene);
	find(&scene, NOW_MS + DIAGNOSE_REST_MS - 1, "");
	find(&scene, NOW_MS + DIAGNOSE_REST_MS, "train");
	assert_int_equal(read_found(&scene, &diagnosed), 1); /* no more than before */
	find(&scene, NOW_MS + 3 * DIAGNOSE_REST_MS, "train");
	assert_int_equal(read_found(&scene, &diagnosed), 0);
	assert_string_equal(diagnosed.diagnosis.kind, "fragmentation");
	assert_true(diagnosed.is_again);
	expect_told(scene.pods, "fragmentation");
	store(&scene);
	find(&scene, NOW_MS + 10 * DIAGNOSE_REST_MS, "");
	/* Another table of pods, as after a change of the configuration. */
	assert_int_equal(pods_new(&(struct pods_config){.failed = fail_loudly}, &other, NULL), 0);
	pod_diagnoser_connect(&scene.diagnoser, other, scene.world.client, true);
	expect_told(other, "fragmentation");
	pods_free(other);
	stop(&scene);
}

static void tries_end(void **state)
{
	static const struct {
		const char *name;
		struct fake_step steps[7];
		bool has_log; /* which is refused */
	} rows[] = {
		{"no answer about the pod",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .status = 500, .body = STATUS("500", "InternalError"), .times = 64},
		  {.fits = NULL}},
		 false},
		{"no log",
		 {{WATCHED, .body = LIST(POD("a", "train", FAILED("57")))},
		  {WATCHED, .body = "", .end = FAKE_HOLD},
		  JOB("train"),
		  {ONE("a"), .body = LIST(POD("a", "train", FAILED("57"))), .times = 64},
		  {EVENTS("a"), .body = LIST(""), .times = 64},
		  REFUSED_LOG,
		  {.fits = NULL}},
		 true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t now_ms = NOW_MS;
		struct diagnosed diagnosed;
		struct scene scene;

		test_row(rows[i].name);
		start(&scene, rows[i].steps, true);
		for (int n = 0; n < LIMIT_DIAGNOSE_TRIES; n++) {
			find(&scene, now_ms, "train");
			assert_int_equal(read_found(&scene, &diagnosed), rows[i].has_log && !n ? 0 : 1);
			if (rows[i].has_log && !n)
				store(&scene);
			now_ms += DIAGNOSE_REST_MS << n;
		}
		find(&scene, now_ms, "");
		assert_int_equal(fake_api_count(scene.world.api, "GET /api/v1/namespaces/ml/pods?limit=1&"),
				 LIMIT_DIAGNOSE_TRIES);
		stop(&scene);
	}
}

/* The result is not in the store: it is read once more. */
static void what_was_not_stored_is_read_again(void **state)
{
	static const struct fake_step steps[] = {
		{WATCHED, .body = LIST(POD("a", "train", KILLED("57")))},
		{WATCHED, .body = "", .end = FAKE_HOLD},
		JOB("train"),
		{ONE("a"), .body = LIST(POD("a", "train", KILLED("57"))), .times = 2},
		{EVENTS("a"), .body = LIST(""), .times = 2},
		{.fits = NULL},
	};
	struct diagnosed diagnosed;
	struct scene scene;

	(void)state;
	start(&scene, steps, false);
	scene.diagnoser.written_seq = 0;
	find(&scene, NOW_MS, ""); /* no cycle has written this run */
	scene.diagnoser.written_seq = INT64_MAX;
	find(&scene, NOW_MS, "train");
	assert_int_equal(read_found(&scene, &diagnosed), 0);
	find(&scene, NOW_MS + DIAGNOSE_REST_MS, "train");
	assert_int_equal(read_found(&scene, &diagnosed), 0);
	assert_false(diagnosed.is_again);
	store(&scene);
	find(&scene, NOW_MS + 10 * DIAGNOSE_REST_MS, "");
	stop(&scene);
}

#define EVENT(pod) "{\"type\":\"MODIFIED\",\"object\":" pod "}\n"

static bool note_restarts(void *context, const struct sighting *pod)
{
	*(bool *)context |= pod->containers.items[0].restarts == 2;
	return true;
}

/* Each death of a container that restarts in its pod is read, at the time of its end; siblings that had been running
 * before die of it. */
static void a_container_that_restarts_is_read_at_each_death(void **state)
{
	static const struct fake_step steps[] = {
		{WATCHED, .body = LIST(POD("a", "train", AGAIN("1", "00", "40")))},
		{WATCHED,
		 .body = EVENT(POD_("b", "u-b", "train", VERSION("11"), "", AGAIN("1", "00", "41")))
			 EVENT(POD_("a", "u-a", "train", VERSION("12"), "", AGAIN("2", "42", "50"))),
		 .end = FAKE_HOLD, .after = "previous=true"},
		JOB("train"),
		{ONE("a"), .body = LIST(POD("a", "train", AGAIN("1", "00", "40")))},
		{ONE("a"), .body = LIST(POD("a", "train", AGAIN("2", "42", "50")))},
		{EVENTS("a"), .body = LIST(""), .times = 2},
		{LOG("a"), .body = "step 1\n", .times = 2},
		{.fits = NULL},
	};
	struct diagnosed diagnosed;
	struct scene scene;
	bool has_restarted = false;

	(void)state;
	start(&scene, steps, true);
	find(&scene, NOW_MS, "train");
	assert_int_equal(read_found(&scene, &diagnosed), 0);
	assert_int_equal(diagnosed.diagnosis.time_ms, NOW_MS - 20 * TIME_MINUTE_MS);
	store(&scene);
	while (!has_restarted) {
		poll_once(&scene.world);
		pods_visit(scene.pods, note_restarts, &has_restarted);
	}
	find(&scene, NOW_MS + DIAGNOSE_REST_MS, "train");
	assert_int_equal(read_found(&scene, &diagnosed), 0);
	assert_int_equal(diagnosed.diagnosis.time_ms, NOW_MS - 10 * TIME_MINUTE_MS);
	assert_false(diagnosed.is_again);
	store(&scene);
	find(&scene, NOW_MS + 10 * DIAGNOSE_REST_MS, "");
	stop(&scene);
}

/* A helper restarts beside a training that goes on, and a pod ends by its helper. */
static void helpers_count_when_they_end_the_pod(void **state)
{
#define HELPED ",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}},{\"name\":\"helper\",\"image\":\"h\""
#define HELPER(phase, main, helper)                                                                                    \
	"\"phase\":\"" phase "\",\"containerStatuses\":[{\"name\":\"main\",\"state\":" main                            \
	"},{\"name\":\"helper\",\"restartCount\":1," helper "}]"
	static const struct {
		const char *name, *pods, *found;
	} rows[] = {
		{"it restarts",
		 LIST(POD_("a", "u-a", "train", VERSION("1"), HELPED,
			   HELPER("Running", "{\"running\":{}}",
				  "\"state\":{\"running\":{}},\"lastState\":" ENDED("Error", "1", "00", "40")))),
		 ""},
		{"it ends the pod",
		 LIST(POD_("a", "u-a", "train", VERSION("1"), HELPED,
			   HELPER("Failed", ENDED("Completed", "0", "00", "50"),
				  "\"state\":" ENDED("Error", "1", "00", "51")))),
		 "train"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct fake_step steps[] = {{WATCHED, .body = rows[i].pods},
						  {WATCHED, .body = "", .end = FAKE_HOLD},
						  JOB("train"),
						  {.fits = NULL}};
		struct scene scene;

		test_row(rows[i].name);
		start(&scene, steps, false);
		find(&scene, NOW_MS, rows[i].found);
		stop(&scene);
	}
}

#define MANY 70

/* However many runs have died, the one that died last is read first. */
static void the_run_that_died_last_is_read_first(void **state)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT(MIB);
	struct fake_step steps[] = {{.fits = WATCHED},
				    {WATCHED, .body = "", .end = FAKE_HOLD},
				    {"GET /apis/batch/v1/namespaces/ml/jobs/", .body = "{}", .times = MANY},
				    {.fits = NULL}};
	char job[16];
	struct scene scene;

	(void)state;
	strbuf_adds(&list, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[");
	for (int i = 0; i < MANY; i++)
		strbuf_addf(
			&list,
			"%s{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"ml\",\"uid\":\"u%d\",\"resourceVersion\":"
			"\"1\",\"creationTimestamp\":\"2026-11-02T07:00:00Z\",\"labels\":{\"memtamer.io/training\":"
			"\"true\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j%d\","
			"\"uid\":\"j%d\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"main\"}]},"
			"\"status\":{\"phase\":\"Failed\",\"startTime\":\"2026-11-02T07:00:00Z\","
			"\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"reason\":\"Error\","
			"\"exitCode\":1,\"finishedAt\":\"2026-11-02T07:%02d:%02dZ\"}}}]}}",
			i ? "," : "", i, i, i, i, 30 + i / 60, i % 60);
	strbuf_adds(&list, "]}");
	steps[0].body = strbuf_text(&list);
	start(&scene, steps, false);
	for (int i = MANY; i-- > 0;) {
		snprintf(job, sizeof(job), "j%d", i);
		find(&scene, NOW_MS, job);
	}
	find(&scene, NOW_MS, "");
	stop(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_pod_that_died_is_read_once),
		cmocka_unit_test(the_end_of_the_log_tells_fragmentation),
		cmocka_unit_test(numbers_need_the_right_to_read_logs),
		cmocka_unit_test(refusals_are_final),
		cmocka_unit_test(a_pod_of_an_ignored_namespace_is_not_read),
		cmocka_unit_test(a_log_that_cannot_be_read_is_tried_again),
		cmocka_unit_test(tries_end),
		cmocka_unit_test(what_was_not_stored_is_read_again),
		cmocka_unit_test(a_container_that_restarts_is_read_at_each_death),
		cmocka_unit_test(helpers_count_when_they_end_the_pod),
		cmocka_unit_test(the_run_that_died_last_is_read_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
