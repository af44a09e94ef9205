/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/str.h"
#include "model/identity.h"

#include <stdlib.h>

/* ---- the identity test: for every kind both sides, each with its own poorer facts, share a key ---- */

/* Generated parts of names, for two runs: $5 generateName, $8 Katib, $m minutes and $s seconds since 1970, $n Argo's
 * hash of a node, $t TorchX, $f Flyte's execution. */
static const struct {
	char letter;
	const char *run[2];
} generated[] = {
	{'5', {"x7k2p", "mnvdq"}},
	{'8', {"b5xw7k2p", "zzkqvbnm"}},
	{'m', {"29384756", "29386196"}},
	{'s', {"1793607300", "1793693700"}},
	{'n', {"1234567890", "987654321"}},
	{'t', {"zmkxp7k1ldl7hc", "b0vd3q9wjsnk4c"}},
	{'f', {"f1a2b3c4d5e6f7a8b9c0", "a0b9c8d7e6f5a4b3c2d1"}},
};

struct row {
	const char *name;
	/* admission: labels "key=value ...", the controller "apiVersion Kind name", name or generateName (ends in '-')
	 */
	const char *labels, *controller, *pod;
	/* metrics: the owner chain as kube-state-metrics has it "Kind/name Kind/name", the pod's name, labels where the
	 * kind cannot be told without the allow-list */
	const char *owners, *metric_pod, *metric_labels;
	const char *shared, *role; /* the key that both must have, and the role */
	int rank;
};

#define JOBSET(jobset, rj)                                                                                             \
	"jobset.sigs.k8s.io/jobset-name=" jobset " jobset.sigs.k8s.io/replicatedjob-name=" rj                          \
	" batch.kubernetes.io/job-name=" jobset "-" rj "-0 batch.kubernetes.io/job-completion-index=3"
#define KUBEFLOW(job, operator, type, index)                                                                           \
	"training.kubeflow.org/job-name=" job " training.kubeflow.org/operator-name="                                  \
	operator" training.kubeflow.org/replica-type=" type " training.kubeflow.org/replica-index=" index
#define RAY(cluster, type, group)                                                                                      \
	"ray.io/is-ray-node=yes ray.io/cluster=" cluster " ray.io/node-type=" type " ray.io/group=" group

static const struct row rows[] = {
	{"Job", "batch.kubernetes.io/job-name=bert", "batch/v1 Job bert", "bert-", "Job/bert", "bert-$5", "",
	 "Job/bert", "", -1},
	{"Job, generated name", "batch.kubernetes.io/job-name=bert-$5", "batch/v1 Job bert-$5", "bert-$5-",
	 "Job/bert-$5", "bert-$5-k9z8w", "", "Job/bert", "", -1},
	{"Job, dated", "", "batch/v1 Job bert-2026-11-01", "bert-2026-11-01-", "Job/bert-2026-11-01",
	 "bert-2026-11-01-$5", "", "Job/bert", "", -1},
	{"Indexed Job", "batch.kubernetes.io/job-completion-index=7", "batch/v1 Job bert", "bert-7-", "Job/bert",
	 "bert-7-$5", "", "Job/bert", "", 7},
	{"CronJob", "", "batch/v1 Job nightly-$m", "nightly-$m-", "Job/nightly-$m CronJob/nightly", "nightly-$m-$5", "",
	 "Job/nightly", "", -1},
	{"JobSet", JOBSET("bert", "worker"), "batch/v1 Job bert-worker-0", "bert-worker-0-3-",
	 "Job/bert-worker-0 JobSet/bert", "bert-worker-0-3-$5", "", "JobSet/bert", "worker", 3},
	{"JobSet, generated name", JOBSET("bert-$5", "worker"), "batch/v1 Job bert-$5-worker-0", "bert-$5-worker-0-3-",
	 "Job/bert-$5-worker-0 JobSet/bert-$5", "bert-$5-worker-0-3-k9z8w", "", "JobSet/bert", "worker", 3},
	{"TrainJob", JOBSET("llama", "node"), "batch/v1 Job llama-node-0", "llama-node-0-3-",
	 "Job/llama-node-0 JobSet/llama", "llama-node-0-3-$5", "", "JobSet/llama", "node", 3},
	{"PyTorchJob worker", KUBEFLOW("bert", "pytorchjob-controller", "worker", "2"),
	 "kubeflow.org/v1 PyTorchJob bert", "bert-worker-2", "PyTorchJob/bert", "bert-worker-2", "", "PyTorchJob/bert",
	 "worker", 2},
	{"PyTorchJob master", KUBEFLOW("bert-$s", "pytorchjob-controller", "master", "0"),
	 "kubeflow.org/v1 PyTorchJob bert-$s", "bert-$s-master-0", "PyTorchJob/bert-$s", "bert-$s-master-0", "",
	 "PyTorchJob/bert", "master", 0},
	{"TFJob", KUBEFLOW("mnist", "tfjob-controller", "PS", "1"), "kubeflow.org/v1 TFJob mnist", "mnist-ps-1",
	 "TFJob/mnist", "mnist-ps-1", "", "TFJob/mnist", "ps", 1},
	{"XGBoostJob", KUBEFLOW("trees", "xgboostjob-controller", "worker", "0"), "kubeflow.org/v1 XGBoostJob trees",
	 "trees-worker-0", "XGBoostJob/trees", "trees-worker-0", "", "XGBoostJob/trees", "worker", 0},
	{"JAXJob", KUBEFLOW("gemma", "jaxjob-controller", "worker", "0"), "kubeflow.org/v1 JAXJob gemma",
	 "gemma-worker-0", "JAXJob/gemma", "gemma-worker-0", "", "JAXJob/gemma", "worker", 0},
	{"PaddleJob", KUBEFLOW("ernie", "paddlejob-controller", "worker", "0"), "kubeflow.org/v1 PaddleJob ernie",
	 "ernie-worker-0", "PaddleJob/ernie", "ernie-worker-0", "", "PaddleJob/ernie", "worker", 0},
	{"MPIJob v1 launcher", KUBEFLOW("horovod", "mpijob-controller", "launcher", "0"),
	 "kubeflow.org/v1 MPIJob horovod", "horovod-launcher", "MPIJob/horovod", "horovod-launcher", "",
	 "MPIJob/horovod", "launcher", -1},
	{"MPIJob v2 worker",
	 "training.kubeflow.org/operator-name=mpi-operator training.kubeflow.org/job-name=horovod "
	 "training.kubeflow.org/job-role=worker training.kubeflow.org/replica-index=4",
	 "kubeflow.org/v2beta1 MPIJob horovod", "horovod-worker-4", "MPIJob/horovod", "horovod-worker-4", "",
	 "MPIJob/horovod", "worker", 4},
	{"MPIJob v2 launcher",
	 "training.kubeflow.org/operator-name=mpi-operator training.kubeflow.org/job-name=horovod "
	 "training.kubeflow.org/job-role=launcher batch.kubernetes.io/job-name=horovod-launcher",
	 "batch/v1 Job horovod-launcher", "horovod-launcher-", "Job/horovod-launcher MPIJob/horovod",
	 "horovod-launcher-$5", "", "MPIJob/horovod", "launcher", 0},
	{"RayJob's cluster, worker", RAY("tune-$5", "worker", "gpu-group"), "ray.io/v1 RayCluster tune-$5",
	 "tune-$5-gpu-group-worker-", "RayCluster/tune-$5", "tune-$5-gpu-group-worker-k9z8w", "", "RayCluster/tune",
	 "gpu-group", -1},
	{"RayJob's cluster, head", RAY("tune-$5", "head", "headgroup"), "ray.io/v1 RayCluster tune-$5", "tune-$5-head-",
	 "RayCluster/tune-$5", "tune-$5-head-k9z8w", "", "RayCluster/tune", "head", -1},
	{"RayCluster, fixed head name", RAY("lab", "head", "headgroup"), "ray.io/v1 RayCluster lab", "lab-head",
	 "RayCluster/lab", "lab-head", "", "RayCluster/lab", "head", -1},
	{"RayJob submitter", "ray.io/originated-from-crd=RayJob ray.io/originated-from-cr-name=tune",
	 "batch/v1 Job tune", "tune-", "Job/tune RayJob/tune", "tune-$5", "", "RayJob/tune", "submitter", -1},
	{"Argo Workflow", "workflows.argoproj.io/workflow=pipe-$5", "argoproj.io/v1alpha1 Workflow pipe-$5",
	 "pipe-$5-train-model-$n", "Workflow/pipe-$5", "pipe-$5-train-model-$n", "", "Workflow/pipe", "train-model",
	 -1},
	{"Argo CronWorkflow, one step", "workflows.argoproj.io/workflow=nightly-$s",
	 "argoproj.io/v1alpha1 Workflow nightly-$s", "nightly-$s", "Workflow/nightly-$s", "nightly-$s", "",
	 "Workflow/nightly", "", -1},
	{"Volcano Job", "volcano.sh/job-name=vgg-$5 volcano.sh/task-spec=worker volcano.sh/task-index=11",
	 "batch.volcano.sh/v1alpha1 Job vgg-$5", "vgg-$5-worker-11", "Job/vgg-$5", "vgg-$5-worker-11", "", "Job/vgg",
	 "worker", 11},
	{"Volcano CronJob", "volcano.sh/job-name=vgg-$m volcano.sh/task-spec=worker",
	 "batch.volcano.sh/v1alpha1 Job vgg-$m", "vgg-$m-worker-0", "Job/vgg-$m", "vgg-$m-worker-0", "", "Job/vgg",
	 "worker", 0},
	{"LeaderWorkerSet", "leaderworkerset.sigs.k8s.io/name=serve", "apps/v1 StatefulSet serve-0", "serve-0-1",
	 "StatefulSet/serve-0", "serve-0-1", "", "StatefulSet/serve", "", -1},
	{"Katib trial, PyTorchJob",
	 KUBEFLOW("hpo-$8", "pytorchjob-controller", "master", "0") " katib.kubeflow.org/trial=hpo-$8 "
								    "katib.kubeflow.org/experiment=hpo",
	 "kubeflow.org/v1 PyTorchJob hpo-$8", "hpo-$8-master-0", "PyTorchJob/hpo-$8", "hpo-$8-master-0", "",
	 "PyTorchJob/hpo", "master", 0},
	{"Katib trial, Job", "katib.kubeflow.org/trial=hpo-$8 katib.kubeflow.org/experiment=hpo", "batch/v1 Job hpo-$8",
	 "hpo-$8-", "Job/hpo-$8 Trial/hpo-$8", "hpo-$8-$5", "", "Trial/hpo", "", -1},
	/* Flyte's names are hashes of the execution: without labels in the metrics nothing stable is left. */
	{"Flyte", "execution-id=$f node-id=n0 task-name=train workflow-name=sft",
	 "flyte.lyft.com/v1alpha1 flyteworkflow $f", "$f-n0-0", "flyteworkflow/$f", "$f-n0-0",
	 "execution-id=$f task-name=train workflow-name=sft", "flyte:sft.train", "", -1},
	{"Flyte v2", "run=$f action=a0 attempt=0 task-name=sft.train", "flyte.org/v1 TaskAction $f", "$f-0",
	 "TaskAction/$f", "$f-0", "action=a0 task-name=sft.train", "flyte:sft.train", "", -1},
	{"TorchX",
	 "torchx.pytorch.org/app-name=trainer torchx.pytorch.org/role-name=learner volcano.sh/job-name=trainer-$t "
	 "volcano.sh/task-spec=learner-1",
	 "batch.volcano.sh/v1alpha1 Job trainer-$t", "trainer-$t-learner-1-0", "Job/trainer-$t",
	 "trainer-$t-learner-1-0", "", "Job/trainer", "learner", 1},
	{"Kubeflow Pipelines", "pipeline/runid=$f workflows.argoproj.io/workflow=churn-$5",
	 "argoproj.io/v1alpha1 Workflow churn-$5", "churn-$5-system-container-impl-$n", "Workflow/churn-$5",
	 "churn-$5-system-container-impl-$n", "", "Workflow/churn", "system-container-impl", -1},
	{"HyperPod", "", "sagemaker.amazonaws.com/v1 HyperPodPyTorchJob llama-$5", "llama-$5-pods-0",
	 "HyperPodPyTorchJob/llama-$5", "llama-$5-pods-0", "", "HyperPodPyTorchJob/llama", "", -1},
	{"unknown kind", "", "example.com/v1 Experiment2 bert-$5", "bert-$5-0", "Experiment2/bert-$5", "bert-$5-0", "",
	 "Experiment2/bert", "", -1},
	{"Airflow", "dag_id=etl task_id=train", "", "train-b5xw7k2p", "", "train-b5xw7k2p", "", "Pod/train", "", -1},
	{"bare Pod", "", "", "bert-1", "", "bert-1", "", "Pod/bert", "", -1},
	{"bare Pod, generateName", "", "", "bert-", "", "bert-$5", "", "Pod/bert", "", -1},
	{"no owner metrics", "", "batch/v1 Job nightly-$m", "nightly-$m-", "", "nightly-$m-$5", "", "Pod/nightly", "",
	 -1},
	{"user's label", "memtamer.io/workload=our-llm", "batch/v1 Job a-$5", "a-$5-", "Job/a-$5", "a-$5-k9z8w",
	 "memtamer.io/workload=our-llm", "workload:our-llm", "", -1},
};

/* Put the generated parts of a run into a text. */
static const char *fill_in(const char *text, int run, char *buf, size_t size)
{
	size_t at = 0;

	for (; *text && at + 1 < size; text++) {
		bool is_generated = false;

		for (size_t i = 0; *text == '$' && i < ARRAY_LEN(generated); i++) {
			if (text[1] != generated[i].letter)
				continue;
			at += (size_t)snprintf(buf + at, size - at, "%s", generated[i].run[run]);
			text++;
			is_generated = true;
			break;
		}
		if (!is_generated)
			buf[at++] = *text;
	}
	buf[at] = '\0';
	return buf;
}

/* "a=b c=d" as labels; the text is cut up. */
static void parse_labels(char *text, struct k8s_label *items, struct k8s_labels *ret)
{
	char *save = NULL;

	*ret = (struct k8s_labels){.items = items};
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		items[ret->n++] = (struct k8s_label){word, equals + 1};
	}
}

static struct identity at_admission(const struct row *row, int run)
{
	char labels[1024], controller[256], pod_name[256], *save = NULL;
	struct k8s_label items[16];
	struct k8s_owner owner = {.is_controller = true};
	struct k8s_pod pod = {.namespace_name = "ml", .name = "", .generate_name = ""};
	struct identity_facts facts;
	struct identity identity;

	fill_in(row->labels, run, labels, sizeof(labels));
	parse_labels(labels, items, &pod.labels);
	fill_in(row->pod, run, pod_name, sizeof(pod_name));
	if (pod_name[strlen(pod_name) - 1] == '-')
		pod.generate_name = pod_name;
	else
		pod.name = pod_name;
	fill_in(row->controller, run, controller, sizeof(controller));
	if (*controller) {
		owner.api_version = strtok_r(controller, " ", &save);
		owner.kind = strtok_r(NULL, " ", &save);
		owner.name = strtok_r(NULL, " ", &save);
		pod.owners = &owner;
		pod.n_owners = 1;
	}
	identity_facts_of_pod(&pod, "main", &facts);
	workload_identify(&facts, &identity);
	return identity;
}

static struct identity from_metrics(const struct row *row, int run)
{
	char owners[256], labels[1024], pod_name[256], *save = NULL;
	struct k8s_label items[16];
	struct k8s_labels map;
	struct identity_facts facts = {.namespace_name = "ml", .pod_name = pod_name, .container = "main"};
	struct identity identity;

	fill_in(row->owners, run, owners, sizeof(owners));
	for (char *word = strtok_r(owners, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *slash = strchr(word, '/');

		*slash = '\0';
		facts.owners[facts.n_owners++] = (struct identity_owner){NULL, word, slash + 1};
	}
	fill_in(row->metric_pod, run, pod_name, sizeof(pod_name));
	fill_in(row->metric_labels, run, labels, sizeof(labels));
	parse_labels(labels, items, &map);
	if (map.n)
		facts.labels = &map;
	workload_identify(&facts, &identity);
	return identity;
}

static bool has_key(const struct identity *identity, const char *key)
{
	for (size_t i = 0; i < identity->n_keys; i++)
		if (streq(identity->keys[i].text, key))
			return true;
	return false;
}

static void print_keys(const struct identity *identity)
{
	print_message("    role \"%s\" rank %d run %s:", identity->role, identity->rank, identity->run_key);
	for (size_t i = 0; i < identity->n_keys; i++)
		print_message(" %s (%s)", identity->keys[i].text, identity->keys[i].rule);
	print_message("\n");
}

static void check_side(const struct identity *identity, const struct row *row)
{
	if (!has_key(identity, row->shared) || !streq(identity->role, row->role) || identity->rank != row->rank) {
		print_keys(identity);
		fail_msg("expected key %s, role \"%s\", rank %d", row->shared, row->role, row->rank);
	}
}

static void both_sides_share_a_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].name);
		for (int run = 0; run < 2; run++) {
			struct identity admission = at_admission(&rows[i], run), metrics = from_metrics(&rows[i], run);

			check_side(&admission, &rows[i]);
			check_side(&metrics, &rows[i]);
		}
	}
}

/* No key may hold a generated part: it would be the key of one run only. Names that are nothing but generated (Flyte)
 * have no stem; they come after the label's key. */
static void keys_outlive_the_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct identity first = at_admission(&rows[i], 0), second = at_admission(&rows[i], 1);

		test_row(rows[i].name);
		if (strstr(rows[i].pod, "$f"))
			continue;
		assert_int_equal(first.n_keys, second.n_keys);
		for (size_t k = 0; k < first.n_keys; k++)
			assert_string_equal(first.keys[k].text, second.keys[k].text);
	}
}

static void different_workloads_share_nothing(void **state)
{
	static const struct {
		const char *name;
		struct row a, b;
	} pairs[] = {
		{"bert and bert-large",
		 {.labels = "", .controller = "batch/v1 Job bert", .pod = "bert-"},
		 {.labels = "", .controller = "batch/v1 Job bert-large", .pod = "bert-large-"}},
		{"bert-large and the large role of bert",
		 {.labels = "", .controller = "batch/v1 Job bert-large", .pod = "bert-large-"},
		 {.labels = "", .controller = "batch.volcano.sh/v1alpha1 Job bert", .pod = "bert-large-0"}},
		{"resnet50 and resnet101",
		 {.labels = "", .controller = "batch/v1 Job resnet50-$5", .pod = "resnet50-$5-"},
		 {.labels = "", .controller = "batch/v1 Job resnet101-$5", .pod = "resnet101-$5-"}},
		{"resnet-50 and resnet-101",
		 {.labels = "", .controller = "batch/v1 Job train-resnet-50-$m", .pod = "train-resnet-50-$m-"},
		 {.labels = "", .controller = "batch/v1 Job train-resnet-101-$m", .pod = "train-resnet-101-$m-"}},
		{"v1 and v2",
		 {.labels = "", .controller = "batch/v1 Job bert-v1", .pod = "bert-v1-"},
		 {.labels = "", .controller = "batch/v1 Job bert-v2", .pod = "bert-v2-"}},
		{"names that end in words",
		 {.labels = "", .controller = "batch/v1 Job llama-train", .pod = "llama-train-"},
		 {.labels = "", .controller = "batch/v1 Job llama-prep", .pod = "llama-prep-"}},
		{"words without vowels",
		 {.labels = "", .controller = "batch/v1 Job train-rwkv6", .pod = "train-rwkv6-"},
		 {.labels = "", .controller = "batch/v1 Job train-rwkv7", .pod = "train-rwkv7-"}},
		{"kinds",
		 {.labels = "", .controller = "kubeflow.org/v1 PyTorchJob bert", .pod = "bert-worker-0"},
		 {.labels = "", .controller = "kubeflow.org/v1 TFJob bert", .pod = "bert-worker-0"}},
		{"two users' names for one Job",
		 {.labels = "memtamer.io/workload=a", .controller = "", .pod = "a-0"},
		 {.labels = "memtamer.io/workload=b", .controller = "", .pod = "b-0"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		struct identity a = at_admission(&pairs[i].a, 0), b = at_admission(&pairs[i].b, 0);

		test_row(pairs[i].name);
		assert_true(a.n_keys > 0 && b.n_keys > 0);
		for (size_t k = 0; k < a.n_keys; k++)
			assert_false(has_key(&b, a.keys[k].text) && streq(a.role, b.role));
	}
}

static void roles_of_one_job_differ(void **state)
{
	static const struct row master = {.labels = "",
					  .controller = "kubeflow.org/v1 PyTorchJob bert",
					  .pod = "bert-master-0"},
				worker = {.labels = "",
					  .controller = "kubeflow.org/v1 PyTorchJob bert",
					  .pod = "bert-worker-0"};
	struct identity a = at_admission(&master, 0), b = at_admission(&worker, 0);

	(void)state;
	assert_string_equal(a.keys[0].text, b.keys[0].text);
	assert_string_equal(a.role, "master");
	assert_string_equal(b.role, "worker");
	assert_string_equal(a.run_key, b.run_key);
}

static void order_and_rules_of_keys(void **state)
{
	static const struct row row = {.labels = "memtamer.io/workload=mine katib.kubeflow.org/experiment=hpo "
						 "katib.kubeflow.org/trial=hpo-$8",
				       .controller = "batch/v1 Job hpo-$8",
				       .pod = "hpo-$8-"};
	static const struct {
		const char *text, *rule;
	} expected[] = {
		{"workload:mine", "user-label"}, {"katib:hpo", "framework-label"}, {"Experiment/hpo", "root-owner"},
		{"Trial/hpo", "owner-stem"},	 {"Job/hpo", "owner-stem"},	   {"Pod/hpo", "pod-stem"},
	};
	struct identity identity = at_admission(&row, 0);

	(void)state;
	assert_int_equal(identity.n_keys, ARRAY_LEN(expected));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		assert_string_equal(identity.keys[i].text, expected[i].text);
		assert_string_equal(identity.keys[i].rule, expected[i].rule);
	}
}

static void run_keys(void **state)
{
	static const struct {
		const char *name, *owners, *pod, *run_key;
		bool is_exact;
	} runs[] = {
		{"child of a CronJob is the run", "Job/nightly-29384756 CronJob/nightly", "nightly-29384756-x7k2p",
		 "Job/nightly-29384756", true},
		{"topmost", "Job/bert-worker-0 JobSet/bert", "bert-worker-0-0-x7k2p", "JobSet/bert", true},
		{"exact name", "PyTorchJob/bert-x7k2p", "bert-x7k2p-worker-0", "PyTorchJob/bert-x7k2p", true},
		{"bare pod", "", "bert-x7k2p", "Pod/bert-x7k2p", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		struct row row = {.owners = runs[i].owners, .metric_pod = runs[i].pod, .metric_labels = ""};
		struct identity identity = from_metrics(&row, 0);

		test_row(runs[i].name);
		assert_string_equal(identity.run_key, runs[i].run_key);
		assert_int_equal(identity.is_run_key_exact, runs[i].is_exact);
	}
}

static void nothing_known_is_no_key(void **state)
{
	struct identity_facts facts = {.namespace_name = "ml"};
	struct identity identity;

	(void)state;
	workload_identify(&facts, &identity);
	assert_int_equal(identity.n_keys, 0);
	assert_string_equal(identity.role, "");
	assert_int_equal(identity.rank, -1);
}

static void recurring_names_stay_whole(void **state)
{
	struct row row = {.owners = "Job/nightly-2-29384756 CronJob/nightly-2",
			  .metric_pod = "nightly-2-29384756-x7k2p",
			  .metric_labels = ""};
	struct identity identity = from_metrics(&row, 0);

	(void)state;
	assert_string_equal(identity.keys[0].text, "CronJob/nightly-2");
}

/* ---- stems ---- */

static void stem_rows(void **state)
{
	static const struct {
		const char *name, *stem;
	} stems[] = {
		/* generated by controllers */
		{"bert-x7k2p", "bert"},
		{"bert-mnvdq", "bert"},
		{"resnet-train-20261101-x7k2p", "resnet-train"},
		{"nightly-29384756", "nightly"},
		{"nightly-29384756-x7k2p", "nightly"},
		{"nightly-1793607300", "nightly"},
		{"nightly-1793607300123", "nightly"},
		{"hpo-b5xw7k2p", "hpo"},
		{"web-7d9c8b5f6d", "web"},
		{"web-7d9c8b5f6d-x7k2p", "web"},
		{"trainer-zmkxp7k1ldl7hc", "trainer"},
		{"bert-", "bert"},
		/* dates */
		{"bert-2026-11-01", "bert"},
		{"bert-20261101", "bert"},
		{"bert-2026.11.01", "bert"},
		{"bert_2026_11_01", "bert"},
		{"bert-01-11-2026", "bert"},
		{"bert-20261101-081500", "bert"},
		{"bert-2026-11-01-08-15-00", "bert"},
		{"bert-20261101t081500", "bert"},
		{"bert-20261101t081500z", "bert"},
		{"bert-20261101T081500Z", "bert"},
		{"bert-2026-11-01t08-15-00z", "bert"},
		{"bert-20261101081500", "bert"},
		{"bert-261101", "bert"},
		/* uuids and hashes */
		{"bert-123e4567-e89b-12d3-a456-426614174000", "bert"},
		{"bert-deadbeef-dead-beef-dead-beefdeadbeef", "bert"},
		{"bert-3f2a91c", "bert"},
		{"bert-a94a8fe5ccb19ba61c4c0873d391e987982fbbd3", "bert"},
		{"bert-f1a2b3c4d5e6f7a8b9c0", "bert"},
		{"bert-g1h2i3j4k5l6", "bert"},
		{"bert-decade", "bert-decade"},
		{"bert-facade", "bert-facade"},
		/* counters */
		{"bert-1", "bert"},
		{"bert-007", "bert"},
		{"bert-run-3", "bert-run"},
		{"bert-run3", "bert"},
		{"bert-trial12", "bert"},
		{"bert-seed42", "bert"},
		{"bert-1-2-3", "bert"},
		/* what stays */
		{"bert", "bert"},
		{"bert-large", "bert-large"},
		{"bert-v2", "bert-v2"},
		{"bert-v2-x7k2p", "bert-v2"},
		{"resnet50", "resnet50"},
		{"resnet101", "resnet101"},
		{"resnet-50", "resnet-50"},
		{"resnet-101-x7k2p", "resnet-101"},
		{"gpt-2", "gpt-2"},
		{"llama-3-8b", "llama-3-8b"},
		{"llama-3-8b-20261101", "llama-3-8b"},
		{"llama-3-1", "llama-3"},
		{"t5-base", "t5-base"},
		{"bert-512", "bert-512"},
		{"bert-seq-2048", "bert-seq-2048"},
		{"train-rwkv7", "train-rwkv7"},
		{"train-llm7b", "train-llm7b"},
		{"train-html5", "train-html5"},
		{"vgg16", "vgg16"},
		{"yolo-v8", "yolo-v8"},
		{"fp8-e4m3", "fp8-e4m3"},
		{"h100-test", "h100-test"},
		{"team.bert", "team.bert"},
		{"stage-1", "stage-1"},
		{"night-shift", "night-shift"},
		{"wav2vec2-large", "wav2vec2-large"},
		{"mixtral-8x7b", "mixtral-8x7b"},
		/* nothing but volatile parts: the name stays */
		{"20261101", "20261101"},
		{"20261101-x7k2p", "20261101-x7k2p"},
		{"12345", "12345"},
		{"1", "1"},
		{"x7k2p", "x7k2p"},
		{"123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stems); i++) {
		char stem[64];

		test_row(stems[i].name);
		assert_int_equal(identity_stem(stems[i].name, stem, sizeof(stem)), strlen(stems[i].stem));
		assert_string_equal(stem, stems[i].stem);
	}
}

/* ---- ids and variants ---- */

static bool is_label_value(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n > 63)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789", text[i]) && (text[i] != '-' || !i || i == n - 1))
			return false;
	return true;
}

static void ids_are_valid_and_stable(void **state)
{
	static const struct {
		const char *key, *id;
	} ids[] = {
		{"Job/resnet-train", "resnet-train-"},
		{"workload:Our LLM!", "our-llm-"},
		{"Job/..--..", "workload-"},
		{"Job/a-name-that-is-so-long-that-it-does-not-fit-into-a-slug",
		 "a-name-that-is-so-long-that-it-does-not-"},
	};
	char id[IDENTITY_ID_BYTES], other[IDENTITY_ID_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		test_row(ids[i].key);
		identity_id("ml", ids[i].key, "worker", "pytorch", id);
		assert_true(is_label_value(id));
		assert_true(strstarts(id, ids[i].id));
		assert_int_equal(strlen(strrchr(id, '-') + 1), 10);
		identity_id("other", ids[i].key, "worker", "pytorch", other);
		assert_string_not_equal(id, other);
		identity_id("ml", ids[i].key, "", "pytorch", other);
		assert_string_not_equal(id, other);
		identity_id("ml", ids[i].key, "worker", "main", other);
		assert_string_not_equal(id, other);
	}
	/* Written into objects: must be the same in every release. */
	identity_id("ml", "Job/resnet-train", "", "main", id);
	assert_string_equal(id, "resnet-train-bba8b6b691");
}

static void long_keys_stay_apart(void **state)
{
	char name[300], pods[2][320];
	struct identity identities[2];

	(void)state;
	memset(name, 'a', 250);
	name[250] = '\0';
	for (int i = 0; i < 2; i++) {
		struct identity_facts facts = {.namespace_name = "ml", .pod_name = pods[i]};

		snprintf(pods[i], sizeof(pods[i]), "%s-%s", name, i ? "large" : "small");
		workload_identify(&facts, &identities[i]);
		assert_int_equal(strlen(identities[i].keys[0].text), IDENTITY_KEY_BYTES - 1);
	}
	assert_string_not_equal(identities[0].keys[0].text, identities[1].keys[0].text);
	assert_string_not_equal(identities[0].run_key, identities[1].run_key);
}

static void variant_rows(void **state)
{
	static const struct {
		const char *name;
		const char *image, *args[4];
		int64_t world;
		bool is_same; /* as the first row */
	} variants[] = {
		{"base", "repo/train:1", {"--batch-size=32", "--data", "/data"}, 8, true},
		{"digest", "repo/train:1@sha256:abc", {"--batch-size=32", "--data", "/data"}, 8, true},
		{"tag", "repo/train:2", {"--batch-size=32", "--data", "/data"}, 8, false},
		{"batch size", "repo/train:1", {"--batch-size=64", "--data", "/data"}, 8, false},
		{"world", "repo/train:1", {"--batch-size=32", "--data", "/data"}, 16, false},
		{"path", "repo/train:1", {"--batch-size=32", "--data", "/other"}, 8, false},
		{"split differently", "repo/train:1", {"--batch-size=32", "--data/data"}, 8, false},
	};
	static const struct {
		const char *name, *a[3], *b[3];
	} same[] = {
		{"run name", {"--run-name=bert-1"}, {"--run-name=bert-2"}},
		{"run name with underscore", {"--run_name", "bert-1"}, {"--run_name", "bert-2"}},
		{"seed", {"--seed", "1", "--x"}, {"--seed", "2", "--x"}},
		{"rank", {"--node-rank=0"}, {"--node-rank=7"}},
		{"date in a path", {"--ckpt=/c/20261101/x"}, {"--ckpt=/c/20261102/x"}},
		{"unix time", {"/out/1793607300"}, {"/out/1793693700"}},
		{"hash", {"/out/3f2a91c77"}, {"/out/91c773f2a"}},
	};
	char base[11], other[11];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
		size_t n = 0;

		while (n < 4 && variants[i].args[n])
			n++;
		test_row(variants[i].name);
		identity_variant(variants[i].image, NULL, 0, variants[i].args, n, variants[i].world, i ? other : base);
		assert_int_equal(strlen(i ? other : base), 10);
		assert_int_equal(i == 0 || streq(base, other), variants[i].is_same);
	}
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		size_t n = same[i].a[2] ? 3 : same[i].a[1] ? 2 : 1;

		test_row(same[i].name);
		identity_variant("i", NULL, 0, same[i].a, n, 1, base);
		identity_variant("i", NULL, 0, same[i].b, n, 1, other);
		assert_string_equal(base, other);
	}
	/* Command and arguments are not the same thing. */
	identity_variant("i", variants[0].args, 1, NULL, 0, 1, base);
	identity_variant("i", NULL, 0, variants[0].args, 1, 1, other);
	assert_string_not_equal(base, other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_share_a_key),
		cmocka_unit_test(keys_outlive_the_run),
		cmocka_unit_test(different_workloads_share_nothing),
		cmocka_unit_test(roles_of_one_job_differ),
		cmocka_unit_test(order_and_rules_of_keys),
		cmocka_unit_test(run_keys),
		cmocka_unit_test(nothing_known_is_no_key),
		cmocka_unit_test(recurring_names_stay_whole),
		cmocka_unit_test(stem_rows),
		cmocka_unit_test(ids_are_valid_and_stable),
		cmocka_unit_test(long_keys_stay_apart),
		cmocka_unit_test(variant_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
