/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "k8s/doc.h"

/* The allow-list: everything of a pod, of an object that makes pods and of an AdmissionReview that anybody here reads.
 * What is not named is dropped before it costs anything: managedFields, status, probes, tolerations, options ... */

#define FIELD(key, node)                                                                                               \
	{                                                                                                              \
		key, sizeof(key) - 1, &(node)                                                                          \
	}
#define FIELDS(array) .fields = (array), .n_fields = ARRAY_LEN(array)

static const struct allow leaf = {.fields = NULL};
static const struct allow map_of_leaf = {.any = &leaf};
/* kubectl's copy of the whole manifest; nobody reads it, and it is the largest annotation there is. */
static const struct allow annotations = {.any = &leaf,
					 .dropped_key = "kubectl.kubernetes.io/last-applied-configuration"};

static const struct allow_field owner_fields[] = {
	FIELD("apiVersion", leaf), FIELD("kind", leaf),	      FIELD("name", leaf),
	FIELD("uid", leaf),	   FIELD("controller", leaf),
};
static const struct allow owner = {FIELDS(owner_fields)};

static const struct allow_field metadata_fields[] = {
	FIELD("name", leaf),
	FIELD("generateName", leaf),
	FIELD("namespace", leaf),
	FIELD("uid", leaf),
	FIELD("labels", map_of_leaf),
	FIELD("annotations", annotations),
	FIELD("ownerReferences", owner),
};
static const struct allow metadata = {FIELDS(metadata_fields)};

static const struct allow_field name_fields[] = {FIELD("name", leaf)};
static const struct allow only_name = {FIELDS(name_fields)};

static const struct allow_field resources_fields[] = {
	FIELD("requests", map_of_leaf),
	FIELD("limits", map_of_leaf),
	FIELD("claims", only_name),
};
static const struct allow resources = {FIELDS(resources_fields)};

/* The environment is long and hardly read: as objects it would cost more than all the rest. See k8s_env in pod.h. */
static const char *const env_names[] = {
	"ARGO_TEMPLATE",
	"RAY_USAGE_STATS_EXTRA_TAGS",
	"PYTORCH_CUDA_ALLOC_CONF",
	"PYTORCH_ALLOC_CONF",
	"WORLD_SIZE",
	NULL,
};
static const struct allow_field env_fields[] = {FIELD("name", leaf), FIELD("value", leaf)};
static const struct allow env = {FIELDS(env_fields), .names = env_names};

static const struct allow_field mount_fields[] = {FIELD("name", leaf), FIELD("mountPath", leaf)};
static const struct allow mount = {FIELDS(mount_fields)};

static const struct allow_field container_fields[] = {
	FIELD("name", leaf), FIELD("image", leaf),	   FIELD("command", leaf),	  FIELD("args", leaf),
	FIELD("env", env),   FIELD("stdin", leaf),	   FIELD("resources", resources), FIELD("volumeMounts", mount),
	FIELD("tty", leaf),  FIELD("restartPolicy", leaf),
};
static const struct allow container = {FIELDS(container_fields)};

static const struct allow_field emptydir_fields[] = {FIELD("medium", leaf), FIELD("sizeLimit", leaf)};
static const struct allow emptydir = {FIELDS(emptydir_fields)};

static const struct allow_field volume_fields[] = {
	FIELD("name", leaf),
	FIELD("emptyDir", emptydir),
	FIELD("persistentVolumeClaim", leaf),
	FIELD("ephemeral", leaf),
};
static const struct allow volume = {FIELDS(volume_fields)};

static const struct allow_field expression_fields[] = {FIELD("key", leaf), FIELD("operator", leaf),
						       FIELD("values", leaf)};
static const struct allow expression = {FIELDS(expression_fields)};
static const struct allow_field term_fields[] = {FIELD("matchExpressions", expression)};
static const struct allow term = {FIELDS(term_fields)};
static const struct allow_field required_fields[] = {FIELD("nodeSelectorTerms", term)};
static const struct allow required = {FIELDS(required_fields)};
static const struct allow_field node_affinity_fields[] = {
	FIELD("requiredDuringSchedulingIgnoredDuringExecution", required),
};
static const struct allow node_affinity = {FIELDS(node_affinity_fields)};
static const struct allow_field affinity_fields[] = {FIELD("nodeAffinity", node_affinity)};
static const struct allow affinity = {FIELDS(affinity_fields)};

#define POD_SPEC_FIELDS                                                                                                \
	FIELD("containers", container), FIELD("initContainers", container), FIELD("volumes", volume),                  \
		FIELD("nodeSelector", map_of_leaf), FIELD("affinity", affinity), FIELD("resources", resources),        \
		FIELD("overhead", map_of_leaf), FIELD("priorityClassName", leaf), FIELD("schedulerName", leaf),        \
		FIELD("restartPolicy", leaf), FIELD("resourceClaims", only_name), FIELD("schedulingGates", only_name), \
		FIELD("activeDeadlineSeconds", leaf)
static const struct allow_field spec_fields[] = {POD_SPEC_FIELDS};
static const struct allow spec = {FIELDS(spec_fields)};

static const struct allow_field object_fields[] = {
	FIELD("apiVersion", leaf),
	FIELD("kind", leaf),
	FIELD("metadata", metadata),
	FIELD("spec", spec),
};
const struct allow allow_pod = {FIELDS(object_fields)};

/* --- Objects that make pods: every place that a path of kinds.c leads through --- */

/* One list for all kinds; where kinds meet, so do their lists: spec.template holds a pod in a Job, a JobSet in a
 * TrainingRuntime. Each kind's own paths then find what is theirs (kind_templates.c). A test walks all of them. */
static const struct allow workload_spec;

#define PART_FIELDS                                                                                                    \
	FIELD("name", leaf), FIELD("groupName", leaf), FIELD("replicas", leaf), FIELD("parallelism", leaf),            \
		FIELD("numOfHosts", leaf)

/* A replica spec, task, group of workers; the spec of a Job inside a JobSet. */
static const struct allow_field part_fields[] = {PART_FIELDS, FIELD("template", allow_pod)};
static const struct allow part = {FIELDS(part_fields)};
static const struct allow map_of_part = {.any = &part};

static const struct allow_field child_job_fields[] = {PART_FIELDS, FIELD("spec", part)};
static const struct allow child_job = {FIELDS(child_job_fields)};
static const struct allow_field replicated_job_fields[] = {PART_FIELDS, FIELD("template", child_job)};
static const struct allow replicated_job = {FIELDS(replicated_job_fields)};

static const struct allow_field template_spec_fields[] = {POD_SPEC_FIELDS, FIELD("replicatedJobs", replicated_job)};
static const struct allow template_spec = {FIELDS(template_spec_fields)};
static const struct allow_field template_fields[] = {FIELD("metadata", metadata), FIELD("spec", template_spec)};
static const struct allow template_ = {FIELDS(template_fields)};

static const struct allow_field ray_cluster_fields[] = {FIELD("headGroupSpec", part), FIELD("workerGroupSpecs", part)};
static const struct allow ray_cluster = {FIELDS(ray_cluster_fields)};

static const struct allow_field leader_worker_fields[] = {
	PART_FIELDS,
	FIELD("size", leaf),
	FIELD("leaderTemplate", allow_pod),
	FIELD("workerTemplate", allow_pod),
};
static const struct allow leader_worker = {FIELDS(leader_worker_fields)};

static const struct allow_field container_set_fields[] = {FIELD("containers", container)};
static const struct allow container_set = {FIELDS(container_set_fields)};
static const struct allow_field argo_template_fields[] = {
	FIELD("name", leaf),
	FIELD("metadata", metadata),
	FIELD("container", container),
	FIELD("script", container),
	FIELD("containerSet", container_set),
	FIELD("sidecars", container),
	FIELD("initContainers", container),
	FIELD("volumes", volume),
	FIELD("nodeSelector", map_of_leaf),
	FIELD("affinity", affinity),
	FIELD("schedulerName", leaf),
	FIELD("priorityClassName", leaf),
};
static const struct allow argo_template = {FIELDS(argo_template_fields)};
static const struct allow_field argo_fields[] = {FIELD("templates", argo_template)};
static const struct allow argo = {FIELDS(argo_fields)};

static const struct allow_field job_template_fields[] = {
	FIELD("spec", workload_spec),
	FIELD("rayClusterSpec", ray_cluster),
	FIELD("submitterPodTemplate", allow_pod),
};
static const struct allow job_template = {FIELDS(job_template_fields)};

/* Whole objects inside objects: AppWrapper, Katib. */
static const struct allow_field component_fields[] = {FIELD("template", allow_workload)};
static const struct allow component = {FIELDS(component_fields)};
static const struct allow_field trial_template_fields[] = {FIELD("trialSpec", allow_workload)};
static const struct allow trial_template = {FIELDS(trial_template_fields)};

static const struct allow_field workload_spec_fields[] = {
	POD_SPEC_FIELDS, /* a Pod is its own template */
	FIELD("replicas", leaf),
	FIELD("parallelism", leaf),
	FIELD("template", template_),
	FIELD("jobTemplate", job_template),
	FIELD("replicatedJobs", replicated_job),
	FIELD("pytorchReplicaSpecs", map_of_part),
	FIELD("tfReplicaSpecs", map_of_part),
	FIELD("xgbReplicaSpecs", map_of_part),
	FIELD("jaxReplicaSpecs", map_of_part),
	FIELD("paddleReplicaSpecs", map_of_part),
	FIELD("mpiReplicaSpecs", map_of_part),
	FIELD("replicaSpecs", part),
	FIELD("tasks", part),
	FIELD("headGroupSpec", part),
	FIELD("workerGroupSpecs", part),
	FIELD("rayClusterSpec", ray_cluster),
	FIELD("rayClusterConfig", ray_cluster),
	FIELD("submitterPodTemplate", allow_pod),
	FIELD("templates", argo_template),
	FIELD("workflowSpec", argo),
	FIELD("leaderWorkerTemplate", leader_worker),
	FIELD("components", component),
	FIELD("trialTemplate", trial_template),
	FIELD("runSpec", allow_workload),
};
static const struct allow workload_spec = {FIELDS(workload_spec_fields), .keeps_source = true};

static const struct allow_field workload_fields[] = {
	FIELD("apiVersion", leaf),	FIELD("kind", leaf), FIELD("metadata", metadata), FIELD("spec", workload_spec),
	FIELD("items", allow_workload),
};
const struct allow allow_workload = {FIELDS(workload_fields)};

/* --- AdmissionReviews --- */

static const struct allow_field kind_fields[] = {FIELD("group", leaf), FIELD("version", leaf), FIELD("kind", leaf)};
static const struct allow kind = {FIELDS(kind_fields)};
static const struct allow_field user_fields[] = {FIELD("username", leaf)};
static const struct allow user = {FIELDS(user_fields)};

#define REQUEST_FIELDS                                                                                                 \
	FIELD("uid", leaf), FIELD("kind", kind), FIELD("subResource", leaf), FIELD("name", leaf),                      \
		FIELD("namespace", leaf), FIELD("operation", leaf), FIELD("userInfo", user), FIELD("dryRun", leaf)

static const struct allow_field request_fields[] = {REQUEST_FIELDS, FIELD("object", allow_pod)};
static const struct allow request = {FIELDS(request_fields)};
static const struct allow_field review_fields[] = {
	FIELD("apiVersion", leaf),
	FIELD("kind", leaf),
	FIELD("request", request),
};
const struct allow allow_review = {FIELDS(review_fields)};

/* Of the old object only how its spec is written. */
static const struct allow source = {.fields = NULL, .keeps_source = true};
static const struct allow_field old_object_fields[] = {FIELD("spec", source)};
static const struct allow old_object = {FIELDS(old_object_fields)};
static const struct allow_field workload_request_fields[] = {
	REQUEST_FIELDS,
	FIELD("object", allow_workload),
	FIELD("oldObject", old_object),
};
static const struct allow workload_request = {FIELDS(workload_request_fields)};
static const struct allow_field workload_review_fields[] = {
	FIELD("apiVersion", leaf),
	FIELD("kind", leaf),
	FIELD("request", workload_request),
};
const struct allow allow_workload_review = {FIELDS(workload_review_fields)};
