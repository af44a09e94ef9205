/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot_internal: shared by the files of the snapshot. */
#include "base/vec.h"
#include "model/snapshot.h"
#include "model/snapshot_facts.h"
#include "model/snapshot_keys.h"
#include "model/snapshot_names.h"

enum { PARENTS_MAX = 8 }; /* Pod <- Job <- JobSet <- TrainJob is three; a cycle must end */

#define SHARDS	     256
#define OWNER_SHARDS 64 /* owners change with every job: an update copies one of these */

struct shape_list {
	struct fact fact;
	VEC(struct node_shape) items;
};

/* The sets of a snapshot. Each is a table of facts by key, unless the comment has another struct. */
enum snapshot_set {
	SET_SHAPES, /* struct shape_list */
	SET_VPAS,   /* a list of snapshot_vpas.c */
	SET_CRITICAL_CLASSES,
	SET_NAMESPACES,
	SET_LOCAL_QUEUES,		       /* "namespace/name" -> name of the ClusterQueue */
	SET_QUEUES,			       /* name of a ClusterQueue -> its facts */
	SET_OWNERS,			       /* the first of OWNER_SHARDS */
	SET_NAMES = SET_OWNERS + OWNER_SHARDS, /* the first of SHARDS: struct snapshot_names */
	SET_KEYS = SET_NAMES + SHARDS,	       /* the first of SHARDS: struct snapshot_keys */
	SETS = SET_KEYS + SHARDS
};

/* A set is shared until a builder writes to it; NULL: empty. */
struct sets {
	struct fact *items[SETS];
};

/** Facts of an owner. NULL: not known. */
const struct owner_facts *sets_owner(const struct sets *self, const char *uid);

struct snapshot {
	atomic_int refs;
	struct sets sets;
	size_t n_profiles;
	/* n_refs: profiles with a spec.workloadRef; n_blank: those without one and without a workload in their
	 * status */
	size_t n_refs, n_blank;
	int64_t built_ms;
};

struct snapshot_builder {
	struct sets sets;
	bool is_own_set[SETS];
	struct key_changes changes[SHARDS]; /* of the lists of keys */
	size_t n_profiles, n_refs, n_blank;
	const struct snapshot *old; /* profiles of it may be shared; NULL: none */
};

void sets_release(struct sets *self);
/** Adds references to the same sets; `ret` must be empty. */
void sets_share(const struct sets *self, struct sets *ret);
/** Puts `take_fact` into a table, or with NULL removes `key`. The table becomes the builder's own. @return 0 or
 * -ENOMEM. */
int snapshot_change_set(struct snapshot_builder *self, unsigned int set, struct fact *take_fact,
			const char *key) ATTR_NODISCARD;
/** Completes the namespaces that the builder has changed. */
void snapshot_finish_namespaces(struct snapshot_builder *self);
/** Replaces a set by one that is the builder's own. NULL: an empty one. */
void snapshot_replace_set(struct snapshot_builder *self, unsigned int set, struct fact *take_set);
