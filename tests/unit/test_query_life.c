/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of Prometheus about one start of a container and about a node, and what is made of the answers. */
#include "support/test.h"

#include "base/io.h"
#include "base/limits.h"
#include "evidence/query.h"
#include "evidence/query_life.h"
#include "evidence/query_node.h"
#include "fake_api.h"

#include <signal.h>
#include <string.h>

#define MINUTE_MS   ((int64_t)60 * 1000)
#define HOUR_MS	    (60 * MINUTE_MS)
#define START_MS    (1000 * HOUR_MS)
#define UID	    "0b5e5c1d-0000-4000-8000-00000000000a"
#define CGROUP	    "\"id\":\"/kubepods/pod" UID "/abc\""
#define OTHER	    "\"id\":\"/kubepods/pod0b5e5c1d-0000-4000-8000-00000000000b/abc\""
#define ANSWER	    "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[%s]}}"
#define LABELS	    "{\"status\":\"success\",\"data\":[\"namespace\",\"pod\",\"container\"]}"
#define AT(v)	    "{\"metric\":{" CGROUP "},\"value\":[1,\"" v "\"]}"
#define AT_OTHER(v) "{\"metric\":{" OTHER "},\"value\":[1,\"" v "\"]}"
#define AT_NONE(v)  "{\"metric\":{},\"value\":[1,\"" v "\"]}"

static struct evidence_reader *make_reader(struct fake_api *api, struct prometheus_config *prometheus)
{
	struct evidence_reader *reader = NULL;
	const struct query_config config = {.prometheus = prometheus};

	*prometheus = (struct prometheus_config){
		.url = fake_api_url(api), .timeout_ms = 30000, .concurrency = 1, .extra_matchers = "cluster=\"a\""};
	assert_int_equal(query_reader_new(&config, &reader, NULL), 0);
	return reader;
}

/* ---- containers ---- */

/* The counter of kills at the ends of steps, as Prometheus gives them; -1: no sample in the step. */
struct points {
	const char *labels;
	int values[8];
	int n;
};

static const struct row {
	const char *name;
	int minutes; /* from the start to the end */
	struct points counter[2];
	const char *peak, *rss, *samples; /* answers */
	/* what is expected */
	int64_t kills, from_minute, to_minute, peak_bytes, peak_rss_bytes, n_samples;
} rows[] = {
	{"nothing at all", 8, {{.n = 0}}, "", "", "", 0, 0, 0, 0, 0, 0},
	{"no kill", 8, {{CGROUP, {0, 0, 0, 0, 0, 0, 0, 0}, 8}}, AT("100"), AT("90"), AT("16"), 0, 0, 0, 100, 90, 16},
	{"a kill", 8, {{CGROUP, {0, 0, 0, 1, 1, 1, 1, 1}, 8}}, AT("100"), "", "", 1, 3, 4, 100, 0, 0},
	{"several: the last time counts", 8, {{CGROUP, {0, 1, 1, 1, 1, 1, 3, 3}, 8}}, "", "", "", 3, 6, 7, 0, 0, 0},
	{"at the end", 8, {{CGROUP, {0, 0, 0, 0, 0, 0, 0, 2}, 8}}, "", "", "", 2, 7, 8, 0, 0, 0},
	{"in the first step", 8, {{CGROUP, {1, 1, 1, 1, 1, 1, 1, 1}, 8}}, "", "", "", 1, 0, 1, 0, 0, 0},
	{"gaps", 8, {{CGROUP, {0, -1, -1, 1, -1, 1, -1, -1}, 8}}, "", "", "", 1, 3, 4, 0, 0, 0},
	{"of another pod of the name",
	 8,
	 {{OTHER, {0, 1, 1, 1, 1, 1, 1, 2}, 8}},
	 AT_OTHER("5") "," AT("3"),
	 AT_OTHER("7"),
	 AT_OTHER("9"),
	 0,
	 0,
	 0,
	 3,
	 0,
	 0},
	{"the series of both",
	 8,
	 {{OTHER, {0, 0, 0, 0, 0, 0, 0, 2}, 8}, {CGROUP, {0, 0, 1, 1, 1, 1, 1, 1}, 8}},
	 "",
	 "",
	 "",
	 1,
	 2,
	 3,
	 0,
	 0,
	 0},
	{"a copy without a cgroup",
	 8,
	 {{"", {0, 0, 0, 0, 0, 1, 1, 1}, 8}, {CGROUP, {0, 0, 0, 0, 0, 1, 1, 1}, 8}},
	 AT_NONE("120") "," AT("100"),
	 "",
	 "",
	 1,
	 5,
	 6,
	 120,
	 0,
	 0},
	{"values that nobody has",
	 8,
	 {{CGROUP, {0}, 1}},
	 AT("NaN") "," AT("-5"),
	 AT("+Inf"),
	 AT("1e300"),
	 0,
	 0,
	 0,
	 0,
	 0,
	 0},
};

static void add_points(struct strbuf *buf, const struct row *row, const struct points *points)
{
	int64_t first_ms = START_MS + (row->minutes - points->n + 1) * MINUTE_MS - 1;

	strbuf_addf(buf, "%s{\"metric\":{%s},\"values\":[", buf->len ? "," : "", points->labels);
	for (int i = 0, n = 0; i < points->n; i++)
		if (points->values[i] >= 0)
			strbuf_addf(buf, "%s[%lld.%03d,\"%d\"]", n++ ? "," : "",
				    (long long)(first_ms + i * MINUTE_MS) / 1000, 999, points->values[i]);
	strbuf_adds(buf, "]}");
}

static char *answer_life(void *context, const char *request, struct fake_step *ret)
{
	CLEANUP(strbuf_release) struct strbuf series = STRBUF_INIT(64 * KIB), buf = series;
	const struct row *row = context;

	(void)ret;
	if (strstr(request, "GET /api/v1/labels?"))
		return strdup(LABELS);
	for (size_t i = 0; i < ARRAY_LEN(row->counter) && strstr(request, "/query_range"); i++)
		if (row->counter[i].labels)
			add_points(&series, row, &row->counter[i]);
	if (!strstr(request, "/query_range"))
		strbuf_adds(&series, strstr(request, "memory_rss") ? row->rss
				     : strstr(request, "count_")   ? row->samples
								   : row->peak);
	strbuf_addf(&buf, ANSWER, strbuf_text(&series));
	return strbuf_detach(&buf);
}

static void expect(const char *row, const char *what, int64_t got, int64_t want)
{
	if (got != want)
		fail_msg("%s: %s: %lld, not %lld", row, what, (long long)got, (long long)want);
}

static void a_life_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct fake_api *api = fake_api_start_with(answer_life, (void *)(uintptr_t)row);
		struct prometheus_config prometheus;
		struct evidence_reader *reader = make_reader(api, &prometheus);
		struct evidence_life life = {.namespace_name = "ml",
					     .pod = "train-0",
					     .container = "trainer",
					     .uid = UID,
					     .start_ms = START_MS,
					     .end_ms = START_MS + row->minutes * MINUTE_MS};
		struct err err = ERR_INIT;

		test_row(row->name);
		if (query_lives(reader, &life, 1, &err))
			fail_msg("%s: %s", row->name, err.msg);
		expect(row->name, "kills", life.kills, row->kills);
		expect(row->name, "from", life.killed_from_ms,
		       row->kills ? START_MS + row->from_minute * MINUTE_MS : 0);
		expect(row->name, "to", life.killed_to_ms, row->kills ? START_MS + row->to_minute * MINUTE_MS : 0);
		expect(row->name, "peak", life.peak_bytes, row->peak_bytes);
		expect(row->name, "rss", life.peak_rss_bytes, row->peak_rss_bytes);
		expect(row->name, "samples", life.samples, row->n_samples);
		query_reader_freep(&reader);
		fake_api_free(api);
	}
}

/* The spelling of labels once, then four queries a container, each of this container and of its life only. */
static void queries_are_few_and_bounded(void **state)
{
	static const struct {
		int64_t length_ms;
		const char *step, *start, *range; /* of the range query, in the form of the request; of the others */
	} lengths[] = {
		{10 * 1000, "step=1m", "start=3600009.999", "%5B10000ms%5D"},
		{8 * MINUTE_MS + 1000, "step=1m", "start=3600060.999", "%5B481000ms%5D"},
		{6 * HOUR_MS, "step=5m37s500ms", "start=3600337.499", "%5B21600000ms%5D"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct fake_api *api = fake_api_start_with(answer_life, (void *)(uintptr_t)&rows[0]);
		struct prometheus_config prometheus;
		struct evidence_reader *reader = make_reader(api, &prometheus);
		struct evidence_life lives[2] = {{.namespace_name = "ml",
						  .pod = "train-0",
						  .container = "trainer",
						  .uid = UID,
						  .start_ms = START_MS,
						  .end_ms = START_MS + lengths[i].length_ms}};

		lives[1] = lives[0];
		assert_int_equal(query_lives(reader, lives, 2, NULL), 0);
		assert_int_equal(query_lives(reader, lives, 1, NULL), 0);
		assert_int_equal(fake_api_count(api, "GET /api/v1/labels?"), 1);
		assert_int_equal(fake_api_count(api, "POST /api/v1/query"), 3 * 4);
		assert_int_equal(
			fake_api_count(api, "namespace%3D~%22ml%22%2Cpod%3D~%22train-0%22%2Ccontainer%3D~%22trainer"),
			3 * 4);
		assert_int_equal(fake_api_count(api, "cluster%3D%22a%22"), 3 * 4);
		assert_int_equal(fake_api_count(api, lengths[i].step), 3);
		assert_int_equal(fake_api_count(api, lengths[i].start), 3);
		assert_int_equal(fake_api_count(api, lengths[i].range), 3 * 3);
		query_reader_freep(&reader);
		fake_api_free(api);
	}
}

/* The curve is asked for where it is wanted, and has a place for each step. */
static void a_curve_is_read(void **state)
{
	static const struct row row = {.name = "curve",
				       8,
				       {{CGROUP, {10, 20, 30, -1, 50, 60, 70, 80}, 8}, {OTHER, {99, 99}, 2}},
				       "",
				       "",
				       "",
				       0,
				       0,
				       0,
				       0,
				       0,
				       0};
	struct fake_api *api = fake_api_start_with(answer_life, (void *)(uintptr_t)&row);
	struct prometheus_config prometheus;
	struct evidence_reader *reader = make_reader(api, &prometheus);
	struct evidence_life life = {.namespace_name = "ml",
				     .pod = "train-0",
				     .container = "trainer",
				     .uid = UID,
				     .start_ms = START_MS,
				     .end_ms = START_MS + 8 * MINUTE_MS,
				     .wants_curve = true};

	(void)state;
	assert_int_equal(query_lives(reader, &life, 1, NULL), 0);
	assert_int_equal(fake_api_count(api, "POST /api/v1/query"), 5);
	for (int i = 0; i < 8; i++)
		assert_int_equal(life.curve_bytes[i], i == 3 ? 0 : 10 * (i + 1));
	query_reader_freep(&reader);
	fake_api_free(api);
}

static void refusals_are_errors(void **state)
{
	static const struct {
		const char *labels_body, *body;
		int labels_status, status;
		int want; /* 0: any error */
	} refusals[] = {
		{"no", "", 403, 200, EVIDENCE_UNREACHABLE},
		{LABELS, "too many samples", 200, 422, EVIDENCE_TOO_HEAVY},
		{LABELS, "{\"status\":\"success\"", 200, 200, 0},
		{LABELS, "[]", 200, 200, 0},
		{"{\"status\":\"success\",\"data\":{}}", "", 200, 200, EVIDENCE_UNREACHABLE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		const struct fake_step steps[] = {
			{"GET /api/v1/labels?", .status = refusals[i].labels_status, .body = refusals[i].labels_body},
			{"POST /api/v1/query", refusals[i].status, .body = refusals[i].body, .times = 100},
			{.fits = NULL},
		};
		struct fake_api *api = fake_api_start(steps);
		struct prometheus_config prometheus;
		struct evidence_reader *reader = make_reader(api, &prometheus);
		struct evidence_life life = {
			.namespace_name = "ml", .pod = "p", .container = "c", .uid = UID, .end_ms = 5};
		struct err err = ERR_INIT;
		int r = query_lives(reader, &life, 1, &err);

		assert_true(refusals[i].want ? r == refusals[i].want : r != 0);
		assert_true(err.msg[0]);
		query_reader_freep(&reader);
		fake_api_free(api);
	}
}

/* ---- nodes ---- */

#define OF(metric, value)                                                                                              \
	"{\"metric\":{\"__name__\":\"" metric "\",\"instance\":\"10.0.0.7:9100\"},\"value\":[1,\"" value "\"]}"
#define OF_ANOTHER(metric, value)                                                                                      \
	"{\"metric\":{\"__name__\":\"" metric "\",\"instance\":\"10.0.0.8:9100\"},\"value\":[1,\"" value "\"]}"
#define SHARE(value) "{\"metric\":{\"instance\":\"10.0.0.7:9100\"},\"value\":[1,\"" value "\"]}"

static const struct node_row {
	const char *name, *series, *pressure, *known; /* answers */
	const char *want, *other;
} node_rows[] = {
	{"nothing", "", "", "", "", ""},
	{"each form",
	 OF("node_memory_MemTotal_bytes", "4294967296") "," OF("node_memory_HugePages_Total", "512") "," OF(
		 "node_vmstat_oom_kill", "3") "," OF("node_sysctl_vm_overcommit_memory", "2"),
	 "", "", "MemTotal: 4194304 kB\nHugePages_Total: 512\noom_kill 3\nvm.overcommit_memory = 2\n", ""},
	{"zero is a value", OF("node_memory_SwapTotal_bytes", "0"), "", "", "SwapTotal: 0 kB\n", ""},
	{"pressure", "", SHARE("0.256"), "", "some avg300=25.60\n", ""},
	{"more pressure than there is", "", SHARE("7"), "", "some avg300=100.00\n", ""},
	{"of Kubernetes", "", "", "{\"metric\":{},\"value\":[1,\"1\"]}", "kubelet\n", ""},
	{"values that nobody has", OF("node_memory_MemTotal_bytes", "NaN") "," OF("node_vmstat_oom_kill", "-1"),
	 SHARE("+Inf"), "{\"metric\":{},\"value\":[1,\"0\"]}", "", ""},
	{"other names", OF("node_memory_", "1") "," OF("up", "1") "," OF("node_vmstat_", "1"), "", "", "", ""},
	{"two of a name", OF("node_vmstat_oom_kill", "1") "," OF_ANOTHER("node_vmstat_oom_kill", "2"), "", "",
	 "oom_kill 1\n", "10.0.0.8:9100"},
};

static char *answer_node(void *context, const char *request, struct fake_step *ret)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(64 * KIB);
	const struct node_row *row = context;

	(void)ret;
	strbuf_addf(&buf, ANSWER,
		    strstr(request, "kube_node_info") ? row->known
		    : strstr(request, "pressure")     ? row->pressure
						      : row->series);
	return strbuf_detach(&buf);
}

static void a_node_becomes_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(node_rows); i++) {
		const struct node_row *row = &node_rows[i];
		CLEANUP(strbuf_release) struct strbuf lines = STRBUF_INIT(64 * KIB);
		struct fake_api *api = fake_api_start_with(answer_node, (void *)(uintptr_t)row);
		struct prometheus_config prometheus;
		struct evidence_reader *reader = make_reader(api, &prometheus);
		struct node_lines found = {.lines = &lines};

		test_row(row->name);
		assert_int_equal(query_node(reader, "node-a.b", START_MS, &found, NULL), 0);
		assert_string_equal(strbuf_text(&lines), row->want);
		assert_string_equal(found.other, row->other);
		assert_int_equal(fake_api_count(api, "POST "), 3);
		assert_int_equal(fake_api_count(api, "node-a%5C%5C.b"), 3);
		assert_int_equal(fake_api_count(api, "cluster%3D%22a%22"), 3);
		assert_int_equal(fake_api_count(api, "kube-system"), 0);
		query_reader_freep(&reader);
		fake_api_free(api);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_life_is_read),	cmocka_unit_test(queries_are_few_and_bounded),
		cmocka_unit_test(a_curve_is_read),	cmocka_unit_test(refusals_are_errors),
		cmocka_unit_test(a_node_becomes_lines),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
