/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot_keys: profiles by the keys of workloads, in sorted lists, one for each set of a snapshot: 16 bytes an entry,
 * with references to profiles. Any number of profiles may have the same key, whoever writes them: the one that counts
 * comes first, and the next one takes over when it is removed. Among learned keys the profile that was updated last
 * counts, among workloads named in specs the oldest object; then the smallest name. A list is immutable; a builder
 * collects changes and merges them into a new one. Private to the snapshot. */
#include "base/vec.h"
#include "model/profile.h"
#include "model/snapshot_facts.h"

/** Which key of a profile: one of these, or SNAPSHOT_BY_ALIAS + index. */
enum { SNAPSHOT_BY_REF, SNAPSHOT_BY_REF_MADE, SNAPSHOT_BY_WORKLOAD, SNAPSHOT_BY_ALIAS };
/** Key spaces, which are separate: workloads named in specs, what these make, learned keys. */
enum snapshot_space { SNAPSHOT_REFS, SNAPSHOT_REFS_MADE, SNAPSHOT_KEYS };

/** A key to look up. */
struct snapshot_probe {
	uint64_t hash;
	const char *namespace_name, *key, *role, *container;
	enum snapshot_space space;
};

/** Stands for a role or a container that spec.workloadRef leaves open. No name contains this character. */
#define SNAPSHOT_ANY "*"

struct snapshot_key {
	struct profile *profile;
	uint32_t tag; /* 28 bits of hash, and 4 bits for which key of the profile it is */
	int32_t sign; /* of a change: 1 adds the key, -1 removes it; of an entry: 1 */
};

struct snapshot_keys {
	struct fact fact;
	struct snapshot_key *items;
	size_t n;
};

/** Changes of one list, with references to their profiles. */
struct key_changes {
	struct snapshot_key *items;
	size_t n, capacity;
};

/** Makes a probe, including its seeded hash. Texts are borrowed. */
struct snapshot_probe snapshot_probe_key(enum snapshot_space space, const char *namespace_name, const char *key,
					 const char *role, const char *container);
/** The end of `which` of this profile; not each has a key. */
unsigned int snapshot_keys_end(const struct profile *profile);
/** Whether the profile has this key, and no other one of the same text. */
bool snapshot_has_key(const struct profile *profile, unsigned int which);
/** The hash of a key of a profile. */
uint64_t snapshot_key_hash(const struct profile *profile, unsigned int which);

/** The profile that counts for this key, borrowed. NULL: none. `self` may be NULL. Cost: the logarithm of the list. */
struct profile *snapshot_keys_find(const struct fact *self, const struct snapshot_probe *probe);
/** Notes that a key is added (`sign` 1), or that a key which is there is removed (-1). @return 0; 1: there are so many
 * changes that they should be merged; -ENOMEM. */
int key_changes_note(struct key_changes *self, const struct fact *list, struct profile *profile, unsigned int which,
		     uint64_t hash, int32_t sign) ATTR_NODISCARD;
/** Makes a list with all changes, and drops these in any case. `from` may be NULL. Cost: the list, and n log n in the
 * changes. NULL: out of memory. */
struct fact *snapshot_keys_merge(const struct fact *from, struct key_changes *take_changes) ATTR_NODISCARD;
void key_changes_release(struct key_changes *self);
