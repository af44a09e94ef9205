/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* phases: how much of something a pod's containers need at a time: main containers and sidecars together, or an init
 * container beside the sidecars that were started before it. Source: component-helpers/resource/helpers.go
 * (PodRequests). Cost: constant for each container. */
#include "k8s/pod.h"

#include "base/limits.h"

struct k8s_phases {
	__int128 together, sidecars, init_peak;
};

/** Adds a container. Containers must be added in the order of k8s_pod.containers. */
static inline void k8s_phases_add(struct k8s_phases *self, enum k8s_container_type type, __int128 own)
{
	if (type != K8S_CONTAINER_MAIN)
		self->init_peak = MAX(self->init_peak, own + self->sidecars);
	if (type != K8S_CONTAINER_INIT)
		self->together += own;
	if (type == K8S_CONTAINER_SIDECAR)
		self->sidecars += own;
}

static inline __int128 k8s_phases_most(const struct k8s_phases *self)
{
	return MAX(self->together, self->init_peak);
}
