/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster_owners: which objects own pods, their owner chains, how many pods each has at its full size, and what the
 * existing pods use of quotas, summed along the chain up to the root (snapshot.h: owner_facts).
 *
 * Objects may arrive in any order: a pod before its Job, a Job before its JobSet. An owner that is only referenced gets
 * an entry, which collects the sums until the owner itself arrives. One thread. Cost of a change: the length of the
 * owner chain, at most 8. */
#include "base/hashtable.h"
#include "model/snapshot.h"

struct owner;

/** What pods use of quotas: their number, and requests and limits with overhead in bytes and millicores. */
struct quota_use {
	int64_t pods, amounts[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_];
};

struct owners {
	struct hashtable by_uid, by_name;
	struct owner *dirty; /* list of owners that differ from the snapshot */
};

/** An object that owns pods, or owns owners of pods. */
struct owner_object {
	const char *uid;
	const char *parent_uid; /* NULL: a root, or its parent is not watched */
	uint64_t parent_target; /* k8s_vpa_target() of its controller, watched or not; 0: none */
	int64_t pods;		/* according to its own templates; 0: not known, then the sum of its children */
	int64_t ranks;		/* the same, including finished pods */
	/* The resources in its templates, if `pods` is known. */
	struct k8s_declared declared;
	int64_t created_ms; /* 0: not known */
	bool is_queued;	    /* as in struct owner_facts */
	const void *source; /* identifies the watch, for owners_remove_source */
};

/** Frees all owners. The pods must have been removed before. */
void owners_release(struct owners *self);
/** Adds or replaces an owner. `name` is a hash of kind, namespace and name, since deletions may not contain the uid.
 * @return 0; -ENOMEM. */
int owners_put(struct owners *self, uint64_t name, const struct owner_object *object) ATTR_NODISCARD;
/** Removes the owner of this name; the sums of its pods stay until the pods are removed. */
void owners_remove(struct owners *self, uint64_t name);
/** Removes all owners of one source. Cost: the number of owners. */
void owners_remove_source(struct owners *self, const void *source);
/** Adds the use of a new pod to its controller and all owners above. @return the controller, which stays valid until
 * owners_remove_pod; NULL: out of memory. */
struct owner *owners_add_pod(struct owners *self, const char *controller_uid,
			     const struct quota_use *use) ATTR_NODISCARD;
/** Subtracts the use that was added for a pod. */
void owners_remove_pod(struct owners *self, struct owner *controller, const struct quota_use *use);
/** The uid of an owner, borrowed. */
const char *owner_uid(const struct owner *self);
/** Adds `other`; with `sign` -1 subtracts it. */
void quota_use_add(struct quota_use *self, const struct quota_use *other, int sign);
/** Whether owners changed since the last owners_flush. */
bool owners_are_dirty(const struct owners *self);
/** Puts the owners that changed into the snapshot. Cost: their number. @return 0; -ENOMEM. */
int owners_flush(struct owners *self, struct snapshot_builder *builder) ATTR_NODISCARD;
