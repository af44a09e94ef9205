/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/kinds.h"

#include <string.h>

#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define JOBSET	   "spec.replicatedJobs[].template.spec.template"
#define RAY(spec)  spec "headGroupSpec.template", spec "workerGroupSpecs[].template"

/* Where a name stands in two groups, the more frequent one comes first: it answers when the group is not known. */
static const struct kind kinds[] = {
	{.group = "", .name = "Pod", .class_ = KIND_BATCH, .template_paths = PATHS("")},
	{.group = "", .name = "List", .class_ = KIND_BATCH, .object_paths = PATHS("items[]")},
	{.group = "",
	 .name = "ReplicationController",
	 .class_ = KIND_SERVING,
	 .template_paths = PATHS("spec.template")},
	{.group = "batch", .name = "Job", .class_ = KIND_BATCH, .template_paths = PATHS("spec.template")},
	{.group = "batch",
	 .name = "CronJob",
	 .class_ = KIND_BATCH,
	 .is_recurring = true,
	 .template_paths = PATHS("spec.jobTemplate.spec.template")},
	{.group = "apps", .name = "Deployment", .class_ = KIND_SERVING, .template_paths = PATHS("spec.template")},
	{.group = "apps", .name = "StatefulSet", .class_ = KIND_SERVING, .template_paths = PATHS("spec.template")},
	{.group = "apps", .name = "DaemonSet", .class_ = KIND_SERVING, .template_paths = PATHS("spec.template")},
	{.group = "apps", .name = "ReplicaSet", .class_ = KIND_SERVING, .template_paths = PATHS("spec.template")},
	{.group = "jobset.x-k8s.io", .name = "JobSet", .class_ = KIND_TRAINING, .template_paths = PATHS(JOBSET)},
	/* A TrainJob has no template: its runtime has one, and spec.trainer.resourcesPerNode takes the place of what
	 * that says. */
	{.group = "trainer.kubeflow.org",
	 .name = "TrainJob",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.trainer"),
	 .has_trainer = true},
	{.group = "trainer.kubeflow.org",
	 .name = "TrainingRuntime",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.template." JOBSET)},
	{.group = "trainer.kubeflow.org",
	 .name = "ClusterTrainingRuntime",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.template." JOBSET)},
	{.group = "kubeflow.org",
	 .name = "PyTorchJob",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.pytorchReplicaSpecs.*.template")},
	{.group = "kubeflow.org",
	 .name = "TFJob",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.tfReplicaSpecs.*.template")},
	{.group = "kubeflow.org",
	 .name = "XGBoostJob",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.xgbReplicaSpecs.*.template")},
	{.group = "kubeflow.org",
	 .name = "JAXJob",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.jaxReplicaSpecs.*.template")},
	{.group = "kubeflow.org",
	 .name = "PaddleJob",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.paddleReplicaSpecs.*.template")},
	{.group = "kubeflow.org", /* v1 and v2beta1 alike */
	 .name = "MPIJob",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.mpiReplicaSpecs.*.template")},
	{.group = "kubeflow.org",
	 .name = "Experiment",
	 .class_ = KIND_TRAINING,
	 .object_paths = PATHS("spec.trialTemplate.trialSpec")},
	{.group = "kubeflow.org", .name = "Trial", .class_ = KIND_TRAINING, .object_paths = PATHS("spec.runSpec")},
	{.group = "kubeflow.org",
	 .name = "Notebook",
	 .class_ = KIND_INTERACTIVE,
	 .template_paths = PATHS("spec.template")},
	{.group = "kubeflow.org", .name = "ScheduledWorkflow", .class_ = KIND_BATCH, .is_recurring = true},
	{.group = "ray.io", .name = "RayCluster", .class_ = KIND_INTERACTIVE, .template_paths = PATHS(RAY("spec."))},
	{.group = "ray.io",
	 .name = "RayJob",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS(RAY("spec.rayClusterSpec."), "spec.submitterPodTemplate")},
	{.group = "ray.io",
	 .name = "RayCronJob",
	 .class_ = KIND_TRAINING,
	 .is_recurring = true,
	 .template_paths = PATHS(RAY("spec.jobTemplate.rayClusterSpec."), "spec.jobTemplate.submitterPodTemplate")},
	{.group = "ray.io",
	 .name = "RayService",
	 .class_ = KIND_SERVING,
	 .template_paths = PATHS(RAY("spec.rayClusterConfig."))},
	{.group = "batch.volcano.sh",
	 .name = "Job",
	 .class_ = KIND_BATCH,
	 .template_paths = PATHS("spec.tasks[].template")},
	{.group = "batch.volcano.sh",
	 .name = "CronJob",
	 .class_ = KIND_BATCH,
	 .is_recurring = true,
	 .template_paths = PATHS("spec.jobTemplate.spec.tasks[].template")},
	{.group = "argoproj.io",
	 .name = "Workflow",
	 .class_ = KIND_BATCH,
	 .template_paths = PATHS("spec.templates[]"),
	 .has_argo_templates = true},
	{.group = "argoproj.io",
	 .name = "WorkflowTemplate",
	 .class_ = KIND_BATCH,
	 .template_paths = PATHS("spec.templates[]"),
	 .has_argo_templates = true},
	{.group = "argoproj.io",
	 .name = "ClusterWorkflowTemplate",
	 .class_ = KIND_BATCH,
	 .template_paths = PATHS("spec.templates[]"),
	 .has_argo_templates = true},
	{.group = "argoproj.io",
	 .name = "CronWorkflow",
	 .class_ = KIND_BATCH,
	 .is_recurring = true,
	 .template_paths = PATHS("spec.workflowSpec.templates[]"),
	 .has_argo_templates = true},
	{.group = "leaderworkerset.x-k8s.io",
	 .name = "LeaderWorkerSet",
	 .class_ = KIND_SERVING,
	 .template_paths = PATHS("spec.leaderWorkerTemplate.leaderTemplate",
				 "spec.leaderWorkerTemplate.workerTemplate")},
	{.group = "workload.codeflare.dev",
	 .name = "AppWrapper",
	 .class_ = KIND_BATCH,
	 .object_paths = PATHS("spec.components[].template")},
	{.group = "sagemaker.amazonaws.com",
	 .name = "HyperPodPyTorchJob",
	 .class_ = KIND_TRAINING,
	 .template_paths = PATHS("spec.replicaSpecs[].template")},
	{.group = "run.ai", .name = "RunaiJob", .class_ = KIND_TRAINING, .template_paths = PATHS("spec.template")},
	{.group = "sparkoperator.k8s.io", .name = "SparkApplication", .class_ = KIND_BATCH},
	{.group = "sparkoperator.k8s.io",
	 .name = "ScheduledSparkApplication",
	 .class_ = KIND_BATCH,
	 .is_recurring = true},
	{.group = "tekton.dev", .name = "TaskRun", .class_ = KIND_BATCH},
	{.group = "tekton.dev", .name = "PipelineRun", .class_ = KIND_BATCH},
	{.group = "flyte.lyft.com", .name = "flyteworkflow", .class_ = KIND_BATCH},
	{.group = "serving.kserve.io", .name = "InferenceService", .class_ = KIND_SERVING},
	{.group = "serving.kserve.io", .name = "LLMInferenceService", .class_ = KIND_SERVING},
	{.group = "serving.knative.dev",
	 .name = "Service",
	 .class_ = KIND_SERVING,
	 .template_paths = PATHS("spec.template")},
	{.group = "serving.knative.dev", .name = "Revision", .class_ = KIND_SERVING},
};

static const struct kind *find(const char *group, size_t n_group, const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(kinds); i++) {
		const struct kind *kind = &kinds[i];

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

_Static_assert(ARRAY_LEN(kinds) <= KINDS_MAX, "a set of kinds is one uint64_t");

uint64_t kind_bit(const struct kind *self)
{
	return (uint64_t)1 << (self - kinds);
}
