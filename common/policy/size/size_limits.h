/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size_limits: a patch must not make the API server reject a pod. size_limits_range.c (LimitRanges) and
 * size_limits_quota.c (ResourceQuotas) find what the namespace rejects of the pod with its new sizes and did not reject
 * without them; size_limits_queue.c finds what the pod's ClusterQueue would never admit. size_limits_repair.c reduces
 * or drops proposals; size_limits.c does this in rounds until nothing is left.
 *
 * Cost: each container is repaired by itself first. Then the sums of the pod are checked at most 256 times, each time
 * for the containers and the namespace's quotas (at most LIMIT_NAMESPACE_QUOTAS) one after the other, not times each
 * other. Private to policy/. */
#include "base/limits.h"
#include "policy/size/size_fit.h"

enum breach_kind {
	BREACH_TOO_MUCH, /* the field must be reduced by `bytes` */
	BREACH_TOO_LITTLE,
	BREACH_RATIO, /* the request must grow by `bytes`, or the limit shrink by `limit_bytes` */
	/* a quota that did not count the pod would count it, and rejects it because of an absent value */
	BREACH_COUNTED,
};

struct breach {
	enum breach_kind kind;
	enum k8s_resource resource;
	int field;			    /* REQUEST or LIMIT */
	const struct k8s_container *within; /* in deciding.after; NULL: the pod as a whole */
	int64_t bytes, limit_bytes;
	const char *why; /* text, in the arena */
};

/** Sums of a pod, indexed by field (REQUEST, LIMIT) and resource. */
struct pod_sums {
	struct k8s_total own[2][K8S_RESOURCE_COUNT_];		/* as LimitRanges count */
	struct k8s_total with_overhead[2][K8S_RESOURCE_COUNT_]; /* as quotas count */
	bool lacks[2][K8S_RESOURCE_COUNT_]; /* a container has no value, and there are no pod-level resources */
	enum k8s_qos qos;
};

/** The values of all pods of the root owner without us, if they differ. */
struct owner_sums {
	bool is_known;
	__int128 all, own; /* nano units: of all pods, of this pod */
};

/** Shared by all rounds of one decision. */
struct limits {
	struct deciding *self;
	struct pod_sums was, now;
	const struct k8s_quota *quotas[LIMIT_NAMESPACE_QUOTAS]; /* that may count the pod */
	size_t n_quotas;
	bool has_too_many_quotas;
	int64_t pods; /* number of pods of the root owner; 0: not known */
	struct owner_sums owner[2][K8S_RESOURCE_COUNT_];
};

/** Finds the first breach of the pod with its sizes. @return false: there is none. */
bool limits_breach(struct deciding *self, struct breach *ret);
/** Carries out one step against a breach. */
void limits_repair(struct deciding *self, const struct breach *breach);
/** Shuts all open proposals of memory (`is_all`: and of ephemeral storage). */
void limits_drop_all(struct deciding *self, bool is_all, const char *why);
/** size_limits_range.c: finds the first breach of a LimitRange by one container. */
bool ranges_breach_container(const struct deciding *self, const struct sized *item, struct breach *ret);
/** Finds the first breach of a LimitRange by the pod as a whole. `now` must be set. */
bool ranges_breach(const struct limits *limits, struct breach *ret);
/** A size that is only mentioned in a finding becomes at most what a container may have. */
void ranges_cap_words(const struct deciding *self, struct field *field, enum k8s_resource resource);
/** Fills the part that concerns quotas. */
void quotas_init(struct limits *limits);
/** The values of all pods of the owner. `limits->pods` must be set. */
struct owner_sums limits_owner_sums(const struct limits *limits, enum k8s_resource resource, int field);
/** size_limits_queue.c: finds the first breach of what the ClusterQueue can admit. `now` must be set. */
bool queue_breach(const struct limits *limits, struct breach *ret);
/** Finds the first breach of a quota. `now` must be set. */
bool quotas_breach(const struct limits *limits, struct breach *ret);

/** The name of a rule for a text. NULL: the arena is full. */
const char *limits_name(const struct deciding *self, const char *name);
/** Nano units as bytes, rounded up. */
int64_t limits_bytes(__int128 nano);
/** "96Gi", "1500m". NULL: the arena is full. */
const char *limits_amount_text(const struct deciding *self, enum k8s_resource resource, int64_t amount);
