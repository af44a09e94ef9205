/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_owners: finds the topmost owner of pods. A pod names only its controller. To find a CronJob, a RayJob or an
 * AppWrapper above the controller, each controller of a kind that may have an owner (k8s/kinds.h) is requested once
 * from the API server and its answer is cached by uid.
 *
 * A controller counts as topmost if it does not exist any more, if it may not be read, or if requests for it have
 * failed for two minutes. When the cache is full, the oldest entries are evicted.
 *
 * Cost: at most 64 requests at a time, at most `limit` entries. Threads: the client's. */
#include "base/hashtable.h"
#include "kube/kube_client.h"
#include "pods/sighting.h"

struct pod_owner;

struct pod_owners {
	struct kube_client *client;
	/** An answer arrived: call pod_owners_root again. Runs inside kube_client_poll. */
	void (*answered)(void *context);
	/** A request failed, for example because the kind may not be read. Runs inside kube_client_poll or
	 * pod_owners_root. */
	void (*failed)(void *context, const struct err *why);
	void *context;
	size_t limit;	  /* maximum number of entries; 0: LIMIT_POD_OWNERS */
	int64_t pause_ms; /* delay after the first failure, doubled after each further failure; 0: 4 s */

	struct hashtable by_uid;
	VEC(struct pod_owner *) entries; /* in the order in which they were added */
	size_t next, in_flight;		 /* next: entries before it have been requested; in_flight: open requests */
	size_t n_used;			 /* entries whose answer pod_owners_root has returned */
	struct kube_timer timer;	 /* retries failed requests */
};

/** Cancels open requests without calling callbacks, and frees all entries. */
void pod_owners_release(struct pod_owners *self);
/** Finds the topmost owner above `owner`, or `owner` itself if it has no owner.
 * @param ret the topmost owner, borrowed until the next call.
 * @return 0; 1: not known yet, `answered` is called when it may be; -ENOMEM. */
int pod_owners_root(struct pod_owners *self, const char *namespace_name, const struct sighting_owner *owner,
		    const struct sighting_owner **ret);
