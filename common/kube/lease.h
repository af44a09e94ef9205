/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* lease: one leader at a time, by a coordination.k8s.io/v1 Lease, as client-go's leader election does it, so that both
 * may share one.
 *
 * Another holder counts as gone when its record has not changed for its leaseDuration by our own monotonic clock:
 * clocks of machines are never compared. A leader that cannot renew for renew_deadline, or sees that another
 * holds it, stops leading, and stands for election again. Annotations of the Lease are kept, and may carry state of the
 * leader: they are written with the next renewal and with the release. Callbacks must not free the lease. Threads: the
 * client's. */
#include "kube/kube_client.h"

struct lease;

struct lease_config {
	const char *namespace, *name;		       /* of the Lease */
	const char *identity;			       /* ours: unique, and new for every start of the process */
	int64_t lease_ms, renew_deadline_ms, retry_ms; /* 0: 15 s, 10 s, 2 s */
	void (*started)(void *context);		       /* we lead from now on */
	void (*stopped)(void *context);		       /* we do not lead any more; another may already */
	void (*new_leader)(void *context, const char *identity); /* seen; "" when it was given up. May be NULL */
	void (*failed)(void *context, const struct err *why);	 /* one try; may be NULL */
	void *context;
};

/** Everything is copied. Stands for election from the next poll on. @return 0; -EINVAL (times that cannot work);
 * -ENOMEM.
 */
int lease_start(struct kube_client *client, const struct lease_config *config, struct lease **ret,
		struct err *err) ATTR_NODISCARD;
/** Without giving it up: others wait until it expires. NULL allowed. */
void lease_free(struct lease *self);
/** Do we lead, by our own clock, at this moment? False as soon as the last renewal is older than renew_deadline, even
 *  if nobody has polled since. */
bool lease_is_leader(const struct lease *self);
/** Until when of time_monotonic_ms() that holds, if nothing more is heard; 0: we do not lead. What another thread may
 *  go by. */
int64_t lease_leads_until_ms(const struct lease *self);
/** Who holds it, as last seen; "" for nobody. */
const char *lease_holder(const struct lease *self);
/** Stop, and if we lead give it up so that another need not wait; polls the client for at most `timeout_ms`. `stopped`
 * is called before. @return 0; 1 not reached in time; a negative number: not given up. Only lease_free may follow. */
int lease_give_up(struct lease *self, int64_t timeout_ms, struct err *err) ATTR_NODISCARD;
/** The same without waiting, for those who must not poll: later polls give it up, or fail to. Only lease_has_left and
 *  lease_free may follow. */
void lease_leave(struct lease *self);
bool lease_has_left(const struct lease *self);
/** How far our wall clock is ahead of the API server's (behind: negative), by when it says that it took our last write;
 *  to a second or so, plus the way there and back. False: not known. */
bool lease_clock_ahead(const struct lease *self, int64_t *ret_ms);
