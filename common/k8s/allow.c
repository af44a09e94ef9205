/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "k8s/doc.h"

/* The allow-list: everything of a pod, of an object that makes pods and of an AdmissionReview that anybody here reads.
 * What is not named is dropped before it costs anything: managedFields, status, probes, tolerations, options ... */

static const struct allow leaf = {.fields = NULL};
static const struct allow map_of_leaf = {.any = &leaf};
/* kubectl's copy of the whole manifest; nobody reads it, and it is the largest annotation there is. */
static const struct allow annotations = {.any = &leaf,
					 .dropped_key = "kubectl.kubernetes.io/last-applied-configuration"};

static const struct allow_field owner_fields[] = {
	ALLOW_FIELD("apiVersion", leaf), ALLOW_FIELD("kind", leaf),	  ALLOW_FIELD("name", leaf),
	ALLOW_FIELD("uid", leaf),	 ALLOW_FIELD("controller", leaf),
};
static const struct allow owner = {ALLOW_FIELDS(owner_fields)};

static const struct allow_field metadata_fields[] = {
	ALLOW_FIELD("name", leaf),
	ALLOW_FIELD("generateName", leaf),
	ALLOW_FIELD("namespace", leaf),
	ALLOW_FIELD("uid", leaf),
	ALLOW_FIELD("labels", map_of_leaf),
	ALLOW_FIELD("annotations", annotations),
	ALLOW_FIELD("ownerReferences", owner),
};
static const struct allow metadata = {ALLOW_FIELDS(metadata_fields)};

static const struct allow_field name_fields[] = {ALLOW_FIELD("name", leaf)};
static const struct allow only_name = {ALLOW_FIELDS(name_fields)};

static const struct allow_field resources_fields[] = {
	ALLOW_FIELD("requests", map_of_leaf),
	ALLOW_FIELD("limits", map_of_leaf),
	ALLOW_FIELD("claims", only_name),
};
static const struct allow resources = {ALLOW_FIELDS(resources_fields)};

/* The environment is long and hardly read: as objects it would cost more than all the rest. See k8s_env in pod.h. */
static const char *const env_names[] = {
	"ARGO_TEMPLATE",
	"RAY_USAGE_STATS_EXTRA_TAGS",
	"PYTORCH_CUDA_ALLOC_CONF",
	"PYTORCH_ALLOC_CONF",
	"WORLD_SIZE",
	NULL,
};
static const struct allow_field env_fields[] = {ALLOW_FIELD("name", leaf), ALLOW_FIELD("value", leaf)};
static const struct allow env = {ALLOW_FIELDS(env_fields), .names = env_names};

static const struct allow_field mount_fields[] = {ALLOW_FIELD("name", leaf), ALLOW_FIELD("mountPath", leaf)};
static const struct allow mount = {ALLOW_FIELDS(mount_fields)};

static const struct allow_field container_fields[] = {
	ALLOW_FIELD("name", leaf),
	ALLOW_FIELD("image", leaf),
	ALLOW_FIELD("command", leaf),
	ALLOW_FIELD("args", leaf),
	ALLOW_FIELD("env", env),
	ALLOW_FIELD("stdin", leaf),
	ALLOW_FIELD("resources", resources),
	ALLOW_FIELD("volumeMounts", mount),
	ALLOW_FIELD("tty", leaf),
	ALLOW_FIELD("restartPolicy", leaf),
};
static const struct allow container = {ALLOW_FIELDS(container_fields)};

static const struct allow_field emptydir_fields[] = {ALLOW_FIELD("medium", leaf), ALLOW_FIELD("sizeLimit", leaf)};
static const struct allow emptydir = {ALLOW_FIELDS(emptydir_fields)};

static const struct allow_field volume_fields[] = {
	ALLOW_FIELD("name", leaf),
	ALLOW_FIELD("emptyDir", emptydir),
	ALLOW_FIELD("persistentVolumeClaim", leaf),
	ALLOW_FIELD("ephemeral", leaf),
};
static const struct allow volume = {ALLOW_FIELDS(volume_fields)};

static const struct allow_field expression_fields[] = {ALLOW_FIELD("key", leaf), ALLOW_FIELD("operator", leaf),
						       ALLOW_FIELD("values", leaf)};
static const struct allow expression = {ALLOW_FIELDS(expression_fields)};
static const struct allow_field term_fields[] = {ALLOW_FIELD("matchExpressions", expression)};
static const struct allow term = {ALLOW_FIELDS(term_fields)};
static const struct allow_field required_fields[] = {ALLOW_FIELD("nodeSelectorTerms", term)};
static const struct allow required = {ALLOW_FIELDS(required_fields)};
static const struct allow_field node_affinity_fields[] = {
	ALLOW_FIELD("requiredDuringSchedulingIgnoredDuringExecution", required),
};
static const struct allow node_affinity = {ALLOW_FIELDS(node_affinity_fields)};
static const struct allow_field affinity_fields[] = {ALLOW_FIELD("nodeAffinity", node_affinity)};
static const struct allow affinity = {ALLOW_FIELDS(affinity_fields)};

#define POD_SPEC_FIELDS                                                                                                \
	ALLOW_FIELD("containers", container), ALLOW_FIELD("initContainers", container),                                \
		ALLOW_FIELD("volumes", volume), ALLOW_FIELD("nodeSelector", map_of_leaf),                              \
		ALLOW_FIELD("affinity", affinity), ALLOW_FIELD("resources", resources),                                \
		ALLOW_FIELD("overhead", map_of_leaf), ALLOW_FIELD("priorityClassName", leaf),                          \
		ALLOW_FIELD("schedulerName", leaf), ALLOW_FIELD("restartPolicy", leaf),                                \
		ALLOW_FIELD("resourceClaims", only_name), ALLOW_FIELD("schedulingGates", only_name),                   \
		ALLOW_FIELD("activeDeadlineSeconds", leaf), ALLOW_FIELD("hostIPC", leaf)
static const struct allow_field spec_fields[] = {POD_SPEC_FIELDS};
static const struct allow spec = {ALLOW_FIELDS(spec_fields)};

static const struct allow_field object_fields[] = {
	ALLOW_FIELD("apiVersion", leaf),
	ALLOW_FIELD("kind", leaf),
	ALLOW_FIELD("metadata", metadata),
	ALLOW_FIELD("spec", spec),
};
const struct allow allow_pod = {ALLOW_FIELDS(object_fields)};

/* --- Objects that make pods: every place that a path of kinds.c leads through --- */

/* One list for all kinds; where kinds meet, so do their lists: spec.template holds a pod in a Job, a JobSet in a
 * TrainingRuntime. Each kind's own paths then find what is theirs (kind_templates.c). A test walks all of them. */
static const struct allow workload_spec;

#define PART_FIELDS                                                                                                    \
	ALLOW_FIELD("name", leaf), ALLOW_FIELD("groupName", leaf), ALLOW_FIELD("replicas", leaf),                      \
		ALLOW_FIELD("parallelism", leaf), ALLOW_FIELD("completions", leaf), ALLOW_FIELD("numOfHosts", leaf)

/* A replica spec, task, group of workers; the spec of a Job inside a JobSet. */
static const struct allow_field part_fields[] = {PART_FIELDS, ALLOW_FIELD("template", allow_pod)};
static const struct allow part = {ALLOW_FIELDS(part_fields)};
static const struct allow map_of_part = {.any = &part};

static const struct allow_field child_job_fields[] = {PART_FIELDS, ALLOW_FIELD("spec", part)};
static const struct allow child_job = {ALLOW_FIELDS(child_job_fields)};
static const struct allow_field replicated_job_fields[] = {PART_FIELDS, ALLOW_FIELD("template", child_job)};
static const struct allow replicated_job = {ALLOW_FIELDS(replicated_job_fields)};

static const struct allow_field template_spec_fields[] = {POD_SPEC_FIELDS,
							  ALLOW_FIELD("replicatedJobs", replicated_job)};
static const struct allow template_spec = {ALLOW_FIELDS(template_spec_fields)};
static const struct allow_field template_fields[] = {ALLOW_FIELD("metadata", metadata),
						     ALLOW_FIELD("spec", template_spec)};
static const struct allow template_ = {ALLOW_FIELDS(template_fields)};

static const struct allow_field ray_cluster_fields[] = {ALLOW_FIELD("headGroupSpec", part),
							ALLOW_FIELD("workerGroupSpecs", part)};
static const struct allow ray_cluster = {ALLOW_FIELDS(ray_cluster_fields)};

static const struct allow_field leader_worker_fields[] = {
	PART_FIELDS,
	ALLOW_FIELD("size", leaf),
	ALLOW_FIELD("leaderTemplate", allow_pod),
	ALLOW_FIELD("workerTemplate", allow_pod),
};
static const struct allow leader_worker = {ALLOW_FIELDS(leader_worker_fields)};

static const struct allow_field container_set_fields[] = {ALLOW_FIELD("containers", container)};
static const struct allow container_set = {ALLOW_FIELDS(container_set_fields)};
static const struct allow_field argo_template_fields[] = {
	ALLOW_FIELD("name", leaf),
	ALLOW_FIELD("metadata", metadata),
	ALLOW_FIELD("container", container),
	ALLOW_FIELD("script", container),
	ALLOW_FIELD("containerSet", container_set),
	ALLOW_FIELD("sidecars", container),
	ALLOW_FIELD("initContainers", container),
	ALLOW_FIELD("volumes", volume),
	ALLOW_FIELD("nodeSelector", map_of_leaf),
	ALLOW_FIELD("affinity", affinity),
	ALLOW_FIELD("schedulerName", leaf),
	ALLOW_FIELD("priorityClassName", leaf),
};
static const struct allow argo_template = {ALLOW_FIELDS(argo_template_fields)};
static const struct allow_field argo_fields[] = {ALLOW_FIELD("templates", argo_template)};
static const struct allow argo = {ALLOW_FIELDS(argo_fields)};

static const struct allow_field job_template_fields[] = {
	ALLOW_FIELD("spec", workload_spec),
	ALLOW_FIELD("rayClusterSpec", ray_cluster),
	ALLOW_FIELD("submitterPodTemplate", allow_pod),
};
static const struct allow job_template = {ALLOW_FIELDS(job_template_fields)};

/* Whole objects inside objects: AppWrapper, Katib. */
static const struct allow_field component_fields[] = {ALLOW_FIELD("template", allow_workload)};
static const struct allow component = {ALLOW_FIELDS(component_fields)};
static const struct allow_field trial_template_fields[] = {ALLOW_FIELD("trialSpec", allow_workload)};
static const struct allow trial_template = {ALLOW_FIELDS(trial_template_fields)};

/* What a TrainJob says of the container "node" of its runtime. */
static const struct allow_field trainer_fields[] = {
	ALLOW_FIELD("image", leaf), ALLOW_FIELD("command", leaf),  ALLOW_FIELD("args", leaf),
	ALLOW_FIELD("env", env),    ALLOW_FIELD("numNodes", leaf), ALLOW_FIELD("resourcesPerNode", resources),
};
static const struct allow trainer = {ALLOW_FIELDS(trainer_fields)};

static const struct allow_field workload_spec_fields[] = {
	POD_SPEC_FIELDS, /* a Pod is its own template */
	ALLOW_FIELD("replicas", leaf),
	ALLOW_FIELD("parallelism", leaf),
	ALLOW_FIELD("completions", leaf),
	ALLOW_FIELD("template", template_),
	ALLOW_FIELD("jobTemplate", job_template),
	ALLOW_FIELD("replicatedJobs", replicated_job),
	ALLOW_FIELD("pytorchReplicaSpecs", map_of_part),
	ALLOW_FIELD("tfReplicaSpecs", map_of_part),
	ALLOW_FIELD("xgbReplicaSpecs", map_of_part),
	ALLOW_FIELD("jaxReplicaSpecs", map_of_part),
	ALLOW_FIELD("paddleReplicaSpecs", map_of_part),
	ALLOW_FIELD("mpiReplicaSpecs", map_of_part),
	ALLOW_FIELD("replicaSpecs", part),
	ALLOW_FIELD("tasks", part),
	ALLOW_FIELD("headGroupSpec", part),
	ALLOW_FIELD("workerGroupSpecs", part),
	ALLOW_FIELD("rayClusterSpec", ray_cluster),
	ALLOW_FIELD("rayClusterConfig", ray_cluster),
	ALLOW_FIELD("submitterPodTemplate", allow_pod),
	ALLOW_FIELD("templates", argo_template),
	ALLOW_FIELD("workflowSpec", argo),
	ALLOW_FIELD("leaderWorkerTemplate", leader_worker),
	ALLOW_FIELD("components", component),
	ALLOW_FIELD("trialTemplate", trial_template),
	ALLOW_FIELD("runSpec", allow_workload),
	ALLOW_FIELD("trainer", trainer),
};
static const struct allow workload_spec = {ALLOW_FIELDS(workload_spec_fields), .keeps_source = true};

static const struct allow_field workload_fields[] = {
	ALLOW_FIELD("apiVersion", leaf),      ALLOW_FIELD("kind", leaf),
	ALLOW_FIELD("metadata", metadata),    ALLOW_FIELD("spec", workload_spec),
	ALLOW_FIELD("items", allow_workload),
};
const struct allow allow_workload = {ALLOW_FIELDS(workload_fields)};

/* --- AdmissionReviews --- */

static const struct allow_field kind_fields[] = {ALLOW_FIELD("group", leaf), ALLOW_FIELD("version", leaf),
						 ALLOW_FIELD("kind", leaf)};
static const struct allow kind = {ALLOW_FIELDS(kind_fields)};
static const struct allow_field user_fields[] = {ALLOW_FIELD("username", leaf)};
static const struct allow user = {ALLOW_FIELDS(user_fields)};

#define REQUEST_FIELDS                                                                                                 \
	ALLOW_FIELD("uid", leaf), ALLOW_FIELD("kind", kind), ALLOW_FIELD("subResource", leaf),                         \
		ALLOW_FIELD("name", leaf), ALLOW_FIELD("namespace", leaf), ALLOW_FIELD("operation", leaf),             \
		ALLOW_FIELD("userInfo", user), ALLOW_FIELD("dryRun", leaf)

static const struct allow_field request_fields[] = {REQUEST_FIELDS, ALLOW_FIELD("object", allow_pod)};
static const struct allow request = {ALLOW_FIELDS(request_fields)};
static const struct allow_field review_fields[] = {
	ALLOW_FIELD("apiVersion", leaf),
	ALLOW_FIELD("kind", leaf),
	ALLOW_FIELD("request", request),
};
const struct allow allow_review = {ALLOW_FIELDS(review_fields)};

/* Of the old object only how its spec is written. */
static const struct allow source = {.fields = NULL, .keeps_source = true};
static const struct allow_field old_object_fields[] = {ALLOW_FIELD("spec", source)};
static const struct allow old_object = {ALLOW_FIELDS(old_object_fields)};
static const struct allow_field workload_request_fields[] = {
	REQUEST_FIELDS,
	ALLOW_FIELD("object", allow_workload),
	ALLOW_FIELD("oldObject", old_object),
};
static const struct allow workload_request = {ALLOW_FIELDS(workload_request_fields)};
static const struct allow_field workload_review_fields[] = {
	ALLOW_FIELD("apiVersion", leaf),
	ALLOW_FIELD("kind", leaf),
	ALLOW_FIELD("request", workload_request),
};
const struct allow allow_workload_review = {ALLOW_FIELDS(workload_review_fields)};
