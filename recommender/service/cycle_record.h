/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cycle_record: leaves what a cycle did in the store (report/cycle_status.h), but no oftener than it says something new
 * or CYCLE_RECORD_MS are over. Main thread. */
#include "report/cycle_status.h"
#include "store/store.h"

#define CYCLE_RECORD_MS (5 * TIME_MINUTE_MS)

/** All zeros to begin with. */
struct cycle_record {
	char *said;	 /* heap: the last one without its times; NULL: none */
	int64_t said_ms; /* monotonic */
};

/** @return 0; 1 nothing new; as store_status_save, then it is tried again by the next call. */
int cycle_record_leave(struct cycle_record *self, struct store *store, const struct cycle_status *status,
		       int64_t now_ms, struct err *err) ATTR_NODISCARD;
void cycle_record_release(struct cycle_record *self);
