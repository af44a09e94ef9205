/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/kinds.h"

#include <string.h>

#define PATHS(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define TEMPLATES(...) .template_paths = PATHS(__VA_ARGS__)
#define OBJECTS(...)   .object_paths = PATHS(__VA_ARGS__)
#define NO_TEMPLATES   .template_paths = NULL
/* A kind that creates objects of another kind again and again. */
#define RECURRING(kind) .is_recurring = true, .makes = (kind)
#define JOBSET		"spec.replicatedJobs[].template.spec.template"
#define RAY(spec)	spec "headGroupSpec.template", spec "workerGroupSpecs[].template"

/* If a name occurs in two groups, the more common one comes first: it is used if the group is not known. */
static const struct kind kinds[] = {
	{"", "Pod", KIND_BATCH, TEMPLATES("")},
	{"", "List", KIND_BATCH, OBJECTS("items[]")},
	{"", "ReplicationController", KIND_SERVING, TEMPLATES("spec.template")},
	{"batch", "Job", KIND_BATCH, TEMPLATES("spec.template")},
	{"batch", "CronJob", KIND_BATCH, RECURRING("Job"), TEMPLATES("spec.jobTemplate.spec.template")},
	{"apps", "Deployment", KIND_SERVING, TEMPLATES("spec.template")},
	{"apps", "StatefulSet", KIND_SERVING, TEMPLATES("spec.template")},
	{"apps", "DaemonSet", KIND_SERVING, TEMPLATES("spec.template")},
	{"apps", "ReplicaSet", KIND_SERVING, TEMPLATES("spec.template")},
	{"jobset.x-k8s.io", "JobSet", KIND_TRAINING, TEMPLATES(JOBSET)},
	/* A TrainJob has no template: its runtime has one, whose resources are replaced by
	 * spec.trainer.resourcesPerNode. */
	{"trainer.kubeflow.org", "TrainJob", KIND_TRAINING, TEMPLATES("spec.trainer"), .has_trainer = true,
	 .makes = "JobSet"},
	{"trainer.kubeflow.org", "TrainingRuntime", KIND_TRAINING, TEMPLATES("spec.template." JOBSET)},
	{"trainer.kubeflow.org", "ClusterTrainingRuntime", KIND_TRAINING, TEMPLATES("spec.template." JOBSET)},
	{"kubeflow.org", "PyTorchJob", KIND_TRAINING, TEMPLATES("spec.pytorchReplicaSpecs.*.template")},
	{"kubeflow.org", "TFJob", KIND_TRAINING, TEMPLATES("spec.tfReplicaSpecs.*.template")},
	{"kubeflow.org", "XGBoostJob", KIND_TRAINING, TEMPLATES("spec.xgbReplicaSpecs.*.template")},
	{"kubeflow.org", "JAXJob", KIND_TRAINING, TEMPLATES("spec.jaxReplicaSpecs.*.template")},
	{"kubeflow.org", "PaddleJob", KIND_TRAINING, TEMPLATES("spec.paddleReplicaSpecs.*.template")},
	{"kubeflow.org", "MPIJob", KIND_TRAINING, TEMPLATES("spec.mpiReplicaSpecs.*.template")},
	{"kubeflow.org", "Experiment", KIND_TRAINING, OBJECTS("spec.trialTemplate.trialSpec")},
	{"kubeflow.org", "Trial", KIND_TRAINING, OBJECTS("spec.runSpec")},
	{"kubeflow.org", "Notebook", KIND_INTERACTIVE, TEMPLATES("spec.template")},
	{"kubeflow.org", "ScheduledWorkflow", KIND_BATCH, RECURRING("Workflow")},
	{"ray.io", "RayCluster", KIND_INTERACTIVE, TEMPLATES(RAY("spec."))},
	{"ray.io", "RayJob", KIND_TRAINING, TEMPLATES(RAY("spec.rayClusterSpec."), "spec.submitterPodTemplate")},
	{"ray.io", "RayCronJob", KIND_TRAINING, RECURRING("RayJob"),
	 TEMPLATES(RAY("spec.jobTemplate.rayClusterSpec."), "spec.jobTemplate.submitterPodTemplate")},
	{"ray.io", "RayService", KIND_SERVING, TEMPLATES(RAY("spec.rayClusterConfig."))},
	{"batch.volcano.sh", "Job", KIND_BATCH, TEMPLATES("spec.tasks[].template")},
	{"batch.volcano.sh", "CronJob", KIND_BATCH, RECURRING("Job"),
	 TEMPLATES("spec.jobTemplate.spec.tasks[].template")},
	{"argoproj.io", "Workflow", KIND_BATCH, TEMPLATES("spec.templates[]"), .has_argo_templates = true},
	{"argoproj.io", "WorkflowTemplate", KIND_BATCH, TEMPLATES("spec.templates[]"), .has_argo_templates = true},
	{"argoproj.io", "ClusterWorkflowTemplate", KIND_BATCH, TEMPLATES("spec.templates[]"),
	 .has_argo_templates = true},
	{"argoproj.io", "CronWorkflow", KIND_BATCH, RECURRING("Workflow"), TEMPLATES("spec.workflowSpec.templates[]"),
	 .has_argo_templates = true},
	{"leaderworkerset.x-k8s.io", "LeaderWorkerSet", KIND_SERVING,
	 TEMPLATES("spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate")},
	{"workload.codeflare.dev", "AppWrapper", KIND_BATCH, OBJECTS("spec.components[].template")},
	{"sagemaker.amazonaws.com", "HyperPodPyTorchJob", KIND_TRAINING, TEMPLATES("spec.replicaSpecs[].template")},
	{"run.ai", "RunaiJob", KIND_TRAINING, TEMPLATES("spec.template")},
	{"sparkoperator.k8s.io", "SparkApplication", KIND_BATCH, NO_TEMPLATES},
	{"sparkoperator.k8s.io", "ScheduledSparkApplication", KIND_BATCH, RECURRING(NULL)},
	{"tekton.dev", "TaskRun", KIND_BATCH, NO_TEMPLATES},
	{"tekton.dev", "PipelineRun", KIND_BATCH, NO_TEMPLATES},
	{"flyte.lyft.com", "flyteworkflow", KIND_BATCH, NO_TEMPLATES},
	{"serving.kserve.io", "InferenceService", KIND_SERVING, NO_TEMPLATES},
	{"serving.kserve.io", "LLMInferenceService", KIND_SERVING, NO_TEMPLATES},
	{"serving.knative.dev", "Service", KIND_SERVING, TEMPLATES("spec.template")},
	{"serving.knative.dev", "Revision", KIND_SERVING, NO_TEMPLATES},
};

static const struct kind *find(const char *group, size_t n_group, const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(kinds); i++) {
		const struct kind *kind = &kinds[i];

		STEPS(1);
		if (kind->name[0] == name[0] && strcmp(kind->name, name) == 0 &&
		    (!group || (strlen(kind->group) == n_group && memcmp(kind->group, group, n_group) == 0)))
			return kind;
	}
	return NULL;
}

const struct kind *kind_find(const char *group, const char *name)
{
	return find(group, group ? strlen(group) : 0, name);
}

const struct kind *kind_find_api_version(const char *api_version, const char *name)
{
	const char *slash;

	if (!api_version)
		return NULL;
	slash = strchr(api_version, '/');
	return find(api_version, slash ? (size_t)(slash - api_version) : 0, name);
}

const struct kind *kind_table(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(kinds);
	return kinds;
}

bool kind_is_queue_label(const char *key)
{
	static const char *const keys[] = {"volcano.sh/queue-name",
					   "volcano.sh/job-name",
					   "kai.scheduler/queue",
					   "runai/queue",
					   "pod-group.scheduling.sigs.k8s.io",
					   "pod-group.scheduling.sigs.k8s.io/name",
					   "scheduling.x-k8s.io/pod-group",
					   "quota.scheduling.koordinator.sh/name"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (streq(key, keys[i]))
			return true;
	return strstarts(key, "kueue.x-k8s.io/");
}
