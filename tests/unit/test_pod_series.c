/* SPDX-License-Identifier: Apache-2.0 */
/* A pod that ended, and what Prometheus knows of it: which rule decides, and how often it is asked. */
#include "support/test.h"

#include "evidence/query.h"
#include "fake_api.h"
#include "support/cluster_case.h"

#include <signal.h>

#define UID	    "0b5e5c1d-0000-4000-8000-00000000000a"
#define LIMIT_BYTES ((int64_t)1 << 30)
#define END_S	    1793347200 /* 2026-10-30T08:00:00Z */
#define LABELS	    "{\"status\":\"success\",\"data\":[\"namespace\",\"pod\",\"container\"]}"
#define ANSWER	    "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[%s]}}"

static const struct row {
	const char *name;
	const char *limits, *pod_limits; /* memory of the container and of the pod; NULL: none */
	const char *reason;
	int exit_code;
	const char *log;
	int kill_minute; /* before the end; -1: none */
	int64_t peak_bytes;
	const char *rule, *cause, *confidence, *evidence; /* "": whatever */
} rows[] = {
	{"a child, and process 1 ended well", "1Gi", NULL, "Completed", 0, "", 5, LIMIT_BYTES, "oom-counted",
	 "child-killed", "medium", "100 % of the memory limit of 1.00 GiB"},
	{"a child, and process 1 failed", "1Gi", NULL, "Error", 1, "", 0, LIMIT_BYTES, "oom-counted", "child-killed",
	 "medium", ""},
	{"process 1 itself, without a word", "1Gi", NULL, "Error", 137, "", 0, LIMIT_BYTES, "oom-counted", "", "medium",
	 ""},
	{"ten minutes before the end", "1Gi", NULL, "Error", 1, "", 10, LIMIT_BYTES, "oom-counted", "child-killed",
	 "medium", ""},
	{"long before the end", "1Gi", NULL, "Error", 1, "", 12, LIMIT_BYTES / 2, "exit-code", "", "low",
	 "container_oom_events_total is 1"},
	{"only a peak at the limit, and 137", "1Gi", NULL, "Error", 137, "step 1", 12, LIMIT_BYTES, "peak-at-limit",
	 "null", "medium", "Container c ended with 137, nothing says why, and it had used 1.00 GiB"},
	{"95 % of the limit", "1Gi", NULL, "Error", 137, "", 12, LIMIT_BYTES * 95 / 100 + 1, "peak-at-limit", "",
	 "medium", ""},
	{"below 95 % of the limit", "1Gi", NULL, "Error", 137, "", 12, LIMIT_BYTES * 95 / 100 - 1, "exit-137", "",
	 "low", ""},
	{"a peak at the limit, and no kill was counted", "1Gi", NULL, "Error", 137, "", -1, LIMIT_BYTES,
	 "peak-at-limit", "", "low", "container_oom_events_total stayed 0"},
	{"a peak at the limit of page cache", "1Gi", NULL, "Error", 137, "", 12, LIMIT_BYTES, "peak-at-limit", "",
	 "low", "it may have been page cache"},
	{"a peak at the limit, and 1", "1Gi", NULL, "Error", 1, "", 12, LIMIT_BYTES, "peak-at-limit", "child-killed",
	 "low", "killed a child of it"},
	{"a peak at the limit, and an error", "1Gi", NULL, "Error", 1, "ValueError: no such column", 12, LIMIT_BYTES,
	 "exception", "error", "medium", ""},
	{"a peak at the limit, and 0", "1Gi", NULL, "Completed", 0, "", 12, LIMIT_BYTES, "done", "", "", ""},
	{"a peak at the limit of the pod", NULL, "1Gi", "Error", 137, "", 12, LIMIT_BYTES, "peak-at-pod-limit", "",
	 "medium", "the pod's memory limit of 1.00 GiB"},
	{"half of the limit", "1Gi", NULL, "Error", 1, "", 0, LIMIT_BYTES / 2, "oom-counted", "child-killed", "medium",
	 ""},
	{"below half of the limit", "1Gi", NULL, "Error", 1, "", 0, LIMIT_BYTES / 2 - 1, "oom-counted-node",
	 "child-killed", "low", ""},
	{"no limit", NULL, NULL, "Error", 1, "", 0, LIMIT_BYTES, "oom-counted-node", "child-killed", "low", ""},
	{"the limit of the pod", NULL, "1Gi", "Error", 1, "", 0, LIMIT_BYTES, "oom-counted-pod", "child-killed",
	 "medium", ""},
	{"the log names the child", "1Gi", NULL, "Error", 1,
	 "RuntimeError: DataLoader worker (pid 31) is killed by signal: Killed.", 0, LIMIT_BYTES, "oom-counted",
	 "child-killed", "high", ""},
	{"the log has an error", "1Gi", NULL, "Error", 1, "ValueError: no such column", 0, LIMIT_BYTES, "oom-counted",
	 "child-killed", "low", ""},
	{"a full card comes first", "1Gi", NULL, "Error", 1,
	 "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 10.00 "
	 "GiB "
	 "of which 1.00 GiB is free.",
	 0, LIMIT_BYTES, "gpu-larger-than-card", "", "high", ""},
	{"no kill was counted", "1Gi", NULL, "Error", 1, "ValueError: no such column", -1, LIMIT_BYTES, "exception",
	 "error", "medium", "100 %"},
	{"the log names the child, and no kill was counted", "1Gi", NULL, "Error", 1,
	 "RuntimeError: DataLoader worker (pid 31) is killed by signal: Killed.", -1, LIMIT_BYTES, "hidden-kill",
	 "child-killed", "low", "container_oom_events_total stayed 0"},
	{"the use climbs before the first step", "1Gi", NULL, "OOMKilled", 137, "reading the shards", -1, LIMIT_BYTES,
	 "oomkilled", "load-everything", "high",
	 "The container's use rose until its end, and its log shows no training step: it was still reading its data."},
	{"its quarters are evidence: it climbs", "1Gi", NULL, "OOMKilled", 137, "reading the shards", -1, LIMIT_BYTES,
	 "", "", "", "from its start to its end: 17.07 MiB, "},
	{"the use climbs in training", "1Gi", NULL, "OOMKilled", 137, "step 7 loss 1", -1, LIMIT_BYTES, "oomkilled",
	 "null", "high", "its use rose from its start"},
	{"the use climbs, and the log has an error", "1Gi", NULL, "OOMKilled", 137, "ValueError: no such column", -1,
	 LIMIT_BYTES, "oomkilled", "null", "high", ""},
	{"the use climbs, and there is no log", "1Gi", NULL, "OOMKilled", 137, "", -1, LIMIT_BYTES, "oomkilled", "null",
	 "high", ""},
	{"the use climbs to half of the limit", "2Gi", NULL, "OOMKilled", 137, "reading the shards", -1, LIMIT_BYTES,
	 "oomkilled", "null", "high", ""},
	{"the use has a plateau", "1Gi", NULL, "OOMKilled", 137, "reading the shards", -1, LIMIT_BYTES, "oomkilled",
	 "null", "high", ""},
	{"the kubelet says it", "1Gi", NULL, "OOMKilled", 137, "", -1, LIMIT_BYTES, "oomkilled", "", "high", ""},
	{"the kubelet says it, far below the limit", "1Gi", NULL, "OOMKilled", 137, "", -1, LIMIT_BYTES / 4,
	 "oomkilled", "", "medium", "25 %"},
};

/* The last error of its GPU. */
struct gpu_error {
	int number, minute; /* from the start of the container */
	const char *uid;    /* of the series; NULL: that of the pod */
};

static const struct gpu_row {
	struct row row;
	struct gpu_error error;
} gpu_rows[] = {
	{{"a fault of its GPU", "1Gi", NULL, "Error", 1, "", -1, LIMIT_BYTES / 4, "gpu-xid", "lost", "high",
	  "DCGM_FI_DEV_XID_ERRORS of GPU GPU-7 became 79 between 2026-10-30T07:29:00Z and 2026-10-30T07:30:00Z"},
	 {79, 30, NULL}},
	{{"an error of the program on its GPU", "1Gi", NULL, "Error", 1, "", -1, LIMIT_BYTES / 4, "xid-application",
	  "xid-application", "medium", "became 31"},
	 {31, 30, NULL}},
	{{"a fault that was there before", "1Gi", NULL, "Error", 1, "", -1, LIMIT_BYTES / 4, "exit-code", "", "low",
	  "had XID 79 in Prometheus from the beginning"},
	 {79, 1, NULL}},
	{{"a fault of a GPU of another pod", "1Gi", NULL, "Error", 1, "", -1, LIMIT_BYTES / 4, "exit-code", "", "low",
	  ""},
	 {79, 30, "0b5e5c1d-0000-4000-8000-00000000000b"}},
};

struct answering {
	const struct row *row;
	const struct gpu_error *error; /* NULL: it has no GPU */
};

static void add_limits(struct strbuf *buf, const char *bytes, bool has_gpu)
{
	strbuf_adds(buf, "\"resources\":{\"limits\":{");
	if (bytes)
		strbuf_addf(buf, "\"memory\":\"%s\"%s", bytes, has_gpu ? "," : "");
	strbuf_adds(buf, has_gpu ? "\"nvidia.com/gpu\":\"1\"}}" : "}}");
}

static struct json_object *make_case(const struct row *row, int n_pods, bool has_gpu)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
	struct json_object *json = NULL;

	strbuf_addf(&buf, "{\"logs\":{\"train-0/c\":\"%s\"},\"pods\":[", row->log);
	for (int i = 0; i < n_pods; i++) {
		strbuf_addf(&buf,
			    "%s{\"metadata\":{\"name\":\"train-%d\",\"namespace\":\"ml\",\"uid\":\"" UID
			    "\",\"labels\":{\"job-name\":\"train\",\"batch.kubernetes.io/job-name\":\"train\"},"
			    "\"creationTimestamp\":\"2026-10-30T06:00:00Z\"},\"spec\":{",
			    i ? "," : "", i);
		add_limits(&buf, row->pod_limits, false);
		strbuf_adds(&buf, ",\"containers\":[{\"name\":\"c\",");
		add_limits(&buf, row->limits, has_gpu);
		strbuf_addf(&buf,
			    "}]},\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{"
			    "\"terminated\":{\"exitCode\":%d,\"reason\":\"%s\",\"startedAt\":\"2026-10-30T07:00:00Z\","
			    "\"finishedAt\":\"2026-10-30T08:00:00Z\"}}}]}}",
			    row->exit_code ? "Failed" : "Succeeded", row->exit_code, row->reason);
	}
	strbuf_adds(&buf, "]}");
	json = json_tokener_parse(strbuf_text(&buf));
	assert_non_null(json);
	return json;
}

/* From the minute of the error on, at the ends of steps. */
static void add_xids(struct strbuf *buf, const struct gpu_error *error)
{
	strbuf_addf(buf, "{\"metric\":{\"UUID\":\"GPU-7\",\"gpu\":\"3\",\"pod_uid\":\"%s\"},\"values\":[",
		    error->uid ? error->uid : UID);
	for (int minute = 1; minute <= 60; minute++)
		strbuf_addf(buf, "%s[%d.999,\"%d\"]", minute > 1 ? "," : "", END_S - 3601 + 60 * minute,
			    minute >= error->minute ? error->number : 0);
	strbuf_adds(buf, "]}");
}

/* A curve of 60 minutes: a straight line to the peak, or one that rises only at its beginning and end. */
static void add_curve(struct strbuf *buf, const struct row *row)
{
	bool is_flat = strstr(row->name, "plateau") != NULL;

	for (int i = 1; i <= 60; i++) {
		int64_t share = is_flat && i < 60 ? MIN(i * 4, 40) : i;

		strbuf_addf(buf, "%s[%d.999,\"%lld\"]", i > 1 ? "," : "", END_S - (60 - i) * 60,
			    (long long)(row->peak_bytes * share / 60));
	}
	strbuf_adds(buf, "]}");
}

static char *answer(void *context, const char *request, struct fake_step *ret)
{
	CLEANUP(strbuf_release) struct strbuf series = STRBUF_INIT(64 * KIB), buf = series;
	const struct answering *answering = context;
	const struct row *row = answering->row;
	bool is_cache = strstr(row->name, "page cache") != NULL;

	(void)ret;
	if (strstr(request, "GET /api/v1/labels?"))
		return strdup(LABELS);
	if (strstr(request, "DCGM_FI_DEV_XID_ERRORS")) {
		add_xids(&series, answering->error);
		strbuf_addf(&buf, ANSWER, strbuf_text(&series));
		return strbuf_detach(&buf);
	}
	strbuf_adds(&series, "{\"metric\":{\"id\":\"/kubepods/pod" UID "/a\"},");
	if (strstr(request, "/query_range") && strstr(request, "working_set") &&
	    text_has(row->name, "climbs|plateau")) {
		strbuf_adds(&series, "\"values\":[");
		add_curve(&series, row);
	} else if (strstr(request, "/query_range"))
		strbuf_addf(&series, "\"values\":[[%d.999,\"0\"],[%d.999,\"%d\"]]}", END_S - 3000,
			    END_S - MAX(row->kill_minute, 0) * 60, row->kill_minute >= 0);
	else
		strbuf_addf(&series, "\"value\":[1,\"%lld\"]}",
			    strstr(request, "count_")			? 120LL
			    : is_cache && strstr(request, "memory_rss") ? (long long)row->peak_bytes / 4
									: (long long)row->peak_bytes);
	strbuf_addf(&buf, ANSWER, strbuf_text(&series));
	return strbuf_detach(&buf);
}

struct asked {
	struct triage *triage;
	struct postmortem postmortem;
	struct prometheus_config prometheus;
	struct evidence_reader *reader;
};

static void ask(struct asked *self, struct fake_api *api, struct json_object *json, const char *operand,
		int64_t left_ms)
{
	const struct query_config config = {.prometheus = &self->prometheus};
	const struct postmortem_source source = {.fetch = cluster_case_fetch, .context = json};
	struct err err = ERR_INIT;
	struct owner owner;

	*self = (struct asked){
		.triage = malloc(sizeof(*self->triage)),
		.prometheus = {.url = fake_api_url(api), .timeout_ms = 30000, .concurrency = 1},
	};
	assert_non_null(self->triage);
	assert_int_equal(triage_init(self->triage), 0);
	assert_int_equal(query_reader_new(&config, &self->reader, &err), 0);
	assert_int_equal(owner_parse(operand, &owner, &err), 0);
	postmortem_init(&self->postmortem, self->triage, &source, "ml");
	self->postmortem.reader = self->reader;
	if (left_ms)
		self->postmortem.reader_left_ms = left_ms;
	assert_int_equal(postmortem_read(&self->postmortem, &owner, &err), 0);
	triage_decide(self->triage);
	postmortem_conclude(&self->postmortem);
}

static void asked_release(struct asked *self)
{
	postmortem_release(&self->postmortem);
	query_reader_freep(&self->reader);
	triage_release(self->triage);
	free(self->triage);
}

static void expect_text(const char *row, const char *what, const char *want, const char *got)
{
	if (*want && !streq(want, got ? got : "null"))
		fail_msg("%s: %s: %s, not %s", row, what, got ? got : "null", want);
}

static void check(const struct row *row, const struct gpu_error *error)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES);
	CLEANUP(json_putp) struct json_object *json = make_case(row, 1, error);
	struct answering answering = {row, error};
	struct fake_api *api = fake_api_start_with(answer, &answering);
	const struct verdict *verdict;
	struct asked asked;

	test_row(row->name);
	ask(&asked, api, json, "train-0", 0);
	verdict = &asked.triage->verdict;
	expect_text(row->name, "rule", row->rule, verdict->rule->name);
	expect_text(row->name, "cause", row->cause, verdict->cause);
	expect_text(row->name, "confidence", row->confidence, triage_confidence_names[verdict->confidence]);
	assert_int_equal(triage_markdown(asked.triage, &text), 0);
	if (!strstr(strbuf_text(&text), row->evidence))
		fail_msg("%s: no \"%s\" in: %s", row->name, row->evidence, strbuf_text(&text));
	assert_int_equal(fake_api_count(api, "/api/v1/"), error ? 8 : 6);
	asked_release(&asked);
	fake_api_free(api);
}

static void rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(&rows[i], NULL);
}

static void errors_of_gpus(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(gpu_rows); i++)
		check(&gpu_rows[i].row, &gpu_rows[i].error);
}

/* Of a job, the pods whose logs are read; and after a first failure nothing more. */
static void a_job_is_asked_within_bounds(void **state)
{
	static const struct fake_step refuses[] = {{"/api/v1/", 403, .body = "no", .times = 1000}, {.fits = NULL}};
	static const struct fake_step is_silent[] = {
		{"GET /api/v1/labels?", .body = LABELS}, {"POST /api/v1/", .end = FAKE_SILENT}, {.fits = NULL}};
	static const struct {
		const char *name;
		const struct fake_step *steps; /* NULL: it answers */
		int64_t left_ms;
		size_t least, most; /* requests */
		const char *words;
	} cases[] = {
		{"it answers", NULL, 600000, 1 + 5 * LIMIT_TRIAGE_LOGS_PODS, 1 + 5 * LIMIT_TRIAGE_LOGS_PODS, ""},
		{"it refuses", refuses, 600000, 1, 1, "Prometheus was not read: "},
		{"it is silent", is_silent, 100, 1, 2, "Prometheus was not read: it took too long."},
	};

	struct answering answering = {&rows[0], NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(json_putp) struct json_object *json = make_case(&rows[0], 40, false);
		struct fake_api *api = cases[i].steps ? fake_api_start(cases[i].steps)
						      : fake_api_start_with(answer, &answering);
		struct asked asked;
		const char *unseen;

		test_row(cases[i].name);
		ask(&asked, api, json, "job/train", cases[i].left_ms);
		assert_in_range(fake_api_count(api, "/api/v1/"), cases[i].least, cases[i].most);
		unseen = strbuf_text(&asked.triage->unseen);
		assert_non_null(strstr(unseen, cases[i].words));
		assert_int_equal(strstr(unseen, "Prometheus") != NULL, cases[i].steps != NULL);
		assert_int_equal(fake_api_unexpected(api), 0);
		asked_release(&asked);
		fake_api_free(api);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules),
		cmocka_unit_test(errors_of_gpus),
		cmocka_unit_test(a_job_is_asked_within_bounds),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
