/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot: all that decide() knows besides the pod: profiles, node shapes, namespaces, owners. Immutable and
 * refcounted (atomically); hash-sharded, so that a new one made from an old one copies only the shards that changed.
 * Lookups are O(1) and allocate nothing. Any number of threads read; one thread builds. */
#include "base/err.h"
#include "k8s/limits.h"
#include "k8s/pod.h"
#include "model/node_shape.h"
#include "model/profile.h"

struct snapshot;
struct snapshot_builder;

/** What is known of a namespace. All optional. */
struct namespace_facts {
	const char *name;
	const char *mode;				   /* label memtamer.io/mode; NULL: absent */
	bool is_ignored;				   /* label memtamer.io/ignore: "true" */
	const struct k8s_limit_range *const *limit_ranges; /* by name */
	const struct k8s_quota *const *quotas;		   /* by name */
	size_t n_limit_ranges, n_quotas;
};

/** A quota as it was at a time. */
struct quota_base {
	const char *name;
	struct k8s_quota_amount amounts[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_], pods;
};

/** What is known of an object that owns pods, or owns what owns them. The topmost one counts: a quota is judged for all
 *  its pods together. */
struct owner_facts {
	const char *uid;
	const char *parent_uid; /* of its own controller; NULL: none, it is a root */
	uint64_t parent_kind;	/* kind_bit() of k8s/kinds.h; 0: not known */
	int64_t created_ms;	/* its creationTimestamp; 0: not known */
	int64_t pods;		/* how many it has at its full size, finished ones left out; 0: not known */
	int64_t ranks;		/* finished ones too; 0: not known */
	/* What its pods are made with, the finished ones too: of its templates, as `pods`. */
	struct k8s_declared declared;
	bool is_suspended; /* it makes no pods now: one that comes comes before the news that it was let go */
	int64_t held_pods; /* of the pods those that exist and are counted by quotas */
	/* What these hold of quotas: their requests and limits with overhead; bytes, millicores. */
	int64_t held[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_];
	/* While pods of a root are yet to come: the quotas as they were before the first of them, the same figures on
	 * every replica. None where they are not known, and once all its pods were seen: then the present counts. */
	const struct quota_base *bases;
	size_t n_bases;
};

struct snapshot *snapshot_ref(struct snapshot *self);
struct snapshot *snapshot_unref(struct snapshot *self); /* returns NULL; NULL allowed; the last one frees */

/** First profile that has this key (as workload or alias) in the namespace, for role and container; NULL when none. */
const struct profile *snapshot_profile(const struct snapshot *self, const char *namespace_name, const char *key,
				       const char *role, const char *container);
/** By object name; for the profile `memtamer-namespace` (modeCap). */
const struct profile *snapshot_profile_by_name(const struct snapshot *self, const char *namespace_name,
					       const char *name);
const struct node_shape *snapshot_node_shapes(const struct snapshot *self, size_t *ret_n);
/** Is the list of shapes known to be complete for this accelerator resource (then node size may cap)? */
bool snapshot_shapes_complete(const struct snapshot *self, const char *resource);
/** NULL: nothing is known of it, or it has neither a label of ours nor limits nor quotas. */
const struct namespace_facts *snapshot_namespace(const struct snapshot *self, const char *name);
/** The root owner of what this uid is: follows parents as far as they are known. NULL when the uid is not known, or a
 *  parent on the way is not. */
const struct owner_facts *snapshot_root_owner(const struct snapshot *self, const char *uid);
/** Is the news of this object, or of a parent up to its root, still on its way? Objects of that kind are watched, and
 *  this one is not known, or known as a root that is suspended. */
bool snapshot_awaits_owner(const struct snapshot *self, const struct k8s_owner *owner);
/** Is a PriorityClass of this name marked as critical (by the cluster; names of the configuration are not in here)? */
bool snapshot_is_critical_class(const struct snapshot *self, const char *name);
size_t snapshot_profile_count(const struct snapshot *self);
int64_t snapshot_built_ms(const struct snapshot *self);

/** Start from `base` (may be NULL: empty). Upserts and removals touch only their shard. */
struct snapshot_builder *snapshot_builder_new(const struct snapshot *base) ATTR_NODISCARD;
void snapshot_builder_free(struct snapshot_builder *self);
/** Take the profile (freed on failure; after -ENOMEM the builder is only good for snapshot_builder_free). Two profiles
 *  that claim one key: the one updated later wins that key, then the one whose object name sorts first; when the winner
 *  goes, the other one has it again. */
int snapshot_builder_put(struct snapshot_builder *self, struct profile *take_profile) ATTR_NODISCARD;
/** Put a copy of a draft; where `snapshot_builder_share` gave a snapshot that has the very same profile, that one. */
int snapshot_builder_put_copy(struct snapshot_builder *self, const struct profile *draft) ATTR_NODISCARD;
/** A store that is read anew has mostly what was there before: profiles of `old`, which must outlive the builder, are
 *  shared instead of kept twice. */
void snapshot_builder_share(struct snapshot_builder *self, const struct snapshot *old);
int snapshot_builder_remove(struct snapshot_builder *self, const char *namespace_name, const char *name) ATTR_NODISCARD;
/** Remove every profile that `keeps` says no to. */
int snapshot_builder_keep(struct snapshot_builder *self,
			  bool (*keeps)(void *context, const char *namespace_name, const char *name),
			  void *context) ATTR_NODISCARD;
/** Drop from each profile what counted before, where it can count for nobody any more at `now_ms` (profile.h). */
int snapshot_builder_forget_previous(struct snapshot_builder *self, int64_t now_ms) ATTR_NODISCARD;
/** Copies the shape; replaces one of the same name. */
int snapshot_builder_put_shape(struct snapshot_builder *self, const struct node_shape *shape) ATTR_NODISCARD;
int snapshot_builder_clear_shapes(struct snapshot_builder *self) ATTR_NODISCARD;
/** Labels of a namespace, replaced as a whole. Its LimitRanges and ResourceQuotas come by the functions below and stay
 *  as they are; the lists in `facts` are not read. */
int snapshot_builder_put_namespace(struct snapshot_builder *self, const struct namespace_facts *facts) ATTR_NODISCARD;
/** With all that it holds. */
int snapshot_builder_remove_namespace(struct snapshot_builder *self, const char *name) ATTR_NODISCARD;
/** Copies; replaces the one of the same name in its namespace, which need not be known. */
int snapshot_builder_put_limit_range(struct snapshot_builder *self, const struct k8s_limit_range *range) ATTR_NODISCARD;
int snapshot_builder_remove_limit_range(struct snapshot_builder *self, const char *namespace_name,
					const char *name) ATTR_NODISCARD;
int snapshot_builder_put_quota(struct snapshot_builder *self, const struct k8s_quota *quota) ATTR_NODISCARD;
int snapshot_builder_remove_quota(struct snapshot_builder *self, const char *namespace_name,
				  const char *name) ATTR_NODISCARD;
/** A PriorityClass that is marked as critical. */
int snapshot_builder_put_critical_class(struct snapshot_builder *self, const char *name) ATTR_NODISCARD;
int snapshot_builder_remove_critical_class(struct snapshot_builder *self, const char *name) ATTR_NODISCARD;
int snapshot_builder_put_owner(struct snapshot_builder *self, const struct owner_facts *facts) ATTR_NODISCARD;
int snapshot_builder_remove_owner(struct snapshot_builder *self, const char *uid) ATTR_NODISCARD;
/** Of which kinds all owners are told as they come about: kind_bit() of k8s/kinds.h. */
void snapshot_builder_set_owner_kinds(struct snapshot_builder *self, uint64_t kinds);
/** Finish: a snapshot with one reference; the builder is freed in any case. NULL when memory is out. */
struct snapshot *snapshot_builder_finish(struct snapshot_builder *take_self, int64_t now_ms) ATTR_NODISCARD;
