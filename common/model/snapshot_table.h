/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot_table: the hash table of a snapshot's shard: 12 bytes a slot, profiles referenced, several entries of the
 * same key allowed: the profile updated last stands first in the probe order, so that the first hit wins and the next
 * one takes over when it is removed. Private to the snapshot. */
#include "model/profile.h"

#include <stdint.h>

struct snapshot_table {
	struct profile **profiles; /* NULL: free */
	uint32_t *tags;		   /* 28 bits of hash, 4 bits of which key of the profile the entry stands for */
	uint32_t capacity, n;
};

/* Which key: SNAPSHOT_BY_NAME, SNAPSHOT_BY_WORKLOAD, or SNAPSHOT_BY_ALIAS + index. */
enum { SNAPSHOT_BY_NAME, SNAPSHOT_BY_WORKLOAD, SNAPSHOT_BY_ALIAS };

/** What is looked for. `key` is an object name when `is_name` (role and container do not matter then). */
struct snapshot_probe {
	uint64_t hash;
	const char *namespace_name, *key, *role, *container;
	bool is_name;
};

/** Fill in the hash (seeded) and return the probe. */
struct snapshot_probe snapshot_probe_name(const char *namespace_name, const char *name);
struct snapshot_probe snapshot_probe_key(const char *namespace_name, const char *key, const char *role,
					 const char *container);
/** The probe of an entry of a profile: `which` as above. */
struct snapshot_probe snapshot_probe_of(const struct profile *profile, unsigned int which);

void snapshot_table_release(struct snapshot_table *self); /* drops the references */
/** A copy with its own references, sized for `room` more entries. 0 or -ENOMEM. */
int snapshot_table_copy(const struct snapshot_table *from, uint32_t room, struct snapshot_table *ret) ATTR_NODISCARD;
/** As small as lookups allow: four fifths full, where a key that is not there takes 13 looks at neighbouring tags. */
void snapshot_table_shrink(struct snapshot_table *self);
struct profile *snapshot_table_find(const struct snapshot_table *self, const struct snapshot_probe *probe);
/** Add an entry and a reference. 0 or -ENOMEM (unchanged). */
int snapshot_table_add(struct snapshot_table *self, const struct snapshot_probe *probe, struct profile *profile,
		       unsigned int which) ATTR_NODISCARD;
/** Remove the entry of exactly this profile, and its reference. */
void snapshot_table_remove(struct snapshot_table *self, const struct snapshot_probe *probe,
			   const struct profile *profile);
