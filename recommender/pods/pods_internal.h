/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pods_internal: the table that pods.c, pods_ends.c and pods_ignored.c fill and pods_batch.c reads. */
#include "kube/reflector.h"
#include "pods/pod_list.h"
#include "pods/pod_owners.h"
#include "pods/pods.h"

#include <pthread.h>
#include <stdatomic.h>

struct pods {
	struct pods_config config;

	/* Used by the client's thread only. */
	struct reflector *reflector;
	struct kube_client *client;
	struct arena scratch;
	struct pod_owners owners;
	struct kube_timer roots_timer;

	pthread_mutex_t mutex; /* protects all fields below; only the client's thread changes `live` and `apart` */
	struct pod_list live;
	struct pod_list apart;	     /* pods of ignored namespaces, which exist */
	VEC(struct sighting *) gone; /* in the order in which the pods went */
	_Atomic int64_t seq;	     /* read by other threads without the mutex, like is_synced */
	atomic_bool is_synced;
	struct pods_figures figures;
	struct pods_found_end ends[LIMIT_DIAGNOSE_RUNS];
	size_t n_ends; /* all that were added */
};

/** Puts a sighting into `apart`. With the mutex. @return 0; -ENOMEM (not taken). */
int pods_keep_apart(struct pods *self, struct sighting *take_now) ATTR_NODISCARD;
/** Calls `visit` for each sighting, with the mutex held. @return false if `visit` returned false, which ends the
 * loop. */
bool pods_visit_all(struct pods *self, pods_visit_fn *visit, void *context);
