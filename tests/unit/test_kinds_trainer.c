/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of a TrainJob with its runtime, as the controller of the Kubeflow Trainer makes them. */
#include "support/cost.h"
#include "support/test.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/kinds.h"

#include <errno.h>

#define STEP(name, label, containers, more)                                                                            \
	"{'name':'" name "','template':{'metadata':{'labels':{'a':'b'" label "}},'spec':{'parallelism':3,'template':"  \
	"{'spec':{'containers':[" containers "]" more "}}}}}"
#define TRAINER ",'trainer.kubeflow.org/trainjob-ancestor-step':'trainer'"
#define NODE	"{'name':'node','image':'base','args':['x']}"
#define RUNTIME(policy, steps)                                                                                         \
	"{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'ClusterTrainingRuntime','spec':{" policy                \
	"'template':{'spec':{'replicatedJobs':[" steps "]}}}}"
#define TRAINJOB(spec)                                                                                                 \
	"{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','metadata':{'name':'t'},'spec':{" spec "}}"

static struct json_object *parse(const char *quoted)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * MIB);
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	for (const char *p = quoted; *p; p++)
		strbuf_addc(&text, *p == '\'' ? '"' : *p);
	if (json_parse(strbuf_text(&text), text.len, 64, &object, &err))
		print_message("%s\n", err.msg);
	assert_non_null(object);
	return object;
}

struct joined {
	struct arena arena;
	struct kind_template *items;
	size_t n;
	int r;
};

static struct joined join(const char *trainjob, const char *runtime)
{
	CLEANUP(json_putp) struct json_object *job = parse(trainjob), *base = parse(runtime);
	struct joined ret = {.arena = ARENA_INIT(16 * MIB)};
	struct err err = ERR_INIT;
	struct doc *doc = arena_alloc(&ret.arena, sizeof(*doc));

	assert_non_null(doc);
	assert_int_equal(doc_of_json(base, &allow_workload, &ret.arena, doc, NULL), 0);
	ret.r = kind_templates(job, doc, &ret.arena, &ret.items, &ret.n, &err);
	return ret;
}

static void joined_release(struct joined *self)
{
	arena_release(&self->arena);
}

static void steps_have_their_counts(void **state)
{
	static const struct {
		const char *name, *trainjob, *runtime, *roles[2];
		int64_t counts[2];
	} rows[] = {
		{"the TrainJob's",
		 "'trainer':{'numNodes':4}",
		 RUNTIME("'mlPolicy':{'numNodes':2},", STEP("node", TRAINER, NODE, "")),
		 {"node"},
		 {4}},
		{"the runtime's",
		 "'trainer':{}",
		 RUNTIME("'mlPolicy':{'numNodes':2},", STEP("node", TRAINER, NODE, "")),
		 {"node"},
		 {2}},
		{"no trainer",
		 "'suspend':true",
		 RUNTIME("'mlPolicy':{'numNodes':2},", STEP("node", TRAINER, NODE, "")),
		 {"node"},
		 {2}},
		{"nobody's", "'trainer':{}", RUNTIME("", STEP("node", TRAINER, NODE, "")), {"node"}, {1}},
		{"other steps have their own",
		 "'trainer':{'numNodes':4}",
		 RUNTIME("", STEP("init", "", NODE, "") "," STEP("node", TRAINER, NODE, "")),
		 {"init", "node"},
		 {3, 4}},
		{"MPI: the nodes",
		 "'trainer':{'numNodes':4}",
		 RUNTIME("'mlPolicy':{'mpi':{}},", STEP("node", "", NODE, "") "," STEP("launcher", TRAINER, NODE, "")),
		 {"node", "launcher"},
		 {4, 1}},
		{"MPI: the launcher is one of them",
		 "'trainer':{'numNodes':4}",
		 RUNTIME("'mlPolicy':{'mpi':{'runLauncherAsNode':true}},",
			 STEP("node", "", NODE, "") "," STEP("launcher", TRAINER, NODE, "")),
		 {"node", "launcher"},
		 {3, 1}},
		{"MPI: the only one",
		 "'trainer':{'numNodes':1}",
		 RUNTIME("'mlPolicy':{'mpi':{'runLauncherAsNode':true}},",
			 STEP("node", "", NODE, "") "," STEP("launcher", TRAINER, NODE, "")),
		 {"node", "launcher"},
		 {1, 1}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf trainjob = STRBUF_INIT(64 * KIB);
		CLEANUP(joined_release) struct joined joined = {.n = 0};

		test_row(rows[i].name);
		strbuf_addf(&trainjob, TRAINJOB("%s"), rows[i].trainjob);
		joined = join(strbuf_text(&trainjob), rows[i].runtime);
		assert_int_equal(joined.r, 0);
		assert_int_equal(joined.n, rows[i].roles[1] ? 2 : 1);
		for (size_t k = 0; k < joined.n; k++) {
			assert_string_equal(joined.items[k].role, rows[i].roles[k]);
			assert_int_equal(joined.items[k].replicas, rows[i].counts[k]);
			assert_int_equal(joined.items[k].ranks, 0);
			assert_string_equal(joined.items[k].owner_kind->name, "TrainJob");
		}
	}
}

static void read_pod(struct joined *joined, size_t i, struct k8s_pod *ret)
{
	struct err err = ERR_INIT;

	assert_int_equal(joined->r, 0);
	assert_int_equal(k8s_pod_of_doc(joined->items[i].object, &joined->arena, ret, &err), 0);
}

static void the_trainer_counts_before_the_runtime(void **state)
{
	static const char runtime[] = RUNTIME(
		"",
		STEP("init", "", "{'name':'node','image':'init'}", "") "," STEP(
			"node", TRAINER,
			"{'name':'side','image':'side'},{'name':'node','image':'base','command':['run'],'args':['x'],"
			"'resources':{'requests':{'memory':'8Gi','cpu':'1'},'limits':{'nvidia.com/gpu':'1'}}}",
			""));
	CLEANUP(joined_release)
	struct joined joined = join(
		TRAINJOB("'trainer':{'image':'mine','args':['a','b'],'resourcesPerNode':{'requests':"
			 "{'memory':'64Gi'},'limits':{'nvidia.com/gpu':'4','memory':'96Gi'}}}"),
		runtime);
	const struct k8s_container *node;
	struct k8s_pod pod;

	(void)state;
	read_pod(&joined, 0, &pod); /* a step that the trainer is not for */
	assert_string_equal(pod.containers[0].image, "init");
	assert_null(pod.containers[0].resources.limits[K8S_MEMORY].text);
	read_pod(&joined, 1, &pod);
	assert_int_equal(pod.n_containers, 2);
	assert_string_equal(pod.containers[0].image, "side");
	node = &pod.containers[1];
	assert_string_equal(node->image, "mine");
	assert_int_equal(node->n_command, 1);
	assert_int_equal(node->n_args, 2);
	assert_string_equal(node->resources.requests[K8S_MEMORY].text, "64Gi");
	assert_string_equal(node->resources.requests[K8S_CPU].text, "1");
	assert_string_equal(node->resources.limits[K8S_MEMORY].text, "96Gi");
	assert_int_equal(node->resources.extended[0].count, 4);
}

/* Resources of a node, but not its command: with runLauncherAsNode they are for both steps. */
static void mpi_nodes_get_the_resources(void **state)
{
	CLEANUP(joined_release)
	struct joined joined = join(
		TRAINJOB("'trainer':{'image':'mine','resourcesPerNode':{'limits':{'memory':'9Gi'}}}"),
		RUNTIME("'mlPolicy':{'mpi':{'runLauncherAsNode':true}},",
			STEP("node", "", NODE, "") "," STEP("launcher", TRAINER, NODE, "")));
	struct k8s_pod pod;

	(void)state;
	read_pod(&joined, 0, &pod);
	assert_string_equal(pod.containers[0].image, "base");
	assert_string_equal(pod.containers[0].resources.limits[K8S_MEMORY].text, "9Gi");
	read_pod(&joined, 1, &pod);
	assert_string_equal(pod.containers[0].image, "mine");
	assert_string_equal(pod.containers[0].resources.limits[K8S_MEMORY].text, "9Gi");
}

static void patches_reach_their_step(void **state)
{
	static const struct {
		const char *name, *patches;
		bool is_patched;
	} rows[] = {
		{"runtimePatches",
		 "'runtimePatches':[{'manager':'a/b','trainingRuntimeSpec':{'template':{'spec':{'replicatedJobs':["
		 "{'name':'node','template':{'spec':{'template':{'spec':%s}}}}]}}}}]",
		 true},
		{"runtimePatches of another step",
		 "'runtimePatches':[{'trainingRuntimeSpec':{'template':{'spec':{'replicatedJobs':["
		 "{'name':'init','template':{'spec':{'template':{'spec':%s}}}}]}}}}]",
		 false},
		{"podTemplateOverrides", "'podTemplateOverrides':[{'targetJobs':[{'name':'node'}],'spec':%s}]", true},
		{"podTemplateOverrides of others", "'podTemplateOverrides':[{'targetJobs':[{'name':'x'}],'spec':%s}]",
		 false},
	};
	static const char spec[] =
		"{'volumes':[{'name':'shm','emptyDir':{'medium':'Memory'}},{'name':'data','emptyDir':"
		"{'sizeLimit':'9Gi'}}],'nodeSelector':{'pool':'new'},'containers':[{'name':'node',"
		"'volumeMounts':[{'name':'shm','mountPath':'/dev/shm'}]}]}";
	static const char runtime[] = RUNTIME(
		"", STEP("node", TRAINER,
			 "{'name':'node','image':'i','volumeMounts':[{'name':'data','mountPath':'/data'}]}",
			 ",'volumes':[{'name':'data','emptyDir':{}}],'nodeSelector':{'pool':'old','zone':'a'}"));

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
		CLEANUP(joined_release) struct joined joined = {.n = 0};
		const char *place = strstr(rows[i].patches, "%s");
		struct k8s_pod pod;

		test_row(rows[i].name);
		strbuf_adds(&text, "{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','spec':{");
		strbuf_add(&text, rows[i].patches, (size_t)(place - rows[i].patches));
		strbuf_addf(&text, "%s%s}}", spec, place + 2);
		joined = join(strbuf_text(&text), runtime);
		read_pod(&joined, 0, &pod);
		assert_int_equal(pod.n_volumes, rows[i].is_patched ? 2 : 1);
		assert_int_equal(pod.containers[0].n_mounts, rows[i].is_patched ? 2 : 1);
		assert_string_equal(k8s_label_get(&pod.node_selector, "pool"), rows[i].is_patched ? "new" : "old");
		assert_string_equal(k8s_label_get(&pod.node_selector, "zone"), "a");
		for (size_t k = 0; k < pod.n_volumes; k++)
			if (strcmp(pod.volumes[k].name, "data") == 0)
				assert_int_equal(pod.volumes[k].size_limit.text != NULL, rows[i].is_patched);
	}
}

static void pointers_lead_to_the_trainer(void **state)
{
	static const struct {
		const char *pod, *trainjob;
		bool is_held;
	} rows[] = {
		{"/spec/containers/1/resources/limits/memory", "/spec/trainer/resourcesPerNode/limits/memory", true},
		{"/spec/containers/1", "/spec/trainer", true},
		{"/spec/containers/0/resources", "/spec/runtimeRef", false},
		{"/spec/containers/10", "/spec/runtimeRef", false},
		{"/spec/volumes/0/emptyDir", "/spec/runtimeRef", false},
		{"", "/spec/runtimeRef", false},
	};
	CLEANUP(joined_release)
	struct joined joined = join(TRAINJOB("'trainer':{'resourcesPerNode':{}}"),
				    RUNTIME("", STEP("node", TRAINER, "{'name':'side'}," NODE, "")));

	(void)state;
	assert_int_equal(joined.n, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].pod);
		assert_string_equal(kind_template_pointer(&joined.items[0], rows[i].pod, &joined.arena),
				    rows[i].trainjob);
		assert_int_equal(kind_template_holds(&joined.items[0], rows[i].pod), rows[i].is_held);
	}
}

/* `list` of a patch: an item and n others. */
static struct joined join_with(const char *list, size_t patches, size_t n, const char *runtime)
{
	CLEANUP(strbuf_release) struct strbuf job = STRBUF_INIT(4 * MIB);

	strbuf_adds(&job, "{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','spec':{"
			  "'podTemplateOverrides':[");
	for (size_t k = 0; k < patches; k++) {
		strbuf_addf(&job, "%s{'targetJobs':[{'name':'node'}],'spec':{'%s':[{'name':'v'}", k ? "," : "", list);
		for (size_t i = 0; i < n; i++)
			strbuf_addf(&job, ",{'name':'v%zu-%zu'}", k, i);
		strbuf_adds(&job, "]}}");
	}
	strbuf_adds(&job, "]}}");
	return join(strbuf_text(&job), runtime);
}

/* Containers of patches are walked for each container. */
static void many_patched_containers_are_not_joined(void **state)
{
	CLEANUP(joined_release)
	struct joined joined = join_with("containers", 2, 200, RUNTIME("", STEP("node", TRAINER, NODE, "")));
	CLEANUP(joined_release)
	struct joined more = join_with("containers", 2, 300, RUNTIME("", STEP("node", TRAINER, NODE, "")));

	(void)state;
	assert_int_equal(joined.r, 0);
	assert_int_equal(more.r, -E2BIG);
}

static void joining_volumes_takes_linear_time(void **state)
{
	uint64_t steps[2] = {0};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(joined_release) struct joined joined = {.n = 0};
		size_t patches = i ? 40 : 20;

		cost_begin();
		joined = join_with("volumes", patches, 250,
				   RUNTIME("", STEP("node", TRAINER, NODE, ",'volumes':[{'name':'v'}]")));
		steps[i] = cost_steps();
		assert_int_equal(joined.r, 0);
		assert_int_equal(doc_member(doc_member(joined.items[0].object, "spec"), "volumes")->n_items,
				 250 * patches + 1);
	}
	assert_true(steps[1] <= 2 * steps[0] + 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_have_their_counts),
		cmocka_unit_test(the_trainer_counts_before_the_runtime),
		cmocka_unit_test(mpi_nodes_get_the_resources),
		cmocka_unit_test(patches_reach_their_step),
		cmocka_unit_test(pointers_lead_to_the_trainer),
		cmocka_unit_test(many_patched_containers_are_not_joined),
		cmocka_unit_test(joining_volumes_takes_linear_time),
	};

	return cmocka_run_group_tests_name("kinds-trainer", tests, NULL, NULL);
}
