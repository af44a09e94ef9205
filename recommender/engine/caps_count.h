/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* caps_count: how much harm was done in namespaces, from the histories of the store. */
#include "base/strmap.h"
#include "store/store.h"

struct caps_count {
	const char *namespace_name;
	int64_t from_ms, since_ms; /* runs that ended before, or began before, do not count */
	struct strmap runs;	   /* by uid; private */
	int n, harmed;		   /* runs, whatever roles and containers have a history of them */
	int64_t n_dropped;	   /* runs that are in no list any more */
	int64_t harmed_dropped;	   /* of the history that has most of those, as they may be other ones' too */
};

/** Count in all of them, by one reading of all histories. @return 0; -ENOMEM; as store_visit. */
int caps_count(struct store *store, struct caps_count *items, size_t n, struct err *err) ATTR_NODISCARD;
