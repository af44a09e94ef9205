/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* refusals: finds owners whose pods were rejected by a ResourceQuota on memory. No field of an owner says it, so it
 * watches the Events that controllers write (reason FailedCreate, with the API server's message "exceeded quota: NAME,
 * requested: requests.memory=.., used: .."). An owner is kept for 12 to 24 hours after its last such Event. Threads:
 * the client's; refusals_mark may be called from any thread. */
#include "evidence/evidence.h"
#include "kube/kube_client.h"

struct refusals;

struct refusals_config {
	/** Called for an owner that was not known before. */
	void (*refused)(void *context, const char *namespace_name, const char *uid);
	void (*failed)(void *context, const struct err *why); /* a list or watch failed and is retried */
	void *context;
};

/** Starts to list at the next poll. Callbacks run inside kube_client_poll. @return 0; -ENOMEM. */
int refusals_start(struct kube_client *client, const struct refusals_config *config, struct refusals **ret,
		   struct err *err) ATTR_NODISCARD;
/** Stops the watch. NULL is allowed. */
void refusals_free(struct refusals *self);
/** Sets END_QUOTA in all pods of these owners. Cost: linear in the pods of the batch. */
void refusals_mark(struct refusals *self, struct evidence_batch *batch);

/** Whether the message of an Event says that a quota on memory rejected a pod. Exported for tests. */
bool refusals_is_memory_quota(const char *message);
