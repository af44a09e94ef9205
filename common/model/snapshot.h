/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot: everything that decide() knows besides the pod: profiles, node shapes, namespaces, owners. Immutable,
 * with an atomic reference count. It is divided into sets, so that a snapshot made from an older one copies only those
 * that changed. Lookups allocate nothing and take constant time, or the logarithm of a set. Any number of threads read;
 * one thread builds. */
#include "base/err.h"
#include "k8s/limits.h"
#include "k8s/pod.h"
#include "k8s/vpa.h"
#include "model/identity.h"
#include "model/node_shape.h"
#include "model/profile.h"

struct snapshot;
struct snapshot_builder;

/** Facts of a namespace. All optional. */
struct namespace_facts {
	const char *name;
	const char *mode;				   /* label memtamer.io/mode; NULL: absent */
	bool is_ignored;				   /* label memtamer.io/ignore: "true" */
	const struct k8s_limit_range *const *limit_ranges; /* sorted by name */
	/* Sorted by name. Their use is that of the status or, where it is larger, that of all known pods. */
	const struct k8s_quota *const *quotas;
	size_t n_limit_ranges, n_quotas;
	struct k8s_limit_rules rules; /* of all LimitRanges; filled by the snapshot */
};

/** Facts of an object that owns pods, or owns owners of pods. A quota is checked for all pods of the topmost owner
 * together. */
struct owner_facts {
	const char *uid;
	const char *parent_uid; /* of its controller; NULL: none, it is a root */
	uint64_t parent_target; /* k8s_vpa_target() of its controller, which may be unknown; 0: none */
	int64_t created_ms;	/* its creationTimestamp; 0: not known */
	int64_t pods;		/* number of pods at its full size, without finished ones; 0: not known */
	int64_t ranks;		/* the same, including finished pods; 0: not known */
	bool is_queued;		/* its labels say that a queue counts its pods */
	/* The resources in its templates, for `pods` and the finished pods. */
	struct k8s_declared declared;
	int64_t held_pods; /* of its pods those that exist and are counted by quotas */
	/* The amounts of quotas that these pods use: requests and limits with overhead; bytes, millicores. */
	int64_t held[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_];
};

/** Facts of a ClusterQueue of Kueue. */
struct queue_facts {
	const char *name;
	bool is_covered[K8S_RESOURCE_COUNT_]; /* Kueue never admits requests of a resource that is not covered */
	/* The most of a covered resource that a workload can get from one flavor: bytes, millicores. INT64_MAX: no
	 * limit. */
	int64_t most[K8S_RESOURCE_COUNT_];
};

/** Adds a reference. @return self. */
struct snapshot *snapshot_ref(struct snapshot *self);
struct snapshot *snapshot_unref(struct snapshot *self); /* NULL is allowed; the last reference frees; returns NULL */

/** The profile that has this key (as workload or alias) in the namespace, for role and container. NULL: none. */
const struct profile *snapshot_profile(const struct snapshot *self, const char *namespace_name, const char *key,
				       const char *role, const char *container);
/** A container of a workload. */
struct snapshot_container {
	const char *namespace_name, *role, *container;
	const char *run_key; /* from identity; NULL: only the keys of the workload are known */
	bool is_main;
};
/** The profile whose spec.workloadRef names this container. `key`: a key of the workload. A reference with role and
 * container has precedence over one with only the container, then only the role, then neither; among equal ones the
 * oldest object, then the smallest name. NULL: none. */
const struct profile *snapshot_profile_of_ref(const struct snapshot *self, const struct snapshot_container *of,
					      const char *key);
/** Whether the spec of this profile is about the workload that its status is about. */
bool snapshot_is_own_spec(const struct profile *learned);
/** The profiles of one container of a pod, found by the best of its keys. */
struct snapshot_found {
	const struct profile *learned; /* the profile with its recommendation; NULL: no history */
	/* The profile whose spec applies: one that names the workload (spec.workloadRef); else the learned one, unless
	 * it names another workload; else one with the workload's id as name (identity_id) that waits for its first
	 * run. NULL: none. */
	const struct profile *decided;
};
/** Finds the profiles of a container by the keys of `identity`, best first. `is_main`: it is the pod's main container.
 * Cost: a lookup for each key. */
struct snapshot_found snapshot_find(const struct snapshot *self, const char *namespace_name,
				    const struct identity *identity, const char *container, bool is_main);
/** A profile by object name, for example `memtamer-namespace` (modeCap). NULL: none. */
const struct profile *snapshot_profile_by_name(const struct snapshot *self, const char *namespace_name,
					       const char *name);
/** All node shapes, borrowed. */
const struct node_shape *snapshot_node_shapes(const struct snapshot *self, size_t *ret_n);
/** Whether all shapes with this accelerator resource are known, so that node size may limit sizes. */
bool snapshot_shapes_complete(const struct snapshot *self, const char *resource);
/** NULL: the namespace is not known, or has no label of ours, no limits and no quotas. */
const struct namespace_facts *snapshot_namespace(const struct snapshot *self, const char *name);
/** The root owner above the object of this uid. NULL: the uid or a parent above it is not known. */
const struct owner_facts *snapshot_root_owner(const struct snapshot *self, const char *uid);
/** The ClusterQueue that a LocalQueue names. NULL: not known. */
const char *snapshot_local_queue(const struct snapshot *self, const char *namespace_name, const char *name);
/** The ClusterQueue behind a LocalQueue. NULL: the LocalQueue or the ClusterQueue is not known. */
const struct queue_facts *snapshot_queue(const struct snapshot *self, const char *namespace_name,
					 const char *local_queue);
/** The VerticalPodAutoscaler whose target is an owner of a pod: its controller, or an owner above it as far as known.
 * Those in update mode Off do not count. The topmost one counts; among those with the same target the oldest, then the
 * one with the smallest name. While the snapshot does not have the controller, the owner above it is taken from its
 * name (k8s_vpa_target_of_maker). NULL: none. Cost: the logarithm of their number for each of at most eight owners. */
const struct k8s_vpa *snapshot_vpa(const struct snapshot *self, const char *namespace_name,
				   const struct k8s_owner *controller);
/** Whether the PriorityClass of this name is marked as critical in the cluster. Names in the configuration are not
 * included. */
bool snapshot_is_critical_class(const struct snapshot *self, const char *name);
size_t snapshot_profile_count(const struct snapshot *self);
int64_t snapshot_built_ms(const struct snapshot *self);

/** Starts from `base` (NULL: empty). NULL: out of memory. Functions of the builder return 0 or -ENOMEM unless they say
 * otherwise; after -ENOMEM only snapshot_builder_free may be called, unless a function says otherwise. Adding or
 * removing a profile copies only the sets that its name and its keys are in. */
struct snapshot_builder *snapshot_builder_new(const struct snapshot *base) ATTR_NODISCARD;
/** NULL is allowed. */
void snapshot_builder_free(struct snapshot_builder *self);
/** Adds or replaces a profile, and takes ownership in any case. If two profiles learned the same key, the one that was
 * updated later has it, then the one with the smaller name; if that one is removed, the other has it again. */
int snapshot_builder_put(struct snapshot_builder *self, struct profile *take_profile) ATTR_NODISCARD;
/** Adds a copy of a draft, or the equal profile of the snapshot that snapshot_builder_share set. */
int snapshot_builder_put_copy(struct snapshot_builder *self, const struct profile *draft) ATTR_NODISCARD;
/** Profiles of `old` are shared instead of copied if they are equal: a store that is read again has mostly the same
 * ones. `old` must outlive the builder. */
void snapshot_builder_share(struct snapshot_builder *self, const struct snapshot *old);
/** Removes a profile, if it is there. */
int snapshot_builder_remove(struct snapshot_builder *self, const char *namespace_name, const char *name) ATTR_NODISCARD;
/** Removes every profile for which `keeps` returns false. */
int snapshot_builder_keep(struct snapshot_builder *self,
			  bool (*keeps)(void *context, const char *namespace_name, const char *name),
			  void *context) ATTR_NODISCARD;
/** Removes previous recommendations that cannot apply to any pod at `now_ms` or later (profile.h). */
int snapshot_builder_forget_previous(struct snapshot_builder *self, int64_t now_ms) ATTR_NODISCARD;
/** Copies the shape; replaces one of the same name. */
int snapshot_builder_put_shape(struct snapshot_builder *self, const struct node_shape *shape) ATTR_NODISCARD;
/** Removes all node shapes. */
int snapshot_builder_clear_shapes(struct snapshot_builder *self) ATTR_NODISCARD;
/** Sets the labels of a namespace. Its LimitRanges and ResourceQuotas are set by the functions below; the lists in
 * `facts` are not read. */
int snapshot_builder_put_namespace(struct snapshot_builder *self, const struct namespace_facts *facts) ATTR_NODISCARD;
/** Removes the namespace and everything in it. */
int snapshot_builder_remove_namespace(struct snapshot_builder *self, const char *name) ATTR_NODISCARD;
/** Copies; replaces one of the same name in its namespace, which need not be known. */
int snapshot_builder_put_limit_range(struct snapshot_builder *self, const struct k8s_limit_range *range) ATTR_NODISCARD;
int snapshot_builder_remove_limit_range(struct snapshot_builder *self, const char *namespace_name,
					const char *name) ATTR_NODISCARD;
int snapshot_builder_put_quota(struct snapshot_builder *self, const struct k8s_quota *quota) ATTR_NODISCARD;
/** Removes all quotas of a namespace. */
int snapshot_builder_clear_quotas(struct snapshot_builder *self, const char *namespace_name) ATTR_NODISCARD;
/** Adds a PriorityClass that is marked as critical. */
int snapshot_builder_put_critical_class(struct snapshot_builder *self, const char *name) ATTR_NODISCARD;
int snapshot_builder_remove_critical_class(struct snapshot_builder *self, const char *name) ATTR_NODISCARD;
/** Sets the ClusterQueue that a LocalQueue names, which need not be known. @return 0; 1: there are LIMIT_LOCAL_QUEUES
 * others, nothing is added; -ENOMEM. */
int snapshot_builder_put_local_queue(struct snapshot_builder *self, const char *namespace_name, const char *name,
				     const char *cluster_queue) ATTR_NODISCARD;
int snapshot_builder_remove_local_queue(struct snapshot_builder *self, const char *namespace_name,
					const char *name) ATTR_NODISCARD;
void snapshot_builder_clear_local_queues(struct snapshot_builder *self);
/** Copies. The caller must not exceed LIMIT_CLUSTER_QUEUES. */
int snapshot_builder_put_queue(struct snapshot_builder *self, const struct queue_facts *facts) ATTR_NODISCARD;
int snapshot_builder_remove_queue(struct snapshot_builder *self, const char *name) ATTR_NODISCARD;
/** Copies; replaces the whole list. Cost: n log n. @return 0; -ENOMEM (unchanged). */
int snapshot_builder_set_vpas(struct snapshot_builder *self, const struct k8s_vpa *const *vpas,
			      size_t n) ATTR_NODISCARD;
/** Copies the facts of an owner; replaces those of the same uid. */
int snapshot_builder_put_owner(struct snapshot_builder *self, const struct owner_facts *facts) ATTR_NODISCARD;
int snapshot_builder_remove_owner(struct snapshot_builder *self, const char *uid) ATTR_NODISCARD;
/** Makes a snapshot with one reference and frees the builder in any case. NULL: out of memory. */
struct snapshot *snapshot_builder_finish(struct snapshot_builder *take_self, int64_t now_ms) ATTR_NODISCARD;
