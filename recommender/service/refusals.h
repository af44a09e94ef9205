/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* refusals: owners whose pods a ResourceQuota on memory has refused, by the Events that their controllers write
 * (reason FailedCreate; the words are the API server's: "exceeded quota: NAME, requested: requests.memory=.., used:
 * .."). No field of the owners says it. An owner is forgotten a day after the last such Event.
 * Threads: the client's, but refusals_mark, which any thread may call. */
#include "evidence/evidence.h"
#include "kube/kube_client.h"

struct refusals;

struct refusals_config {
	/** An owner that was not known before. */
	void (*refused)(void *context, const char *namespace_name, const char *uid);
	void (*failed)(void *context, const struct err *why); /* of list or watch; each is tried again */
	void *context;
};

/** Starts to list at the next poll. Callbacks come from the client's poll. @return 0; -ENOMEM. */
int refusals_start(struct kube_client *client, const struct refusals_config *config, struct refusals **ret,
		   struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void refusals_free(struct refusals *self);
/** END_QUOTA to all pods of these owners. */
void refusals_mark(struct refusals *self, struct evidence_batch *batch);

/** Does the message of an Event say that a quota on memory refused a pod? For tests. */
bool refusals_is_memory_quota(const char *message);
