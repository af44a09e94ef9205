/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* limits: what a namespace allows its pods (LimitRange, ResourceQuota), computed as the API server does. Sources:
 * plugin/pkg/admission/limitranger, pkg/quota/v1/evaluator/core/pods.go, apiserver's admission/plugin/resourcequota,
 * pkg/apis/core/v1/defaults.go. What memtamer never sets is left out: limits of claims, and quotas of anything but cpu,
 * memory, ephemeral-storage and pods.
 *
 * Invariants: bounds are bytes (cpu: millicores), never negative; K8S_NO_BOUND: none. Pure, any thread. */
#include "k8s/pod.h"

#define K8S_NO_BOUND ((int64_t)-1)

enum k8s_bound {
	K8S_BOUND_MIN,
	K8S_BOUND_MAX,
	K8S_BOUND_DEFAULT,	   /* default of limits */
	K8S_BOUND_DEFAULT_REQUEST, /* default of requests */
	K8S_BOUND_RATIO,	   /* maximum of limit / request, in thousandths */
	K8S_BOUND_COUNT_
};

struct k8s_limit_item {
	/* type Pod: sums of the whole pod; otherwise type Container: each container, including init containers */
	bool is_pod;
	int64_t bounds[K8S_BOUND_COUNT_][K8S_RESOURCE_COUNT_];
};

struct k8s_limit_range {
	const char *namespace_name, *name; /* "" when absent */
	const struct k8s_limit_item *items;
	size_t n_items;
};

/** The rules of all LimitRanges of a namespace together: of each bound the strictest, of each default the one of the
 * LimitRange with the smallest name, as in LimitRanger. So the cost of a decision does not depend on their number. */
struct k8s_limit_rule {
	int64_t value;
	const char *name; /* of the LimitRange, borrowed; NULL: no bound */
};
struct k8s_limit_rules {
	/* [0]: of each container, [1]: of the whole pod */
	struct k8s_limit_rule rules[2][K8S_BOUND_COUNT_][K8S_RESOURCE_COUNT_];
};

enum k8s_quota_field { K8S_QUOTA_REQUESTS, K8S_QUOTA_LIMITS, K8S_QUOTA_FIELDS_ };

struct k8s_quota_amount {
	int64_t hard; /* K8S_NO_BOUND: not counted */
	int64_t used; /* 0 if the status does not say */
};

enum k8s_scope {
	K8S_SCOPE_TERMINATING,	   /* the pod has activeDeadlineSeconds */
	K8S_SCOPE_NOT_TERMINATING, /* the pod has no activeDeadlineSeconds */
	K8S_SCOPE_BEST_EFFORT,
	K8S_SCOPE_NOT_BEST_EFFORT,
	K8S_SCOPE_PRIORITY_CLASS,
	K8S_SCOPE_CROSS_NAMESPACE_AFFINITY,
	K8S_SCOPE_CLAIMS,  /* VolumeAttributesClass: never a pod */
	K8S_SCOPE_UNKNOWN, /* of a later release */
};

enum k8s_scope_operator { K8S_SCOPE_EXISTS, K8S_SCOPE_DOES_NOT_EXIST, K8S_SCOPE_IN, K8S_SCOPE_NOT_IN };

struct k8s_quota_scope {
	enum k8s_scope scope;
	enum k8s_scope_operator operator_; /* only PriorityClass allows others than Exists */
	const char *const *values;
	size_t n_values;
};

/** A scope with more values than LIMIT_QUOTA_VALUES becomes K8S_SCOPE_UNKNOWN, and scopes beyond LIMIT_QUOTA_SCOPES are
 * left out: such a quota counts as matching more pods than it does. */
struct k8s_quota {
	const char *namespace_name, *name; /* "" when absent */
	struct k8s_quota_amount amounts[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_], pods;
	const struct k8s_quota_scope *scopes; /* all must match */
	size_t n_scopes;
};

/** Decode a LimitRange or ResourceQuota; texts and arrays are in the arena. A LimitRange gets the API server's defaults
 * (default := max, defaultRequest := default, then := min), which do not change one that has them. A quota's hard
 * bound is the lower one of spec and status, which the quota controller makes equal.
 * @return 0; -EINVAL with the field in err (a malformed or negative quantity, a wrong type); -ENOMEM. */
int k8s_limit_range_decode(struct json_object *object, struct arena *arena, struct k8s_limit_range *ret,
			   struct err *err) ATTR_NODISCARD;
int k8s_quota_decode(struct json_object *object, struct arena *arena, struct k8s_quota *ret,
		     struct err *err) ATTR_NODISCARD;

/** A copy in one block; free it with free(). NULL: out of memory. */
struct k8s_limit_range *k8s_limit_range_dup(const struct k8s_limit_range *self) ATTR_NODISCARD;
struct k8s_quota *k8s_quota_dup(const struct k8s_quota *self) ATTR_NODISCARD;

/** k8s_limit_rules_init starts without rules; then add LimitRanges in the order of their names. Cost: the items of the
 * LimitRange. */
void k8s_limit_rules_init(struct k8s_limit_rules *self);
void k8s_limit_rules_add(struct k8s_limit_rules *self, const struct k8s_limit_range *range);
/** Applies what LimitRanger does to a pod before any webhook: containers, including init containers, get defaults for
 * absent limits and requests. Call it after k8s_pod_default(). Values that it sets have the text "". */
void k8s_limit_rules_default(const struct k8s_limit_rules *self, struct k8s_pod *pod);

/** One kind of amount (requests or limits) of a container or of a whole pod. */
struct k8s_total {
	bool has;
	__int128 nano;
};
/** The value of one container; `has` false: none. */
struct k8s_total k8s_container_total(const struct k8s_container *container, enum k8s_resource resource, bool is_limit);
/** The bits of a container's name in a set of names (a Bloom filter), the same in every process; one name in a hundred
 * is found by chance. */
uint64_t k8s_name_bits(const char *name);
/** The total of the containers whose names are in the set (UINT64_MAX: all): the larger of main and sidecar containers
 * together, and each init container with the sidecars started before it. `has`: any of them has a value. */
struct k8s_total k8s_containers_total(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit,
				      uint64_t names);
/** The same of a pod: pod-level resources override it. */
struct k8s_total k8s_pod_total_of(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit, uint64_t names);
/** The same of all containers. Quotas and the scheduler count the overhead too, LimitRanges do not. */
struct k8s_total k8s_pod_total(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit,
			       bool with_overhead);
/** An amount of nano units in bytes (cpu: millicores), rounded up. */
int64_t k8s_value_of(enum k8s_resource resource, __int128 nano);

/** The values in pod templates, summed over their pods, without overhead (which a RuntimeClass adds to pods). */
struct k8s_declared {
	int64_t pods;
	int64_t variants; /* 1: all pods are equal; 0: not known. Sums of sums add it up, so it is not exact above 1 */
	int64_t amounts[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_]; /* bytes, millicores */
	/* The names of all containers, k8s_name_bits() of each: containers that others inject are not declared. 0: not
	 * known. */
	uint64_t names;
	/* Number of containers without a value: each gets a LimitRange's default in addition. */
	int64_t lacking[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_];
};
/** Adds `replicas` pods of one template, which is not changed. @return 0 or -ENOMEM. */
int k8s_declared_add(struct k8s_declared *self, const struct k8s_pod *pod, int64_t replicas,
		     struct arena *arena) ATTR_NODISCARD;

/** Bounds and totals on the same scale: bytes or millicores as nano units. */
__int128 k8s_bound_nano(enum k8s_resource resource, int64_t bound);

/** Whether LimitRanger would reject these amounts for a bound (min, max or ratio) of this value, which must not be
 * K8S_NO_BOUND. */
bool k8s_bound_refuses(enum k8s_bound bound, enum k8s_resource resource, int64_t value, struct k8s_total request,
		       struct k8s_total limit);

/** Whether the quota counts this pod. If this cannot be decided (CrossNamespacePodAffinity, scopes of later releases),
 * true: obeying one quota too many causes no rejection. */
bool k8s_quota_matches(const struct k8s_quota *self, const struct k8s_pod *pod);
/** The two parts of k8s_quota_matches: scopes that a change of requests and limits may affect (BestEffort,
 * NotBestEffort), and all others, which cost a comparison with each of their values. */
bool k8s_quota_matches_qos(const struct k8s_quota *self, enum k8s_qos qos);
bool k8s_quota_matches_rest(const struct k8s_quota *self, const struct k8s_pod *pod);
/** Whether k8s_quota_matches() is exact for all pods. */
bool k8s_quota_is_decidable(const struct k8s_quota *self);
/** Whether the quota rejects pods with a container without this amount, as quotas of cpu and memory do; pod-level
 * resources count for all containers. */
bool k8s_quota_demands(const struct k8s_quota *self, enum k8s_quota_field field, enum k8s_resource resource);
