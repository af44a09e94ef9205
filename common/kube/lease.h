/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* lease: elects one leader with a coordination.k8s.io/v1 Lease, compatible with the leader election of client-go.
 *
 * The lease of another holder has expired when its record did not change for its leaseDuration by this process's
 * monotonic clock; clocks of machines are never compared. A leader that cannot renew within renew_deadline, or reads
 * that another holds the Lease, stops leading and becomes a candidate again.
 * Annotations of the Lease are kept and may carry state of the leader; they are written with the next renewal and with
 * the release. A missing Lease is created. A Lease that was deleted is created again, without its annotations.
 * Callbacks run inside kube_client_poll and must not free the lease. Threads: the client's. */
#include "kube/kube_client.h"

struct lease;

struct lease_config {
	const char *namespace, *name; /* namespace and name of the Lease */
	const char *identity; /* of this candidate; unique, and new for every start of the process; at most 255 bytes */
	int64_t lease_ms, renew_deadline_ms, retry_ms; /* 0: 15 s, 10 s and 2 s */
	void (*started)(void *context);		       /* this process leads from now on */
	void (*stopped)(void *context);		       /* this process no longer leads; another may lead already */
	/* The holder changed; `identity` is "" after a release. May be NULL. */
	void (*new_leader)(void *context, const char *identity);
	void (*failed)(void *context, const struct err *why); /* a try failed; may be NULL */
	void *context;
};

/** Becomes a candidate at the next poll. The strings of `config` are copied.
 *  @return 0; -EINVAL a name is missing, the identity is too long, or not lease_ms > renew_deadline_ms > 1.2 *
 *  retry_ms; -ENOMEM. */
int lease_start(struct kube_client *client, const struct lease_config *config, struct lease **ret,
		struct err *err) ATTR_NODISCARD;
/** Frees the lease without releasing it: other candidates wait until it expires. NULL is allowed. */
void lease_free(struct lease *self);
/** Whether this process leads at this moment, by its own clock. False as soon as the last renewal is older than
 *  renew_deadline, even if nobody has polled since. */
bool lease_is_leader(const struct lease *self);
/** Until when this process leads unless it renews, by time_monotonic_ms; 0: it does not lead. Copy the value for other
 *  threads, so that they need not call the lease. */
int64_t lease_leads_until_ms(const struct lease *self);
/** Stops leading, calls `stopped`, and releases the Lease so that others need not wait. Polls the client for at most
 *  `timeout_ms`. Only lease_free may follow.
 *  @return 0; 1 the Lease was not released in time; <0 it was not released. */
int lease_give_up(struct lease *self, int64_t timeout_ms, struct err *err) ATTR_NODISCARD;
/** The same without waiting, for callers that must not poll: later polls release the Lease or fail to. Only
 *  lease_has_left and lease_free may follow. */
void lease_leave(struct lease *self);
/** Whether the release of lease_leave has succeeded or failed. */
bool lease_has_left(const struct lease *self);
/** How far this machine's wall clock is ahead of the API server's (behind: negative), from the time that the server
 *  noted for the last renewal. Accurate to about a second plus the round trip. @return whether it is known. */
bool lease_clock_ahead(const struct lease *self, int64_t *ret_ms);
