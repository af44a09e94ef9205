/* SPDX-License-Identifier: Apache-2.0 */
/* What review does with the files, folders and texts that it is given. */
#include "support/test.h"

#include "unit/review_run.h"

#include "base/str.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void folders_are_walked_in_order(void **state)
{
	static const char *const files[] = {"d/b.yaml",	      "d/a/z.yml",     "d/c.json",
					    "d/.hidden.yaml", "d/.git/x.yaml", "d/x.txt"};
	CLEANUP(output_release) struct output o = {0};
	const char *z, *b, *link;

	(void)state;
	assert_int_equal(mkdir("d", 0755) | mkdir("d/a", 0755) | mkdir("d/.git", 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		write_text(files[i], streq(files[i], "d/c.json") ? "[1, 2]\n" : JOB_WARN);
	assert_int_equal(symlink("..", "d/loop"), 0);
	assert_int_equal(symlink("b.yaml", "d/link.yaml"), 0);
	o = REVIEW("d/");
	assert_int_equal(o.code, EXIT_FINDINGS);
	z = strstr(strbuf_text(&o.out), "d/a/z.yml:");
	b = strstr(strbuf_text(&o.out), "d/b.yaml:");
	link = strstr(strbuf_text(&o.out), "d/link.yaml:");
	assert_true(z && b && link && z < b && b < link);
	assert_non_null(strstr(strbuf_text(&o.out), "\n4 files, 0 pods and 3 pod templates examined: 3 warn\n"
						    "Not examined: 1 document that is no Kubernetes object, "
						    "2 hidden files or folders, 1 link to a folder\n"));
}

#define NAME_80 "the-limit-range-of-research-and-development-of-the-vision-team-in-frankfurt-0001"
#define VALUE	"16 Gi (agreed with the platform team in May, see the wiki before you change it)"

/* Warnings of an API server are short; here there is room. */
static void findings_are_not_cut(void **state)
{
	CLEANUP(output_release) struct output o = {0}, json = {0};

	(void)state;
	write_text(
		"long.yaml",
		"apiVersion: v1\nkind: LimitRange\nmetadata: {name: " NAME_80
		"}\nspec:\n  limits:\n  - {type: Pod, max: {memory: 32Mi}}\n---\n" JOB_HEAD
		"          limits: {nvidia.com/gpu: 1}\n      - name: b\n        resources: {limits: {memory: \"" VALUE
		"\"}}\n");
	o = REVIEW("long.yaml");
	assert_non_null(strstr(strbuf_text(&o.out), "(LimitRange " NAME_80 ": max 32Mi a pod)\n"));
	assert_non_null(strstr(strbuf_text(&o.out), "memory limit \"" VALUE "\"; write 16Gi\n"));
	json = REVIEW("-o", "json", "long.yaml");
	assert_non_null(strstr(strbuf_text(&json.out), "(LimitRange " NAME_80 ": max 32Mi a pod)\""));
}

static void standard_input_is_a_dash(void **state)
{
	CLEANUP(output_release) struct output o = {0};
	int saved = dup(0);
	FILE *file;

	(void)state;
	write_text("in.yaml", JOB_WARN);
	file = fopen("in.yaml", "r");
	dup2(fileno(file), 0);
	o = REVIEW("-");
	dup2(saved, 0);
	close(saved);
	fclose(file);
	assert_int_equal(o.code, EXIT_FINDINGS);
	assert_non_null(strstr(strbuf_text(&o.out), "stdin:13:"));
}

#define NAMESPACE_RULES                                                                                                \
	"apiVersion: v1\nkind: LimitRange\nmetadata: {name: mem}\nspec:\n  limits:\n  - {type: Container, min: "       \
	"{memory: 128Mi}}\n---\n"

/* With a default request from the LimitRange, the pod is not BestEffort: other words and another patch. */
static void rules_of_the_namespace_count_wherever_they_stand(void **state)
{
	static const char quota[] =
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ResourceQuota\n"
		"  metadata: {name: q}\n  spec: {scopes: [NotBestEffort], hard: {limits.memory: 1Gi}}\n";
	CLEANUP(output_release)
	struct output alone = {0}, before = {0}, behind = {0}, other = {0}, kept = {0}, off = {0};

	(void)state;
	assert_int_equal(mkdir("rules", 0755), 0);
	write_text("rules/a.yaml", JOB_PATCH);
	alone = REVIEW("rules");
	assert_non_null(strstr(strbuf_text(&alone.out), "[besteffort-qos]"));
	write_text("rules/b.yaml", NAMESPACE_RULES);
	behind = REVIEW("rules");
	assert_int_equal(behind.code, EXIT_FINDINGS);
	assert_null(strstr(strbuf_text(&behind.out), "[besteffort-qos]"));
	other = REVIEW("-n", "elsewhere", "rules/a.yaml");
	assert_non_null(strstr(strbuf_text(&other.out), "[besteffort-qos]"));
	write_text("both.yaml", NAMESPACE_RULES JOB_PATCH);
	before = REVIEW("both.yaml");
	assert_null(strstr(strbuf_text(&before.out), "[besteffort-qos]"));
	write_text("rules/b.yaml", quota);
	kept = REVIEW("rules");
	assert_non_null(strstr(strbuf_text(&kept.out), "quota q: all containers need memory limits"));
	write_text("rules/b.yaml",
		   "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {memtamer.io/mode: "
		   "\"off\"}}\n");
	off = REVIEW("rules");
	assert_int_equal(off.code, EXIT_CLEAN);
}

#define OF_VPA(namespace, name, more)                                                                                  \
	"apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nmetadata: {name: v" namespace "}\nspec:\n  "  \
												       "targetRef: "   \
												       "{apiVersion: " \
												       "batch/v1, "    \
												       "kind: Job, "   \
												       "name: " name   \
												       "}\n" more

static void a_vpa_leaves_no_memory_to_set(void **state)
{
	static const struct {
		const char *name, *text;
		bool is_left;
	} rows[] = {
		{"of the Job", OF_VPA("", "j", ""), true},
		{"of another Job", OF_VPA("", "other", ""), false},
		{"of another namespace", OF_VPA(", namespace: other", "j", ""), false},
		{"off", OF_VPA("", "j", "  updatePolicy: {updateMode: \"Off\"}\n"), false},
	};

	(void)state;
	assert_int_equal(mkdir("vpas", 0755), 0);
	write_text("vpas/a.yaml", JOB_PATCH);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output o = {0};

		test_row(rows[i].name);
		write_text("vpas/b.yaml", rows[i].text);
		o = REVIEW("vpas");
		assert_int_equal(o.code, EXIT_FINDINGS);
		assert_int_equal(strstr(strbuf_text(&o.out), "left to VerticalPodAutoscaler v\n") != NULL,
				 rows[i].is_left);
		assert_int_equal(strstr(strbuf_text(&o.out), "(a VPA sizes it)") != NULL, rows[i].is_left);
	}
}

static void bad_rules_of_a_namespace_are_input_errors(void **state)
{
	static const struct {
		const char *name, *text, *err;
	} rows[] = {
		{"no quantity",
		 "apiVersion: v1\nkind: LimitRange\nspec:\n  limits:\n  - type: Pod\n    max: {memory: much}\n",
		 "rule.yaml:6:19: spec.limits[0].max.memory: \"much\" is no amount that can be a bound\n"},
		{"a key with dots", "apiVersion: v1\nkind: ResourceQuota\nspec:\n  hard:\n    limits.memory: -1\n",
		 "rule.yaml:5:5: spec.hard.limits.memory: \"-1\" is no amount that can be a bound\n"},
		{"a label of a wrong type",
		 "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {memtamer.io/mode: off}}\n",
		 "rule.yaml:3:29: metadata.labels.memtamer.io/mode: expected string, found boolean\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output o = {0};

		test_row(rows[i].name);
		write_text("rule.yaml", rows[i].text);
		o = REVIEW("rule.yaml");
		assert_int_equal(o.code, EXIT_USAGE);
		assert_string_equal(strbuf_text(&o.err), rows[i].err);
	}
}

static void one_bad_file_does_not_stop_the_others(void **state)
{
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	write_text("bad.yaml", "a: [1\n");
	write_text("good.yaml", JOB_WARN);
	o = REVIEW("bad.yaml", "absent.yaml", "good.yaml");
	assert_int_equal(o.code, EXIT_USAGE);
	assert_non_null(strstr(strbuf_text(&o.err), "bad.yaml:2:1: no valid YAML"));
	assert_non_null(strstr(strbuf_text(&o.err), "absent.yaml: cannot open: No such file or directory\n"));
	assert_non_null(strstr(strbuf_text(&o.out), "good.yaml:13:"));
	assert_non_null(strstr(strbuf_text(&o.out), ": 1 warn; 2 input errors\n"));
}

static void bad_inputs_have_a_place_and_words(void **state)
{
	static const struct {
		const char *name, *text, *err;
	} rows[] = {
		{"tab", "a:\n\tb: 1\n", "bad.yaml:2:1: a tab"},
		{"unclosed quote", "a: \"x\n", "bad.yaml:2:1: no valid YAML"},
		{"alias of nothing", "a: [x]\nb: *a\n", "bad.yaml:2:4: unknown anchor *a"},
		{"duplicate key", JOB_WARN "spec: {}\n", "bad.yaml:14:1: duplicate key \"spec\", first at line 4"},
		{"invalid UTF-8", "a: \xff\n", "bad.yaml:1:4: invalid leading UTF-8"},
		{"second document is bad", "a: 1\n---\nb: [\n", "bad.yaml:4:1: no valid YAML"},
		{"a wrong type inside a pod", JOB_HEAD "          limits: 3\n",
		 "bad.yaml:12:19: spec.containers[0].resources.limits"},
		{"containers are a text", "apiVersion: v1\nkind: Pod\nspec:\n  containers: x\n",
		 "bad.yaml:4:15: spec.containers"},
		{"not a number", "apiVersion: v1\nkind: Pod\nx: .nan\n", "bad.yaml:1:1: .nan is no number"},
		{"terminal codes", "apiVersion: v1\nkind: Pod\nspec: {\"\\e[31m\": 1, \"\\e[31m\": 2}\n",
		 "bad.yaml:3:21: duplicate key \"?[31m\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output o = {0};

		test_row(rows[i].name);
		write_text("bad.yaml", rows[i].text);
		o = REVIEW("bad.yaml");
		assert_int_equal(o.code, EXIT_USAGE);
		if (strncmp(strbuf_text(&o.err), rows[i].err, strlen(rows[i].err)) != 0)
			assert_string_equal(strbuf_text(&o.err), rows[i].err);
		assert_ptr_equal(strchr(strbuf_text(&o.err), '\n') + 1, strbuf_text(&o.err) + o.err.len);
	}
}

static void large_and_binary_files(void **state)
{
	size_t n = 17 * MIB;
	CLEANUP(freep) char *text = malloc(n);
	CLEANUP(output_release) struct output large = {0}, nested = {0}, binary = {0};

	(void)state;
	assert_non_null(text);
	memset(text, '#', n);
	write_n("large.yaml", text, n);
	large = REVIEW("large.yaml");
	assert_int_equal(large.code, EXIT_USAGE);
	assert_non_null(strstr(strbuf_text(&large.err), "large.yaml: longer than 16777216 bytes"));
	memset(text, '[', 100000);
	write_n("nested.yaml", text, 100000);
	nested = REVIEW("nested.yaml");
	assert_int_equal(nested.code, EXIT_USAGE);
	assert_string_equal(strbuf_text(&nested.err), "nested.yaml:1:129: nested too deeply\n");
	write_n("binary.yaml",
		"\x7f"
		"ELF\2\1\1\0\0\0",
		10);
	binary = REVIEW("binary.yaml");
	assert_int_equal(binary.code, EXIT_USAGE);
	assert_memory_equal(strbuf_text(&binary.err), "binary.yaml:1:", 14);
}

static void a_quantity_with_a_space_is_for_the_api_server(void **state)
{
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	write_text("q.yaml", JOB_HEAD "          limits: {memory: 10 Gi, nvidia.com/gpu: 1}\n");
	o = REVIEW("-o", "yaml", "q.yaml");
	assert_string_equal(strbuf_text(&o.err), "");
	assert_non_null(strstr(strbuf_text(&o.out), "memory: 10 Gi"));
}

static void what_cannot_be_opened_is_said(void **state)
{
	CLEANUP(output_release) struct output o = {0}, strict = {0};
	bool is_root = geteuid() == 0;

	(void)state;
	assert_int_equal(mkdir("closed", 0755) | mkdir("closed/inner", 0755), 0);
	assert_int_equal(symlink("nowhere", "closed/dangling.yaml"), 0);
	write_text("closed/good.yaml", JOB_WARN);
	assert_int_equal(chmod("closed/inner", 0), 0);
	if (is_root) /* who may read everything tests nothing */
		assert_int_equal(seteuid(65534), 0);
	o = REVIEW("closed");
	strict = REVIEW("--strict", "closed");
	if (is_root)
		assert_int_equal(seteuid(0), 0);
	chmod("closed/inner", 0755);
	assert_int_equal(o.code, EXIT_FINDINGS);
	assert_string_equal(strbuf_text(&o.err), "note: closed/dangling.yaml: cannot open: No such file or directory\n"
						 "note: closed/inner: cannot open: Permission denied\n");
	assert_non_null(strstr(strbuf_text(&o.out), "Not examined: 2 unreadable files or objects\n"));
	assert_int_equal(strict.code, EXIT_USAGE);
	assert_string_equal(strbuf_text(&strict.err), "closed/dangling.yaml: cannot open: No such file or directory\n"
						      "closed/inner: cannot open: Permission denied\n");
	assert_non_null(strstr(strbuf_text(&o.out), "closed/good.yaml:13:"));
}

static void names_cannot_drive_a_terminal(void **state)
{
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	write_text("esc.yaml",
		   "apiVersion: v1\nkind: Pod\nmetadata: {name: \"a\\e[2Jb\\u009b\"}\nspec:\n  containers:\n"
		   "  - {name: \"c\\e]0;x\\a\", image: i, resources: {limits: {nvidia.com/gpu: 1}}}\n");
	o = REVIEW("esc.yaml");
	assert_int_equal(o.code, EXIT_FINDINGS);
	for (size_t i = 0; i < o.out.len; i++)
		assert_true((unsigned char)o.out.text[i] >= 0x20 || o.out.text[i] == '\n');
	assert_null(strstr(strbuf_text(&o.out), "\xc2\x9b"));
	assert_non_null(strstr(strbuf_text(&o.out), "Pod/a?[2Jb"));
}

/* A TrainJob whose patches apply to each of many steps: its templates need more memory than an object may have. The
 * review names it and goes on. */
static void objects_with_too_large_templates_are_errors(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * MIB);
	CLEANUP(output_release) struct output o = {.code = -1};

	(void)state;
	strbuf_adds(&text, "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"ClusterTrainingRuntime\","
			   "\"metadata\":{\"name\":\"r\"},\"spec\":{\"template\":{\"spec\":{\"replicatedJobs\":[");
	for (int i = 0; i < 100; i++)
		strbuf_addf(&text,
			    "%s{\"name\":\"s\",\"template\":{\"spec\":{\"template\":{\"spec\":{\"containers\":[]}}}}}",
			    i ? "," : "");
	strbuf_adds(&text, "]}}}}\n{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\","
			   "\"metadata\":{\"name\":\"t\"},\"spec\":{\"runtimeRef\":{\"name\":\"r\"},"
			   "\"podTemplateOverrides\":[{\"targetJobs\":[{\"name\":\"s\"}],\"spec\":{\"volumes\":[");
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&text, "%s{\"name\":\"v%d\"}", i ? "," : "", i);
	strbuf_adds(&text, "]}}]}}\n");
	strbuf_adds(&text,
		    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{"
		    "\"name\":\"c\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}]}}\n");
	write_text("large.json", strbuf_text(&text));
	o = REVIEW("--store", "none", "large.json");
	assert_int_equal(o.code, 2);
	assert_non_null(strstr(strbuf_text(&o.err), "large.json:2:1: the object takes more than"));
	assert_non_null(strstr(strbuf_text(&o.out), "Pod/p"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_with_too_large_templates_are_errors),
		cmocka_unit_test(folders_are_walked_in_order),
		cmocka_unit_test(findings_are_not_cut),
		cmocka_unit_test(standard_input_is_a_dash),
		cmocka_unit_test(rules_of_the_namespace_count_wherever_they_stand),
		cmocka_unit_test(a_vpa_leaves_no_memory_to_set),
		cmocka_unit_test(bad_rules_of_a_namespace_are_input_errors),
		cmocka_unit_test(one_bad_file_does_not_stop_the_others),
		cmocka_unit_test(bad_inputs_have_a_place_and_words),
		cmocka_unit_test(large_and_binary_files),
		cmocka_unit_test(a_quantity_with_a_space_is_for_the_api_server),
		cmocka_unit_test(what_cannot_be_opened_is_said),
		cmocka_unit_test(names_cannot_drive_a_terminal),
	};

	return cmocka_run_group_tests_name("review-input", tests, enter_work, leave_work);
}
