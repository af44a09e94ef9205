/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/timefmt.h"
#include "evidence/metrics.h"
#include "evidence/query_internal.h"

#define HOUR TIME_HOUR_MS

static void cgroups_name_their_pod(void **state)
{
	static const struct {
		const char *name, *cgroup, *uid;
	} rows[] = {
		{"systemd",
		 "/kubepods.slice/kubepods-burstable.slice/"
		 "kubepods-burstable-pod0646dc2a_da43_458a_96d6_157ea83684ae.slice/"
		 "cri-containerd-abc.scope",
		 "0646dc2a-da43-458a-96d6-157ea83684ae"},
		{"cgroupfs", "/kubepods/besteffort/pod0646dc2a-da43-458a-96d6-157ea83684ae/abc",
		 "0646dc2a-da43-458a-96d6-157ea83684ae"},
		{"a static pod", "/kubepods/burstable/pod6d8e1b2f3a4c5d6e7f8091a2b3c4d5e6/abc", NULL},
		{"cut", "/kubepods/pod0646dc2a-da43-458a-96d6-157ea83684a", NULL},
		{"too long", "/kubepods/pod0646dc2a-da43-458a-96d6-157ea83684ae1", NULL},
		{"none", "", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char uid[40] = "";

		test_row(rows[i].name);
		assert_int_equal(evidence_cgroup_uid(rows[i].cgroup, uid), rows[i].uid != NULL);
		if (rows[i].uid)
			assert_string_equal(uid, rows[i].uid);
	}
}

static void sanitised_resources_have_a_true_name(void **state)
{
	static const struct {
		const char *sanitised, *name;
		int64_t milli_of_two;
	} rows[] = {
		{"nvidia_com_gpu", "nvidia.com/gpu", 2000},
		{"nvidia_com_gpu_shared", "nvidia.com/gpu.shared", 2000},
		{"nvidia_com_mig_3g_20gb", "nvidia.com/mig-3g.20gb", 1000},
		{"amd_com_gpu", "amd.com/gpu", 2000},
		{"habana_ai_gaudi", "habana.ai/gaudi", 2000},
		{"gpu_intel_com_i915", "gpu.intel.com/i915", 2000},
		{"aws_amazon_com_neuron", "aws.amazon.com/neuron", 2000},
		{"google_com_tpu", "google.com/tpu", 2000},
		{"memory", NULL, 0},
		{"ephemeral_storage", NULL, 0},
		{"rdma_hca", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[64] = "";

		test_row(rows[i].sanitised);
		assert_int_equal(evidence_resource_name(rows[i].sanitised, name, sizeof(name)), rows[i].name != NULL);
		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
		assert_int_equal(evidence_accelerators_milli(rows[i].sanitised, 2), rows[i].milli_of_two);
	}
}

static void hours_tell_first_and_last_sample(void **state)
{
	struct evidence_usage usage = {.samples = 0};

	(void)state;
	/* From 40 minutes past to 10 minutes past, two hours later, once a minute; in any order. */
	evidence_usage_add_hour(&usage, 2 * HOUR, 3 * HOUR, 10);
	evidence_usage_add_hour(&usage, 0, HOUR, 20);
	evidence_usage_add_hour(&usage, HOUR, 2 * HOUR, 60);
	evidence_usage_settle(&usage);
	assert_int_equal(usage.samples, 90);
	assert_false(usage.is_coarse);
	assert_int_equal(usage.first_ms, 40 * TIME_MINUTE_MS);
	assert_int_equal(usage.last_ms, 2 * HOUR + 10 * TIME_MINUTE_MS);

	usage = (struct evidence_usage){.samples = 0};
	evidence_usage_add_hour(&usage, HOUR, 2 * HOUR, 7);
	evidence_usage_settle(&usage);
	assert_true(usage.is_coarse);
	assert_int_equal(usage.first_ms, HOUR);
	assert_int_equal(usage.last_ms, 2 * HOUR);

	/* A minute, over an hour's border: neither hour was full, so neither tells the interval. */
	usage = (struct evidence_usage){.samples = 0};
	evidence_usage_add_hour(&usage, HOUR, 2 * HOUR, 3);
	evidence_usage_add_hour(&usage, 2 * HOUR, 3 * HOUR, 2);
	evidence_usage_settle(&usage);
	assert_true(usage.is_coarse);
	assert_int_equal(usage.hour_samples, 0);
	assert_int_equal(usage.first_ms, HOUR);
	assert_int_equal(usage.last_ms, 3 * HOUR);

	/* More than a sample a millisecond is no count. */
	evidence_usage_add_hour(&usage, 4 * HOUR, 5 * HOUR, INT64_MAX);
	evidence_usage_add_hour(&usage, 5 * HOUR, 6 * HOUR, HOUR + 1);
	assert_int_equal(usage.samples, 5);
	assert_int_equal(usage.hours.last_ms, 2 * HOUR);
}

static void owners_and_accelerators_tell_training(void **state)
{
	static const struct {
		const char *name, *owner_kind, *root_kind, *label;
		int64_t accelerators_milli;
		bool is_training;
	} rows[] = {
		{"a Job with a GPU", "Job", "", NULL, 1000, true},
		{"a Job without", "Job", "", NULL, 0, false},
		{"a Job without, but labelled", "Job", "", "true", 0, true},
		{"a PyTorchJob without a GPU", "PyTorchJob", "", NULL, 0, true},
		{"a Job of a JobSet", "Job", "JobSet", NULL, 0, true},
		{"a Job of a CronJob with a GPU", "Job", "CronJob", NULL, 1000, true},
		{"a bare pod with a GPU", "", "", NULL, 500, true},
		{"a bare pod without", "", "", NULL, 0, false},
		{"a server with a GPU", "ReplicaSet", "", NULL, 1000, false},
		{"a notebook with a GPU", "Notebook", "", NULL, 1000, false},
		{"a server with a GPU, labelled", "ReplicaSet", "", "true", 1000, true},
		{"a PyTorchJob labelled as none", "PyTorchJob", "", "false", 1000, false},
		{"a PyTorchJob to be ignored", "PyTorchJob", "", "ignore", 1000, false},
		{"nobody knows its owner", NULL, "", NULL, 1000, false},
		{"an unknown kind with a GPU", "Frobnicator", "", NULL, 1000, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool is_ignored = rows[i].label && streq(rows[i].label, "ignore");
		struct k8s_label labels[] = {{"memtamer.io/training", is_ignored ? "true" : rows[i].label},
					     {"memtamer.io/ignore", "true"}};
		struct pod_container container = {.accelerators_milli = rows[i].accelerators_milli};
		struct pod pod = {.owner_kind = rows[i].owner_kind ? rows[i].owner_kind : "",
				  .root_kind = rows[i].root_kind,
				  .is_owner_known = rows[i].owner_kind != NULL,
				  .labels = {.items = labels, .n = is_ignored ? 2 : rows[i].label != NULL},
				  .containers = {.items = &container, .n = 1}};

		test_row(rows[i].name);
		evidence_pod_classify(&pod);
		assert_int_equal(pod.is_training, rows[i].is_training);
	}
}

static void pods_of_one_name_are_told_apart_by_uid(void **state)
{
	const struct evidence_window window = {.start_ms = 0, .end_ms = HOUR};
	struct evidence_batch batch;
	struct pod *first, *second;

	(void)state;
	evidence_batch_init(&batch, &window);
	first = evidence_pod_put(&batch, "ml", "a", "u1");
	assert_false(first->is_name_shared);
	second = evidence_pod_put(&batch, "ml", "a", "u2");
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(evidence_pod_put(&batch, "ml", "a", "u1"), first);
	assert_ptr_equal(evidence_pod_get(&batch, "ml", "a", "u2"), second);
	assert_true(first->is_name_shared && second->is_name_shared);
	assert_null(evidence_pod_get(&batch, "other", "a", "u1"));
	assert_null(evidence_pod_get(&batch, "ml", "a", "u3"));
	evidence_batch_release(&batch);
}

static const struct metric_row *row_of(const char *metric, enum metric_phase phase)
{
	for (size_t i = 0; i < metric_row_count; i++)
		if (streq(metric_rows[i].metric, metric) && metric_rows[i].phase == phase)
			return &metric_rows[i];
	fail_msg("no row for %s", metric);
	return NULL;
}

static void expressions_are_filled_in(void **state)
{
	static const char *const only[] = {"ml", "a.b\"c", NULL}, *const excluded[] = {"web", NULL};
	struct prometheus_config prometheus = {.extra_matchers = "cluster=\"x\""};
	struct query_reader reader = {
		.config = {.prometheus = &prometheus, .excluded_namespaces = excluded},
		.labels = {{"exported_namespace", "exported_pod", "exported_container"},
			   {"namespace", "pod", "container"},
			   [FAMILY_DCGM] = {"exported_namespace", "exported_pod", "exported_container"}},
	};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KIB);
	const struct query_place place = {"ml", "train.1-0", "main"};
	struct query query;

	(void)state;
	query = (struct query){.row = row_of("kube_pod_start_time", PHASE_FACTS), .range_ms = 86400000};
	assert_int_equal(query_expression(&reader, &query, NULL, 0, &text, NULL), 0);
	assert_string_equal(strbuf_text(&text),
			    "max by (exported_namespace,exported_pod,uid)(last_over_time(kube_pod_start_time{"
			    "exported_pod!=\"\",exported_namespace!~\"kube-system\",exported_namespace!~\"web\","
			    "cluster=\"x\"}[86400000ms]))");
	strbuf_clear(&text);
	query = (struct query){.row = row_of("container_memory_working_set_bytes", PHASE_FACTS), .range_ms = 60000};
	assert_int_equal(query_expression(&reader, &query, only, 2, &text, NULL), 0);
	assert_string_equal(
		strbuf_text(&text),
		"max by (namespace,pod,container,id)(max_over_time(container_memory_working_set_bytes{"
		"container!=\"\",container!=\"POD\",pod!=\"\",namespace=~\"ml|a\\\\.b\\\\\\\"c\",cluster=\"x\"}"
		"[60000ms]))");
	strbuf_clear(&text);
	query.place = &place;
	strbuf_clear(&text);
	assert_int_equal(query_expression(&reader, &query, NULL, 0, &text, NULL), 0);
	assert_string_equal(strbuf_text(&text),
			    "max by (namespace,pod,container,id)(max_over_time(container_memory_working_set_bytes{"
			    "container!=\"\",container!=\"POD\",pod!=\"\",namespace=~\"ml\",pod=~\"train\\\\.1-0\","
			    "container=~\"main\",cluster=\"x\"}[60000ms]))");
	strbuf_clear(&text);
	query = (struct query){.row = row_of("DCGM_FI_DEV_GPU_UTIL", PHASE_FACTS), .range_ms = 60000};
	assert_int_equal(query_expression(&reader, &query, only, 1, &text, NULL), 0);
	assert_string_equal(strbuf_text(&text),
			    "sum by (exported_namespace,exported_pod,pod_uid)(max by (exported_namespace,exported_pod,"
			    "pod_uid,UUID,gpu,GPU_I_ID)(sum_over_time(DCGM_FI_DEV_GPU_UTIL{exported_pod!=\"\","
			    "exported_namespace=~\"ml\",cluster=\"x\"}[60000ms])))");
	strbuf_clear(&text);
	query = (struct query){.row = row_of("DCGM_FI_DEV_FB_FREE", PHASE_FACTS), .range_ms = 60000};
	assert_int_equal(query_expression(&reader, &query, only, 1, &text, NULL), 0);
	assert_string_equal(strbuf_text(&text),
			    "max by (exported_namespace,exported_pod,exported_container,pod_uid)("
			    "max by (exported_namespace,exported_pod,exported_container,pod_uid,UUID,gpu,GPU_I_ID)("
			    "max_over_time(DCGM_FI_DEV_FB_USED{exported_pod!=\"\",exported_namespace=~\"ml\","
			    "cluster=\"x\"}[60000ms]))"
			    "+min by (exported_namespace,exported_pod,exported_container,pod_uid,UUID,gpu,GPU_I_ID)("
			    "min_over_time(DCGM_FI_DEV_FB_FREE{exported_pod!=\"\",exported_namespace=~\"ml\","
			    "cluster=\"x\"}[60000ms])))");
}

/* kube-state-metrics tells only labels that it is configured to tell. */
static void labels_of_watched_pods_stay(void **state)
{
	static const struct k8s_label label = {"memtamer.io/workload", "bert"};
	static const struct {
		bool is_watched;
		const char *key;
	} rows[] = {{true, "memtamer.io/workload"}, {false, "training.kubeflow.org/job-name"}};
	const struct metric_labels names = {"namespace", "pod", "container"};
	const struct evidence_window window = {.end_ms = HOUR};
	static const char series[] = "{\"namespace\":\"ml\",\"pod\":\"a\",\"uid\":\"u1\","
				     "\"label_training_kubeflow_org_job_name\":\"x\"}";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct metric_row *row = row_of("kube_pod_labels", PHASE_PODS);
		struct evidence_batch batch;
		struct metric_sink sink = {.batch = &batch, .labels = &names};
		struct json_object *labels;
		struct pod *pod;

		evidence_batch_init(&batch, &window);
		pod = evidence_pod_put(&batch, "ml", "a", "u1");
		assert_non_null(pod);
		pod->is_watched = rows[i].is_watched;
		assert_int_equal(vec_push(&pod->labels, label), 0);
		assert_int_equal(json_parse(series, strlen(series), 8, &labels, NULL), 0);
		assert_int_equal(row->take(&sink, labels, 1, NULL), 0);
		assert_int_equal(pod->labels.n, 1);
		assert_string_equal(pod->labels.items[0].key, rows[i].key);
		json_object_put(labels);
		evidence_batch_release(&batch);
	}
}

/* Its other containers, and the other pods of the window, are kept. */
static void surplus_containers_of_a_pod_are_left_out(void **state)
{
	static const char series[] = "{\"namespace\":\"ml\",\"pod\":\"a\",\"uid\":\"u1\",\"container\":\"surplus\","
				     "\"id\":\"/kubepods/x\",\"resource\":\"memory\"}";
	const struct evidence_window window = {.end_ms = HOUR};
	const struct metric_labels names = {"namespace", "pod", "container"};
	const struct metric_row *rows[] = {row_of("kube_pod_container_resource_limits", PHASE_PODS),
					   row_of("container_memory_working_set_bytes", PHASE_FACTS)};
	struct evidence_batch batch;
	struct metric_sink sink = {.batch = &batch, .labels = &names};
	struct pod *pod;
	struct json_object *labels;
	char name[16];

	(void)state;
	evidence_batch_init(&batch, &window);
	pod = evidence_pod_put(&batch, "ml", "a", "u1");
	assert_non_null(pod);
	for (int i = 0; i < LIMIT_POD_CONTAINERS; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		assert_non_null(pod_container_put(&batch.pods, pod, name));
	}
	assert_null(batch.pods.overfull);
	pod->is_training = true;
	assert_int_equal(json_parse(series, strlen(series), 8, &labels, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		batch.pods.overfull = NULL;
		assert_int_equal(rows[i]->take(&sink, labels, 1, NULL), 0);
		assert_ptr_equal(batch.pods.overfull, pod);
	}
	assert_int_equal(pod->containers.n, LIMIT_POD_CONTAINERS);
	assert_string_equal(pod_container_put(&batch.pods, pod, name)->name, name);
	json_object_put(labels);
	evidence_batch_release(&batch);
}

static void refusals_are_understood(void **state)
{
	static const struct {
		const char *name;
		struct http_result result;
		int condition;
	} rows[] = {
		{"done", {.outcome = HTTP_DONE, .status = 200}, 0},
		{"too many samples", {.outcome = HTTP_STATUS, .status = 422, .error_body = ""}, EVIDENCE_TOO_HEAVY},
		{"answer too long", {.outcome = HTTP_STATUS, .status = 413, .error_body = ""}, EVIDENCE_TOO_HEAVY},
		{"query timed out",
		 {.outcome = HTTP_STATUS, .status = 503, .error_body = "query timed out in expression evaluation"},
		 EVIDENCE_TOO_HEAVY},
		{"the time of a store is over",
		 {.outcome = HTTP_STATUS, .status = 500, .error_body = "expanding series: context deadline exceeded"},
		 EVIDENCE_TOO_HEAVY},
		{"a message that is too large",
		 {.outcome = HTTP_STATUS,
		  .status = 500,
		  .error_body = "rpc error: code = ResourceExhausted desc = grpc: received message larger than max"},
		 EVIDENCE_TOO_HEAVY},
		{"a gateway waited no longer",
		 {.outcome = HTTP_STATUS, .status = 504, .error_body = "<html>504 Gateway Time-out</html>"},
		 EVIDENCE_TOO_HEAVY},
		{"a fault",
		 {.outcome = HTTP_STATUS, .status = 500, .error_body = "disk is gone"},
		 EVIDENCE_UNREACHABLE},
		{"busy", {.outcome = HTTP_STATUS, .status = 503, .error_body = ""}, EVIDENCE_UNREACHABLE},
		{"not allowed", {.outcome = HTTP_STATUS, .status = 401, .error_body = ""}, EVIDENCE_UNREACHABLE},
		{"timed out here", {.outcome = HTTP_TIMED_OUT}, EVIDENCE_TOO_HEAVY},
		{"refused", {.outcome = HTTP_CANNOT_CONNECT}, EVIDENCE_UNREACHABLE},
		{"broken off", {.outcome = HTTP_BROKEN}, EVIDENCE_UNREACHABLE},
		{"interrupted", {.outcome = HTTP_CANCELLED}, EVIDENCE_STOPPED},
		{"not an answer", {.outcome = HTTP_ABORTED, .err = {.code = -71}}, -71},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].name);
		assert_int_equal(query_condition(&rows[i].result), rows[i].condition);
	}
}

static void use_without_a_cgroup_counts_once(void **state)
{
	static const struct {
		const char *name, *cgroups[3];
		size_t n, n_left;
		int64_t peak; /* the n-th cgroup has a peak of n */
	} rows[] = {
		{"cAdvisor alone", {"/a"}, 1, 1, 1},
		{"cAdvisor without cgroups", {""}, 1, 1, 1},
		{"a copy", {"/a", ""}, 2, 1, 2},
		{"a copy first", {"", "/a"}, 2, 1, 2},
		{"a copy of two starts", {"/a", "", "/b"}, 3, 2, 3},
		{"two starts", {"/a", "/b"}, 2, 2, 2},
	};
	const struct evidence_window window = {.end_ms = HOUR};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pod_container *container;
		struct evidence_batch batch;
		int64_t peak = 0;

		test_row(rows[i].name);
		evidence_batch_init(&batch, &window);
		container = pod_container_put(&batch.pods, evidence_pod_put(&batch, "ml", "a", "u1"), "main");
		assert_non_null(container);
		for (size_t k = 0; k < rows[i].n; k++)
			evidence_usage_put(&batch, container, rows[i].cgroups[k])->peak_bytes = (int64_t)k + 1;
		query_drop_copy(container);
		assert_int_equal(container->usage.n, rows[i].n_left);
		for (size_t k = 0; k < container->usage.n; k++) {
			const struct evidence_usage *usage = &container->usage.items[k];

			assert_true(*usage->cgroup || rows[i].n == 1);
			peak = MAX(peak, usage->peak_bytes);
		}
		assert_int_equal(peak, rows[i].peak);
		evidence_batch_release(&batch);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cgroups_name_their_pod),
		cmocka_unit_test(sanitised_resources_have_a_true_name),
		cmocka_unit_test(hours_tell_first_and_last_sample),
		cmocka_unit_test(owners_and_accelerators_tell_training),
		cmocka_unit_test(pods_of_one_name_are_told_apart_by_uid),
		cmocka_unit_test(expressions_are_filled_in),
		cmocka_unit_test(labels_of_watched_pods_stay),
		cmocka_unit_test(surplus_containers_of_a_pod_are_left_out),
		cmocka_unit_test(refusals_are_understood),
		cmocka_unit_test(use_without_a_cgroup_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
