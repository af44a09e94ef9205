/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/metrics.h"

#include "k8s/keys.h"

const char *const metric_pod_labels[] = {
	KEY_WORKLOAD,
	KEY_TRAINING,
	KEY_IGNORE,
	"jobset.sigs.k8s.io/jobset-name",
	"jobset.sigs.k8s.io/replicatedjob-name",
	"training.kubeflow.org/job-name",
	"training.kubeflow.org/replica-type",
	"training.kubeflow.org/replica-index",
	"training.kubeflow.org/job-role",
	"batch.kubernetes.io/job-name",
	"batch.kubernetes.io/job-completion-index",
	"ray.io/cluster",
	"ray.io/group",
	"ray.io/node-type",
	"ray.io/originated-from-cr-name",
	"sparkoperator.k8s.io/app-name",
	"spark-app-name",
	"spark-role",
	"volcano.sh/job-name",
	"volcano.sh/task-spec",
	"volcano.sh/task-index",
	"workflows.argoproj.io/workflow",
	"katib.kubeflow.org/experiment",
	"katib.kubeflow.org/trial",
	"torchx.pytorch.org/app-name",
	"torchx.pytorch.org/role-name",
	"workflow-name",
	"task-name",
	"kueue.x-k8s.io/pod-group-name",
	NULL,
};
