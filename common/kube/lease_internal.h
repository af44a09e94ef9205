/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* lease_internal: shared by lease.c (the election) and lease_object.c (the Lease as JSON). */
#include "base/arena.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "kube/lease.h"

#define LEASE_RECORD_BYTES 1024

enum step { STEP_FAST_UPDATE, STEP_READ, STEP_CREATE, STEP_UPDATE };

struct lease {
	struct kube_client *client;
	struct lease_config config;
	struct arena arena;
	struct kube_timer next_try, deadline;
	struct kube_call *call;
	enum step step;
	struct json_object *object;	 /* as last read or written; NULL: neither happened yet */
	char record[LEASE_RECORD_BYTES]; /* the fields of the election as text, to detect a change */
	char holder[256], acquire_time[TIME_TEXT_BYTES + 8];
	int64_t duration_ms, transitions;
	int64_t observed_ms;	     /* monotonic: when the record last changed */
	int64_t sent_ms, renewed_ms; /* monotonic: when the last request, and the last successful renewal, was sent */
	int64_t ahead_ms;	     /* see lease_clock_ahead; valid with has_ahead */
	bool has_ahead;
	bool is_leading, is_giving_up, is_given_up;
	int give_up_code;
	struct err give_up_err;
};

static inline bool lease_is_ours(const struct lease *self)
{
	return streq(self->holder, self->config.identity);
}

/** Stores the Lease as the API server has it now. `ret_has_new_holder` is true also at the first call.
 *  @return 0; -EINVAL. */
int lease_observe(struct lease *self, struct json_object *object, bool *ret_has_new_holder,
		  struct err *err) ATTR_NODISCARD;
/** Makes the body of a write: the Lease as last read, with a spec for this process. The caller owns it. NULL: out of
 *  memory, or no Lease was read yet. */
struct json_object *lease_make_body(struct lease *self) ATTR_NODISCARD;
