/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod: the part of a v1 Pod (or a pod template) that memtamer reads, decoded from JSON. All texts are in the arena: a
 * pod lives as long as its arena. allow.c lists the fields that are read; other fields are ignored, and a listed field
 * of a wrong type is an error. A malformed quantity is no error (the API server rejects it, and templates contain
 * placeholders): its amount has `is_invalid`. Read-only after decoding; any thread.
 *
 * Cost: decoding is linear in what was read. Names, containers (LIMIT_POD_CONTAINERS), owners and the extended
 * resources of a container have caps. Labels, annotations, volumes, mounts, arguments and environment have none, so
 * none of these lists may be walked for each item of another. */
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "k8s/quantity.h"

struct k8s_label {
	const char *key, *value;
};

/** Labels, annotations or node selectors, in the object's order. */
struct k8s_labels {
	struct k8s_label *items;
	size_t n;
	size_t n_bytes;	 /* of all keys and values, also of those that are not kept (allow.c) */
	bool is_present; /* the map exists (a patch needs no parent) */
};

enum k8s_resource { K8S_CPU, K8S_MEMORY, K8S_EPHEMERAL_STORAGE, K8S_RESOURCE_COUNT_ };
/** "cpu", "memory", "ephemeral-storage". */
extern const char *const k8s_resource_names[K8S_RESOURCE_COUNT_];

struct k8s_amount {
	const char *text; /* as written; NULL: absent; "": computed by k8s_pod_default (a pod-level sum) */
	bool is_invalid;  /* present, but not a quantity: value is 0 */
	struct quantity quantity;
	int64_t value; /* rounded up: millicores for cpu, bytes for the others */
};

/** Whether an amount is present and not 0: an explicit 0 limits and reserves nothing. */
static inline bool k8s_amount_is_set(const struct k8s_amount *self)
{
	return self->text && (self->is_invalid || self->quantity.nano != 0);
}

/** An extended resource (nvidia.com/gpu ...), or huge pages (hugepages-2Mi), which have no accelerator. Its request and
 * limit must be equal; otherwise the larger one counts. */
struct k8s_extended {
	const char *name;
	int64_t count;
	int64_t milli;	     /* of one unit, as accelerator_milli(): 0: not known; -1: no accelerator */
	const char *refused; /* the first amount, as written, that k8s_extended_takes() is false for; NULL: none */
	bool is_limit;	     /* whether `refused` is a limit */
	bool is_invalid;     /* present, but not a quantity (a placeholder): count may be 0 */
};

struct k8s_resources {
	bool is_present, has_requests, has_limits; /* the maps exist */
	struct k8s_amount requests[K8S_RESOURCE_COUNT_], limits[K8S_RESOURCE_COUNT_];
	struct k8s_extended *extended;
	size_t n_extended;
	size_t n_claims; /* resources.claims (dynamic resource allocation) */
};

struct k8s_mount {
	const char *volume, *path;
};

enum k8s_container_type {
	K8S_CONTAINER_MAIN,    /* spec.containers */
	K8S_CONTAINER_INIT,    /* spec.initContainers, runs to completion */
	K8S_CONTAINER_SIDECAR, /* spec.initContainers with restartPolicy Always: long-running */
};

struct k8s_container {
	enum k8s_container_type type;
	size_t index; /* in its own array */
	const char *name, *image;
	const char **command, **args;
	size_t n_command, n_args;
	const char *ray_tags;	    /* of its environment RAY_USAGE_STATS_EXTRA_TAGS; "": absent */
	bool has_allocator;	    /* its environment has a variable of k8s/allocator.h, whatever the value */
	bool has_env, has_env_from; /* the lists exist */
	const char *restart_policy; /* its own, which precedes the pod's; "": absent */
	bool has_restart_rule;	    /* the first of its restartPolicyRules that matches an OOM kill restarts it */
	struct k8s_mount *mounts;
	size_t n_mounts;
	bool has_stdin, has_tty;
	struct k8s_resources resources;
};

struct k8s_volume {
	const char *name;
	bool is_emptydir, is_memory; /* memory: emptyDir with medium Memory */
	struct k8s_amount size_limit;
};

struct k8s_owner {
	const char *api_version, *kind, *name, *uid;
	bool is_controller;
};

struct k8s_pod {
	const char *namespace_name;		/* "": not known */
	const char *name, *generate_name, *uid; /* "": absent */
	struct k8s_labels labels, annotations, node_selector;
	struct k8s_owner *owners;
	size_t n_owners;
	const char *priority_class, *scheduler_name, *restart_policy; /* "": absent */
	struct k8s_labels
		/* required nodeAffinity: pairs of key and value for `key In [value]`; other expressions are left out */
		required_affinity;
	size_t n_resource_claims, n_scheduling_gates;
	bool has_deadline;		  /* spec.activeDeadlineSeconds */
	bool is_host_ipc;		  /* spec.hostIPC: its /dev/shm is the node's */
	bool has_workload_ref;		  /* spec.workloadRef: its group is scheduled together */
	struct k8s_container *containers; /* main containers, then init containers and sidecars in their order */
	size_t n_containers, n_main;	  /* all; main ones (the first n_main) */
	bool has_pod_resources;
	struct k8s_resources resources; /* pod-level spec.resources */
	struct k8s_amount overhead[K8S_RESOURCE_COUNT_];
	struct k8s_volume *volumes;
	size_t n_volumes;
};

/** Decodes a Pod or anything with `metadata` and `spec` of a pod (a pod template; the namespace may be absent). @return
 * 0; -EINVAL with the field in err, also for a name that is too long for the API server; -E2BIG beyond
 * LIMIT_POD_CONTAINERS, LIMIT_OWNER_REFERENCES or LIMIT_EXTENDED_RESOURCES; -ENOMEM. */
int k8s_pod_decode(struct json_object *pod, struct arena *arena, struct k8s_pod *ret, struct err *err) ATTR_NODISCARD;

/** Does the same for a doc read with allow_pod or allow_workload, from which texts are borrowed. */
struct doc;
int k8s_pod_of_doc(const struct doc *pod, struct arena *arena, struct k8s_pod *ret, struct err *err) ATTR_NODISCARD;

#define K8S_HUGEPAGES "hugepages-"
/** Whether the API server takes a quantity of an extended resource: a whole number, rounded up to thousandths, of
 * hugepages-SIZE a multiple of SIZE; not negative. Cost: linear in the name. */
bool k8s_extended_takes(const char *name, const struct quantity *quantity);

/** The value of a label. NULL: absent. Cost: linear in the labels. */
const char *k8s_label_get(const struct k8s_labels *labels, const char *key);
/** The owner that is the controller. NULL: none. */
const struct k8s_owner *k8s_pod_controller(const struct k8s_pod *pod);
/** `key` as a reference token of a JSON Pointer (RFC 6901: `~` is ~0, `/` is ~1), in the arena; `key` itself if nothing
 * needs escaping. NULL: out of memory. */
const char *k8s_pointer_escape(struct arena *arena, const char *key);

/** Reason of the end of a container whose pod restarts as a whole: the kubelet stopped it, or removed it after an end
 * of its own, which this reason replaces in the status (KEP-5532, Kubernetes 1.36). */
#define K8S_REASON_RESTARTED_WITH_POD "RestartingAllContainers"

/** Whether the kubelet starts the container again in its pod after the kernel killed it (exit code 137): by its own
 * restartPolicyRules, else by its own restart policy, else by the pod's. A rule of another container that restarts all
 * containers is not considered. Sources: KEP-5307, KEP-5532 (RestartAllContainers). */
bool k8s_container_restarts(const struct k8s_pod *pod, const struct k8s_container *container);

/** "containers" or "initContainers": the list in the spec that has the container. */
const char *k8s_container_array(const struct k8s_container *container);

/** Applies the API server's defaults for resources, for objects that have not got them (templates, offline review): a
 * request without a value becomes the limit; likewise for extended and pod-level resources. */
void k8s_pod_default(struct k8s_pod *pod);

enum k8s_qos { K8S_QOS_BEST_EFFORT, K8S_QOS_BURSTABLE, K8S_QOS_GUARANTEED };
/** The QoS class as the API server computes it (pkg/apis/core/v1/helper/qos/qos.go): from pod-level resources, else
 * from all containers including init containers; cpu and memory only. */
enum k8s_qos k8s_pod_qos(const struct k8s_pod *pod);
extern const char *const k8s_qos_names[3];

/** The scheduler's effective request: max(sum of main and sidecar containers, each init container with the sidecars
 * started before it) + overhead; a pod-level request overrides it. Absent requests count as 0. */
int64_t k8s_pod_effective_request(const struct k8s_pod *pod, enum k8s_resource resource);
