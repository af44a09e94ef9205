/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader finds out about a source before it asks for samples, and what it does when the source refuses. */
#include "support/test.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "evidence/query.h"
#include "fake_api.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define DATA(values) "{\"status\":\"success\",\"data\":[" values "]}"
#define KSM	     "\"kube_pod_owner\""
#define CADVISOR     "\"container_memory_working_set_bytes\""
#define PLACES	     "\"namespace\",\"pod\",\"container\""

static const struct row {
	const char *name, *metrics, *labels, *extra_matchers;
	const char *label, *values; /* of which values are asked for, by which match; NULL: none are */
	const char *match;
	int code;
	const char *words[4];
	const char *together; /* how many clusters there were in each hour; NULL: that is not asked */
	int status;	      /* of that answer */
} rows[] = {
	{"one cluster that nobody names", KSM, PLACES, NULL, NULL, NULL, NULL, 0, .words = {NULL}},
	{"one named cluster", KSM, PLACES ",\"cluster\"", NULL, "cluster", "\"eu\"", "kube_pod_owner&", 0,
	 .words = {NULL}},
	{"two clusters",
	 KSM,
	 PLACES ",\"cluster\"",
	 NULL,
	 "cluster",
	 "\"eu\",\"us\"",
	 "kube_pod_owner&",
	 EVIDENCE_MIXED,
	 {"2 clusters (label cluster: eu, us)", "prometheus: {extraMatchers: 'cluster=\"eu\"'}"},
	 .together = "[0,\"2\"],[3600,\"2\"],[1209599.999,\"1\"]"},
	{"many clusters by another label",
	 KSM,
	 PLACES ",\"k8s_cluster\"",
	 "",
	 "k8s_cluster",
	 "\"a\",\"b\",\"c\",\"d\"",
	 "kube_pod_owner&",
	 EVIDENCE_MIXED,
	 {"4 clusters (label k8s_cluster: a, b, c, ...)", "'k8s_cluster=\"a\"'"},
	 .together = "[0,\"2\"],[3600,\"2\"],[1209599.999,\"1\"]"},
	{"by cAdvisor's series where there is no other",
	 CADVISOR,
	 PLACES ",\"cluster_name\"",
	 NULL,
	 "cluster_name",
	 "\"a\",\"b\"",
	 "container_memory_working_set_bytes&",
	 EVIDENCE_MIXED,
	 {"label cluster_name"},
	 .together = "[0,\"2\"],[3600,\"2\"],[1209599.999,\"1\"]"},
	{"the cluster is chosen", KSM, PLACES ",\"cluster\"", "cluster=\"eu\"", NULL, NULL, NULL, 0, .words = {NULL}},
	{"two of them are chosen", KSM, PLACES ",\"cluster\"", "job=\"x\", cluster=~\"eu|us\"", NULL, NULL, NULL, 0,
	 .words = {NULL}},
	{"the cluster is chosen by another of its labels", KSM, PLACES ",\"cluster\",\"cluster_id\"",
	 "cluster_id=\"7\"", NULL, NULL, NULL, 0, .words = {NULL}},
	{"another label is chosen, and that leaves one", KSM, PLACES ",\"cluster\"", "env=\"prod\"", "cluster",
	 "\"eu\"", "kube_pod_owner%7Benv%3D%22prod%22%7D&", 0, .words = {NULL}},
	{"another label is chosen, and that leaves two",
	 KSM,
	 PLACES ",\"cluster\"",
	 "subcluster=\"eu\"",
	 "cluster",
	 "\"eu\",\"us\"",
	 "kube_pod_owner%7Bsubcluster%3D%22eu%22%7D&",
	 EVIDENCE_MIXED,
	 {"2 clusters"},
	 .together = "[0,\"2\"],[3600,\"2\"],[1209599.999,\"1\"]"},
	{"the second came just now",
	 KSM,
	 PLACES ",\"cluster\"",
	 NULL,
	 "cluster",
	 "\"eu\",\"us\"",
	 "kube_pod_owner&",
	 EVIDENCE_MIXED,
	 {"2 clusters"},
	 .together = "[0,\"1\"],[1209599.999,\"2\"]"},
	{"one whose label was renamed",
	 KSM,
	 PLACES ",\"cluster\"",
	 NULL,
	 "cluster",
	 "\"eu\",\"eu-1\"",
	 "kube_pod_owner&",
	 0,
	 {NULL},
	 .together = "[0,\"1\"],[3600,\"2\"],[1209599.999,\"1\"]"},
	{"whether they are there together is too much to ask",
	 KSM,
	 PLACES ",\"cluster\"",
	 NULL,
	 "cluster",
	 "\"eu\",\"us\"",
	 "kube_pod_owner&",
	 EVIDENCE_MIXED,
	 {"2 clusters"},
	 .together = "",
	 .status = 422},
};

static int detect(const struct row *row, struct fake_api *api, struct err *err)
{
	struct prometheus_config prometheus = {
		.url = fake_api_url(api), .extra_matchers = row->extra_matchers, .timeout_ms = 30000, .concurrency = 1};
	const struct query_config config = {.prometheus = &prometheus};
	struct evidence_reader *reader = NULL;
	int r = query_reader_new(&config, &reader, err);

	assert_int_equal(r, 0);
	r = reader->detect(reader, 0, 14 * TIME_DAY_MS, err);
	query_reader_freep(&reader);
	return r;
}

static void workloads_of_two_clusters_are_not_mixed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		char metrics[256], labels[256], values[256], path[128], together[256];
		const struct fake_step steps[] = {
			{"GET /api/v1/label/__name__/values?", .body = metrics},
			{"GET /api/v1/labels?", .body = labels},
			{"GET /api/v1/label/namespace/values?", .body = DATA("\"ml\"")},
			{row->label ? path : NULL, .body = values},
			{row->together ? "POST /api/v1/query_range" : NULL, row->status, .body = together},
			{.fits = NULL},
		};
		struct fake_api *api;
		struct err err = ERR_INIT;

		test_row(row->name);
		snprintf(metrics, sizeof(metrics), DATA("%s"), row->metrics);
		snprintf(labels, sizeof(labels), DATA("%s"), row->labels);
		snprintf(values, sizeof(values), DATA("%s"), row->values ? row->values : "");
		snprintf(together, sizeof(together),
			 "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{},"
			 "\"values\":[%s]}]}}",
			 row->together ? row->together : "");
		snprintf(path, sizeof(path), "GET /api/v1/label/%s/values?match%%5B%%5D=%s", row->label, row->match);
		api = fake_api_start(steps);
		assert_int_equal(detect(row, api, &err), row->code);
		for (size_t k = 0; k < ARRAY_LEN(row->words) && row->words[k]; k++)
			if (!strstr(err.msg, row->words[k]))
				fail_msg("%s: no \"%s\"", err.msg, row->words[k]);
		assert_int_equal(fake_api_unexpected(api), 0);
		assert_int_equal(fake_api_count(api, path), row->label ? 1 : 0);
		assert_int_equal(fake_api_count(api, "POST /api/v1/query_range"), row->together ? 1 : 0);
		fake_api_free(api);
	}
}

/* The first refusal says that the set has to be split: whatever else is asked of the engine is thrown away. */
static void a_refusal_ends_the_set(void **state)
{
	static const struct {
		const char *name;
		int status;
		const char *body;
	} refusals[] = {
		{"the engine gave up", 422, "too many samples"},
		{"a gateway gave up", 504, "<html>504 Gateway Time-out</html>"},
		{"a component passes on less", 500, "grpc: received message larger than max (5000000 vs. 4194304)"},
	};
	const char *const namespaces[] = {"ml"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		const struct fake_step steps[] = {
			{"GET /api/v1/label/__name__/values?",
			 .body = DATA(KSM ",\"kube_job_owner\",\"kube_pod_container_resource_limits\"," CADVISOR)},
			{"GET /api/v1/labels?", .body = DATA(PLACES), .times = 2},
			{"GET /api/v1/label/namespace/values?", .body = DATA("\"ml\"")},
			{"POST /api/v1/query", refusals[i].status, .body = refusals[i].body, .times = 100},
			{.fits = NULL},
		};
		struct fake_api *api = fake_api_start(steps);
		struct prometheus_config prometheus = {.url = fake_api_url(api), .timeout_ms = 30000, .concurrency = 1};
		const struct query_config config = {.prometheus = &prometheus};
		struct evidence_reader *reader = NULL;
		struct evidence_batch batch;
		struct err err = ERR_INIT;

		test_row(refusals[i].name);
		evidence_batch_init(&batch, &(struct evidence_window){.start_ms = 0, .end_ms = 3600 * 1000});
		assert_int_equal(query_reader_new(&config, &reader, &err), 0);
		assert_int_equal(reader->detect(reader, 0, 3600 * 1000, &err), 0);
		assert_int_equal(reader->read(reader, namespaces, 1, &batch, &err), EVIDENCE_TOO_HEAVY);
		assert_int_equal(fake_api_count(api, "POST /api/v1/query"), 1);
		evidence_batch_release(&batch);
		query_reader_freep(&reader);
		fake_api_free(api);
	}
}

/* A list of namespaces that fits into some of the queries, but not into all: nothing is sent, and the next read works.
 */
static void a_list_that_is_too_long_ends_the_set(void **state)
{
	enum { NAMES = (LIMIT_PROM_QUERY_BYTES - 900) / 64 };
	static const struct fake_step steps[] = {
		{"GET /api/v1/label/__name__/values?",
		 .body = DATA(KSM ",\"kube_job_owner\",\"kube_pod_container_resource_limits\"")},
		{"GET /api/v1/labels?", .body = DATA(PLACES), .times = 2},
		{"GET /api/v1/label/namespace/values?", .body = DATA("\"ml\"")},
		{"POST /api/v1/query",
		 .body = "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}", .times = 3},
		{.fits = NULL},
	};
	struct fake_api *api = fake_api_start(steps);
	struct prometheus_config prometheus = {.url = fake_api_url(api), .timeout_ms = 30000, .concurrency = 1};
	const struct query_config config = {.prometheus = &prometheus};
	struct evidence_reader *reader = NULL;
	const char *names[NAMES + 1];
	char name[64], last[1001];
	struct err err = ERR_INIT;
	int n_refused = 0, r;

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	memset(last, 'b', sizeof(last) - 1);
	name[sizeof(name) - 1] = last[sizeof(last) - 1] = '\0';
	for (size_t i = 0; i < NAMES; i++)
		names[i] = name;
	assert_int_equal(query_reader_new(&config, &reader, &err), 0);
	assert_int_equal(reader->detect(reader, 0, 3600 * 1000, &err), 0);
	for (size_t skip = 0;; skip += 10, n_refused++) {
		struct evidence_batch batch;

		assert_true(skip < sizeof(last));
		names[NAMES] = last + skip;
		evidence_batch_init(&batch, &(struct evidence_window){.start_ms = 0, .end_ms = 3600 * 1000});
		r = reader->read(reader, names, NAMES + 1, &batch, &err);
		evidence_batch_release(&batch);
		if (!r)
			break;
		assert_int_equal(r, -E2BIG);
		assert_non_null(strstr(err.msg, "too long"));
	}
	assert_true(n_refused > 0);
	assert_int_equal(fake_api_count(api, "POST /api/v1/query"), 3);
	query_reader_freep(&reader);
	fake_api_free(api);
}

/* A source that answers seven days of names at most. Each half of two weeks has names of its own. */
#define DAY_MS ((int64_t)86400 * 1000)

static char *answer_a_week(void *context, const char *request, struct fake_step *ret)
{
	const char *start = strstr(request, "&start="), *end = strstr(request, "&end="), *body;
	const int64_t *longest_s = context;
	int64_t from_s = start ? strtoll(start + 7, NULL, 10) : 0;

	if (end && strtoll(end + 5, NULL, 10) - from_s > *longest_s) {
		ret->status = 504;
		return strdup("<html>504 Gateway Time-out</html>");
	}
	if (strstr(request, "/label/__name__/"))
		body = from_s ? DATA(KSM) : DATA(KSM "," CADVISOR);
	else if (strstr(request, "/label/namespace/"))
		body = from_s ? DATA("\"ml\",\"new\"") : DATA("\"old\",\"ml\"");
	else
		body = DATA(PLACES);
	return strdup(body);
}

static bool has_namespace(const struct evidence_reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->n_namespaces; i++)
		if (streq(reader->namespaces[i], name))
			return true;
	return false;
}

static void names_of_a_long_time_are_asked_for_in_parts(void **state)
{
	static const char *const names[] = {"old", "ml", "new"};
	int64_t longest_s = 7 * DAY_MS / 1000;
	struct fake_api *api = fake_api_start_with(answer_a_week, &longest_s);
	struct prometheus_config prometheus = {.url = fake_api_url(api), .timeout_ms = 30000, .concurrency = 1};
	const struct query_config config = {.prometheus = &prometheus};
	struct evidence_reader *reader = NULL;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(query_reader_new(&config, &reader, &err), 0);
	assert_int_equal(reader->detect(reader, 0, 14 * DAY_MS, &err), 0);
	assert_int_equal(reader->n_namespaces, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_true(has_namespace(reader, names[i]));
	/* Refused once, then in halves: metrics, two spellings, namespaces. */
	assert_int_equal(reader->n_queries, 1 + 2 * 4);
	assert_int_equal(reader->detect(reader, 0, 14 * DAY_MS, &err), 0);
	assert_int_equal(reader->n_queries, 1 + 2 * 4 + 2 * 4);
	/* A day later the source is faster, and then it refuses everything. */
	longest_s = 30 * DAY_MS / 1000;
	assert_int_equal(reader->detect(reader, 0, 15 * DAY_MS, &err), 0);
	assert_int_equal(reader->n_queries, 1 + 2 * 4 + 2 * 4 + 4);
	longest_s = 0;
	assert_int_equal(reader->detect(reader, 0, 16 * DAY_MS, &err), EVIDENCE_UNREACHABLE);
	assert_in_range(reader->n_queries, 22, 27);
	assert_non_null(strstr(err.msg, "504"));
	query_reader_freep(&reader);
	fake_api_free(api);
}

/* Names are asked for within the time of a cycle, too. */
static void names_are_not_asked_for_after_the_deadline(void **state)
{
	int64_t longest_s = 30 * DAY_MS / 1000;
	struct fake_api *api = fake_api_start_with(answer_a_week, &longest_s);
	struct prometheus_config prometheus = {.url = fake_api_url(api), .timeout_ms = 30000, .concurrency = 1};
	const struct query_config config = {.prometheus = &prometheus};
	struct evidence_reader *reader = NULL;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(query_reader_new(&config, &reader, &err), 0);
	query_reader_deadline(reader, time_monotonic_ms());
	assert_int_equal(reader->detect(reader, 0, 14 * DAY_MS, &err), EVIDENCE_STOPPED);
	assert_non_null(strstr(err.msg, "time for all requests"));
	query_reader_deadline(reader, 0);
	assert_int_equal(reader->detect(reader, 0, 14 * DAY_MS, &err), 0);
	query_reader_freep(&reader);
	fake_api_free(api);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workloads_of_two_clusters_are_not_mixed),
		cmocka_unit_test(a_refusal_ends_the_set),
		cmocka_unit_test(a_list_that_is_too_long_ends_the_set),
		cmocka_unit_test(names_of_a_long_time_are_asked_for_in_parts),
		cmocka_unit_test(names_are_not_asked_for_after_the_deadline),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
