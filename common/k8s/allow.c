/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "k8s/allocator.h"
#include "k8s/doc.h"

/* The allow-lists: all fields of a pod, of an object that creates pods and of an AdmissionReview that memtamer reads.
 * Other fields are dropped before they cost anything: managedFields, status, probes, tolerations, options ... */

static const struct allow leaf = {.fields = NULL};
static const struct allow map_of_leaf = {.any = &leaf};
/* kubectl's copy of the whole manifest, the largest annotation of all; it is not used. */
static const struct allow annotations = {.any = &leaf,
					 .dropped_key = "kubectl.kubernetes.io/last-applied-configuration"};

static const struct allow owner = {ALLOW_ROWS(ALLOW_FIELD("apiVersion", leaf), ALLOW_FIELD("kind", leaf),
					      ALLOW_FIELD("name", leaf), ALLOW_FIELD("uid", leaf),
					      ALLOW_FIELD("controller", leaf))};

static const struct allow metadata = {
	ALLOW_ROWS(ALLOW_FIELD("name", leaf), ALLOW_FIELD("generateName", leaf), ALLOW_FIELD("namespace", leaf),
		   ALLOW_FIELD("uid", leaf), ALLOW_FIELD("labels", map_of_leaf),
		   ALLOW_FIELD("annotations", annotations), ALLOW_FIELD("ownerReferences", owner))};

static const struct allow only_name = {ALLOW_ROWS(ALLOW_FIELD("name", leaf))};

static const struct allow resources = {ALLOW_ROWS(
	ALLOW_FIELD("requests", map_of_leaf), ALLOW_FIELD("limits", map_of_leaf), ALLOW_FIELD("claims", only_name))};

/* The environment is long, and few variables are used: as objects, the others would cost more than all the rest. */
static const char *const env_names[] = {"RAY_USAGE_STATS_EXTRA_TAGS", ALLOCATOR_VARIABLE, ALLOCATOR_VARIABLE_CUDA,
					ALLOCATOR_VARIABLE_HIP, NULL};
static const struct allow env = {ALLOW_ROWS(ALLOW_FIELD("name", leaf), ALLOW_FIELD("value", leaf)),
				 .item_names = env_names};

bool allow_has_item(const struct allow *self, const char *name)
{
	for (const char *const *one = self->item_names; *one; one++)
		if (streq(*one, name))
			return true;
	return false;
}

static const struct allow mount = {ALLOW_ROWS(ALLOW_FIELD("name", leaf), ALLOW_FIELD("mountPath", leaf))};

static const struct allow exit_codes = {ALLOW_ROWS(ALLOW_FIELD("operator", leaf), ALLOW_FIELD("values", leaf))};
static const struct allow restart_rule = {
	ALLOW_ROWS(ALLOW_FIELD("action", leaf), ALLOW_FIELD("exitCodes", exit_codes))};

static const struct allow container = {ALLOW_ROWS(
	ALLOW_FIELD("name", leaf), ALLOW_FIELD("image", leaf), ALLOW_FIELD("command", leaf), ALLOW_FIELD("args", leaf),
	ALLOW_FIELD("env", env), ALLOW_FIELD("envFrom", leaf), ALLOW_FIELD("stdin", leaf),
	ALLOW_FIELD("resources", resources), ALLOW_FIELD("volumeMounts", mount), ALLOW_FIELD("tty", leaf),
	ALLOW_FIELD("restartPolicy", leaf), ALLOW_FIELD("restartPolicyRules", restart_rule))};

static const struct allow emptydir = {ALLOW_ROWS(ALLOW_FIELD("medium", leaf), ALLOW_FIELD("sizeLimit", leaf))};

static const struct allow volume = {ALLOW_ROWS(ALLOW_FIELD("name", leaf), ALLOW_FIELD("emptyDir", emptydir))};

static const struct allow expression = {
	ALLOW_ROWS(ALLOW_FIELD("key", leaf), ALLOW_FIELD("operator", leaf), ALLOW_FIELD("values", leaf))};
static const struct allow term = {ALLOW_ROWS(ALLOW_FIELD("matchExpressions", expression))};
static const struct allow required = {ALLOW_ROWS(ALLOW_FIELD("nodeSelectorTerms", term))};
static const struct allow node_affinity = {
	ALLOW_ROWS(ALLOW_FIELD("requiredDuringSchedulingIgnoredDuringExecution", required))};
static const struct allow affinity = {ALLOW_ROWS(ALLOW_FIELD("nodeAffinity", node_affinity))};

#define POD_SPEC_FIELDS                                                                                                \
	ALLOW_FIELD("containers", container), ALLOW_FIELD("initContainers", container),                                \
		ALLOW_FIELD("volumes", volume), ALLOW_FIELD("nodeSelector", map_of_leaf),                              \
		ALLOW_FIELD("affinity", affinity), ALLOW_FIELD("resources", resources),                                \
		ALLOW_FIELD("overhead", map_of_leaf), ALLOW_FIELD("priorityClassName", leaf),                          \
		ALLOW_FIELD("schedulerName", leaf), ALLOW_FIELD("restartPolicy", leaf),                                \
		ALLOW_FIELD("resourceClaims", only_name), ALLOW_FIELD("schedulingGates", only_name),                   \
		ALLOW_FIELD("activeDeadlineSeconds", leaf), ALLOW_FIELD("hostIPC", leaf),                              \
		ALLOW_FIELD("workloadRef", only_name)
static const struct allow spec = {ALLOW_ROWS(POD_SPEC_FIELDS)};

const struct allow allow_pod = {ALLOW_ROWS(ALLOW_FIELD("apiVersion", leaf), ALLOW_FIELD("kind", leaf),
					   ALLOW_FIELD("metadata", metadata), ALLOW_FIELD("spec", spec))};

/* --- Objects that create pods: every part that is on a path in kinds.c --- */

/* One list for all kinds. Where the paths of kinds meet, their lists are merged: spec.template has a pod in a Job, and
 * a JobSet in a TrainingRuntime. Each kind's own paths then select its parts (kind_templates.c). A test walks all of
 * them. */
static const struct allow workload_spec;

#define PART_FIELDS                                                                                                    \
	ALLOW_FIELD("name", leaf), ALLOW_FIELD("groupName", leaf), ALLOW_FIELD("replicas", leaf),                      \
		ALLOW_FIELD("parallelism", leaf), ALLOW_FIELD("completions", leaf), ALLOW_FIELD("numOfHosts", leaf)

/* Of Ray's options only whether its object store is outside /dev/shm. */
static const struct allow ray_params = {ALLOW_ROWS(ALLOW_FIELD("plasma-directory", leaf))};

/* A replica spec, a task, a worker group; the spec of a Job within a JobSet. */
static const struct allow part = {
	ALLOW_ROWS(PART_FIELDS, ALLOW_FIELD("rayStartParams", ray_params), ALLOW_FIELD("template", allow_pod))};
static const struct allow map_of_part = {.any = &part};

static const struct allow child_job = {
	ALLOW_ROWS(PART_FIELDS, ALLOW_FIELD("metadata", metadata), ALLOW_FIELD("spec", part))};
static const struct allow replicated_job = {ALLOW_ROWS(PART_FIELDS, ALLOW_FIELD("template", child_job))};

static const struct allow template_spec = {ALLOW_ROWS(POD_SPEC_FIELDS, ALLOW_FIELD("replicatedJobs", replicated_job))};
static const struct allow template_ = {
	ALLOW_ROWS(ALLOW_FIELD("metadata", metadata), ALLOW_FIELD("spec", template_spec))};

static const struct allow ray_cluster = {
	ALLOW_ROWS(ALLOW_FIELD("headGroupSpec", part), ALLOW_FIELD("workerGroupSpecs", part))};

static const struct allow leader_worker = {ALLOW_ROWS(PART_FIELDS, ALLOW_FIELD("size", leaf),
						      ALLOW_FIELD("leaderTemplate", allow_pod),
						      ALLOW_FIELD("workerTemplate", allow_pod))};

static const struct allow container_set = {ALLOW_ROWS(ALLOW_FIELD("containers", container))};
static const struct allow argo_template = {ALLOW_ROWS(
	ALLOW_FIELD("name", leaf), ALLOW_FIELD("metadata", metadata), ALLOW_FIELD("container", container),
	ALLOW_FIELD("script", container), ALLOW_FIELD("containerSet", container_set),
	ALLOW_FIELD("sidecars", container), ALLOW_FIELD("initContainers", container), ALLOW_FIELD("volumes", volume),
	ALLOW_FIELD("nodeSelector", map_of_leaf), ALLOW_FIELD("affinity", affinity), ALLOW_FIELD("schedulerName", leaf),
	ALLOW_FIELD("priorityClassName", leaf))};
static const struct allow argo = {ALLOW_ROWS(ALLOW_FIELD("templates", argo_template))};

static const struct allow job_template = {ALLOW_ROWS(ALLOW_FIELD("spec", workload_spec),
						     ALLOW_FIELD("rayClusterSpec", ray_cluster),
						     ALLOW_FIELD("submitterPodTemplate", allow_pod))};

/* Whole objects within objects: AppWrapper, Katib. */
static const struct allow component = {ALLOW_ROWS(ALLOW_FIELD("template", allow_workload))};
static const struct allow trial_template = {ALLOW_ROWS(ALLOW_FIELD("trialSpec", allow_workload))};

/* A TrainJob's settings for the container "node" of its runtime. */
static const struct allow trainer = {
	ALLOW_ROWS(ALLOW_FIELD("image", leaf), ALLOW_FIELD("command", leaf), ALLOW_FIELD("args", leaf),
		   ALLOW_FIELD("env", env), ALLOW_FIELD("numNodes", leaf), ALLOW_FIELD("resourcesPerNode", resources))};

/* The TrainJob's runtime, and its patches; of a runtime, the number of nodes. */
static const struct allow runtime_ref = {ALLOW_ROWS(ALLOW_FIELD("name", leaf), ALLOW_FIELD("kind", leaf))};
static const struct allow mpi = {ALLOW_ROWS(ALLOW_FIELD("runLauncherAsNode", leaf))};
static const struct allow ml_policy = {ALLOW_ROWS(ALLOW_FIELD("numNodes", leaf), ALLOW_FIELD("mpi", mpi))};
static const struct allow runtime_patch = {ALLOW_ROWS(ALLOW_FIELD("template", template_))};
static const struct allow runtime_patches = {ALLOW_ROWS(ALLOW_FIELD("trainingRuntimeSpec", runtime_patch))};
static const struct allow overrides = {
	ALLOW_ROWS(ALLOW_FIELD("targetJobs", only_name), ALLOW_FIELD("spec", spec), POD_SPEC_FIELDS)};

static const struct allow workload_spec = {
	ALLOW_ROWS(POD_SPEC_FIELDS, /* a Pod is its own template */
		   ALLOW_FIELD("replicas", leaf), ALLOW_FIELD("parallelism", leaf), ALLOW_FIELD("completions", leaf),
		   ALLOW_FIELD("template", template_), ALLOW_FIELD("jobTemplate", job_template),
		   ALLOW_FIELD("replicatedJobs", replicated_job), ALLOW_FIELD("pytorchReplicaSpecs", map_of_part),
		   ALLOW_FIELD("tfReplicaSpecs", map_of_part), ALLOW_FIELD("xgbReplicaSpecs", map_of_part),
		   ALLOW_FIELD("jaxReplicaSpecs", map_of_part), ALLOW_FIELD("paddleReplicaSpecs", map_of_part),
		   ALLOW_FIELD("mpiReplicaSpecs", map_of_part), ALLOW_FIELD("replicaSpecs", part),
		   ALLOW_FIELD("tasks", part), ALLOW_FIELD("headGroupSpec", part),
		   ALLOW_FIELD("workerGroupSpecs", part), ALLOW_FIELD("rayClusterSpec", ray_cluster),
		   ALLOW_FIELD("rayClusterConfig", ray_cluster), ALLOW_FIELD("submitterPodTemplate", allow_pod),
		   ALLOW_FIELD("templates", argo_template), ALLOW_FIELD("workflowSpec", argo),
		   ALLOW_FIELD("leaderWorkerTemplate", leader_worker), ALLOW_FIELD("components", component),
		   ALLOW_FIELD("trialTemplate", trial_template), ALLOW_FIELD("runSpec", allow_workload),
		   ALLOW_FIELD("trainer", trainer), ALLOW_FIELD("runtimeRef", runtime_ref),
		   ALLOW_FIELD("mlPolicy", ml_policy), ALLOW_FIELD("runtimePatches", runtime_patches),
		   ALLOW_FIELD("podTemplateOverrides", overrides), ALLOW_FIELD("podSpecOverrides", overrides)),
	.keeps_source = true};

const struct allow allow_workload = {ALLOW_ROWS(ALLOW_FIELD("apiVersion", leaf), ALLOW_FIELD("kind", leaf),
						ALLOW_FIELD("metadata", metadata), ALLOW_FIELD("spec", workload_spec),
						ALLOW_FIELD("items", allow_workload))};

/* --- AdmissionReviews --- */

static const struct allow kind = {
	ALLOW_ROWS(ALLOW_FIELD("group", leaf), ALLOW_FIELD("version", leaf), ALLOW_FIELD("kind", leaf))};
static const struct allow user = {ALLOW_ROWS(ALLOW_FIELD("username", leaf))};

#define REQUEST_FIELDS                                                                                                 \
	ALLOW_FIELD("uid", leaf), ALLOW_FIELD("kind", kind), ALLOW_FIELD("subResource", leaf),                         \
		ALLOW_FIELD("name", leaf), ALLOW_FIELD("namespace", leaf), ALLOW_FIELD("operation", leaf),             \
		ALLOW_FIELD("userInfo", user), ALLOW_FIELD("dryRun", leaf)

static const struct allow request = {ALLOW_ROWS(REQUEST_FIELDS, ALLOW_FIELD("object", allow_pod))};
const struct allow allow_review = {
	ALLOW_ROWS(ALLOW_FIELD("apiVersion", leaf), ALLOW_FIELD("kind", leaf), ALLOW_FIELD("request", request))};

/* Of the old object only the source text of its spec. */
static const struct allow source = {.fields = NULL, .keeps_source = true};
static const struct allow old_object = {ALLOW_ROWS(ALLOW_FIELD("spec", source))};
static const struct allow workload_request = {
	ALLOW_ROWS(REQUEST_FIELDS, ALLOW_FIELD("object", allow_workload), ALLOW_FIELD("oldObject", old_object))};
const struct allow allow_workload_review = {ALLOW_ROWS(ALLOW_FIELD("apiVersion", leaf), ALLOW_FIELD("kind", leaf),
						       ALLOW_FIELD("request", workload_request))};
