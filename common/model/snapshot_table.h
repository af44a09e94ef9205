/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot_table: the hash table of a snapshot's shard: 12 bytes a slot, with references to profiles. Several entries
 * may have the same key: the one that counts comes first in probe order, so a lookup finds it first, and the next one
 * takes over when it is removed. Among learned keys the profile that was updated last counts, among workloads named in
 * specs the oldest object; then the smallest name. Private to the snapshot. */
#include "model/profile.h"

#include <stdint.h>

struct snapshot_table {
	struct profile **profiles; /* NULL: a free slot */
	uint32_t *tags;		   /* 28 bits of hash, and 4 bits for which key of the profile the entry is */
	uint32_t capacity, n;
};

/* Which key of a profile: SNAPSHOT_BY_NAME ..., or SNAPSHOT_BY_ALIAS + index. */
enum { SNAPSHOT_BY_NAME, SNAPSHOT_BY_REF, SNAPSHOT_BY_REF_MADE, SNAPSHOT_BY_WORKLOAD, SNAPSHOT_BY_ALIAS };

/** Key spaces, which are separate: names of objects, workloads named in specs, learned keys. */
enum snapshot_space { SNAPSHOT_NAMES, SNAPSHOT_REFS, SNAPSHOT_REFS_MADE, SNAPSHOT_KEYS };

/** A key to look up. For a name, role and container are "". */
struct snapshot_probe {
	uint64_t hash;
	const char *namespace_name, *key, *role, *container;
	enum snapshot_space space;
};

/** Stands for a role or a container that spec.workloadRef leaves open. No name contains this character. */
#define SNAPSHOT_ANY "*"

/** Make a probe, including its seeded hash. Texts are borrowed. */
struct snapshot_probe snapshot_probe_name(const char *namespace_name, const char *name);
struct snapshot_probe snapshot_probe_key(enum snapshot_space space, const char *namespace_name, const char *key,
					 const char *role, const char *container);
/** The probe of an entry of a profile; `which` as above. */
struct snapshot_probe snapshot_probe_of(const struct profile *profile, unsigned int which);

void snapshot_table_release(struct snapshot_table *self); /* drops the references */
/** A copy with its own references and room for `room` more entries. @return 0 or -ENOMEM. */
int snapshot_table_copy(const struct snapshot_table *from, uint32_t room, struct snapshot_table *ret) ATTR_NODISCARD;
/** Shrinks the table to four fifths full, where looking up an absent key compares 13 neighbouring tags. */
void snapshot_table_shrink(struct snapshot_table *self);
/** The profile that counts for this key, borrowed. NULL: none. */
struct profile *snapshot_table_find(const struct snapshot_table *self, const struct snapshot_probe *probe);
/** Adds an entry and a reference to the profile. @return 0 or -ENOMEM (unchanged). */
int snapshot_table_add(struct snapshot_table *self, const struct snapshot_probe *probe, struct profile *profile,
		       unsigned int which) ATTR_NODISCARD;
/** Removes the entry of exactly this profile, and its reference. */
void snapshot_table_remove(struct snapshot_table *self, const struct snapshot_probe *probe,
			   const struct profile *profile);
