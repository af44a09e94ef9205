/* SPDX-License-Identifier: Apache-2.0 */
/* What review finds, how it prints it, and with which code it ends. */
#include "support/test.h"

#include "unit/review_run.h"

#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "policy/checks.h"
#include "store/store.h"

static struct json_object *parse(const struct strbuf *buf)
{
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	if (json_parse(strbuf_text(buf), buf->len, 32, &object, &err))
		print_message("%s\n%s", err.msg, strbuf_text(buf));
	assert_non_null(object);
	return object;
}

/* --- What is found, and where --- */

static void every_kind_is_read(void **state)
{
	static const struct {
		const char *file;
		size_t line, column;
		const char *kind, *name, *namespace_name, *role, *container, *check, *action;
	} rows[] = {
		{"pytorchjob.yaml", 34, 17, "PyTorchJob", "bert", "team-a", "worker", "pytorch", "memory-limit-missing",
		 "warn"},
		{"pytorchjob.yaml", 33, 15, "PyTorchJob", "bert", "team-a", "worker", "pytorch", "besteffort-qos",
		 "patch"},
		{"jobset.yaml", 33, 25, "JobSet", "llama", "default", "workers", "trainer", "memory-limit-missing",
		 "warn"},
		{"jobset.yaml", 37, 25, "JobSet", "llama", "default", "workers", "", "shm-unbounded", "warn"},
		{"cronjob.yaml", 15, 34, "CronJob", "nightly", "team-b", "", "train", "memory-unit-suspicious", "warn"},
		{"mpijob.yaml", 20, 13, "MPIJob", "resnet", "default", "worker", "worker", "shm-small", "warn"},
		{"rayjob.yaml", 22, 33, "RayJob", "tune", "default", "gpu", "ray-worker", "memory-limit-missing",
		 "warn"},
		{"volcano-job.yaml", 22, 31, "Job", "tf-dist", "default", "worker", "tensorflow",
		 "memory-limit-missing", "warn"},
		{"argo-workflow.yaml", 15, 17, "Workflow", "train-", "default", "train", "main", "memory-limit-missing",
		 "warn"},
		{"list.yaml", 16, 27, "Pod", "debug", "team-a", "", "train", "memory-limit-missing", "warn"},
		{"list.yaml", 27, 22, "Job", "sweep", "team-a", "", "train", "besteffort-qos", "patch"},
		{"multi.yaml", 34, 13, "Job", "train", "default", "", "main", "memory-limit-missing", "warn"},
		{"pod.json", 12, 29, "Pod", "notebook-run", "team-a", "", "main", "memory-limit-missing", "warn"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(4096), expected = STRBUF_INIT(4096);
		CLEANUP(output_release) struct output o = {0};

		test_row(rows[i].file);
		strbuf_addf(&path, MANIFESTS "%s", rows[i].file);
		o = REVIEW("-o", "json", strbuf_text(&path));
		assert_int_equal(o.code, EXIT_FINDINGS);
		assert_string_equal(strbuf_text(&o.err), "");
		json_object_put(parse(&o.out));
		strbuf_addf(&expected,
			    "{\"file\":\"%s\",\"line\":%zu,\"column\":%zu,\"kind\":\"%s\",\"name\":\"%s\","
			    "\"namespace\":\"%s\",\"role\":\"%s\",\"container\":\"%s\",\"check\":\"%s\","
			    "\"severity\":\"%s\",\"action\":\"%s\",\"message\":",
			    strbuf_text(&path), rows[i].line, rows[i].column, rows[i].kind, rows[i].name,
			    rows[i].namespace_name, rows[i].role, rows[i].container, rows[i].check,
			    check_severity_names[check_table[check_parse(rows[i].check)].severity], rows[i].action);
		if (!strstr(strbuf_text(&o.out), strbuf_text(&expected)))
			assert_string_equal(strbuf_text(&o.out), strbuf_text(&expected));
	}
}

static void text_names_place_check_and_container(void **state)
{
	CLEANUP(output_release) struct output o = REVIEW(MANIFESTS "cronjob.yaml");

	(void)state;
	assert_int_equal(o.code, EXIT_FINDINGS);
	assert_non_null(
		strstr(strbuf_text(&o.out),
		       "cronjob.yaml:15:34: warn [memory-unit-suspicious] CronJob/nightly container \"train\": "));
	assert_non_null(strstr(strbuf_text(&o.out), "\n1 file, 0 pods and 1 pod template examined: 2 warn\n"));
	assert_non_null(strstr(strbuf_text(&o.out), "No history: there is no kubeconfig"));
	assert_null(strchr(strbuf_text(&o.out), '\033'));
}

static void json_has_the_sizes(void **state)
{
	CLEANUP(output_release) struct output o = REVIEW("-o", "json", MANIFESTS "list.yaml");
	CLEANUP(json_putp) struct json_object *answer = parse(&o.out);
	struct json_object *findings = json_member(answer, "findings");
	size_t n_sizes = 0, n_requests = 0;

	(void)state;
	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *finding = json_object_array_get_idx(findings, i);
		struct json_object *sizes = json_member(finding, "sizes");
		const char *check = json_object_get_string(json_member(finding, "check"));

		n_sizes += json_object_array_length(sizes);
		if (!streq(check, "besteffort-qos"))
			continue;
		n_requests++;
		assert_int_equal(json_object_array_length(sizes), 1);
		sizes = json_object_array_get_idx(sizes, 0);
		assert_string_equal(json_object_get_string(json_member(sizes, "resource")), "memory");
		assert_string_equal(json_object_get_string(json_member(sizes, "field")), "request");
		assert_null(json_member(sizes, "from"));
		assert_string_equal(json_object_get_string(json_member(sizes, "to")), "64Mi");
		assert_string_equal(json_object_get_string(json_member(sizes, "rule")), "no-history");
	}
	assert_int_equal(n_sizes, 2);
	assert_int_equal(n_requests, 2);
}

static void sarif_is_complete(void **state)
{
	CLEANUP(output_release) struct output o = REVIEW("-o", "sarif", MANIFESTS "multi.yaml", "absent.yaml");
	CLEANUP(json_putp) struct json_object *sarif = parse(&o.out);
	struct json_object *run = json_object_array_get_idx(json_member(sarif, "runs"), 0);
	struct json_object *results = json_member(run, "results");
	struct json_object *rules = json_member(json_member(json_member(run, "tool"), "driver"), "rules");
	struct json_object *invocation = json_object_array_get_idx(json_member(run, "invocations"), 0);

	(void)state;
	assert_int_equal(o.code, EXIT_USAGE);
	assert_string_equal(json_object_get_string(json_member(sarif, "version")), "2.1.0");
	assert_int_equal(json_object_array_length(rules), CHECK_COUNT_);
	assert_int_equal(json_object_array_length(results), 3);
	for (size_t i = 0; i < json_object_array_length(results); i++) {
		struct json_object *result = json_object_array_get_idx(results, i);
		struct json_object *place = json_member(json_object_array_get_idx(json_member(result, "locations"), 0),
							"physicalLocation");
		int64_t index = json_object_get_int64(json_member(result, "ruleIndex"));
		struct json_object *rule = json_object_array_get_idx(rules, (size_t)index);

		assert_string_equal(json_object_get_string(json_member(rule, "id")),
				    json_object_get_string(json_member(result, "ruleId")));
		assert_string_equal(json_object_get_string(json_member(result, "level")),
				    check_severity_names[check_table[index].severity]);
		assert_in_range(json_object_get_int64(json_member(json_member(place, "region"), "startLine")), 33, 34);
		assert_memory_equal(json_object_get_string(json_member(json_member(place, "artifactLocation"), "uri")),
				    "file:///", 8);
	}
	assert_false(json_object_get_boolean(json_member(invocation, "executionSuccessful")));
	/* the file that is absent, a pod that is no training pod, and two objects of other kinds */
	assert_int_equal(json_object_array_length(json_member(invocation, "toolExecutionNotifications")), 4);
	assert_int_equal(json_object_get_int64(
				 json_member(json_member(json_member(run, "properties"), "objects"), "not-training")),
			 1);
}

static void modes_bound_what_is_changed(void **state)
{
	CLEANUP(output_release) struct output off = REVIEW("-m", "off", MANIFESTS "multi.yaml");
	CLEANUP(output_release)
	struct output observe = REVIEW("-m", "observe", "--fail-on", "patch", MANIFESTS "multi.yaml");
	CLEANUP(output_release) struct output yaml = REVIEW("-m", "observe", "-o", "yaml", MANIFESTS "multi.yaml");
	CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT(MIB);
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(off.code, EXIT_CLEAN);
	assert_int_equal(observe.code, EXIT_CLEAN);
	assert_non_null(strstr(strbuf_text(&observe.out), ": 3 warn\n"));
	assert_int_equal(io_read_file(MANIFESTS "multi.yaml", &before, &err), 0);
	assert_string_equal(strbuf_text(&yaml.out), strbuf_text(&before));
}

/* --- Exit codes and configuration --- */

static void exit_codes(void **state)
{
	static const struct {
		const char *name, *text, *fail_on;
		int code;
	} rows[] = {
		{"clean", JOB_CLEAN, "warn", EXIT_CLEAN},
		{"a warning", JOB_WARN, "warn", EXIT_FINDINGS},
		{"a warning is no patch", JOB_WARN, "patch", EXIT_CLEAN},
		{"a patch", JOB_PATCH, "patch", EXIT_FINDINGS},
		{"a patch is no denial", JOB_PATCH, "deny", EXIT_CLEAN},
		{"nothing", "", "warn", EXIT_CLEAN},
		{"only comments", "# nothing\n---\n# here\n", "warn", EXIT_CLEAN},
		{"no workload", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", "warn", EXIT_CLEAN},
		{"no object of Kubernetes", "a: 1\n", "warn", EXIT_CLEAN},
		{"no training",
		 "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: web, image: nginx}]}\n",
		 "warn", EXIT_CLEAN},
		{"a kind of somebody else", "apiVersion: example.org/v1\nkind: Pod\nspec: 3\n", "warn", EXIT_CLEAN},
		{"a text", "hello\n", "warn", EXIT_CLEAN},
		{"no YAML", "a: [\n", "warn", EXIT_USAGE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output o = {0};

		test_row(rows[i].name);
		write_text("exit.yaml", rows[i].text);
		o = REVIEW("--fail-on", rows[i].fail_on, "exit.yaml");
		assert_int_equal(o.code, rows[i].code);
	}
}

static void configuration_is_used(void **state)
{
	static const char config[] = "apiVersion: config.memtamer.io/v1alpha1\n"
				     "checks: {memory-limit-missing: deny, ephemeral-storage-request-missing: off}\n"
				     "sizing: {noHistory: share}\n"
				     "nodeShapes: [{count: 4, memory: 400Gi}]\n";
	CLEANUP(output_release) struct output o = {0}, bad = {0};

	(void)state;
	write_text("c.yaml", config);
	o = REVIEW("--config", "c.yaml", "--fail-on", "deny", MANIFESTS "multi.yaml");
	assert_non_null(strstr(strbuf_text(&o.out), "90Gi"));
	assert_null(strstr(strbuf_text(&o.out), "ephemeral-storage"));
	write_text("c.yaml", "apiVersion: config.memtamer.io/v1alpha1\nmoode: raise\n");
	bad = REVIEW("--config", "c.yaml", MANIFESTS "multi.yaml");
	assert_int_equal(bad.code, EXIT_USAGE);
	assert_string_equal(strbuf_text(&bad.err), "c.yaml:2:1: unknown key moode; did you mean mode?\n");
	assert_string_equal(strbuf_text(&bad.out), "");
}

static void a_named_store_must_be_there(void **state)
{
	CLEANUP(output_release) struct output o = REVIEW("--store", "absent.json", MANIFESTS "multi.yaml");

	(void)state;
	assert_int_equal(o.code, EXIT_USAGE);
	assert_string_equal(strbuf_text(&o.err), "absent.json: cannot open: No such file or directory\n");
}

/* Ten runs with a peak of 40Gi that use 20Gi half of the time. */
#define TEN_RUNS                                                                                                       \
	{                                                                                                              \
		.request_bytes = (int64_t)(20 * GIB), .limit_bytes = (int64_t)(45 * GIB),                              \
		.median_bytes = (int64_t)(20 * GIB), .p95_bytes = (int64_t)(40 * GIB),                                 \
		.peak_bytes = (int64_t)(40 * GIB), .runs = 10, .whole_runs = 10, .buffer_permille = 125,               \
		.confidence = CONFIDENCE_HIGH,                                                                         \
	}
static const struct profile profile_of_train = {
	.namespace_name = "default",
	.name = "train-0123456789",
	.workload = "Job/train",
	.role = "",
	.container = "main",
	.revision = 7,
	.updated_ms = 1000,
	.spec = &profile_spec_none,
	.parent = TEN_RUNS,
};

static void store_a_profile(const char *path, const struct profile *profile)
{
	const struct store_change change = {.profiles = &profile, .n_profiles = 1};
	CLEANUP(store_closep) struct store *store = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(store_open_file(path, true, &store, &err), 0);
	assert_int_equal(store_commit(store, &change, &err), 0);
}

static void history_makes_sizes(void **state)
{
	CLEANUP(output_release) struct output text = {0}, yaml = {0}, torn = {0};

	(void)state;
	store_a_profile("p.json", &profile_of_train);
	text = REVIEW("--store", "p.json", MANIFESTS "multi.yaml");
	assert_int_equal(text.code, EXIT_FINDINGS);
	assert_non_null(strstr(strbuf_text(&text.out),
			       "patch [memory-limit-missing] Job/train container \"main\": no memory "
			       "limit; will be 45Gi"));
	assert_null(strstr(strbuf_text(&text.out), "No history"));
	yaml = REVIEW("--store", "p.json", "-o", "yaml", MANIFESTS "multi.yaml");
	assert_non_null(strstr(strbuf_text(&yaml.out), "            memory: 45Gi\n"));
	assert_non_null(strstr(strbuf_text(&yaml.out), "            memory: 20Gi\n"));
	write_text("p.json", "{\"apiVersion\": \"v1\", \"kind\": \"Li");
	torn = REVIEW("--store", "p.json", MANIFESTS "multi.yaml");
	assert_int_equal(torn.code, EXIT_USAGE);
	assert_string_equal(strbuf_text(&torn.out), "");
	assert_memory_equal(strbuf_text(&torn.err), "p.json", 6);
}

#define BARE_POD(annotations, memory)                                                                                  \
	"apiVersion: v1\nkind: Pod\nmetadata:\n  name: train\n  annotations: {" annotations "}\nspec:\n"               \
	"  restartPolicy: Never\n  containers:\n  - name: main\n    image: i\n    resources:\n"                        \
	"      requests: {ephemeral-storage: 1Gi" memory "}\n      limits: {nvidia.com/gpu: 1}\n"

static void patched_manifests_carry_no_marks_of_ours(void **state)
{
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	write_text("bare.yaml", BARE_POD("", ""));
	o = REVIEW("-o", "yaml", "bare.yaml");
	assert_non_null(strstr(strbuf_text(&o.out), "memory: 64Mi"));
	assert_null(strstr(strbuf_text(&o.out), "memtamer.io/"));
}

/* The text of a pod that was admitted before, as `kubectl get -o yaml` prints it. */
static void a_copied_decision_hides_no_findings(void **state)
{
	static const char text[] = BARE_POD(
		"memtamer.io/decision: "
		"'{\"v\":1,\"of\":\"\",\"mode\":\"fill\",\"rev\":7,\"set\":[{\"c\":\"main\",\"r\":"
		"\"memory\",\"f\":\"request\",\"to\":\"64Mi\",\"rule\":\"no-history\"}]}'",
		", memory: 64Mi");
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	write_text("copied.yaml", text);
	o = REVIEW("copied.yaml");
	assert_int_equal(o.code, EXIT_FINDINGS);
	assert_non_null(strstr(strbuf_text(&o.out), "[memory-limit-missing]"));
}

/* At admission a change counts only for owners that are created a while after it; see model/profile.h. */
static void what_was_just_learned_counts(void **state)
{
	struct recommendation previous = TEN_RUNS;
	struct profile changed = profile_of_train;
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	previous.limit_bytes = (int64_t)(50 * GIB);
	changed.variants = &previous;
	changed.n_previous = 1;
	changed.updated_ms = time_now_ms();
	store_a_profile("changed.json", &changed);
	o = REVIEW("--store", "changed.json", MANIFESTS "multi.yaml");
	assert_non_null(strstr(strbuf_text(&o.out), "45Gi"));
	assert_null(strstr(strbuf_text(&o.out), "50Gi"));
}

static void namespaces(void **state)
{
	CLEANUP(output_release)
	struct output o = REVIEW("-n", "team-x", "-o", "json", MANIFESTS "multi.yaml", MANIFESTS "cronjob.yaml");

	(void)state;
	assert_non_null(strstr(strbuf_text(&o.out), "\"namespace\":\"team-x\""));
	assert_non_null(strstr(strbuf_text(&o.out), "\"namespace\":\"team-b\""));
	assert_null(strstr(strbuf_text(&o.out), "\"namespace\":\"default\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_read),
		cmocka_unit_test(text_names_place_check_and_container),
		cmocka_unit_test(json_has_the_sizes),
		cmocka_unit_test(sarif_is_complete),
		cmocka_unit_test(modes_bound_what_is_changed),
		cmocka_unit_test(exit_codes),
		cmocka_unit_test(configuration_is_used),
		cmocka_unit_test(a_named_store_must_be_there),
		cmocka_unit_test(history_makes_sizes),
		cmocka_unit_test(patched_manifests_carry_no_marks_of_ours),
		cmocka_unit_test(a_copied_decision_hides_no_findings),
		cmocka_unit_test(what_was_just_learned_counts),
		cmocka_unit_test(namespaces),
	};

	return cmocka_run_group_tests_name("review", tests, enter_work, leave_work);
}
