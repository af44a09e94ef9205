/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot_facts: tables of small facts by name, shared between snapshots. Entries are immutable and have a reference
 * count, so copying a table costs one pointer an entry, and an update costs one new entry, which its builder may change
 * again. Private to the snapshot. */
#include "base/strmap.h"
#include "base/vec.h"
#include "model/snapshot.h"

#include <stdatomic.h>

/** The head of an entry, or of a table or list that is shared as a whole. */
struct fact {
	atomic_int refs;
	const char *key;		    /* lives as long as the entry; "" of a table or list */
	void (*release)(struct fact *self); /* frees what the entry owns beside itself; NULL: nothing */
};

/** LimitRanges or ResourceQuotas. They are sorted by name, so that every replica decides alike, whatever it saw first.
 */
struct named_items {
	struct strmap by_name; /* owns the items */
	VEC(void *) sorted;    /* has room for all */
};

struct namespace_entry {
	struct fact fact;
	struct named_items ranges, quotas;
	char *mode;		      /* NULL: absent */
	struct namespace_facts facts; /* points to the above; lists and rules are those of namespace_entry_finish() */
	bool is_changed;	      /* since then */
};

struct owner_entry {
	struct fact fact;
	struct owner_facts facts;
};

/** A table. Once a snapshot holds it, builders copy it before they write to it. */
struct fact_table {
	struct fact fact;
	struct strmap entries; /* key -> struct fact */
};

/** An entry of `size` bytes, which begin with a struct fact and are 0 behind it, with copies of its key and of another
 * text (NULL: none, *ret_text is unchanged). NULL: out of memory. */
struct fact *fact_new(size_t size, const char *key, const char *text, const char **ret_text) ATTR_NODISCARD;
struct fact *fact_ref(struct fact *self); /* NULL is allowed; returns self */
void fact_unref(struct fact *self);	  /* NULL is allowed */
/** A copy of a table. `from` may be NULL. NULL: out of memory. */
struct fact *fact_table_copy(const struct fact *from) ATTR_NODISCARD;
/** Adds an entry, or replaces one of the same key; frees it on failure. @return 0 or -ENOMEM. */
int fact_table_put(struct fact *self, struct fact *take_fact) ATTR_NODISCARD;
void fact_table_remove(struct fact *self, const char *key);		     /* nothing, if the key is not there */
const struct fact *fact_table_get(const struct fact *self, const char *key); /* `self` may be NULL */

/** The part of a namespace that changes. */
struct namespace_change {
	const struct namespace_facts *labels; /* NULL: unchanged */
	const struct k8s_limit_range *limit_range;
	const struct k8s_quota *quota;
	const char *without_limit_range; /* name to remove; NULL: none */
	bool without_quotas;
};
/** A new entry: a copy of `old` (NULL: none). NULL: out of memory. */
struct fact *namespace_entry_new(const char *name, const struct namespace_entry *old) ATTR_NODISCARD;
/** Changes an entry that nobody else has. Cost: what is changed. @return 0 or -ENOMEM. */
int namespace_entry_change(struct namespace_entry *self, const struct namespace_change *change) ATTR_NODISCARD;
/** Sets the sorted lists and the rules of an entry. Cost: n log n in its LimitRanges and quotas, if it changed. */
void namespace_entry_finish(struct namespace_entry *self);
/** An entry with a copy of the facts. NULL: out of memory. */
struct fact *owner_entry_new(const struct owner_facts *facts) ATTR_NODISCARD;
