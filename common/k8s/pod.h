/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod: the part of a v1 Pod (or of a pod template) that memtamer reads, decoded from JSON.
 * All text is in the arena: a pod lives as long as its arena and nothing outlives it. What is read stands in allow.c,
 * unknown fields are ignored; a listed field of a wrong type is an error that names it. A quantity that does not parse
 * is no error here (the API server refuses it, templates hold placeholders): its amount says `is_invalid`. Threads: a
 * pod is read-only after decoding. */
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
	bool is_present; /* the map itself is there (a patch needs no parent) */
};

enum k8s_resource { K8S_CPU, K8S_MEMORY, K8S_EPHEMERAL_STORAGE, K8S_RESOURCE_COUNT_ };
/** "cpu", "memory", "ephemeral-storage". */
extern const char *const k8s_resource_names[K8S_RESOURCE_COUNT_];

struct k8s_amount {
	const char *text; /* as written; NULL: absent; "": computed by k8s_pod_default (a pod-level sum) */
	bool is_invalid;  /* there, but no quantity: value is 0 */
	struct quantity quantity;
	int64_t value; /* rounded up: millicores for cpu, bytes for the others */
};

/** An extended resource (nvidia.com/gpu ...); requests and limits of these must be equal, the larger one counts. */
struct k8s_extended {
	const char *name;
	int64_t count;
	bool is_invalid; /* asked for, but by no quantity (a placeholder): count may be 0 */
};

struct k8s_resources {
	bool is_present, has_requests, has_limits; /* the maps are there */
	struct k8s_amount requests[K8S_RESOURCE_COUNT_], limits[K8S_RESOURCE_COUNT_];
	struct k8s_extended *extended;
	size_t n_extended;
	size_t n_claims; /* resources.claims (dynamic resource allocation) */
};

/* Only variables that somebody reads are kept, everywhere: ARGO_TEMPLATE, RAY_USAGE_STATS_EXTRA_TAGS,
 * PYTORCH_CUDA_ALLOC_CONF, PYTORCH_ALLOC_CONF, WORLD_SIZE (the list is env_names in allow.c). */
struct k8s_env {
	const char *name, *value; /* value NULL: valueFrom or empty */
};

struct k8s_mount {
	const char *volume, *path;
};

enum k8s_container_type {
	K8S_CONTAINER_MAIN,    /* spec.containers */
	K8S_CONTAINER_INIT,    /* spec.initContainers, runs to its end */
	K8S_CONTAINER_SIDECAR, /* spec.initContainers with restartPolicy Always: long-running */
};

struct k8s_container {
	enum k8s_container_type type;
	size_t index; /* in its own array */
	const char *name, *image;
	const char **command, **args;
	size_t n_command, n_args;
	bool has_env; /* the list itself is there (a patch needs no parent) */
	struct k8s_env *env;
	size_t n_env; /* of those that we read */
	struct k8s_mount *mounts;
	size_t n_mounts;
	bool has_stdin, has_tty;
	struct k8s_resources resources;
};

struct k8s_volume {
	const char *name;
	bool is_emptydir, is_memory; /* memory: emptyDir with medium Memory */
	bool is_persistent;	     /* persistentVolumeClaim or ephemeral claim */
	struct k8s_amount size_limit;
};

struct k8s_owner {
	const char *api_version, *kind, *name, *uid;
	bool is_controller;
};

struct k8s_pod {
	const char *namespace_name;		/* "" when not known */
	const char *name, *generate_name, *uid; /* "" when absent */
	struct k8s_labels labels, annotations, node_selector;
	struct k8s_owner *owners;
	size_t n_owners;
	const char *priority_class, *scheduler_name, *restart_policy; /* "" when absent */
	struct k8s_labels
		required_affinity; /* required nodeAffinity: key In one value, as pairs; others are left out */
	size_t n_resource_claims, n_scheduling_gates;
	bool has_deadline;		  /* spec.activeDeadlineSeconds */
	bool is_host_ipc;		  /* spec.hostIPC: its /dev/shm is the node's */
	struct k8s_container *containers; /* main ones, then init and sidecars in their order */
	size_t n_containers, n_main;	  /* all; main ones (the first n_main) */
	bool has_pod_resources;
	struct k8s_resources resources; /* pod-level spec.resources */
	struct k8s_amount overhead[K8S_RESOURCE_COUNT_];
	struct k8s_volume *volumes;
	size_t n_volumes;
};

/** Decode a Pod or anything with `metadata` and `spec` of a pod (a pod template: namespace may be absent).
 *  @return 0; -EINVAL with the field in err; -E2BIG beyond LIMIT_POD_CONTAINERS; -ENOMEM. */
int k8s_pod_decode(struct json_object *pod, struct arena *arena, struct k8s_pod *ret, struct err *err) ATTR_NODISCARD;

/** The same from what allow_pod or allow_workload left; text is borrowed from the doc. */
struct doc;
int k8s_pod_of_doc(const struct doc *pod, struct arena *arena, struct k8s_pod *ret, struct err *err) ATTR_NODISCARD;

/** NULL when absent. */
const char *k8s_label_get(const struct k8s_labels *labels, const char *key);
/** The controller owner, else NULL. */
const struct k8s_owner *k8s_pod_controller(const struct k8s_pod *pod);
/** `key` as one reference token of a JSON Pointer (RFC 6901: `~` is ~0, `/` is ~1), in the arena; `key` itself when
 * there is nothing to escape. NULL when memory is out. */
const char *k8s_pointer_escape(struct arena *arena, const char *key);

/** "containers" or "initContainers": where in the spec a container stands. */
const char *k8s_container_array(const struct k8s_container *container);

/** What the API server's defaulting does to resources, for objects that have not passed it (templates, offline review):
 *  a limit without a request sets the request to the limit; extended resources likewise; pod-level resources too. */
void k8s_pod_default(struct k8s_pod *pod);

enum k8s_qos { K8S_QOS_BEST_EFFORT, K8S_QOS_BURSTABLE, K8S_QOS_GUARANTEED };
/** QoS class as the API server computes it (pkg/apis/core/v1/helper/qos/qos.go): pod-level resources first, then all
 *  containers including init containers; cpu and memory only. */
enum k8s_qos k8s_pod_qos(const struct k8s_pod *pod);
extern const char *const k8s_qos_names[3];

/** The scheduler's effective request: max(sum of main and sidecars, each init container with the sidecars started
 *  before it) + overhead; pod-level request wins. Absent requests count as 0. */
int64_t k8s_pod_effective_request(const struct k8s_pod *pod, enum k8s_resource resource);
