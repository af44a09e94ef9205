/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* wait_events: reads the Events of pods that have not been scheduled for long, and records in the table of pods which
 * resources an autoscaler says are missing. The scheduler cannot say it for a node pool that is scaled to zero.
 *
 * Events are listed, not watched, as there are far more of them than such pods. Cost: at most one list a second, of one
 * pod of each run, repeated after `after_ms`; the API server reads the Events of the pod's namespace from etcd for it.
 * Needs the RBAC right to list Events. Threads: the client's. */
#include "kube/kube_client.h"

struct pods;
struct wait_events;

struct wait_events_config {
	struct pods *pods;
	int64_t after_ms; /* the Events of a pod are read when it has waited this long */
	/** Events could not be read; they are read again after `after_ms`. */
	void (*failed)(void *context, const struct err *why);
	void *context;
};

/** @return 0; -ENOMEM. */
int wait_events_new(struct kube_client *client, const struct wait_events_config *config, struct wait_events **ret,
		    struct err *err) ATTR_NODISCARD;
/** Cancels a list that is in progress. NULL is allowed. */
void wait_events_free(struct wait_events *self);
/** Call it about once a second. Starts to read the Events of the next pod, unless a list is in progress. */
void wait_events_turn(struct wait_events *self);
