/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_owners: who owns the owner of a pod, and who owns that. A pod names its controller only; a CronJob, a RayJob or
 * an AppWrapper above it is found by asking for each controller once, of the kinds of k8s/kinds.h that may have one. An
 * answer is kept; who cannot be asked (gone, or not allowed) counts as topmost, and so does whoever was asked for in
 * vain for two minutes. When there are too many, those that were known first are dropped. The client's thread. */
#include "base/strmap.h"
#include "kube/kube_client.h"
#include "pods/sighting.h"

struct pod_owner;

struct pod_owners {
	struct kube_client *client;
	/** Something was answered: ask pod_owners_root again. From inside kube_client_poll. */
	void (*answered)(void *context);
	/** A kind may not be read, and the like. */
	void (*failed)(void *context, const struct err *why);
	void *context;
	size_t limit;	  /* of entries; 0: LIMIT_POD_OWNERS */
	int64_t pause_ms; /* after a failure, twice as long after each further one; 0: 4 s */

	struct strmap by_uid;
	VEC(struct pod_owner *) entries; /* by when they were first needed */
	size_t next, in_flight;		 /* of entries: before `next` nobody is left to ask for */
	size_t n_used;			 /* answered, and the answer was taken */
	struct kube_timer timer;	 /* to ask again */
};

/** Ends what is under way, and forgets. */
void pod_owners_release(struct pod_owners *self);
/** The topmost owner above `owner` (itself, where nobody owns it), borrowed until the next call.
 *  @return 0; 1 not known yet: it is being asked for; -ENOMEM. */
int pod_owners_root(struct pod_owners *self, const char *namespace_name, const struct sighting_owner *owner,
		    const struct sighting_owner **ret);
