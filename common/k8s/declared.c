/* SPDX-License-Identifier: Apache-2.0 */
/* declared: the sum of what the pod templates of one object request. */
#include "k8s/limits.h"

#include "k8s/phases.h"

#include <errno.h>
#include <string.h>

/* Larger values are not plausible; sums of so many objects cannot overflow. */
#define PODS_MAX     ((int64_t)1 << 30)
#define DECLARED_MAX ((int64_t)1 << 53)

/* The number of containers at a time, added up as k8s_pod_total() does. */
static int64_t lacking_of(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit)
{
	const struct k8s_resources *of_pod = &pod->resources;
	struct k8s_phases phases = {.together = 0};

	STEPS(pod->n_containers);
	if (pod->has_pod_resources && resource != K8S_EPHEMERAL_STORAGE &&
	    (is_limit ? of_pod->limits : of_pod->requests)[resource].text)
		return 0;
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct k8s_container *container = &pod->containers[i];

		k8s_phases_add(&phases, container->type, !k8s_container_total(container, resource, is_limit).has);
	}
	return (int64_t)k8s_phases_most(&phases);
}

/* Adds `n` times `each`. @return false: the pods before have another value. */
static bool add(int64_t *sum, int64_t each, int64_t n, int64_t n_before)
{
	bool is_alike = (__int128)each * n_before == *sum;

	*sum = (int64_t)MIN((__int128)each * n + *sum, (__int128)DECLARED_MAX);
	return is_alike;
}

int k8s_declared_add(struct k8s_declared *self, const struct k8s_pod *pod, int64_t replicas, struct arena *arena)
{
	int64_t n = MIN(replicas, PODS_MAX);
	struct k8s_pod copy = *pod;
	bool is_alike = self->variants > 0;

	if (n <= 0)
		return 0;
	copy.containers = arena_array(arena, pod->n_containers + 1, sizeof(*copy.containers));
	if (!copy.containers)
		return -ENOMEM;
	if (pod->n_containers)
		memcpy(copy.containers, pod->containers, pod->n_containers * sizeof(*copy.containers));
	k8s_pod_default(&copy);
	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++) {
			enum k8s_resource resource = (enum k8s_resource)r;
			bool is_limit = f == K8S_QUOTA_LIMITS;
			struct k8s_total total = k8s_pod_total(&copy, resource, is_limit, false);

			is_alike &= add(&self->amounts[f][r], MIN(k8s_value_of(resource, total.nano), DECLARED_MAX), n,
					self->pods);
			is_alike &= add(&self->lacking[f][r], lacking_of(&copy, resource, is_limit), n, self->pods);
		}
	for (size_t i = 0; i < copy.n_containers; i++)
		self->names |= k8s_name_bits(copy.containers[i].name);
	self->variants += !is_alike;
	self->pods = MIN(self->pods + n, PODS_MAX);
	return 0;
}
