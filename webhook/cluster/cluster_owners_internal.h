/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What owners and their pods share: an owner's place, and the sums in it. */
#include "cluster/cluster_owners.h"

struct held {
	int64_t seen; /* pods that ever were, also those that are gone */
	int64_t pods, amounts[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_];
};

/* An owner's pods at its full size, and what they are made with. */
struct full {
	int64_t pods;
	struct k8s_declared declared;
};

struct owner {
	struct table_node by_uid, by_name;
	struct owner *parent, *next_dirty;
	const void *source;
	bool is_known, is_dirty, is_in_snapshot, is_ring, is_suspended;
	size_t users; /* children and pods */
	struct full own, children;
	int64_t own_ranks, created_ms;
	uint64_t parent_kind;
	struct burst *burst; /* its pods are coming; NULL: all have come, or nobody saw the beginning */
	struct held held;
	char uid[];
};

/** The place of an owner, known or not. NULL when memory is out. */
struct owner *owners_at(struct owners *self, const char *uid);
/** Add to what is held below `owner` and all above it; `sign` -1 takes it away. */
void owners_add_held(struct owners *self, struct owner *owner, const struct held *held, int sign);
/** At the end: owners are not told. */
void owners_release_pods(struct owners *self);
