/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* caps_count: counts runs and harmed runs of namespaces, from the histories in the store. */
#include "base/strmap.h"
#include "store/store.h"

struct caps_count {
	const char *namespace_name;
	int64_t from_ms, since_ms; /* runs that ended before from_ms or began before since_ms do not count */
	struct strmap runs;	   /* by uid; used inside caps_count */
	/* runs in the lists of histories; a run with several roles or containers counts once */
	int n, harmed;
	int64_t n_dropped; /* runs that dropped out of the lists, counted for each history */
	/* harmed runs that dropped out: the largest number of any one history, as histories may share them */
	int64_t harmed_dropped;
};

/** Counts for all `n` items in one pass over all histories. The caller sets namespace_name, from_ms and since_ms; all
 * else must be 0. Cost: reads all histories. @return 0; -ENOMEM; as store_visit. */
int caps_count(struct store *store, struct caps_count *items, size_t n, struct err *err) ATTR_NODISCARD;
