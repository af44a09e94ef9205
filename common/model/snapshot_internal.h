/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot_internal: what the files of the snapshot share. */
#include "base/vec.h"
#include "model/snapshot.h"
#include "model/snapshot_facts.h"
#include "model/snapshot_table.h"

#define SHARDS	     256
#define OWNER_SHARDS 64 /* owners come and go with every job: an update copies one of these */

struct shard {
	atomic_int refs;
	struct snapshot_table names, keys;
};

struct shape_list {
	atomic_int refs;
	VEC(struct node_shape) items;
};

/* Everything around the pods: each set is refcounted, shared until a builder writes to it; NULL: empty. */
struct around {
	struct shape_list *shapes;
	struct fact_table *critical_classes;
	struct fact_table *namespaces, *owners[OWNER_SHARDS];
	uint64_t owner_kinds; /* kind_bit() of each */
};

void around_release(struct around *self);
/** References to the same sets; `ret` is empty before. */
void around_share(const struct around *self, struct around *ret);

struct snapshot {
	atomic_int refs;
	struct shard *shards[SHARDS]; /* NULL: empty */
	struct around around;
	size_t n_profiles;
	int64_t built_ms;
};

struct snapshot_builder {
	struct shard *shards[SHARDS];
	bool is_own_shard[SHARDS];
	struct around around;
	bool is_own_shapes, is_own_classes, is_own_namespaces, is_own_owners[OWNER_SHARDS];
	size_t n_profiles;
	const struct snapshot *old; /* whose profiles may be shared; NULL: none */
};
