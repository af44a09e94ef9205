/* SPDX-License-Identifier: Apache-2.0 */
/* What review finds, how it prints it, and with which code it ends. */
#include "support/test.h"

#include "unit/review_run.h"

#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
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
		{"pytorchjob.yaml", 33, 15, "PyTorchJob", "bert", "team-a", "worker", "pytorch",
		 "memory-request-missing", "patch"},
		{"jobset.yaml", 33, 25, "JobSet", "llama", "default", "workers", "trainer", "memory-limit-missing",
		 "warn"},
		{"jobset.yaml", 36, 25, "JobSet", "llama", "default", "workers", "", "shm-unbounded", "warn"},
		{"cronjob.yaml", 15, 34, "CronJob", "nightly", "team-b", "", "train", "memory-unit-suspicious", "warn"},
		{"mpijob.yaml", 20, 13, "MPIJob", "resnet", "default", "worker", "worker", "shm-small", "warn"},
		{"rayjob.yaml", 22, 33, "RayJob", "tune", "default", "gpu", "ray-worker", "memory-limit-missing",
		 "warn"},
		{"volcano-job.yaml", 22, 31, "Job", "tf-dist", "default", "worker", "tensorflow",
		 "memory-limit-missing", "warn"},
		{"argo-workflow.yaml", 15, 17, "Workflow", "train-", "default", "train", "main", "memory-limit-missing",
		 "warn"},
		{"list.yaml", 16, 27, "Pod", "debug", "team-a", "", "train", "memory-limit-missing", "warn"},
		{"list.yaml", 27, 22, "Job", "sweep", "team-a", "", "train", "memory-request-missing", "patch"},
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
			    "{\"file\": \"%s\", \"line\": %zu, \"column\": %zu, \"kind\": \"%s\", \"name\": \"%s\", "
			    "\"namespace\": "
			    "\"%s\", \"role\": \"%s\", \"container\": \"%s\", \"check\": \"%s\", \"action\": \"%s\", "
			    "\"message\": ",
			    strbuf_text(&path), rows[i].line, rows[i].column, rows[i].kind, rows[i].name,
			    rows[i].namespace_name, rows[i].role, rows[i].container, rows[i].check, rows[i].action);
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
	assert_non_null(strstr(strbuf_text(&o.out), "\n1 file, 0 pods, 1 pod template: 1 patch, 1 warn\n"));
	assert_non_null(strstr(strbuf_text(&o.out), "No history: there is no kubeconfig"));
	assert_null(strchr(strbuf_text(&o.out), '\033'));
}

static void json_has_the_sizes(void **state)
{
	CLEANUP(output_release) struct output o = REVIEW("-o", "json", MANIFESTS "list.yaml");
	CLEANUP(json_putp) struct json_object *findings = parse(&o.out);
	size_t n_sizes = 0;

	(void)state;
	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *finding = json_object_array_get_idx(findings, i);
		struct json_object *sizes = json_member(finding, "sizes");
		const char *check = json_object_get_string(json_member(finding, "check"));

		n_sizes += json_object_array_length(sizes);
		if (!streq(check, "memory-request-missing"))
			continue;
		assert_int_equal(json_object_array_length(sizes), 1);
		sizes = json_object_array_get_idx(sizes, 0);
		assert_string_equal(json_object_get_string(json_member(sizes, "resource")), "memory");
		assert_string_equal(json_object_get_string(json_member(sizes, "field")), "request");
		assert_null(json_member(sizes, "from"));
		assert_string_equal(json_object_get_string(json_member(sizes, "to")), "64Mi");
		assert_string_equal(json_object_get_string(json_member(sizes, "rule")), "no-history");
	}
	assert_true(n_sizes >= 4);
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
	assert_int_equal(json_object_array_length(results), 4);
	for (size_t i = 0; i < json_object_array_length(results); i++) {
		struct json_object *result = json_object_array_get_idx(results, i);
		struct json_object *place = json_member(json_object_array_get_idx(json_member(result, "locations"), 0),
							"physicalLocation");
		int64_t index = json_object_get_int64(json_member(result, "ruleIndex"));
		struct json_object *rule = json_object_array_get_idx(rules, (size_t)index);

		assert_string_equal(json_object_get_string(json_member(rule, "id")),
				    json_object_get_string(json_member(result, "ruleId")));
		assert_string_equal(json_object_get_string(json_member(result, "level")), "warning");
		assert_in_range(json_object_get_int64(json_member(json_member(place, "region"), "startLine")), 33, 34);
		assert_memory_equal(json_object_get_string(json_member(json_member(place, "artifactLocation"), "uri")),
				    "file:///", 8);
	}
	assert_false(json_object_get_boolean(json_member(invocation, "executionSuccessful")));
	assert_int_equal(json_object_array_length(json_member(invocation, "toolExecutionNotifications")), 1);
}

/* --- -o yaml --- */

static void untouched_documents_stay_byte_for_byte(void **state)
{
	CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT(MIB);
	CLEANUP(output_release) struct output o = REVIEW("-o", "yaml", MANIFESTS "multi.yaml");
	struct err err = ERR_INIT;
	const char *changed;
	size_t n;

	(void)state;
	assert_int_equal(io_read_file(MANIFESTS "multi.yaml", &before, &err), 0);
	changed = strstr(strbuf_text(&before), "        args:");
	n = (size_t)(changed - strbuf_text(&before));
	assert_true(o.out.len > n);
	assert_memory_equal(strbuf_text(&o.out), strbuf_text(&before), n);
	assert_string_equal(strbuf_text(&o.out) + n, "        args:\n"
						     "        - --lr\n"
						     "        - \"1e-3\"\n"
						     "        - \"yes\"\n"
						     "        resources:\n"
						     "          limits:\n"
						     "            nvidia.com/gpu: 1\n"
						     "          requests:\n"
						     "            memory: 64Mi\n"
						     "            ephemeral-storage: 1Gi\n"
						     "---\n"
						     "# Only a comment.\n"
						     "---\n"
						     "kind: Kustomization\n"
						     "apiVersion: kustomize.config.k8s.io/v1beta1\n");
}

static void a_file_without_findings_is_printed_as_it_is(void **state)
{
	static const char text[] = "# x\r\n" JOB_CLEAN "# behind\n";
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	write_text("clean.yaml", text);
	o = REVIEW("-o", "yaml", "clean.yaml");
	assert_int_equal(o.code, EXIT_CLEAN);
	assert_string_equal(strbuf_text(&o.out), text);
}

static void patched_manifests_are_a_fixed_point(void **state)
{
	CLEANUP(output_release) struct output first = REVIEW("-o", "yaml", MANIFESTS), second = {0};

	(void)state;
	assert_true(first.out.len > 1000);
	write_n("first.yaml", strbuf_text(&first.out), first.out.len);
	second = REVIEW("-o", "yaml", "first.yaml");
	assert_string_equal(strbuf_text(&second.err), "");
	assert_string_equal(strbuf_text(&first.out), strbuf_text(&second.out));
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
	assert_non_null(strstr(strbuf_text(&observe.out), ": 4 warn\n"));
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
		{"a text", "hello\n", "warn", EXIT_USAGE},
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
	assert_non_null(strstr(strbuf_text(&o.out), "100Gi"));
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

/* Ten runs of Job/train in namespace default: 40Gi at most, 20Gi half of the time. */
static void store_a_profile(const char *path)
{
	const struct profile draft = {
		.namespace_name = "default",
		.name = "train-0123456789",
		.workload = "Job/train",
		.role = "",
		.container = "main",
		.revision = 7,
		.updated_ms = 1000,
		.spec = &profile_spec_none,
		.parent =
			{
				.request_bytes = (int64_t)(20 * GIB),
				.limit_bytes = (int64_t)(45 * GIB),
				.median_bytes = (int64_t)(20 * GIB),
				.p95_bytes = (int64_t)(40 * GIB),
				.peak_bytes = (int64_t)(40 * GIB),
				.runs = 10,
				.whole_runs = 10,
				.buffer_permille = 125,
				.confidence = CONFIDENCE_HIGH,
			},
	};
	const struct profile *list[] = {&draft};
	const struct store_change change = {.profiles = list, .n_profiles = 1};
	CLEANUP(store_closep) struct store *store = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(store_open_file(path, true, &store, &err), 0);
	assert_int_equal(store_commit(store, &change, &err), 0);
}

static void history_makes_sizes(void **state)
{
	CLEANUP(output_release) struct output text = {0}, yaml = {0}, torn = {0};

	(void)state;
	store_a_profile("p.json");
	text = REVIEW("--store", "p.json", MANIFESTS "multi.yaml");
	assert_int_equal(text.code, EXIT_FINDINGS);
	assert_non_null(strstr(strbuf_text(&text.out),
			       "patch [memory-limit-missing] Job/train container \"main\": no memory "
			       "limit; will be set to 45Gi when pods are created"));
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

static void namespaces(void **state)
{
	CLEANUP(output_release)
	struct output o = REVIEW("-n", "team-x", "-o", "json", MANIFESTS "multi.yaml", MANIFESTS "cronjob.yaml");

	(void)state;
	assert_non_null(strstr(strbuf_text(&o.out), "\"namespace\": \"team-x\""));
	assert_non_null(strstr(strbuf_text(&o.out), "\"namespace\": \"team-b\""));
	assert_null(strstr(strbuf_text(&o.out), "\"namespace\": \"default\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_read),
		cmocka_unit_test(text_names_place_check_and_container),
		cmocka_unit_test(json_has_the_sizes),
		cmocka_unit_test(sarif_is_complete),
		cmocka_unit_test(untouched_documents_stay_byte_for_byte),
		cmocka_unit_test(a_file_without_findings_is_printed_as_it_is),
		cmocka_unit_test(patched_manifests_are_a_fixed_point),
		cmocka_unit_test(modes_bound_what_is_changed),
		cmocka_unit_test(exit_codes),
		cmocka_unit_test(configuration_is_used),
		cmocka_unit_test(a_named_store_must_be_there),
		cmocka_unit_test(history_makes_sizes),
		cmocka_unit_test(namespaces),
	};

	return cmocka_run_group_tests_name("review", tests, enter_work, leave_work);
}
