/* SPDX-License-Identifier: Apache-2.0 */
/* The identity test: for every kind both sides, each with its own poorer facts, share a key. */
#include "identity_fixture.h"

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
	{"Spark executor", "spark-role=executor spark-app-name=etl sparkoperator.k8s.io/app-name=etl",
	 "v1 Pod etl-driver", "etl-$8-exec-3", "Pod/etl-driver", "etl-$8-exec-3",
	 "spark-role=executor spark-app-name=etl sparkoperator.k8s.io/app-name=etl", "SparkApplication/etl", "executor",
	 -1},
	{"Spark executor without the operator", "spark-role=executor spark-app-name=etl", "v1 Pod etl-$8-driver",
	 "etl-$8-exec-3", "Pod/etl-$8-driver", "etl-$8-exec-3", "spark-role=executor spark-app-name=etl",
	 "SparkApplication/etl", "executor", -1},
	{"Spark driver", "spark-role=driver spark-app-name=etl sparkoperator.k8s.io/app-name=etl",
	 "sparkoperator.k8s.io/v1beta2 SparkApplication etl", "etl-driver", "SparkApplication/etl", "etl-driver",
	 "spark-role=driver spark-app-name=etl", "SparkApplication/etl", "driver", -1},
	{"Spark, scheduled", "spark-role=driver spark-app-name=etl-$s sparkoperator.k8s.io/app-name=etl-$s",
	 "sparkoperator.k8s.io/v1beta2 SparkApplication etl-$s", "etl-$s-driver", "SparkApplication/etl-$s",
	 "etl-$s-driver", "spark-role=driver spark-app-name=etl-$s", "SparkApplication/etl", "driver", -1},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_share_a_key),
		cmocka_unit_test(keys_outlive_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
