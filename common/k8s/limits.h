/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* limits: what a namespace allows its pods (LimitRange, ResourceQuota), and the API server's arithmetic about it.
 * Sources: plugin/pkg/admission/limitranger, pkg/quota/v1/evaluator/core/pods.go, apiserver's admission/plugin/
 * resourcequota, pkg/apis/core/v1/defaults.go. What memtamer never sets does not matter to it: limits of claims, and
 * quotas of anything but cpu, memory, ephemeral-storage and pods are left out.
 * Invariants: bounds are bytes (cpu: millicores), never negative; K8S_NO_BOUND where there is none. Pure, any thread.
 */
#include "k8s/pod.h"

#define K8S_NO_BOUND ((int64_t)-1)

enum k8s_bound {
	K8S_BOUND_MIN,
	K8S_BOUND_MAX,
	K8S_BOUND_DEFAULT,	   /* of limits */
	K8S_BOUND_DEFAULT_REQUEST, /* of requests */
	K8S_BOUND_RATIO,	   /* most that a limit may be of its request, in thousandths */
	K8S_BOUND_COUNT_
};

struct k8s_limit_item {
	bool is_pod; /* type Pod: sums of the whole pod; else Container: each container, init containers too */
	int64_t bounds[K8S_BOUND_COUNT_][K8S_RESOURCE_COUNT_];
};

struct k8s_limit_range {
	const char *namespace_name, *name; /* "" when absent */
	const struct k8s_limit_item *items;
	size_t n_items;
};

enum k8s_quota_field { K8S_QUOTA_REQUESTS, K8S_QUOTA_LIMITS, K8S_QUOTA_FIELDS_ };

struct k8s_quota_amount {
	int64_t hard; /* K8S_NO_BOUND: not counted */
	int64_t used; /* 0 when its status does not say */
};

enum k8s_scope {
	K8S_SCOPE_TERMINATING,	   /* the pod has activeDeadlineSeconds */
	K8S_SCOPE_NOT_TERMINATING, /* it has none */
	K8S_SCOPE_BEST_EFFORT,
	K8S_SCOPE_NOT_BEST_EFFORT,
	K8S_SCOPE_PRIORITY_CLASS,
	K8S_SCOPE_CROSS_NAMESPACE_AFFINITY,
	K8S_SCOPE_CLAIMS,  /* VolumeAttributesClass: never a pod */
	K8S_SCOPE_UNKNOWN, /* of a release to come */
};

enum k8s_scope_operator { K8S_SCOPE_EXISTS, K8S_SCOPE_DOES_NOT_EXIST, K8S_SCOPE_IN, K8S_SCOPE_NOT_IN };

struct k8s_quota_scope {
	enum k8s_scope scope;
	enum k8s_scope_operator operator_; /* only PriorityClass knows others than Exists */
	const char *const *values;
	size_t n_values;
};

struct k8s_quota {
	const char *namespace_name, *name; /* "" when absent */
	struct k8s_quota_amount amounts[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_], pods;
	const struct k8s_quota_scope *scopes; /* all must match */
	size_t n_scopes;
};

/** Decode a LimitRange or ResourceQuota; text and arrays go into the arena. A LimitRange gets the API server's
 *  defaulting (default := max, defaultRequest := default, then := min), which changes nothing in one that has it. A
 *  quota's hard bound is the lower one of spec and status, which the quota controller brings together.
 *  @return 0; -EINVAL with the field in err (a quantity that is none or is negative, a wrong type); -ENOMEM. */
int k8s_limit_range_decode(struct json_object *object, struct arena *arena, struct k8s_limit_range *ret,
			   struct err *err) ATTR_NODISCARD;
int k8s_quota_decode(struct json_object *object, struct arena *arena, struct k8s_quota *ret,
		     struct err *err) ATTR_NODISCARD;

/** A copy in one block, freed with free(). NULL when memory is out. */
struct k8s_limit_range *k8s_limit_range_dup(const struct k8s_limit_range *self) ATTR_NODISCARD;
struct k8s_quota *k8s_quota_dup(const struct k8s_quota *self) ATTR_NODISCARD;

/** What LimitRanger does to a pod before any webhook sees it: absent limits and requests of containers (init containers
 *  too) get the defaults. After k8s_pod_default(). The text of what it sets is "". */
void k8s_limit_range_default(const struct k8s_limit_range *self, struct k8s_pod *pod);

/** One kind of amount (requests or limits) of a container or of a whole pod. */
struct k8s_total {
	bool has;
	__int128 nano;
};
struct k8s_total k8s_container_total(const struct k8s_container *container, enum k8s_resource resource, bool is_limit);
/** Of the pod: main and sidecar containers, or an init container with the sidecars before it; pod-level resources win.
 *  `has` when any container has it. Quotas count the overhead too, LimitRanges do not. */
struct k8s_total k8s_pod_total(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit,
			       bool with_overhead);
/** A container's name in a set of names (a Bloom filter), the same everywhere: one in a hundred is in it by chance. */
uint64_t k8s_name_bits(const char *name);
/** k8s_pod_total() without overhead, of the containers whose names are in the set. */
struct k8s_total k8s_pod_total_of(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit, uint64_t names);

/** What pod templates say, summed up over their pods, without overhead (a RuntimeClass adds it to the pods). */
struct k8s_declared {
	int64_t pods;
	int64_t variants; /* 1: all pods alike; 0: not known. Sums of sums add it up, so it is not exact above 1 */
	int64_t amounts[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_]; /* bytes, millicores */
	/* The names of all containers, k8s_name_bits() of each: what others put into the pods is not declared. 0: not
	 * known. */
	uint64_t names;
	/* Containers that do not say it: each gets a LimitRange's default on top. */
	int64_t lacking[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_];
};
/** Add so many pods of one template, which is not changed. @return 0 or -ENOMEM. */
int k8s_declared_add(struct k8s_declared *self, const struct k8s_pod *pod, int64_t replicas,
		     struct arena *arena) ATTR_NODISCARD;

/** Bounds and totals on one scale: bytes or millicores as nano units. */
__int128 k8s_bound_nano(enum k8s_resource resource, int64_t bound);

/** Would LimitRanger refuse these amounts for this bound (min, max or ratio)? False where there is no such bound. */
bool k8s_limit_item_refuses(const struct k8s_limit_item *item, enum k8s_bound bound, enum k8s_resource resource,
			    struct k8s_total request, struct k8s_total limit);

/** Does the quota count this pod? Where that cannot be told (CrossNamespacePodAffinity, scopes of a release to come),
 *  it is said to: who keeps to a quota too many is not refused. */
bool k8s_quota_matches(const struct k8s_quota *self, const struct k8s_pod *pod);
/** A quota of cpu or memory refuses pods of which a container does not say the amount; pod-level resources count for
 *  all containers. */
bool k8s_quota_demands(const struct k8s_quota *self, enum k8s_quota_field field, enum k8s_resource resource);
