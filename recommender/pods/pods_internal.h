/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pods_internal: the table, as pods.c fills it and pods_batch.c tells it. */
#include "kube/reflector.h"
#include "pods/pod_list.h"
#include "pods/pod_owners.h"
#include "pods/pods.h"

#include <pthread.h>

struct pods {
	struct pods_config config;

	/* Of the client's thread. */
	struct reflector *reflector;
	struct kube_client *client;
	struct arena scratch;
	struct pod_owners owners;
	struct kube_timer roots_timer;

	pthread_mutex_t mutex; /* for what follows; what is in the API is changed by the client's thread only */
	struct pod_list live;
	VEC(struct sighting *) gone; /* by when they went */
	int64_t seq;
	bool is_synced;
	struct pods_figures figures;
};

/** Each sighting, with the mutex held; false when `visit` ended it. */
bool pods_visit_all(struct pods *self, pods_visit_fn *visit, void *context);
