/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cycle_record: records what a cycle did in the store (report/cycle_status.h), at once if it differs from the last
 * record, otherwise every CYCLE_RECORD_MS. Main thread. */
#include "report/cycle_status.h"
#include "store/store.h"

#define CYCLE_RECORD_MS (5 * TIME_MINUTE_MS)

/** Initialise with zeros. */
struct cycle_record {
	char *said;	 /* heap: the last record without its times; NULL: none */
	int64_t said_ms; /* monotonic */
};

/** Writes the record if it is due. After a failure the next call tries again. `now_ms`: monotonic. @return 0; 1:
 * nothing to write; as store_status_save. */
int cycle_record_leave(struct cycle_record *self, struct store *store, const struct cycle_status *status,
		       int64_t now_ms, struct err *err) ATTR_NODISCARD;
void cycle_record_release(struct cycle_record *self);
