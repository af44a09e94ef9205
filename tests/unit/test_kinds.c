/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/kinds.h"

#include <errno.h>
#include <string.h>

/* JSON is written with single quotes. */
static struct json_object *parse(const char *text)
{
	char *copy = strdup(text);
	struct json_object *tree = NULL;
	struct err err = ERR_INIT;

	assert_non_null(copy);
	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	if (json_parse(copy, strlen(copy), LIMIT_REVIEW_DEPTH, &tree, &err))
		fail_msg("%s: %s", err.msg, copy);
	free(copy);
	return tree;
}

#define POD "'spec':{'containers':[{'name':'c'}]}"
#define T   "'template':{" POD "}"
#define RAY                                                                                                            \
	"'headGroupSpec':{" T "},'workerGroupSpecs':[{'groupName':'gpu','replicas':4,'numOfHosts':2," T                \
	"},{'groupName':'cpu'," T "}]"
#define JOBSET                                                                                                         \
	"{'replicatedJobs':[{'name':'leader','template':{'spec':{" T                                                   \
	"}}},{'name':'workers','replicas':2,'template':{'spec':{'parallelism':8,'completions':8," T "}}}]}"
#define TRAINER                                                                                                        \
	"{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','spec':{'trainer':{'resourcesPerNode':{"      \
	"'limits':{'nvidia.com/gpu':8}}}}}"
#define ROLES "{'Master':{'replicas':1," T "},'Worker':{'replicas':7," T "}}"

static const struct {
	const char *name, *text;
	const char *expected; /* "pointer role replicas" of each template */
} rows[] = {
	{"Pod", "{'apiVersion':'v1','kind':'Pod'," POD "}", " '' 1;"},
	{"Job", "{'apiVersion':'batch/v1','kind':'Job','spec':{" T "}}", "/spec/template '' 1;"},
	{"parallel Job", "{'apiVersion':'batch/v1','kind':'Job','spec':{'parallelism':3,'completions':9," T "}}",
	 "/spec/template '' 3;"},
	{"CronJob",
	 "{'apiVersion':'batch/v1','kind':'CronJob','spec':{'jobTemplate':{'spec':{'parallelism':2," T "}}}}",
	 "/spec/jobTemplate/spec/template '' 2;"},
	{"JobSet", "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','spec':" JOBSET "}",
	 "/spec/replicatedJobs/0/template/spec/template 'leader' 1;"
	 "/spec/replicatedJobs/1/template/spec/template 'workers' 16;"},
	{"TrainJob", "{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','spec':{'trainer':{}}}", ""},
	{"TrainJob with resources",
	 "{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','spec':{'trainer':{'numNodes':3,'image':'i',"
	 "'resourcesPerNode':{'limits':{'nvidia.com/gpu':8}}}}}",
	 "/spec/trainer 'node' 3;"},
	{"TrainJob with no resources in resourcesPerNode",
	 "{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','spec':{'trainer':{'resourcesPerNode':{}}}}",
	 ""},
	{"ClusterTrainingRuntime",
	 "{'apiVersion':'trainer.kubeflow.org/"
	 "v1alpha1','kind':'ClusterTrainingRuntime','spec':{'template':{'spec':" JOBSET "}}}",
	 "/spec/template/spec/replicatedJobs/0/template/spec/template 'leader' 1;"
	 "/spec/template/spec/replicatedJobs/1/template/spec/template 'workers' 16;"},
	{"PyTorchJob", "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','spec':{'pytorchReplicaSpecs':" ROLES "}}",
	 "/spec/pytorchReplicaSpecs/Master/template 'master' 1;/spec/pytorchReplicaSpecs/Worker/template 'worker' 7;"},
	{"TFJob", "{'apiVersion':'kubeflow.org/v1','kind':'TFJob','spec':{'tfReplicaSpecs':{'PS':{" T "}}}}",
	 "/spec/tfReplicaSpecs/PS/template 'ps' 1;"},
	{"XGBoostJob",
	 "{'apiVersion':'kubeflow.org/v1','kind':'XGBoostJob','spec':{'xgbReplicaSpecs':{'Master':{" T "}}}}",
	 "/spec/xgbReplicaSpecs/Master/template 'master' 1;"},
	{"JAXJob", "{'apiVersion':'kubeflow.org/v1','kind':'JAXJob','spec':{'jaxReplicaSpecs':{'Worker':{" T "}}}}",
	 "/spec/jaxReplicaSpecs/Worker/template 'worker' 1;"},
	{"PaddleJob",
	 "{'apiVersion':'kubeflow.org/v1','kind':'PaddleJob','spec':{'paddleReplicaSpecs':{'Worker':{" T "}}}}",
	 "/spec/paddleReplicaSpecs/Worker/template 'worker' 1;"},
	{"MPIJob v1",
	 "{'apiVersion':'kubeflow.org/v1','kind':'MPIJob','spec':{'mpiReplicaSpecs':{'Launcher':{" T "}}}}",
	 "/spec/mpiReplicaSpecs/Launcher/template 'launcher' 1;"},
	{"MPIJob v2beta1",
	 "{'apiVersion':'kubeflow.org/v2beta1','kind':'MPIJob','spec':{'slotsPerWorker':8,'mpiReplicaSpecs':{'Worker':{"
	 "'replicas':2," T "}}}}",
	 "/spec/mpiReplicaSpecs/Worker/template 'worker' 2;"},
	{"a key that needs escaping",
	 "{'apiVersion':'kubeflow.org/v1','kind':'TFJob','spec':{'tfReplicaSpecs':{'a/b':{" T "}}}}",
	 "/spec/tfReplicaSpecs/a~1b/template 'a/b' 1;"},
	{"RayCluster", "{'apiVersion':'ray.io/v1','kind':'RayCluster','spec':{" RAY "}}",
	 "/spec/headGroupSpec/template 'head' 1;/spec/workerGroupSpecs/0/template 'gpu' 8;"
	 "/spec/workerGroupSpecs/1/template 'cpu' 1;"},
	{"RayJob",
	 "{'apiVersion':'ray.io/v1','kind':'RayJob','spec':{'submitterPodTemplate':{" POD "},'rayClusterSpec':{" RAY
	 "}}}",
	 "/spec/rayClusterSpec/headGroupSpec/template 'head' 1;/spec/rayClusterSpec/workerGroupSpecs/0/template 'gpu' "
	 "8;"
	 "/spec/rayClusterSpec/workerGroupSpecs/1/template 'cpu' 1;/spec/submitterPodTemplate 'submitter' 1;"},
	{"RayService",
	 "{'apiVersion':'ray.io/v1','kind':'RayService','spec':{'rayClusterConfig':{'headGroupSpec':{" T "}}}}",
	 "/spec/rayClusterConfig/headGroupSpec/template 'head' 1;"},
	{"RayCronJob",
	 "{'apiVersion':'ray.io/v1','kind':'RayCronJob','spec':{'jobTemplate':{'rayClusterSpec':{'headGroupSpec':{" T
	 "}}}}}",
	 "/spec/jobTemplate/rayClusterSpec/headGroupSpec/template 'head' 1;"},
	{"Volcano Job",
	 "{'apiVersion':'batch.volcano.sh/v1alpha1','kind':'Job','spec':{'tasks':[{'name':'ps','replicas':2," T
	 "},{'name':'w','replicas':5," T "}]}}",
	 "/spec/tasks/0/template 'ps' 2;/spec/tasks/1/template 'w' 5;"},
	{"Volcano CronJob",
	 "{'apiVersion':'batch.volcano.sh/v1alpha1','kind':'CronJob','spec':{'jobTemplate':{'spec':{'tasks':[{" T
	 "}]}}}}",
	 "/spec/jobTemplate/spec/tasks/0/template '' 1;"},
	{"LeaderWorkerSet",
	 "{'apiVersion':'leaderworkerset.x-k8s.io/"
	 "v1','kind':'LeaderWorkerSet','spec':{'replicas':3,'leaderWorkerTemplate':{"
	 "'size':4,'leaderTemplate':{" POD "},'workerTemplate':{" POD "}}}}",
	 "/spec/leaderWorkerTemplate/leaderTemplate 'leader' 3;/spec/leaderWorkerTemplate/workerTemplate 'worker' 9;"},
	{"LeaderWorkerSet without leader",
	 "{'apiVersion':'leaderworkerset.x-k8s.io/v1','kind':'LeaderWorkerSet','spec':{'leaderWorkerTemplate':{"
	 "'size':4,'workerTemplate':{" POD "}}}}",
	 "/spec/leaderWorkerTemplate/workerTemplate 'worker' 4;"},
	{"Deployment", "{'apiVersion':'apps/v1','kind':'Deployment','spec':{'replicas':3," T "}}",
	 "/spec/template '' 3;"},
	{"StatefulSet", "{'apiVersion':'apps/v1','kind':'StatefulSet','spec':{" T "}}", "/spec/template '' 1;"},
	{"DaemonSet", "{'apiVersion':'apps/v1','kind':'DaemonSet','spec':{" T "}}", "/spec/template '' 1;"},
	{"ReplicaSet", "{'apiVersion':'apps/v1','kind':'ReplicaSet','spec':{'replicas':0," T "}}",
	 "/spec/template '' 0;"},
	{"Notebook", "{'apiVersion':'kubeflow.org/v1','kind':'Notebook','spec':{" T "}}", "/spec/template '' 1;"},
	{"Knative Service", "{'apiVersion':'serving.knative.dev/v1','kind':'Service','spec':{" T "}}",
	 "/spec/template '' 1;"},
	{"core Service", "{'apiVersion':'v1','kind':'Service','spec':{" T "}}", ""},
	{"InferenceService",
	 "{'apiVersion':'serving.kserve.io/v1beta1','kind':'InferenceService','spec':{'predictor':{}}}", ""},
	{"SparkApplication", "{'apiVersion':'sparkoperator.k8s.io/v1beta2','kind':'SparkApplication','spec':{}}", ""},
	{"HyperPodPyTorchJob",
	 "{'apiVersion':'sagemaker.amazonaws.com/"
	 "v1','kind':'HyperPodPyTorchJob','spec':{'replicaSpecs':[{'name':'pods',"
	 "'replicas':4," T "}]}}",
	 "/spec/replicaSpecs/0/template 'pods' 4;"},
	{"AppWrapper",
	 "{'apiVersion':'workload.codeflare.dev/"
	 "v1beta2','kind':'AppWrapper','spec':{'components':[{'template':{'apiVersion':"
	 "'v1','kind':'Service'}},{'template':{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','spec':{"
	 "'pytorchReplicaSpecs':" ROLES "}}}]}}",
	 "/spec/components/1/template/spec/pytorchReplicaSpecs/Master/template 'master' 1;"
	 "/spec/components/1/template/spec/pytorchReplicaSpecs/Worker/template 'worker' 7;"},
	{"List of a Pod and a Job",
	 "{'apiVersion':'v1','kind':'List','items':[{'apiVersion':'v1','kind':'Pod'," POD
	 "},{'apiVersion':'batch/v1','kind':'Job','spec':{" T "}}]}",
	 "/items/0 '' 1;/items/1/spec/template '' 1;"},
	{"Katib Experiment",
	 "{'apiVersion':'kubeflow.org/"
	 "v1beta1','kind':'Experiment','spec':{'parallelTrialCount':3,'trialTemplate':{'trialSpec':"
	 "{'apiVersion':'batch/v1','kind':'Job','spec':{" T "}}}}}",
	 "/spec/trialTemplate/trialSpec/spec/template '' 1;"},
	{"Katib Trial",
	 "{'apiVersion':'kubeflow.org/v1beta1','kind':'Trial','spec':{'runSpec':{'apiVersion':'batch/"
	 "v1','kind':'Job','spec':{" T "}}}}",
	 "/spec/runSpec/spec/template '' 1;"},
	{"Argo Workflow",
	 "{'apiVersion':'argoproj.io/"
	 "v1alpha1','kind':'Workflow','spec':{'parallelism':5,'templates':[{'name':'dag','dag':{}},"
	 "{'name':'train','container':{'image':'i'}},{'name':'py','script':{'source':'x'}},"
	 "{'name':'set','containerSet':{'containers':[{'name':'a'},{'name':'b'}]}}]}}",
	 "/spec/templates/1 'train' 1;/spec/templates/2 'py' 1;/spec/templates/3 'set' 1;"},
	{"Argo CronWorkflow",
	 "{'apiVersion':'argoproj.io/v1alpha1','kind':'CronWorkflow','spec':{'workflowSpec':{'templates':[{'name':'t',"
	 "'container':{}}]}}}",
	 "/spec/workflowSpec/templates/0 't' 1;"},
	{"unknown kind", "{'apiVersion':'example.com/v1','kind':'Sandbox','spec':{" T "}}", ""},
	{"Job of an unknown group", "{'apiVersion':'example.com/v1','kind':'Job','spec':{" T "}}", ""},
	{"no kind", "{'apiVersion':'batch/v1','spec':{" T "}}", ""},
	{"kind of a wrong type", "{'apiVersion':'batch/v1','kind':{},'spec':{" T "}}", ""},
	{"parts of wrong types",
	 "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','spec':{'replicatedJobs':{}}}", ""},
	{"null items",
	 "{'apiVersion':'batch.volcano.sh/v1alpha1','kind':'Job','spec':{'tasks':[null,7,{'template':null},{'name':4," T
	 "}]}}",
	 "/spec/tasks/3/template '' 1;"},
	{"negative and absurd counts",
	 "{'apiVersion':'batch.volcano.sh/"
	 "v1alpha1','kind':'Job','spec':{'replicas':9223372036854775807,'tasks':[{'replicas':-3,"
	 "'name':'a'," T "},{'replicas':9223372036854775807,'name':'b'," T "}]}}",
	 "/spec/tasks/0/template 'a' 9223372036854775807;/spec/tasks/1/template 'b' 9223372036854775807;"},
};

static void kinds_templates_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
		CLEANUP(json_putp) struct json_object *tree = parse(rows[i].text);
		CLEANUP(strbuf_release) struct strbuf found = STRBUF_INIT(4 * KIB);
		struct kind_template *items;
		struct err err;
		size_t n;

		test_row(rows[i].name);
		assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, &err), 0);
		for (size_t k = 0; k < n; k++) {
			assert_non_null(doc_member(doc_member(items[k].object, "spec"), "containers"));
			strbuf_addf(&found, "%s '%s' %lld;", items[k].pointer, items[k].role,
				    (long long)items[k].replicas);
		}
		assert_string_equal(strbuf_text(&found), rows[i].expected);
	}
}

/* All pods that an object makes until it is done, over all its templates. */
static void kinds_ranks_rows(void **state)
{
	static const struct {
		const char *name, *text;
		int64_t ranks;
	} ranks[] = {
		{"plain Job", "{'apiVersion':'batch/v1','kind':'Job','spec':{" T "}}", 1},
		{"parallel Job", "{'apiVersion':'batch/v1','kind':'Job','spec':{'parallelism':3," T "}}", 3},
		{"more completions",
		 "{'apiVersion':'batch/v1','kind':'Job','spec':{'parallelism':3,'completions':9," T "}}", 9},
		{"fewer completions",
		 "{'apiVersion':'batch/v1','kind':'Job','spec':{'parallelism':8,'completions':2," T "}}", 2},
		{"CronJob",
		 "{'apiVersion':'batch/v1','kind':'CronJob','spec':{'jobTemplate':{'spec':{'completions':5," T "}}}}",
		 5},
		{"PyTorchJob",
		 "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','spec':{'pytorchReplicaSpecs':" ROLES "}}", 8},
		{"JobSet",
		 "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','spec':{'replicatedJobs':[{'name':'a',"
		 "'replicas':2,'template':{'spec':{'parallelism':4,'completions':4," T
		 "}}},{'name':'b','template':{'spec':{" T "}}}]}}",
		 9},
		{"TrainJob: its runtime may make more",
		 "{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','spec':{'trainer':{'numNodes':3,"
		 "'resourcesPerNode':{'limits':{'nvidia.com/gpu':8}}}}}",
		 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ranks); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
		CLEANUP(json_putp) struct json_object *tree = parse(ranks[i].text);
		struct kind_template *items;
		size_t n;

		test_row(ranks[i].name);
		assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, NULL), 0);
		assert_true(n > 0);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(items[k].ranks, ranks[i].ranks);
	}
}

static void kinds_tell_the_owner_inside(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
	CLEANUP(json_putp)
	struct json_object *tree = parse(
		"{'apiVersion':'v1','kind':'List','items':[{'apiVersion':'batch/v1','kind':'Job','spec':{" T "}}]}");
	struct kind_template *items;
	struct err err;
	size_t n;

	(void)state;
	assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_string_equal(items[0].owner_kind->name, "Job");
	assert_string_equal(items[0].owner_pointer, "/items/0");
	assert_ptr_equal(items[0].owner, doc_member(items[0].root, "items")->first);
}

static void kinds_argo_template_becomes_a_pod(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
	CLEANUP(json_putp)
	struct json_object *tree = parse(
		"{'apiVersion':'argoproj.io/v1alpha1','kind':'Workflow','spec':{'templates':[{'name':'t',"
		"'metadata':{'labels':{'a':'b'}},'nodeSelector':{'x':'y'},'volumes':[{'name':'v'}],"
		"'initContainers':[{'name':'i'}],'sidecars':[{'name':'s'},3],"
		"'container':{'image':'img','resources':{'limits':{'memory':'1Gi'}}}}]}}");
	const char *before = arena_strdup(&arena, json_object_to_json_string(tree));
	struct kind_template *items;
	struct k8s_pod pod;
	struct err err;
	size_t n;

	(void)state;
	assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, &err), 0);
	assert_string_equal(json_object_to_json_string(tree), before);
	assert_int_equal(n, 1);
	assert_int_equal(k8s_pod_of_doc(items[0].object, &arena, &pod, &err), 0);
	assert_int_equal(pod.n_main, 2);
	assert_string_equal(pod.containers[0].name, "main");
	assert_string_equal(pod.containers[0].image, "img");
	assert_int_equal(pod.containers[0].resources.limits[K8S_MEMORY].value, (int64_t)1 << 30);
	assert_string_equal(pod.containers[1].name, "s");
	assert_string_equal(pod.containers[2].name, "i");
	assert_string_equal(k8s_label_get(&pod.labels, "a"), "b");
	assert_string_equal(k8s_label_get(&pod.node_selector, "x"), "y");
	assert_int_equal(pod.n_volumes, 1);
}

static void kinds_pointer_rows(void **state)
{
	static const struct {
		const char *object, *pod_pointer, *expected;
	} cases[] = {
		{"{'apiVersion':'batch/v1','kind':'Job','spec':{" T "}}", "/spec/containers/0/resources",
		 "/spec/template/spec/containers/0/resources"},
		{"{'apiVersion':'v1','kind':'Pod'," POD "}", "/metadata/labels", "/metadata/labels"},
		{"{'apiVersion':'argoproj.io/"
		 "v1alpha1','kind':'Workflow','spec':{'templates':[{'container':{},'sidecars':[{}]}]}}",
		 "/spec/containers/0/resources/limits", "/spec/templates/0/container/resources/limits"},
		{"{'apiVersion':'argoproj.io/"
		 "v1alpha1','kind':'Workflow','spec':{'templates':[{'container':{},'sidecars':[{}]}]}}",
		 "/spec/containers/1", "/spec/templates/0/sidecars/0"},
		{"{'apiVersion':'argoproj.io/v1alpha1','kind':'Workflow','spec':{'templates':[{'script':{}}]}}",
		 "/spec/containers/0", "/spec/templates/0/script"},
		{"{'apiVersion':'argoproj.io/"
		 "v1alpha1','kind':'Workflow','spec':{'templates':[{'containerSet':{'containers':[{},{}]}}"
		 "]}}",
		 "/spec/containers/1/resources", "/spec/templates/0/containerSet/containers/1/resources"},
		{"{'apiVersion':'argoproj.io/v1alpha1','kind':'Workflow','spec':{'templates':[{'container':{}}]}}",
		 "/spec/initContainers/0", "/spec/templates/0/initContainers/0"},
		{"{'apiVersion':'argoproj.io/v1alpha1','kind':'Workflow','spec':{'templates':[{'container':{}}]}}",
		 "/metadata/annotations", "/spec/templates/0/metadata/annotations"},
		{TRAINER, "/spec/containers/0/resources/limits/memory", "/spec/trainer/resourcesPerNode/limits/memory"},
		{TRAINER, "/spec/containers/0/image", "/spec/trainer/image"},
		{TRAINER, "/spec/volumes/0", "/spec/trainer"},
		{TRAINER, "", "/spec/trainer"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
		CLEANUP(json_putp) struct json_object *tree = parse(cases[i].object);
		struct kind_template *items;
		struct err err;
		size_t n;

		test_row(cases[i].expected);
		assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, &err), 0);
		assert_int_equal(n, 1);
		assert_string_equal(kind_template_pointer(&items[0], cases[i].pod_pointer, &arena), cases[i].expected);
	}
}

static void kinds_have_caps(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(256 * KIB), tiny = ARENA_INIT(64);
	CLEANUP(json_putp)
	struct json_object *tree = parse("{'apiVersion':'v1','kind':'List','items':[]}");
	struct json_object *items_array = json_member(tree, "items");
	struct kind_template *items;
	struct err err = ERR_INIT;
	size_t n;

	(void)state;
	for (int i = 0; i < LIMIT_POD_CONTAINERS; i++)
		assert_int_equal(json_append(items_array, parse("{'apiVersion':'v1','kind':'Pod'}")), 0);
	assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, &err), 0);
	assert_int_equal(n, LIMIT_POD_CONTAINERS);
	assert_int_equal(json_append(items_array, parse("{'apiVersion':'v1','kind':'Pod'}")), 0);
	assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, &err), -E2BIG);
	assert_int_equal(kind_templates(tree, NULL, &tiny, &items, &n, &err), -ENOMEM);
}

/* In all templates together, before any is decoded. */
static void kinds_have_a_cap_of_containers(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(4 * MIB);
	CLEANUP(json_putp) struct json_object *tree = parse("{'apiVersion':'v1','kind':'List','items':[]}");
	struct json_object *items = json_member(tree, "items"), *last = NULL;
	struct kind_template *templates;
	struct err err = ERR_INIT;
	size_t n;

	(void)state;
	for (int i = 0; i < LIMIT_OBJECT_CONTAINERS; i++) {
		if (i % 16 == 0) {
			last = parse("{'apiVersion':'v1','kind':'Pod','spec':{'containers':[],'initContainers':[]}}");
			assert_int_equal(json_append(items, last), 0);
		}
		assert_int_equal(
			json_append(json_member(json_member(last, "spec"), i % 2 ? "containers" : "initContainers"),
				    json_object_new_object()),
			0);
	}
	assert_int_equal(kind_templates(tree, NULL, &arena, &templates, &n, &err), 0);
	assert_int_equal(json_append(json_member(json_member(last, "spec"), "containers"), json_object_new_object()),
			 0);
	assert_int_equal(kind_templates(tree, NULL, &arena, &templates, &n, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "1024 containers"));
}

/* An object with a pod at the end of one path: "spec.tasks[].template" -> {'spec':{'tasks':[{'template':{...}}]}}. */
static struct json_object *object_at(const char *path, struct json_object *end)
{
	size_t n = strcspn(path, ".");
	bool is_list = n > 2 && path[n - 1] == ']';
	char key[64] = "Any";
	struct json_object *object, *inside;

	if (!*path)
		return end;
	object = json_object_new_object();
	if (*path != '*')
		snprintf(key, sizeof(key), "%.*s", (int)(is_list ? n - 2 : n), path);
	inside = object_at(path + n + (path[n] == '.'), end);
	if (is_list) {
		struct json_object *list = json_object_new_array();

		assert_int_equal(json_append(list, inside), 0);
		inside = list;
	}
	assert_int_equal(json_add(object, key, inside), 0);
	return object;
}

static size_t count_at(const struct kind *kind, const char *path, const char *end)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
	CLEANUP(json_putp) struct json_object *tree = object_at(path, parse(end));
	struct kind_template *items;
	struct k8s_pod pod;
	struct err err;
	size_t n;

	assert_int_equal(json_add(tree, "kind", json_object_new_string(kind->name)), 0);
	assert_int_equal(
		json_add(tree, "apiVersion",
			 json_object_new_string(arena_printf(&arena, "%s%sv1", kind->group, *kind->group ? "/" : ""))),
		0);
	assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, &err), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(k8s_pod_of_doc(items[i].object, &arena, &pod, &err), 0);
		assert_int_equal(pod.containers[0].resources.limits[K8S_MEMORY].value, 7);
		if (!kind->has_trainer)
			assert_string_equal(pod.node_selector.items[0].value, "b");
	}
	return n;
}

/* What the table of kinds names, the allow-list lets through. */
static void kinds_paths_are_allowed(void **state)
{
	static const char
		pod[] = "{'spec':{'nodeSelector':{'a':'b'},'containers':[{'name':'c','resources':{'limits':{"
			"'memory':'7'}}}]}}",
		trainer[] = "{'resourcesPerNode':{'limits':{'memory':'7'}}}",
		argo[] = "{'nodeSelector':{'a':'b'},'container':{'resources':{'limits':{'memory':'7'}}}}",
		job[] = "{'apiVersion':'batch/v1','kind':'Job','spec':{'template':{'spec':{'nodeSelector':{'a'"
			":'b'},'containers':[{'name':'c','resources':{'limits':{'memory':'7'}}}]}}}}";
	size_t n;
	const struct kind *table = kind_table(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		const char *const *path = table[i].template_paths;

		test_row(table[i].name);
		for (; path && *path; path++)
			assert_int_equal(count_at(&table[i], *path,
						  table[i].has_argo_templates ? argo
						  : table[i].has_trainer      ? trainer
									      : pod),
					 1);
		for (path = table[i].object_paths; path && *path; path++)
			assert_int_equal(count_at(&table[i], *path, job), 1);
	}
}

static void kinds_owner_is_read(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
	CLEANUP(json_putp)
	struct json_object *tree = parse(
		"{'apiVersion':'workload.codeflare.dev/"
		"v1beta2','kind':'AppWrapper','metadata':{'name':'outer','labels':"
		"{'kueue.x-k8s.io/queue-name':'q'},'ownerReferences':[{'kind':'A','controller':false},{'kind':'B',"
		"'controller':true}]},'spec':{'components':[{'template':{'apiVersion':'batch/v1','kind':'Job',"
		"'metadata':{'generateName':'train-','namespace':'ml','labels':{'a':'b','c':4}},'spec':{" T "}}}]}}");
	struct kind_template *items;
	struct err err;
	size_t n;

	(void)state;
	assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_string_equal(items[0].owner_facts.name, "train-");
	assert_string_equal(items[0].owner_facts.namespace_name, "ml");
	assert_true(items[0].owner_facts.is_queued);
	assert_true(kind_is_controlled(items[0].root));
	assert_false(kind_is_controlled(items[0].owner));
}

/* A List inside a List inside a List ends somewhere. */
static void kinds_nesting_ends(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
	struct json_object *tree = parse("{'apiVersion':'v1','kind':'Pod'}");
	struct kind_template *items;
	struct err err;
	size_t n;

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct json_object *list = parse("{'apiVersion':'v1','kind':'List','items':[]}");

		assert_int_equal(json_append(json_member(list, "items"), tree), 0);
		tree = list;
	}
	assert_int_equal(kind_templates(tree, NULL, &arena, &items, &n, &err), 0);
	assert_int_equal(n, 0);
	json_object_put(tree);
}

static void kinds_are_found(void **state)
{
	size_t n;
	const struct kind *table = kind_table(&n);

	(void)state;
	assert_true(n > 40);
	for (size_t i = 0; i < n; i++) {
		test_row(table[i].name);
		assert_ptr_equal(kind_find(table[i].group, table[i].name), &table[i]);
	}
	assert_string_equal(kind_find(NULL, "Job")->group, "batch");
	assert_string_equal(kind_find("batch.volcano.sh", "Job")->group, "batch.volcano.sh");
	assert_string_equal(kind_find_api_version("batch.volcano.sh/v1alpha1", "CronJob")->group, "batch.volcano.sh");
	assert_string_equal(kind_find_api_version("v1", "Pod")->name, "Pod");
	assert_null(kind_find("", "Job"));
	assert_null(kind_find_api_version("v1", "Job"));
	assert_null(kind_find(NULL, "Sandbox"));
	assert_null(kind_find(NULL, NULL));
	assert_null(kind_find_api_version(NULL, "Job"));
	assert_int_equal(kind_find(NULL, "RayCluster")->class_, KIND_INTERACTIVE);
	assert_int_equal(kind_find(NULL, "RayService")->class_, KIND_SERVING);
	assert_int_equal(kind_find(NULL, "PyTorchJob")->class_, KIND_TRAINING);
	assert_true(kind_find(NULL, "CronJob")->is_recurring);
	assert_false(kind_find(NULL, "Job")->is_recurring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_templates_rows),
		cmocka_unit_test(kinds_ranks_rows),
		cmocka_unit_test(kinds_tell_the_owner_inside),
		cmocka_unit_test(kinds_argo_template_becomes_a_pod),
		cmocka_unit_test(kinds_pointer_rows),
		cmocka_unit_test(kinds_paths_are_allowed),
		cmocka_unit_test(kinds_owner_is_read),
		cmocka_unit_test(kinds_have_caps),
		cmocka_unit_test(kinds_have_a_cap_of_containers),
		cmocka_unit_test(kinds_nesting_ends),
		cmocka_unit_test(kinds_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
