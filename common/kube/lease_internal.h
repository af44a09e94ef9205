/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* lease_internal: what lease.c (the election) and lease_object.c (the Lease as JSON) share. */
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
	struct json_object *object;	 /* as last read or written; NULL: never */
	char record[LEASE_RECORD_BYTES]; /* the election's part of it, to see a change */
	char holder[256], told_holder[256], acquire_time[TIME_TEXT_BYTES + 8];
	int64_t duration_ms, transitions;
	int64_t observed_ms;	     /* when the record changed, by our clock */
	int64_t sent_ms, renewed_ms; /* when the write was sent, and the last that succeeded */
	int64_t ahead_ms;	     /* of the API server's clock; has_ahead: known */
	bool has_ahead;
	bool is_leading, is_giving_up, is_given_up, has_told_holder;
	int give_up_code;
	struct err give_up_err;
};

static inline bool lease_is_ours(const struct lease *self)
{
	return streq(self->holder, self->config.identity);
}

/** Take the object as the server has it now. @return 0; -EINVAL. */
int lease_observe(struct lease *self, struct json_object *object, struct err *err) ATTR_NODISCARD;
/** The body of a write: all of the Lease as it was, with our spec. NULL: out of memory, or no object. */
struct json_object *lease_make_body(struct lease *self) ATTR_NODISCARD;
