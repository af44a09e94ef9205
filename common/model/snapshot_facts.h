/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot_facts: tables of small facts by name, shared between snapshots: an entry is immutable and refcounted, so
 * that a copied table costs a pointer an entry, and an update one new entry. Private to the snapshot. */
#include "base/strmap.h"
#include "model/snapshot.h"

#include <stdatomic.h>

/** Head of an entry; the whole is one of the two structs below. */
struct fact {
	atomic_int refs;
	const char *key; /* lives as long as the entry */
	void (*free)(struct fact *self);
};

struct namespace_entry {
	struct fact fact;
	struct namespace_facts facts; /* owns its lists and what they hold */
};

struct owner_entry {
	struct fact fact;
	struct owner_facts facts;
};

/** A table that builders copy before they write to it, once a snapshot holds it. */
struct fact_table {
	atomic_int refs;
	struct strmap entries; /* key -> struct fact */
};

void fact_unref(struct fact *self);			    /* NULL allowed */
struct fact_table *fact_table_ref(struct fact_table *self); /* NULL allowed */
void fact_table_unref(struct fact_table *self);		    /* NULL allowed */
/** A table of one's own with the same entries but the one of `without` (NULL: all). `from` may be NULL. */
struct fact_table *fact_table_copy(const struct fact_table *from, const char *without) ATTR_NODISCARD;
/** Put an entry, freed on failure; it replaces one of the same key. 0 or -ENOMEM. */
int fact_table_put(struct fact_table *self, struct fact *take_fact) ATTR_NODISCARD;
const struct fact *fact_table_get(const struct fact_table *self, const char *key); /* `self` may be NULL */

/** Which part of a namespace an entry takes over, and from where. */
struct namespace_change {
	const struct namespace_facts *labels; /* NULL: as before */
	const struct k8s_limit_range *limit_range;
	const struct k8s_quota *quota;
	const char *without_limit_range, *without_quota; /* names to leave out; NULL: none */
};
/** A new entry: `old` (NULL: nothing known) with the change. NULL when memory is out. */
struct fact *namespace_entry_new(const char *name, const struct namespace_facts *old,
				 const struct namespace_change *change) ATTR_NODISCARD;
struct fact *name_entry_new(const char *name) ATTR_NODISCARD;
struct fact *owner_entry_new(const struct owner_facts *facts) ATTR_NODISCARD;
