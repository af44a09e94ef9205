/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/accelerator.h"
#include "k8s/doc.h"
#include "k8s/pod.h"

#include <errno.h>
#include <string.h>

#define GI ((int64_t)1 << 30)
#define MI ((int64_t)1 << 20)

/* A pod decoded from JSON written with single quotes. */
struct fixture {
	struct arena arena;
	struct json_object *tree;
	struct k8s_pod pod;
	struct err err;
	int r;
};

static void fixture_init(struct fixture *self, const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	*self = (struct fixture){.arena = ARENA_INIT(MIB)};
	if (json_parse(copy, strlen(copy), LIMIT_REVIEW_DEPTH, &self->tree, &self->err))
		fail_msg("%s: %s", self->err.msg, copy);
	self->r = k8s_pod_decode(self->tree, &self->arena, &self->pod, &self->err);
	/* A pod keeps no part of the tree. */
	json_putp(&self->tree);
	free(copy);
}

static void fixture_release(struct fixture *self)
{
	arena_release(&self->arena);
}

static const char worker[] =
	"{'metadata':{'namespace':'ml','name':'bert-worker-0','generateName':'bert-','uid':'u-1',"
	"'labels':{'app':'bert','team':'nlp'},'annotations':{'a/b':'c'},"
	"'ownerReferences':[{'apiVersion':'v1','kind':'X','name':'x','uid':'u-x'},"
	"{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','name':'bert','uid':'u-2','controller':true}]},"
	"'spec':{'priorityClassName':'high','schedulerName':'default-scheduler','restartPolicy':'OnFailure',"
	"'nodeSelector':{'gpu':'h100'},'schedulingGates':[{'name':'g'}],'overhead':{'memory':'10Mi','cpu':'50m'},"
	"'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
	"'matchExpressions':[{'key':'zone','operator':'In','values':['a']},"
	"{'key':'many','operator':'In','values':['a','b']},{'key':'no','operator':'NotIn','values':['a']}]}]}}},"
	"'containers':[{'name':'pytorch','image':'r/bert:1','command':['python','train.py'],'args':['--lr','1e-4'],"
	"'stdin':true,'env':[{'name':'HOME','value':'/"
	"root'},{'name':'RAY_USAGE_STATS_EXTRA_TAGS','value':'kuberay_crd=RayJob'},"
	"{'value':'no name'}],"
	"'volumeMounts':[{'name':'shm','mountPath':'/dev/shm'}],"
	"'resources':{'limits':{'nvidia.com/gpu':'8','memory':'96Gi','cpu':'1500m'},"
	"'requests':{'nvidia.com/gpu':8,'memory':1073741824}}},"
	"{'name':'log','resources':{'limits':{'memory':'${MEM}'}}}],"
	"'initContainers':[{'name':'init','resources':{'requests':{'memory':'20Gi'}}},"
	"{'name':'proxy','restartPolicy':'Always','resources':{'requests':{'memory':'1Gi'}}}],"
	"'volumes':[{'name':'shm','emptyDir':{'medium':'Memory','sizeLimit':'8Gi'}},{'name':'tmp','emptyDir':{}},"
	"{'name':'data','persistentVolumeClaim':{'claimName':'d'}},{'name':'c','configMap':{}}]}}";

static void pod_decodes_what_we_read(void **state)
{
	struct fixture f;
	const struct k8s_container *main;
	const struct k8s_pod *pod = &f.pod;

	(void)state;
	fixture_init(&f, worker);
	assert_int_equal(f.r, 0);
	assert_string_equal(pod->namespace_name, "ml");
	assert_string_equal(pod->name, "bert-worker-0");
	assert_string_equal(pod->generate_name, "bert-");
	assert_string_equal(pod->uid, "u-1");
	assert_int_equal(pod->labels.n, 2);
	assert_string_equal(k8s_label_get(&pod->labels, "team"), "nlp");
	assert_null(k8s_label_get(&pod->labels, "tea"));
	assert_string_equal(k8s_label_get(&pod->annotations, "a/b"), "c");
	assert_string_equal(k8s_label_get(&pod->node_selector, "gpu"), "h100");
	assert_int_equal(pod->n_owners, 2);
	assert_string_equal(k8s_pod_controller(pod)->kind, "PyTorchJob");
	assert_string_equal(pod->priority_class, "high");
	assert_string_equal(pod->scheduler_name, "default-scheduler");
	assert_string_equal(pod->restart_policy, "OnFailure");
	assert_int_equal(pod->n_scheduling_gates, 1);
	assert_int_equal(pod->required_affinity.n, 1);
	assert_string_equal(k8s_label_get(&pod->required_affinity, "zone"), "a");
	assert_int_equal(pod->overhead[K8S_MEMORY].value, 10 * MI);
	assert_int_equal(pod->overhead[K8S_CPU].value, 50);
	assert_int_equal(pod->n_containers, 4);
	assert_int_equal(pod->n_main, 2);
	main = &pod->containers[0];
	assert_string_equal(main->name, "pytorch");
	assert_string_equal(main->image, "r/bert:1");
	assert_string_equal(main->command[1], "train.py");
	assert_string_equal(main->args[1], "1e-4");
	assert_true(main->has_stdin);
	assert_false(main->has_tty);
	assert_string_equal(main->ray_tags, "kuberay_crd=RayJob");
	assert_string_equal(pod->containers[1].ray_tags, "");
	assert_string_equal(main->mounts[0].path, "/dev/shm");
	assert_string_equal(main->mounts[0].volume, "shm");
	fixture_release(&f);
}

static void pod_decodes_resources_and_volumes(void **state)
{
	struct fixture f;
	const struct k8s_pod *pod = &f.pod;
	const struct k8s_resources *main;

	(void)state;
	fixture_init(&f, worker);
	assert_int_equal(f.r, 0);
	main = &pod->containers[0].resources;
	assert_true(main->is_present && main->has_requests && main->has_limits);
	assert_string_equal(main->limits[K8S_MEMORY].text, "96Gi");
	assert_int_equal(main->limits[K8S_MEMORY].value, 96 * GI);
	assert_int_equal(main->limits[K8S_CPU].value, 1500);
	assert_string_equal(main->requests[K8S_MEMORY].text, "1073741824");
	assert_int_equal(main->requests[K8S_MEMORY].value, GI);
	assert_null(main->requests[K8S_CPU].text);
	assert_int_equal(main->n_extended, 1);
	assert_string_equal(main->extended[0].name, "nvidia.com/gpu");
	assert_int_equal(main->extended[0].count, 8);
	assert_true(pod->containers[1].resources.limits[K8S_MEMORY].is_invalid);
	assert_string_equal(pod->containers[1].resources.limits[K8S_MEMORY].text, "${MEM}");
	assert_int_equal(pod->containers[1].resources.limits[K8S_MEMORY].value, 0);
	assert_int_equal(pod->containers[2].type, K8S_CONTAINER_INIT);
	assert_int_equal(pod->containers[3].type, K8S_CONTAINER_SIDECAR);
	assert_int_equal(pod->containers[3].index, 1);
	assert_string_equal(k8s_container_array(&pod->containers[1]), "containers");
	assert_string_equal(k8s_container_array(&pod->containers[3]), "initContainers");
	assert_int_equal(pod->n_volumes, 4);
	assert_true(pod->volumes[0].is_emptydir && pod->volumes[0].is_memory);
	assert_int_equal(pod->volumes[0].size_limit.value, 8 * GI);
	assert_true(pod->volumes[1].is_emptydir && !pod->volumes[1].is_memory && !pod->volumes[1].size_limit.text);
	assert_false(pod->volumes[2].is_emptydir);
	assert_false(pod->volumes[3].is_emptydir);
	fixture_release(&f);
}

/* What the API server refuses of accelerators and huge pages, and of which map. */
static void extended_resources_are_whole(void **state)
{
	static const struct {
		const char *resources, *refused;
		bool is_limit;
	} rows[] = {
		{"'limits':{'nvidia.com/gpu':'two'}", "two", true},
		{"'limits':{'nvidia.com/gpu':'1.5'}", "1.5", true},
		{"'limits':{'nvidia.com/gpu':'1500m'}", "1500m", true},
		{"'limits':{'nvidia.com/gpu':1.5}", "1.5", true},
		{"'requests':{'nvidia.com/gpu':'-1'},'limits':{'nvidia.com/gpu':'x'}", "-1", false},
		{"'requests':{'nvidia.com/gpu':'1'},'limits':{'nvidia.com/gpu':'x'}", "x", true},
		{"'limits':{'nvidia.com/gpu':8}", NULL, false},
		{"'limits':{'nvidia.com/gpu':'2.0'}", NULL, false},
		{"'limits':{'nvidia.com/gpu':'8000m'}", NULL, false},
		{"'limits':{'nvidia.com/gpu':'1k'}", NULL, false},
		{"'limits':{'nvidia.com/gpu':'0'}", NULL, false},
		{"'limits':{'hugepages-2Mi':'2GB'}", "2GB", true},
		{"'limits':{'hugepages-2Mi':'3Mi'}", "3Mi", true},
		{"'requests':{'hugepages-1Gi':'1500Mi'}", "1500Mi", false},
		{"'limits':{'hugepages-2Mi':'2Gi'}", NULL, false},
		{"'limits':{'hugepages-2Mi':2097152}", NULL, false},
		{"'limits':{'hugepages-2MB':'2M'}", "2M", true}, /* no size of pages */
		{"'limits':{'hugepages-0':'2M'}", "2M", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct k8s_resources *resources;
		char text[512];
		struct fixture f;

		test_row(rows[i].resources);
		snprintf(text, sizeof(text), "{'spec':{'containers':[{'name':'a','resources':{%s}}]}}",
			 rows[i].resources);
		fixture_init(&f, text);
		assert_int_equal(f.r, 0);
		resources = &f.pod.containers[0].resources;
		assert_int_equal(resources->n_extended, 1);
		if (rows[i].refused)
			assert_string_equal(resources->extended[0].refused, rows[i].refused);
		else
			assert_null(resources->extended[0].refused);
		assert_int_equal(resources->extended[0].is_limit, rows[i].is_limit);
		fixture_release(&f);
	}
}

/* The length of annotations as the API server counts it, also of the one that is not kept; read as a review reads it,
 * and from a tree. */
static void annotations_are_measured(void **state)
{
#define KUBECTL "kubectl.kubernetes.io/last-applied-configuration"
	static const struct {
		const char *annotations;
		size_t n, n_bytes;
	} rows[] = {
		{"{}", 0, 0},
		{"{\"a\":\"\",\"b/c\":\"de\"}", 2, 6},
		{"{\"a\":null}", 1, 1},
		{"{\"\\u0061\":\"\\n\\u00fc\"}", 1, 4},
		{"{\"" KUBECTL "\":\"{\\\"a\\\":1}\",\"a\":\"b\"}", 1, sizeof(KUBECTL) - 1 + 7 + 2},
		{"{\"" KUBECTL "\":\"\\\\u00fc\\u00fc\\ud83d\\ude00\\ud83d\"}", 0, sizeof(KUBECTL) - 1 + 6 + 2 + 4 + 3},
		{"{\"" KUBECTL "\":\"\"}", 0, sizeof(KUBECTL) - 1},
		{"{\"" KUBECTL "\":null}", 0, sizeof(KUBECTL) - 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
		const char *text = arena_printf(&arena,
						"{\"metadata\":{\"annotations\":%s},\"spec\":{\"containers\":[{}]}}",
						rows[i].annotations);
		struct json_object *tree = NULL;
		struct doc doc;
		struct k8s_pod pod;

		test_row(rows[i].annotations);
		assert_int_equal(doc_read(text, strlen(text), &allow_pod, &arena, &doc, NULL), 0);
		assert_int_equal(k8s_pod_of_doc(&doc, &arena, &pod, NULL), 0);
		assert_int_equal(pod.annotations.n, rows[i].n);
		assert_int_equal(pod.annotations.n_bytes, rows[i].n_bytes);
		assert_int_equal(json_parse(text, strlen(text), LIMIT_REVIEW_DEPTH, &tree, NULL), 0);
		assert_int_equal(k8s_pod_decode(tree, &arena, &pod, NULL), 0);
		json_object_put(tree);
		assert_int_equal(pod.annotations.n, rows[i].n);
		assert_int_equal(pod.annotations.n_bytes, rows[i].n_bytes);
	}
}

static void pod_names_the_wrong_field(void **state)
{
	static const struct {
		const char *text, *where;
	} rows[] = {
		{"{'spec':{}}", "spec.containers"},
		{"{'metadata':{}}", "spec.containers"},
		{"{'metadata':[],'spec':{'containers':[{}]}}", "metadata"},
		{"{'spec':'x'}", "spec"},
		{"{'metadata':{'name':1},'spec':{}}", "metadata.name"},
		{"{'metadata':{'labels':{'a':1}},'spec':{}}", "metadata.labels[\"a\"]"},
		{"{'metadata':{'labels':[]},'spec':{}}", "metadata.labels"},
		{"{'metadata':{'ownerReferences':[{'kind':2}]},'spec':{}}", "metadata.ownerReferences[0].kind"},
		{"{'spec':{'containers':{}}}", "spec.containers"},
		{"{'spec':{'containers':[{},7]}}", "spec.containers[1]"},
		{"{'spec':{'containers':[null]}}", "spec.containers[0]"},
		{"{'spec':{'containers':[{'name':[]}]}}", "spec.containers[0].name"},
		{"{'spec':{'containers':[{'args':['a',{}]}]}}", "spec.containers[0].args[1]"},
		{"{'spec':{'containers':[{'env':[{'name':{}}]}]}}", "spec.containers[0].env[0].name"},
		{"{'spec':{'containers':[{'stdin':'yes'}]}}", "spec.containers[0].stdin"},
		{"{'spec':{'containers':[{'resources':3}]}}", "spec.containers[0].resources"},
		{"{'spec':{'containers':[{'resources':{'limits':[]}}]}}", "spec.containers[0].resources.limits"},
		{"{'spec':{'containers':[{'resources':{'limits':{'memory':true}}}]}}",
		 "spec.containers[0].resources.limits.memory"},
		{"{'spec':{'containers':[{'resources':{'requests':{'nvidia.com/gpu':{}}}}]}}",
		 "spec.containers[0].resources.requests.nvidia.com/gpu"},
		{"{'spec':{'containers':[{}],'initContainers':[{'resources':{'limits':1}}]}}",
		 "spec.initContainers[0].resources.limits"},
		{"{'spec':{'containers':[{}],'volumes':[{'emptyDir':{'sizeLimit':[]}}]}}",
		 "spec.volumes[0].emptyDir.sizeLimit"},
		{"{'spec':{'containers':[{}],'overhead':{'memory':{}}}}", "spec.overhead.memory"},
		{"{'spec':{'containers':[{'restartPolicy':1}]}}", "spec.containers[0].restartPolicy"},
		{"{'spec':{'containers':[{'restartPolicyRules':{}}]}}", "spec.containers[0].restartPolicyRules"},
		{"{'spec':{'containers':[{'restartPolicyRules':[{'exitCodes':{'values':[137,'1']}}]}]}}",
		 "spec.containers[0].restartPolicyRules[0].exitCodes.values[1]"},
		{"{'spec':{'containers':[{}],'resources':{'requests':5}}}", "spec.resources.requests"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;

		test_row(rows[i].text);
		fixture_init(&f, rows[i].text);
		assert_int_equal(f.r, -EINVAL);
		assert_string_equal(f.err.where, rows[i].where);
		assert_true(f.err.msg[0] != '\0');
		fixture_release(&f);
	}
}

static void an_oom_kill_restarts_by_rules_then_policies(void **state)
{
#define RULE(action, operator_, values)                                                                                \
	"{'action':'" action "','exitCodes':{'operator':'" operator_ "','values':[" values "]}}"
#define RULES(policy, rules) ",'restartPolicy':'" policy "','restartPolicyRules':[" rules "]"
	static const struct {
		const char *pod, *container; /* more of them */
		bool restarts;
	} rows[] = {
		{",'restartPolicy':'Never'", "", false},
		{",'restartPolicy':'OnFailure'", "", true},
		{",'restartPolicy':'Always'", "", true},
		{"", "", true}, /* Always */
		/* Its own policy precedes the pod's. */
		{",'restartPolicy':'Never'", ",'restartPolicy':'OnFailure'", true},
		{",'restartPolicy':'Never'", ",'restartPolicy':'Always'", true},
		{",'restartPolicy':'OnFailure'", ",'restartPolicy':'Never'", false},
		{"", ",'restartPolicy':'Never'", false},
		/* Rules precede both. */
		{",'restartPolicy':'Never'", RULES("Never", RULE("Restart", "In", "137")), true},
		{",'restartPolicy':'Never'", RULES("Never", RULE("Restart", "In", "1,2,137,139")), true},
		{",'restartPolicy':'Never'", RULES("Never", RULE("Restart", "In", "1,42")), false},
		{",'restartPolicy':'Never'", RULES("Never", RULE("Restart", "In", "")), false},
		{",'restartPolicy':'Never'", RULES("Never", RULE("Restart", "NotIn", "0")), true},
		{",'restartPolicy':'Never'", RULES("Never", RULE("Restart", "NotIn", "0,137")), false},
		{",'restartPolicy':'Never'", RULES("Never", RULE("RestartAllContainers", "In", "137")), true},
		{",'restartPolicy':'Never'", RULES("Never", RULE("RestartAllContainers", "NotIn", "137")), false},
		{",'restartPolicy':'Never'", RULES("OnFailure", RULE("Restart", "In", "42")), true},
		{",'restartPolicy':'Always'", RULES("Never", RULE("Restart", "In", "42")), false},
		/* The first that matches counts, and the policies where it does nothing that is known. */
		{",'restartPolicy':'Never'",
		 RULES("Never", RULE("Restart", "In", "1") "," RULE("Restart", "In", "137")), true},
		{",'restartPolicy':'Never'",
		 RULES("Never", RULE("Later", "In", "137") "," RULE("Restart", "In", "137")), false},
		{",'restartPolicy':'Never'", RULES("OnFailure", RULE("Later", "In", "137")), true},
		{",'restartPolicy':'Never'", RULES("Never", RULE("Restart", "Between", "137")), false},
		{",'restartPolicy':'Never'", RULES("Never", "{'action':'Restart'}"), false},
		/* Rules without a policy of the container are not read by the kubelet. */
		{",'restartPolicy':'Never'", ",'restartPolicyRules':[" RULE("Restart", "In", "137") "]", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		char text[1024];

		snprintf(text, sizeof(text), "{'spec':{'containers':[{'name':'other'},{'name':'main'%s}]%s}}",
			 rows[i].container, rows[i].pod);
		test_row(text);
		fixture_init(&f, text);
		assert_int_equal(f.r, 0);
		assert_int_equal(k8s_container_restarts(&f.pod, &f.pod.containers[1]), rows[i].restarts);
		fixture_release(&f);
	}
#undef RULES
#undef RULE
}

static void pod_has_caps(void **state)
{
	struct arena arena = ARENA_INIT(MIB), tiny = ARENA_INIT(64);
	struct json_object *tree, *array;
	struct k8s_pod pod;
	struct err err;

	(void)state;
	assert_int_equal(json_parse("{\"spec\":{\"containers\":[{}]}}", 28, 8, &tree, &err), 0);
	assert_int_equal(k8s_pod_decode(tree, &arena, &pod, &err), 0);
	assert_int_equal(k8s_pod_decode(tree, &tiny, &pod, &err), -ENOMEM);
	array = json_member(json_member(tree, "spec"), "containers");
	for (int i = 1; i < LIMIT_POD_CONTAINERS; i++)
		assert_int_equal(json_append(array, json_object_new_object()), 0);
	assert_int_equal(k8s_pod_decode(tree, &arena, &pod, &err), 0);
	assert_int_equal(pod.n_containers, LIMIT_POD_CONTAINERS);
	assert_int_equal(json_append(array, json_object_new_object()), 0);
	assert_int_equal(k8s_pod_decode(tree, &arena, &pod, &err), -E2BIG);
	json_object_put(tree);
	arena_release(&arena);
	arena_release(&tiny);
}

/* "%zu" in the text is the index. */
static void add_indexed(struct strbuf *buf, const char *text, size_t index)
{
	const char *place = strstr(text, "%zu");

	strbuf_addf(buf, "%.*s%zu%s", (int)(place - text), text, index, place + 3);
}

/* What is compared and hashed again and again is bounded, to what the API server takes or more. */
static void names_and_lists_are_bounded(void **state)
{
#define SPEC(containers) "{'spec':{'containers':[{" containers
#define META(metadata)	 "{'metadata':{" metadata
#define END_META	 "},'spec':{'containers':[{}]}}"
#define END_SPEC	 "}]}}"
	/* The middle is a name of n bytes, or n times an item with its index. */
	static const struct {
		const char *before, *item, *behind, *where;
		size_t most; /* 0: any n */
		int r;
	} rows[] = {
		{META("'name':'"), NULL, "'" END_META, "metadata.name", LIMIT_QUALIFIED_NAME_BYTES, -EINVAL},
		{META("'generateName':'"), NULL, "'" END_META, "metadata.generateName", LIMIT_QUALIFIED_NAME_BYTES,
		 -EINVAL},
		{META("'namespace':'"), NULL, "'" END_META, "metadata.namespace", LIMIT_QUALIFIED_NAME_BYTES, -EINVAL},
		{META("'labels':{'a':'"), NULL, "'}" END_META, "metadata.labels[\"a\"]", LIMIT_QUALIFIED_NAME_BYTES,
		 -EINVAL},
		{META("'annotations':{'a':'"), NULL, "'}" END_META, NULL, 0, 0},
		{META("'ownerReferences':[{'uid':'"), NULL, "'}]" END_META, "metadata.ownerReferences[0].uid",
		 LIMIT_QUALIFIED_NAME_BYTES, -EINVAL},
		{META("'ownerReferences':["), "{'uid':'%zu'}", "]" END_META, "metadata.ownerReferences",
		 LIMIT_OWNER_REFERENCES, -E2BIG},
		{SPEC("'name':'"), NULL, "'" END_SPEC, "spec.containers[0].name", LIMIT_QUALIFIED_NAME_BYTES, -EINVAL},
		{SPEC("'image':'"), NULL, "'" END_SPEC, NULL, 0, 0},
		{SPEC("'args':['"), NULL, "']" END_SPEC, NULL, 0, 0},
		{SPEC("'resources':{'limits':{'"), NULL, "':1}}" END_SPEC, NULL, 0, 0},
		{SPEC("'resources':{'limits':{"), "'a/%zu':1", "}}" END_SPEC, "spec.containers[0].resources",
		 (size_t)2 * LIMIT_EXTENDED_RESOURCES, -E2BIG},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t more = 0; more < 2; more++) {
			CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
			size_t n = (rows[i].most ? rows[i].most : 10000) + more;
			struct fixture f;

			test_row(rows[i].before);
			strbuf_adds(&text, rows[i].before);
			for (size_t k = 0; k < n; k++) {
				strbuf_adds(&text, k && rows[i].item ? "," : "");
				if (rows[i].item)
					add_indexed(&text, rows[i].item, k);
				else
					strbuf_addc(&text, 'a');
			}
			strbuf_adds(&text, rows[i].behind);
			fixture_init(&f, strbuf_text(&text));
			assert_int_equal(f.r, more ? rows[i].r : 0);
			if (f.r)
				assert_string_equal(f.err.where, rows[i].where);
			fixture_release(&f);
		}
}

/* Rows write the resources of containers; QoS and sums are what Kubernetes computes from them. */
#define C(resources)	      "{'resources':{" resources "}}"
#define POD(containers, rest) "{'spec':{'containers':[" containers "]" rest "}}"
#define INIT(containers)      ",'initContainers':[" containers "]"
#define SIDECAR(resources)    "{'restartPolicy':'Always','resources':{" resources "}}"

static void pod_qos_rows(void **state)
{
	static const struct {
		const char *name, *text;
		bool is_defaulted;
		enum k8s_qos qos;
	} rows[] = {
		{"nothing", POD(C(""), ""), true, K8S_QOS_BEST_EFFORT},
		{"gpu alone", POD(C("'limits':{'nvidia.com/gpu':'1'}"), ""), true, K8S_QOS_BEST_EFFORT},
		{"ephemeral alone", POD(C("'limits':{'ephemeral-storage':'1Gi'}"), ""), true, K8S_QOS_BEST_EFFORT},
		{"zero", POD(C("'limits':{'memory':'0'}"), ""), true, K8S_QOS_BEST_EFFORT},
		{"request", POD(C("'requests':{'memory':'1Gi'}"), ""), true, K8S_QOS_BURSTABLE},
		{"memory limit", POD(C("'limits':{'memory':'1Gi'}"), ""), true, K8S_QOS_BURSTABLE},
		{"both limits", POD(C("'limits':{'memory':'1Gi','cpu':'1'}"), ""), true, K8S_QOS_GUARANTEED},
		{"both limits, not defaulted", POD(C("'limits':{'memory':'1Gi','cpu':'1'}"), ""), false,
		 K8S_QOS_BURSTABLE},
		{"equal in other words",
		 POD(C("'limits':{'memory':'1Gi','cpu':'1'},'requests':{'memory':'1024Mi','cpu':'1000m'}"), ""), false,
		 K8S_QOS_GUARANTEED},
		{"unequal", POD(C("'limits':{'memory':'1Gi','cpu':'1'},'requests':{'memory':'1023Mi'}"), ""), true,
		 K8S_QOS_BURSTABLE},
		{"second without", POD(C("'limits':{'memory':'1Gi','cpu':'1'}") "," C(""), ""), true,
		 K8S_QOS_BURSTABLE},
		{"init without", POD(C("'limits':{'memory':'1Gi','cpu':'1'}"), INIT(C(""))), true, K8S_QOS_BURSTABLE},
		{"init alone", POD(C(""), INIT(C("'requests':{'cpu':'1m'}"))), true, K8S_QOS_BURSTABLE},
		{"pod level",
		 POD(C(""), ",'resources':{'limits':{'memory':'1Gi','cpu':'1'},'requests':{'memory':'1Gi','cpu':'1'}}"),
		 true, K8S_QOS_GUARANTEED},
		{"pod level defaults", POD(C(""), ",'resources':{'limits':{'memory':'1Gi','cpu':'1'}}"), true,
		 K8S_QOS_GUARANTEED},
		{"pod level wins over containers",
		 POD(C("'limits':{'memory':'1Gi','cpu':'1'}"), ",'resources':{'requests':{'memory':'2Gi'}}"), true,
		 K8S_QOS_BURSTABLE},
		{"pod level limit defaults to the containers' sum",
		 POD(C("'requests':{'memory':'1Gi','cpu':'1'}"), ",'resources':{'limits':{'memory':'2Gi','cpu':'1'}}"),
		 true, K8S_QOS_BURSTABLE},
		{"empty pod level", POD(C("'requests':{'memory':'1Gi'}"), ",'resources':{}"), true,
		 K8S_QOS_BEST_EFFORT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;

		test_row(rows[i].name);
		fixture_init(&f, rows[i].text);
		assert_int_equal(f.r, 0);
		if (rows[i].is_defaulted)
			k8s_pod_default(&f.pod);
		assert_string_equal(k8s_qos_names[k8s_pod_qos(&f.pod)], k8s_qos_names[rows[i].qos]);
		fixture_release(&f);
	}
}

static void pod_effective_request_rows(void **state)
{
	static const struct {
		const char *name, *text;
		enum k8s_resource resource;
		int64_t expected;
	} rows[] = {
		{"absent", POD(C(""), ""), K8S_MEMORY, 0},
		{"sum", POD(C("'requests':{'memory':'1Gi'}") "," C("'requests':{'memory':'512Mi'}"), ""), K8S_MEMORY,
		 GI + 512 * MI},
		{"cpu in milli", POD(C("'requests':{'cpu':'1.5'}") "," C("'requests':{'cpu':'100m'}"), ""), K8S_CPU,
		 1600},
		{"rounded once", POD(C("'requests':{'cpu':'0.5m'}") "," C("'requests':{'cpu':'0.5m'}"), ""), K8S_CPU,
		 1},
		{"limit counts after defaulting", POD(C("'limits':{'memory':'3Gi'}"), ""), K8S_MEMORY, 3 * GI},
		{"small init hides", POD(C("'requests':{'memory':'2Gi'}"), INIT(C("'requests':{'memory':'1Gi'}"))),
		 K8S_MEMORY, 2 * GI},
		{"large init counts", POD(C("'requests':{'memory':'2Gi'}"), INIT(C("'requests':{'memory':'5Gi'}"))),
		 K8S_MEMORY, 5 * GI},
		{"sidecar adds", POD(C("'requests':{'memory':'2Gi'}"), INIT(SIDECAR("'requests':{'memory':'1Gi'}"))),
		 K8S_MEMORY, 3 * GI},
		{"sidecar before init",
		 POD(C("'requests':{'memory':'2Gi'}"),
		     INIT(SIDECAR("'requests':{'memory':'1Gi'}") "," C("'requests':{'memory':'5Gi'}"))),
		 K8S_MEMORY, 6 * GI},
		{"sidecar after init",
		 POD(C("'requests':{'memory':'2Gi'}"),
		     INIT(C("'requests':{'memory':'5Gi'}") "," SIDECAR("'requests':{'memory':'1Gi'}"))),
		 K8S_MEMORY, 5 * GI},
		{"overhead", POD(C("'requests':{'memory':'2Gi'}"), ",'overhead':{'memory':'128Mi'}"), K8S_MEMORY,
		 2 * GI + 128 * MI},
		{"pod level wins", POD(C("'requests':{'memory':'2Gi'}"), ",'resources':{'requests':{'memory':'8Gi'}}"),
		 K8S_MEMORY, 8 * GI},
		{"pod level limit takes the containers' sum",
		 POD(C("'requests':{'memory':'2Gi'}"), ",'resources':{'limits':{'memory':'8Gi'}}"), K8S_MEMORY, 2 * GI},
		{"no pod level for disk",
		 POD(C("'requests':{'ephemeral-storage':'2Gi'}"), ",'resources':{'requests':{'memory':'8Gi'}}"),
		 K8S_EPHEMERAL_STORAGE, 2 * GI},
		{"beyond int64", POD(C("'requests':{'memory':'7Ei'}") "," C("'requests':{'memory':'7Ei'}"), ""),
		 K8S_MEMORY, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;

		test_row(rows[i].name);
		fixture_init(&f, rows[i].text);
		assert_int_equal(f.r, 0);
		k8s_pod_default(&f.pod);
		assert_int_equal(k8s_pod_effective_request(&f.pod, rows[i].resource), rows[i].expected);
		fixture_release(&f);
	}
}

static void accelerator_rows(void **state)
{
#define TEN	"0123456789"
#define SIXTY	TEN TEN TEN TEN TEN TEN
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
	static const struct {
		const char *name;
		int64_t milli; /* of one unit; -1: no accelerator */
		const char *metric;
	} rows[] = {
		{"nvidia.com/gpu", 1000, "nvidia_com_gpu"},
		{"nvidia.com/gpu.shared", 0, "nvidia_com_gpu_shared"},
		{"nvidia.com/mig-1g.5gb", 125, "nvidia_com_mig_1g_5gb"},
		{"nvidia.com/mig-3g.20gb", 500, "nvidia_com_mig_3g_20gb"},
		{"nvidia.com/mig-1g.10gb.me", 125, "nvidia_com_mig_1g_10gb_me"},
		{"nvidia.com/mig-7g.80gb", 1000, "nvidia_com_mig_7g_80gb"},
		{"nvidia.com/mig-1g.20gb", 250, NULL},
		{"nvidia.com/mig-4g.24gb", 1000, NULL},
		{"nvidia.com/mig-1g.6gb", 250, NULL},
		{"nvidia.com/mig-big", 0, NULL},
		{"nvidia.com/mig-9g.80gb", 0, "nvidia_com_mig_9g_80gb"},
		{"nvidia.com/a100", 1000, "nvidia_com_a100"},
		{"nvidia.com/gpumem", -1, "nvidia_com_gpumem"},
		{"nvidia.com/gpumem-percentage", -1, NULL},
		{"nvidia.com/gpucores", -1, "nvidia_com_gpucores"},
		{"amd.com/gpu", 1000, "amd_com_gpu"},
		{"amd.com/gpu-", -1, "amd_com_gpu_"},
		{"amd.com/cpx_nps4", 125, "amd_com_cpx_nps4"},
		{"gpu.intel.com/i915", 1000, "gpu_intel_com_i915"},
		{"gpu.intel.com/i915_monitoring", -1, "gpu_intel_com_i915_monitoring"},
		{"habana.ai/gaudi", 1000, "habana_ai_gaudi"},
		{"google.com/tpu", 1000, "google_com_tpu"},
		{"aws.amazon.com/neuron", 1000, "aws_amazon_com_neuron"},
		{"aws.amazon.com/neuroncore", 0, "aws_amazon_com_neuroncore"},
		{"huawei.com/Ascend910", 1000, "huawei_com_Ascend910"},
		{"huawei.com/Ascend910B4", 1000, "huawei_com_Ascend910B4"},
		{"huawei.com/Ascend910-memory", -1, "huawei_com_Ascend910_memory"},
		{"huawei.com/Ascend910-2c", 0, NULL},
		{"huawei.com/Ascend--c-", 0, NULL},
		{"huawei.com/Ascend-c/c", -1, NULL},
		{"huawei.com/Ascend-memory-memory", -1, NULL},
		{"nvidia.com/my-nic-nic", -1, NULL},
		/* 317 bytes are a name, 318 are none */
		{"nvidia.com/" HUNDRED HUNDRED HUNDRED "123456", 1000, NULL},
		{"nvidia.com/" HUNDRED HUNDRED HUNDRED "1234567", -1, NULL},
		{"volcano.sh/vgpu-number", 0, "volcano_sh_vgpu_number"},
		{"volcano.sh/vgpu-memory", -1, "volcano_sh_vgpu_memory"},
		{"aliyun.com/gpu-mem", 0, "aliyun_com_gpu_mem"},
		{"iluvatar.ai/vcuda-memory", -1, "iluvatar_ai_vcuda_memory"},
		{"huawei.com/Ascend910B3-core", -1, NULL},
		{"huawei.com/Ascend910-2c", 0, NULL},
		{"vastaitech.com/va", 1000, "vastaitech_com_va"},
		{"enflame.com/drs-gcu", 0, "enflame_com_drs_gcu"},
		{"enflame.com/gcu-core", 10, "enflame_com_gcu_core"},
		{"enflame.com/gcu-memory", -1, "enflame_com_gcu_memory"},
		{"koordinator.sh/gpu", 10, "koordinator_sh_gpu"},
		{"koordinator.sh/gpu-memory-ratio", 0, NULL},
		{"tke.cloud.tencent.com/qgpu-core", 10, NULL},
		{"tke.cloud.tencent.com/qgpu-memory", -1, NULL},
		{"alibabacloud.com/ppu", 1000, "alibabacloud_com_ppu"},
		{"furiosa.ai/rngd", 1000, "furiosa_ai_rngd"},
		{"furiosa.ai/rngd-2core.12gb", 0, NULL},
		{"rebellions.ai/ATOM", 1000, "rebellions_ai_ATOM"},
		{"tenstorrent.com/blackhole", 1000, "tenstorrent_com_blackhole"},
		{"c600.graphcore.ai/ipu", 1000, "c600_graphcore_ai_ipu"},
		{"ibm.com/aiu_pf_tier0", 1000, "ibm_com_aiu_pf_tier0"},
		{"qualcomm.com/qaic-ultra", 1000, "qualcomm_com_qaic_ultra"},
		{"deviceclass.resource.kubernetes.io/gpu.nvidia.com", 1000, NULL},
		{"vpc.amazonaws.com/efa", -1, "vpc_amazonaws_com_efa"},
		{"rdma/hca_shared", -1, "rdma_hca_shared"},
		{"hugepages-2Mi", -1, "hugepages_2Mi"},
		{"cpu", -1, "cpu"},
		{"memory", -1, "memory"},
		{"", -1, ""},
		{"nvidia.com/", 1000, NULL},
		{"nvidia.com/gpu/x", -1, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct k8s_extended extended = {
			.name = rows[i].name, .count = 1, .milli = accelerator_milli(rows[i].name)};
		struct k8s_container container = {.resources = {.extended = &extended, .n_extended = 1}};
		struct accelerator_ask ask;

		test_row(rows[i].name);
		assert_int_equal(accelerator_is_resource(rows[i].name), rows[i].milli >= 0);
		if (rows[i].metric)
			assert_int_equal(accelerator_is_metric_resource(rows[i].metric), rows[i].milli >= 0);
		assert_int_equal(accelerator_of_container(&container, &ask), rows[i].milli >= 0);
		assert_int_equal(ask.milli, rows[i].milli > 0 ? rows[i].milli : 0);
		assert_int_equal(accelerator_milli(rows[i].name), rows[i].milli);
	}
}

static void mig_rows(void **state)
{
	static const struct {
		const char *profile;
		int64_t device_mib, milli; /* -1: none */
		int compute;
	} rows[] = {
		{"1g.5gb", 0, 125, 1},
		{"1g.5gb", 40536, 125, 1},
		{"1g.10gb", 0, 125, 1},
		{"1g.10gb", 40536, 250, 1},
		{"1g.10gb", 81559, 125, 1},
		{"2g.20gb", 81559, 250, 2},
		{"3g.71gb", 143771, 500, 3},
		{"4g.40gb", 81559, 500, 4},
		{"7g.141gb", 143771, 1000, 7},
		{"1g.6gb", 24576, 250, 1},
		{"1g.10gb.me", 0, 125, 1},
		{"1g.10gb+me", 0, 125, 1},
		{"3g.47gb", 95830, 500, 3},
		{"1g.12gb", 95830, 125, 1},
		{"1g.10gb", INT64_MAX, 125, 1},
		{"5g.40gb", 0, -1, 0},
		{"", 0, -1, 0},
		{"1g", 0, -1, 0},
		{"1g.gb", 0, -1, 0},
		{"1g.0gb", 0, -1, 0},
		{"1g.10", 0, -1, 0},
		{"x1g.10gb", 0, -1, 0},
		{"1g.9999999999gb", 0, -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct accelerator_mig mig = {.milli = -1};

		test_row(rows[i].profile);
		assert_int_equal(accelerator_mig_read(rows[i].profile, rows[i].device_mib, &mig), rows[i].milli >= 0);
		assert_int_equal(mig.milli, rows[i].milli);
		assert_int_equal(mig.compute, rows[i].compute);
	}
}

#define GPU(n) "'limits':{'nvidia.com/gpu':'" n "'}"
#define ANNOTATED(annotations)                                                                                         \
	"{'metadata':{'annotations':{" annotations "}},'spec':{'containers':[{'name':'a'},{'name':'b'}]}}"

static void accelerator_of_pod_rows(void **state)
{
	static const struct {
		const char *name, *text;
		bool found;
		const char *resource;
		int64_t count, milli;
	} rows[] = {
		{"none", POD(C(""), ""), false, "", 0, 0},
		{"zero", POD(C(GPU("0")), ""), false, "", 0, 0},
		{"one of two", POD(C("") "," C(GPU("4")), ""), true, "nvidia.com/gpu", 4, 4000},
		{"two", POD(C(GPU("4")) "," C(GPU("2")), ""), true, "nvidia.com/gpu", 6, 6000},
		{"init does not count", POD(C(GPU("1")), INIT(C(GPU("8")))), true, "nvidia.com/gpu", 1, 1000},
		{"sidecar counts", POD(C(""), INIT(SIDECAR(GPU("1")))), true, "nvidia.com/gpu", 1, 1000},
		{"placeholder", POD(C(GPU("$N")), ""), true, "nvidia.com/gpu", 0, 0},
		{"longest name", POD(C("'limits':{'nvidia.com/" SIXTY "abc':'1'}"), ""), true,
		 "nvidia.com/" SIXTY "abc", 1, 1000},
		{"longer than a name", POD(C("'limits':{'nvidia.com/" SIXTY "abcd':'1'}"), ""), false, "", 0, 0},
		{"hami percentage", POD(C("'limits':{'nvidia.com/gpu':'2','nvidia.com/gpumem-percentage':'50'}"), ""),
		 true, "nvidia.com/gpu", 2, 1000},
		{"hami memory", POD(C("'limits':{'nvidia.com/gpumem':'3000','nvidia.com/gpu':'1'}"), ""), true,
		 "nvidia.com/gpu", 1, 0},
		{"claim", POD(C("'claims':[{'name':'g'}]"), ",'resourceClaims':[{'name':'g'}]"), true, "", 0, 0},
		{"kai fraction", ANNOTATED("'gpu-fraction':'0.5'"), true, "", 0, 500},
		{"kai devices", ANNOTATED("'gpu-fraction':'0.5','gpu-fraction-num-devices':'3'"), true, "", 0, 1500},
		{"kai container", ANNOTATED("'gpu-fraction':'0.5','gpu-fraction-container-name':'b'"), true, "", 0,
		 500},
		{"kai memory", ANNOTATED("'gpu-memory':'2000'"), true, "", 0, 0},
		{"kai nonsense", ANNOTATED("'gpu-fraction':'half'"), true, "", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct accelerator_ask ask;
		struct fixture f;

		test_row(rows[i].name);
		fixture_init(&f, rows[i].text);
		assert_int_equal(f.r, 0);
		assert_int_equal(accelerator_of_pod(&f.pod, &ask), rows[i].found);
		assert_string_equal(ask.resource, rows[i].resource);
		assert_int_equal(ask.count, rows[i].count);
		assert_int_equal(ask.milli, rows[i].milli);
		fixture_release(&f);
	}
}

static void pointer_escapes(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(KIB);

	(void)state;
	assert_string_equal(k8s_pointer_escape(&arena, "plain"), "plain");
	assert_string_equal(k8s_pointer_escape(&arena, "nvidia.com/gpu"), "nvidia.com~1gpu");
	assert_string_equal(k8s_pointer_escape(&arena, "~/~1"), "~0~1~01");
	assert_string_equal(k8s_pointer_escape(&arena, ""), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pod_decodes_what_we_read),
		cmocka_unit_test(pod_decodes_resources_and_volumes),
		cmocka_unit_test(extended_resources_are_whole),
		cmocka_unit_test(annotations_are_measured),
		cmocka_unit_test(pod_names_the_wrong_field),
		cmocka_unit_test(an_oom_kill_restarts_by_rules_then_policies),
		cmocka_unit_test(pod_has_caps),
		cmocka_unit_test(names_and_lists_are_bounded),
		cmocka_unit_test(pod_qos_rows),
		cmocka_unit_test(pod_effective_request_rows),
		cmocka_unit_test(accelerator_rows),
		cmocka_unit_test(mig_rows),
		cmocka_unit_test(accelerator_of_pod_rows),
		cmocka_unit_test(pointer_escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
