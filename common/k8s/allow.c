/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "k8s/doc.h"

/* The allow-list: everything of a pod and of an AdmissionReview that anybody here reads. What is not named is dropped
 * before it costs anything: managedFields, status, probes, tolerations, oldObject, options ... */

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

static const struct allow_field spec_fields[] = {
	FIELD("containers", container),	      FIELD("initContainers", container), FIELD("volumes", volume),
	FIELD("nodeSelector", map_of_leaf),   FIELD("affinity", affinity),	  FIELD("resources", resources),
	FIELD("overhead", map_of_leaf),	      FIELD("priorityClassName", leaf),	  FIELD("schedulerName", leaf),
	FIELD("restartPolicy", leaf),	      FIELD("resourceClaims", only_name), FIELD("schedulingGates", only_name),
	FIELD("activeDeadlineSeconds", leaf),
};
static const struct allow spec = {FIELDS(spec_fields)};

static const struct allow_field object_fields[] = {
	FIELD("apiVersion", leaf),
	FIELD("kind", leaf),
	FIELD("metadata", metadata),
	FIELD("spec", spec),
};
const struct allow allow_pod = {FIELDS(object_fields)};

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

static const struct allow_field bare_request_fields[] = {REQUEST_FIELDS};
static const struct allow bare_request = {FIELDS(bare_request_fields)};
static const struct allow_field envelope_fields[] = {
	FIELD("apiVersion", leaf),
	FIELD("kind", leaf),
	FIELD("request", bare_request),
};
const struct allow allow_envelope = {FIELDS(envelope_fields)};
