/* SPDX-License-Identifier: Apache-2.0 */
/* What review did not examine, and how it says so: "no findings" must not be mistaken for "not looked at". */
#include "support/test.h"

#include "unit/review_run.h"

#include "base/json.h"
#include "base/str.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define GPU "{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}"
#define WORKLOAD(version, kind, extra)                                                                                 \
	"---\napiVersion: " version "\nkind: " kind "\nmetadata: {name: x}\nspec: {template: {" extra                  \
	"spec: {containers: [" GPU "]}}}\n"
#define POD(extra, container)                                                                                          \
	"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p" extra "}\nspec: {containers: [" container "]}\n"

static void what_was_not_examined_has_a_reason(void **state)
{
	static const struct {
		const char *name, *text, *summary, *verbose;
	} rows[] = {
		{"serving", WORKLOAD("apps/v1", "Deployment", ""), "1 pod not training (serving 1)",
		 "x.yaml:5:18: Deployment/x: not a training pod (serving)"},
		{"interactive", POD("", "{name: c, image: i, stdin: true, tty: true}"),
		 "1 pod not training (interactive 1)", "x.yaml:2:1: Pod/p: not a training pod (interactive)"},
		{"no accelerator", WORKLOAD("batch/v1", "Job", "") "---\n" POD("", "{name: c, image: i}"),
		 "1 pod not training (no accelerator 1)", "Pod/p: not a training pod (no accelerator)"},
		{"of several, each reason counts",
		 WORKLOAD("apps/v1", "Deployment", "") WORKLOAD("apps/v1", "ReplicaSet", "") POD("", "{name: c}"),
		 "3 pods not training (serving 2, no accelerator 1)", "x.yaml:10:18: ReplicaSet/x: not a training"},
		{"ignored by label", POD(", labels: {memtamer.io/ignore: \"true\"}", GPU),
		 "1 pod exempt (label memtamer.io/ignore 1)", "Pod/p: exempt (label memtamer.io/ignore)"},
		{"an excluded namespace", POD(", namespace: kube-system", GPU), "1 pod exempt (kube-system 1)",
		 "Pod/p: exempt (kube-system)"},
		{"another kind", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
		 "1 object without a known pod template", "x.yaml:1:1: Service/s: no known pod template"},
		{"a values file", "replicas: 1\nimage: {tag: 2}\n", "1 document that is no Kubernetes object",
		 "x.yaml:1:1: no Kubernetes object"},
		{"CloudFormation", "AWSTemplateFormatVersion: 2010-09-09\nResources:\n  A: !Ref B\n",
		 "1 document that is no Kubernetes object", "x.yaml:1:1: no Kubernetes object"},
		{"Helm", "apiVersion: batch/v1\nkind: Job\nspec: {{ .Values.spec }}\n", "1 template document",
		 "x.yaml:3:7: looks like a Helm template; render it first: helm template CHART | "},
		{"Helm of several documents",
		 "kind: Job\n{{- if .Values.a }}\n---\nkind: {{ .Values.b }}\n---\n{{- end }}\n",
		 "3 template documents", "x.yaml:4:7: looks like a Helm template"},
		{"Helm in a key", "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    {{ .Values.label }}: a\n",
		 "1 template document", "x.yaml:5:5: looks like a Helm template"},
		{"Jinja", "apiVersion: v1\n{% if x %}\nkind: Pod\n{% endif %}\n", "1 template document",
		 "x.yaml:2:1: looks like a template; render it first"},
		{"a runtime",
		 "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: r}\nspec: "
		 "{template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: "
		 "{containers: [" GPU "]}}}}}]}}}\n",
		 "1 runtime template whose TrainJobs set its resources",
		 "TrainingRuntime/r node: only what the runtime sets itself was examined"},
	};

	(void)state;
	assert_int_equal(mkdir("skipped", 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output o = {0}, verbose = {0};
		CLEANUP(strbuf_release) struct strbuf summary = STRBUF_INIT(4096);

		test_row(rows[i].name);
		write_text("skipped/x.yaml", rows[i].text);
		o = REVIEW("skipped");
		verbose = REVIEW("-v", "skipped");
		assert_int_not_equal(o.code, EXIT_USAGE);
		strbuf_addf(&summary, "\nNot examined: %s\n", rows[i].summary);
		if (!strstr(strbuf_text(&o.out), strbuf_text(&summary)))
			assert_string_equal(strbuf_text(&o.out), strbuf_text(&summary));
		if (!strstr(strbuf_text(&verbose.out), rows[i].verbose))
			assert_string_equal(strbuf_text(&verbose.out), rows[i].verbose);
	}
}

static void examined_pods_without_findings_are_listed(void **state)
{
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	write_text("clean.yaml", JOB_CLEAN);
	o = REVIEW("-v", "clean.yaml");
	assert_int_equal(o.code, EXIT_CLEAN);
	assert_memory_equal(strbuf_text(&o.out), "clean.yaml:6:5: Job/j: no findings\n\n", 36);
	assert_non_null(strstr(strbuf_text(&o.out), "1 file, 0 pods and 1 pod template examined: no findings\n"));
	assert_null(strstr(strbuf_text(&o.out), "Not examined"));
}

static void json_lists_what_was_not_examined(void **state)
{
	CLEANUP(output_release) struct output o = {0};
	CLEANUP(json_putp) struct json_object *answer = NULL;
	struct json_object *objects, *first, *second;

	(void)state;
	write_text("two.yaml", JOB_WARN WORKLOAD("apps/v1", "Deployment", ""));
	o = REVIEW("-o", "json", "two.yaml", "absent.yaml");
	assert_int_equal(json_parse(strbuf_text(&o.out), o.out.len, 16, &answer, NULL), 0);
	assert_int_equal(json_object_get_int64(json_member(answer, "files")), 1);
	objects = json_member(answer, "objects");
	assert_int_equal(json_object_array_length(objects), 2);
	first = json_object_array_get_idx(objects, 0);
	second = json_object_array_get_idx(objects, 1);
	assert_string_equal(json_object_get_string(json_member(first, "status")), "examined");
	assert_int_equal(json_object_get_int64(json_member(first, "findings")), 1);
	assert_string_equal(json_object_get_string(json_member(first, "message")), "1 finding");
	assert_string_equal(json_object_get_string(json_member(second, "status")), "not-training");
	assert_string_equal(json_object_get_string(json_member(second, "reason")), "serving");
	assert_int_equal(json_object_array_length(json_member(answer, "errors")), 1);
}

/* What a folder holds besides manifests is no error, unless somebody says so; what is named has to be readable. */
static void exit_codes_of_what_cannot_be_read(void **state)
{
	static const struct {
		const char *name, *text;
		int in_folder, strict, named;
	} rows[] = {
		{"broken YAML", "a: [\n", EXIT_FINDINGS, EXIT_USAGE, EXIT_USAGE},
		{"a Helm template", "a: {{ .Values.a }}\n", EXIT_FINDINGS, EXIT_USAGE, EXIT_USAGE},
		{"a values file", "a: 1\n", EXIT_FINDINGS, EXIT_FINDINGS, EXIT_CLEAN},
		{"a pod that is no pod", "apiVersion: v1\nkind: Pod\nspec: {containers: 3}\n", EXIT_FINDINGS,
		 EXIT_USAGE, EXIT_USAGE},
		{"a duplicate key in a pod", "apiVersion: v1\nkind: Pod\nspec: {a: 1, a: 2}\n", EXIT_FINDINGS,
		 EXIT_USAGE, EXIT_USAGE},
		{"a bad LimitRange", "apiVersion: v1\nkind: LimitRange\nspec: {limits: 3}\n", EXIT_FINDINGS, EXIT_USAGE,
		 EXIT_USAGE},
	};

	(void)state;
	assert_int_equal(mkdir("mixed", 0755), 0);
	write_text("mixed/good.yaml", JOB_WARN);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output folder = {0}, strict = {0}, named = {0}, yaml = {0};

		test_row(rows[i].name);
		write_text("mixed/x.yaml", rows[i].text);
		folder = REVIEW("mixed");
		strict = REVIEW("--strict", "mixed");
		named = REVIEW("mixed/x.yaml");
		yaml = REVIEW("-o", "yaml", "mixed");
		assert_int_equal(folder.code, rows[i].in_folder);
		assert_int_equal(strict.code, rows[i].strict);
		assert_int_equal(named.code, rows[i].named);
		/* printed manifests are complete */
		assert_int_equal(yaml.code, rows[i].strict);
	}
}

static void paths_without_objects_say_so(void **state)
{
	CLEANUP(output_release) struct output folder = {0}, strict = {0}, values = {0}, other = {0};

	(void)state;
	assert_int_equal(mkdir("empty", 0755), 0);
	write_text("empty/readme.txt", "hello\n");
	folder = REVIEW("empty");
	assert_int_equal(folder.code, EXIT_CLEAN);
	assert_non_null(strstr(strbuf_text(&folder.out), "\nempty: no Kubernetes object in it\n"));
	strict = REVIEW("--strict", "empty");
	assert_int_equal(strict.code, EXIT_USAGE);
	assert_string_equal(strbuf_text(&strict.err), "empty: no Kubernetes object in it\n");
	write_text("values.yaml", "a: 1\n");
	values = REVIEW("values.yaml");
	assert_non_null(strstr(strbuf_text(&values.out), "\nvalues.yaml: no Kubernetes object in it\n"));
	write_text("service.yaml", "apiVersion: v1\nkind: Service\n");
	other = REVIEW("service.yaml");
	assert_null(strstr(strbuf_text(&other.out), "no Kubernetes object in it"));
}

static struct json_object *notifications_of(const struct output *o, struct json_object **ret_sarif)
{
	struct json_object *run, *invocation;

	assert_int_equal(json_parse(strbuf_text(&o->out), o->out.len, 64, ret_sarif, NULL), 0);
	run = json_object_array_get_idx(json_member(*ret_sarif, "runs"), 0);
	invocation = json_object_array_get_idx(json_member(run, "invocations"), 0);
	return json_member(invocation, "toolExecutionNotifications");
}

/* Whatever is not examined has its place and reason there, as a warning where somebody would expect it to be. */
static void sarif_says_what_was_not_examined(void **state)
{
	static const struct {
		const char *level, *uri, *text;
	} rows[] = {
		{"note", "holes/.hidden.yaml", "hidden"},
		{"note", "holes/elsewhere", "a link to a folder, which is not followed"},
		{"note", "holes/service.yaml", "Service: no known pod template"},
		{"warning", "holes/template.yaml",
		 "looks like a Helm template; render it first: helm template CHART | "
		 "memtamer-webhook review -"},
		{"note", "holes/values.yaml", "no Kubernetes object"},
		{"note", "holes/vendor", "excluded"},
		{"warning", "nothing", "no Kubernetes object in it"},
	};
	CLEANUP(output_release) struct output o = {0};
	CLEANUP(json_putp) struct json_object *sarif = NULL;
	struct json_object *all;

	(void)state;
	assert_int_equal(mkdir("nothing", 0755) | mkdir("holes", 0755) | mkdir("holes/vendor", 0755), 0);
	assert_int_equal(symlink("../nothing", "holes/elsewhere"), 0);
	write_text("holes/.hidden.yaml", JOB_WARN);
	write_text("holes/service.yaml", "apiVersion: v1\nkind: Service\n");
	write_text("holes/template.yaml", "a: {{ .Values.a }}\n");
	write_text("holes/values.yaml", "a: 1\n");
	o = REVIEW("-o", "sarif", "--exclude", "vendor", "holes", "nothing");
	assert_int_equal(o.code, EXIT_CLEAN);
	all = notifications_of(&o, &sarif);
	assert_int_equal(json_object_array_length(all), ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_object *one = json_object_array_get_idx(all, i), *place;

		test_row(rows[i].uri);
		place = json_object_array_get_idx(json_member(one, "locations"), 0);
		place = json_member(json_member(place, "physicalLocation"), "artifactLocation");
		assert_string_equal(json_object_get_string(json_member(one, "level")), rows[i].level);
		assert_string_equal(json_object_get_string(json_member(place, "uri")), rows[i].uri);
		assert_string_equal(json_object_get_string(json_member(json_member(one, "message"), "text")),
				    rows[i].text);
	}
}

static void links_to_folders_are_counted(void **state)
{
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	assert_int_equal(mkdir("far", 0755) | mkdir("near", 0755), 0);
	write_text("far/job.yaml", JOB_WARN);
	write_text("near/good.yaml", JOB_CLEAN);
	assert_int_equal(symlink("../far", "near/far") | symlink("../far", "near/named.yaml") |
				 symlink("../far/job.yaml", "near/job.yaml") | symlink("nowhere", "near/text"),
			 0);
	o = REVIEW("-v", "near");
	assert_int_equal(o.code, EXIT_FINDINGS); /* of a link to a file */
	assert_non_null(strstr(strbuf_text(&o.out), "near/far: a link to a folder, which is not followed\n"));
	assert_non_null(strstr(strbuf_text(&o.out), "\nNot examined: 2 links to folders\n"));
}

static void excluded_paths_are_passed_over(void **state)
{
	static const struct {
		const char *pattern;
		bool has_a, has_b, has_c; /* e/a.yaml, e/charts/b.yaml, e/x/charts/c.yaml */
	} rows[] = {
		{"charts", true, false, false},	 {"charts/", true, false, false}, {"charts/*", true, false, true},
		{"x/charts", true, true, false}, {"*/charts", true, true, false}, {"*.yaml", false, false, false},
		{"b.yaml", true, false, true},	 {"e", true, true, true},	  {"e/charts", true, true, true},
		{"nothing", true, true, true},	 {"x/*", true, true, false},
	};

	(void)state;
	assert_int_equal(mkdir("e", 0755) | mkdir("e/charts", 0755) | mkdir("e/x", 0755) | mkdir("e/x/charts", 0755),
			 0);
	write_text("e/a.yaml", JOB_WARN);
	write_text("e/charts/b.yaml", JOB_WARN);
	write_text("e/x/charts/c.yaml", JOB_WARN);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output o = REVIEW("--exclude", rows[i].pattern, "--exclude", "y", "e/");

		test_row(rows[i].pattern);
		assert_int_equal(strstr(strbuf_text(&o.out), "e/a.yaml:") != NULL, rows[i].has_a);
		assert_int_equal(strstr(strbuf_text(&o.out), "e/charts/b.yaml:") != NULL, rows[i].has_b);
		assert_int_equal(strstr(strbuf_text(&o.out), "e/x/charts/c.yaml:") != NULL, rows[i].has_c);
		assert_int_equal(strstr(strbuf_text(&o.out), " excluded file") != NULL,
				 !rows[i].has_a || !rows[i].has_b || !rows[i].has_c);
	}
}

/* A definition is deeper than any pod, and nobody wants to know. */
static void deep_objects_of_other_kinds_do_not_matter(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	strbuf_adds(&text, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n");
	for (int depth = 1; depth < 90; depth++)
		strbuf_addf(&text, "%*sproperties:\n", depth, "");
	strbuf_adds(&text, "---\n" JOB_WARN);
	write_text("crd.yaml", strbuf_text(&text));
	o = REVIEW("crd.yaml");
	assert_int_equal(o.code, EXIT_FINDINGS);
	assert_non_null(strstr(strbuf_text(&o.out), "Not examined: 1 object without a known pod template\n"));
}

/* Read as kubectl reads them; a finding in a repeated part points to it. */
static void aliases_and_json_streams_are_read(void **state)
{
	static const char job[] =
		"{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", \"metadata\": {\"name\": \"j\"}, \"spec\": "
		"{\"template\": {\"spec\": {\"containers\": [{\"name\": \"c\", \"resources\": {\"limits\": "
		"{\"nvidia.com/gpu\": 1}}}]}}}}\n";
	CLEANUP(strbuf_release) struct strbuf stream = STRBUF_INIT(4096);
	CLEANUP(output_release) struct output alias = {0}, json = {0};

	(void)state;
	write_text("alias.yaml",
		   "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nx-all: &gpu\n  limits:\n"
		   "    nvidia.com/gpu: 1\nspec:\n  template:\n    spec:\n      containers:\n      - name: c\n"
		   "        resources:\n          <<: *gpu\n          requests: {memory: 1Gi}\n");
	alias = REVIEW("alias.yaml");
	assert_int_equal(alias.code, EXIT_FINDINGS);
	assert_non_null(strstr(strbuf_text(&alias.out), "alias.yaml:6:5: warn [memory-limit-missing]"));
	assert_null(strstr(strbuf_text(&alias.out), "no memory request"));
	strbuf_addf(&stream, "%s%s", job, job);
	write_text("stream.json", strbuf_text(&stream));
	json = REVIEW("stream.json");
	assert_int_equal(json.code, EXIT_FINDINGS);
	assert_non_null(strstr(strbuf_text(&json.out), "stream.json:1:"));
	assert_non_null(strstr(strbuf_text(&json.out), "stream.json:2:"));
}

#define RUNTIME(kind, where)                                                                                           \
	"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " kind "\nmetadata: {name: torch" where "}\nspec:\n"         \
	"  mlPolicy: {numNodes: 1}\n  template:\n    spec:\n      replicatedJobs:\n      - name: node\n"               \
	"        template:\n          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}\n"    \
	"          spec: {template: {spec: {containers: [{name: node, resources: {limits: {nvidia.com/gpu: 2}}},\n"    \
	"            {name: side, resources: {limits: {memory: 1GB}}}]}}}\n"
#define TRAINJOB(ref, trainer)                                                                                         \
	"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t}\nspec:\n  runtimeRef: {name: " \
	"torch" ref "}\n  trainer: {numNodes: 2" trainer "}\n"

/* The pods of a TrainJob are made of both objects, in whatever file and order these stand. */
static void trainjobs_are_joined_with_their_runtimes(void **state)
{
	CLEANUP(output_release)
	struct output alone = {0}, joined = {0}, other = {0}, yaml = {0}, named = {0}, sized = {0};

	(void)state;
	assert_int_equal(mkdir("t", 0755), 0);
	write_text("t/job.yaml", TRAINJOB("", ""));
	alone = REVIEW("-v", "t");
	assert_int_equal(alone.code, EXIT_CLEAN);
	assert_non_null(strstr(strbuf_text(&alone.out),
			       "t/job.yaml:1:1: TrainJob/t: the TrainJob sets no resources, and "
			       "its runtime is not among the manifests: torch\n"));
	assert_non_null(strstr(strbuf_text(&alone.out), "Not examined: 1 TrainJob without its runtime\n"));
	write_text("t/runtime.yaml", RUNTIME("TrainingRuntime", ", namespace: team-z"));
	other = REVIEW("t"); /* a runtime of another kind and namespace is another one */
	assert_non_null(strstr(strbuf_text(&other.out), "1 TrainJob without its runtime"));
	named = REVIEW("-n", "team-z", "t");
	assert_non_null(strstr(strbuf_text(&named.out), "1 TrainJob without its runtime"));
	write_text("t/runtime.yaml", RUNTIME("ClusterTrainingRuntime", ""));
	joined = REVIEW("t");
	assert_int_equal(joined.code, EXIT_FINDINGS);
	assert_non_null(
		strstr(strbuf_text(&joined.out),
		       "t/job.yaml:6:12: warn [shm-small] TrainJob/t node container \"node\": /dev/shm is 64Mi for 2"));
	/* what stands in the runtime is found there, and, of the TrainJob, where it names the runtime */
	assert_non_null(strstr(strbuf_text(&joined.out), "t/runtime.yaml:13:55: warn [quantity-invalid]"));
	assert_non_null(strstr(strbuf_text(&joined.out), "t/job.yaml:5:15: warn [quantity-invalid]"));
	/* resources of the runtime are not begun in the TrainJob, which may take their place */
	yaml = REVIEW("-o", "yaml", "t/job.yaml", "t/runtime.yaml");
	assert_memory_equal(strbuf_text(&yaml.out), TRAINJOB("", ""), strlen(TRAINJOB("", "")));
	write_text("t/job.yaml", TRAINJOB("", ", resourcesPerNode: {limits: {nvidia.com/gpu: 2}}"));
	sized = REVIEW("-o", "yaml", "t/job.yaml", "t/runtime.yaml");
	assert_non_null(strstr(strbuf_text(&sized.out),
			       ", resourcesPerNode: {limits: {nvidia.com/gpu: 2}, requests: {memory: 64Mi}}"));
}

static void trainjobs_find_runtimes_of_their_namespace(void **state)
{
	CLEANUP(output_release) struct output o = {0};

	(void)state;
	write_text("both.yaml",
		   TRAINJOB(", kind: TrainingRuntime", "") "---\n" RUNTIME("TrainingRuntime", ", namespace: team-y"));
	o = REVIEW("-n", "team-y", "both.yaml");
	assert_non_null(strstr(strbuf_text(&o.out), "TrainJob/t node container \"node\": "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_examined_has_a_reason),
		cmocka_unit_test(examined_pods_without_findings_are_listed),
		cmocka_unit_test(json_lists_what_was_not_examined),
		cmocka_unit_test(exit_codes_of_what_cannot_be_read),
		cmocka_unit_test(paths_without_objects_say_so),
		cmocka_unit_test(sarif_says_what_was_not_examined),
		cmocka_unit_test(links_to_folders_are_counted),
		cmocka_unit_test(excluded_paths_are_passed_over),
		cmocka_unit_test(deep_objects_of_other_kinds_do_not_matter),
		cmocka_unit_test(aliases_and_json_streams_are_read),
		cmocka_unit_test(trainjobs_are_joined_with_their_runtimes),
		cmocka_unit_test(trainjobs_find_runtimes_of_their_namespace),
	};

	return cmocka_run_group_tests_name("review-skip", tests, enter_work, leave_work);
}
