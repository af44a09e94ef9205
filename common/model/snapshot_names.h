/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot_names: hash tables of profiles by the names of their objects, one for each set of a snapshot: 12 bytes a
 * slot, with references to profiles. Once a snapshot holds a table, builders copy it before they write to it. Private
 * to the snapshot. Cost of a search: as many neighbouring slots as are occupied, which a seeded hash keeps few; of a
 * copy: linear in the table. */
#include "model/profile.h"
#include "model/snapshot_facts.h"

struct snapshot_names {
	struct fact fact;
	struct profile **profiles; /* NULL: a free slot */
	uint32_t *tags;		   /* the upper half of the hash */
	uint32_t capacity, n;
};

/** The name of an object with its seeded hash. Texts are borrowed. */
struct snapshot_name {
	uint64_t hash;
	const char *namespace_name, *name;
};

struct snapshot_name snapshot_name_of(const char *namespace_name, const char *name);

/** A copy with its own references and room for `room` more entries. `from` may be NULL. NULL: out of memory. */
struct fact *snapshot_names_copy(const struct fact *from, uint32_t room) ATTR_NODISCARD;
/** Shrinks the table to four fifths full, where looking up an absent name compares 13 neighbouring tags. */
void snapshot_names_shrink(struct fact *self);
/** The profile of this name, borrowed. NULL: none. `self` may be NULL. */
struct profile *snapshot_names_find(const struct fact *self, const struct snapshot_name *name);
/** Adds a reference to a profile; the table must not have its name. @return 0 or -ENOMEM (unchanged). */
int snapshot_names_add(struct fact *self, const struct snapshot_name *name, struct profile *profile) ATTR_NODISCARD;
/** Removes the profile of this name and its reference. */
void snapshot_names_remove(struct fact *self, const struct snapshot_name *name);
