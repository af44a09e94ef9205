/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resizer: carries out resizes. For each one it reads what resize_plan needs, plans, patches the pod's subresource
 * `resize`, and follows the kubelet until the result is known. Up to 64 run at a time; on one node the next is planned
 * only after the API server has accepted the one before. After a conflict it reads and plans again. A resize that is
 * infeasible is reverted. If the cluster has no pods/resize (before 1.33), it tries again after an hour.
 *
 * Threads: the client's; resizer_post and resizer_set_used may be called from any thread. */
#include "base/strmap.h"
#include "kube/kube_client.h"
#include "policy/policy.h"
#include "resize/resize.h"

struct resizer;

/** The result of a request. DEFERRED is reported when it is observed, and the final result (APPLIED, INFEASIBLE ...)
 * may follow. Borrowed. */
struct resize_report {
	const struct resize_ask *ask;
	enum resize_result result;
	int64_t from_bytes, to_bytes; /* of the limit; equal if nothing was set */
	const char *why;	      /* the reason; "" */
	const char *remedy;	      /* of HELD_BACK, as in struct resize_plan; else NULL */
};

struct resizer_config {
	struct kube_client *client;
	const struct policy *policy; /* must live as long */
	/** Called from the client's thread. */
	void (*report)(void *context, const struct resize_report *report);
	void *context;
	int64_t follow_ms; /* how long the kubelet's result is awaited; 0: 10 min */
	int64_t poll_ms;   /* first interval between two reads of the pod; 0: 1 s */
};

/** @return 0; -ENOMEM. */
int resizer_new(const struct resizer_config *config, struct resizer **ret, struct err *err) ATTR_NODISCARD;
/** Cancels all jobs without reporting them; patches that were sent stay. NULL is allowed. */
void resizer_free(struct resizer *self);
/** Copies a request into the queue. A request before a kill is dropped while a resize of its container is queued or in
 * progress. A request after a kill replaces a queued one, and waits while one is in progress. @return 0; -ENOMEM;
 * -EAGAIN: LIMIT_RESIZE_ASKS are queued. */
int resizer_post(struct resizer *self, const struct resize_ask *ask) ATTR_NODISCARD;
/** Sets the working sets of pods as just measured, "namespace/name" -> int64_t. They count for three minutes. Takes
 * ownership: `free` is called when they are replaced. */
struct resize_used {
	struct strmap pods;
	void (*free)(struct resize_used *self);
};
void resizer_set_used(struct resizer *self, struct resize_used *take_used);
/** Starts queued requests. Call it after each kube_client_poll. */
void resizer_turn(struct resizer *self);
/** Number of requests that are queued or in progress. Any thread. */
size_t resizer_count(struct resizer *self);
