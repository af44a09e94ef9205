/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster_owners: which objects own pods, how they hang together, how many pods each has at its full size, and what
 * the pods that exist hold of quotas, summed up along the chain to the root (snapshot.h: owner_facts).
 * Parts may come in any order: a pod before its Job, a Job before its JobSet. An owner that is only spoken of has a
 * place where sums are gathered until it is known itself. Threads: belongs to one thread. */
#include "cluster/cluster_bursts.h"

struct owner;

struct owners {
	struct table by_uid, by_name, pods;
	struct bursts bursts;
	struct owner *dirty; /* not yet as the snapshot has them */
};

/** An object that owns pods, or owns what owns them. */
struct owner_object {
	const char *uid;
	const char *parent_uid; /* NULL: it is a root, or nobody tells of its parent */
	uint64_t parent_kind;	/* kind_bit() of k8s/kinds.h; 0: not known */
	const char *namespace;
	int64_t pods;  /* by its own templates; 0: not known, then what its children make */
	int64_t ranks; /* the same, finished ones too */
	/* What its templates say, where pods are known. */
	struct k8s_declared declared;
	int64_t created_ms; /* 0: not known */
	/* Monotonic, when it was told; and which state of it that was, 0 where that is not one that was told as it came
	 * about: what a list tells of may have had pods before. */
	int64_t heard_ms;
	uint64_t version;
	bool is_suspended;  /* makes no pods now; what it makes when it goes on is another beginning */
	const void *source; /* who told, for owners_remove_source */
};

/** What a pod holds: bytes, millicores. */
struct owner_pod {
	const char *namespace, *name;
	const char *controller_uid; /* "": nobody's */
	int64_t held[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_];
};

void owners_release(struct owners *self);
/** `name` is a hash of kind, namespace and name: deletions may tell no uid.
 *  @return 0; OWNERS_BEGIN: the same, and its pods, which wait until it is known, are about to come; -ENOMEM. */
enum { OWNERS_BEGIN = 1 };
int owners_put(struct owners *self, uint64_t name, const struct owner_object *object) ATTR_NODISCARD;
bool owners_knows(const struct owners *self, const char *uid);
void owners_remove(struct owners *self, uint64_t name);
/** All of one source. */
void owners_remove_source(struct owners *self, const void *source);
/** Also replaces. @return 0; -ENOMEM. */
int owners_put_pod(struct owners *self, const struct owner_pod *pod) ATTR_NODISCARD;
void owners_remove_pod(struct owners *self, const char *namespace, const char *name);
/** All pods of a namespace. */
void owners_remove_pods(struct owners *self, const char *namespace);
/** A state of a quota: what owners that begin have to share. @return 0; -ENOMEM. */
int owners_put_quota(struct owners *self, const struct k8s_quota *quota, uint64_t version,
		     int64_t now_ms) ATTR_NODISCARD;
void owners_remove_quota(struct owners *self, const char *namespace, const char *name);
bool owners_are_dirty(const struct owners *self);
/** Put into the snapshot what has changed. @return 0; -ENOMEM. */
int owners_flush(struct owners *self, struct snapshot_builder *builder) ATTR_NODISCARD;
