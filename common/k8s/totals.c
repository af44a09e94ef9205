/* SPDX-License-Identifier: Apache-2.0 */
/* totals: what the containers of a pod request together. */
#include "k8s/limits.h"

#include "base/hash.h"
#include "base/str.h"
#include "k8s/phases.h"

struct k8s_total k8s_container_total(const struct k8s_container *container, enum k8s_resource resource, bool is_limit)
{
	const struct k8s_resources *resources = &container->resources;
	const struct k8s_amount *amount = is_limit ? &resources->limits[resource] : &resources->requests[resource];

	return (struct k8s_total){.has = amount->text != NULL, .nano = amount->quantity.nano};
}

uint64_t k8s_name_bits(const char *name)
{
	uint64_t hash = hash_stable(HASH_STABLE_INIT, name, strlen(name));

	return (uint64_t)1 << (hash & 63) | (uint64_t)1 << (hash >> 24 & 63) | (uint64_t)1 << (hash >> 48 & 63);
}

struct k8s_total k8s_containers_total(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit,
				      uint64_t names)
{
	struct k8s_total total = {.has = false};
	struct k8s_phases phases = {.together = 0};

	STEPS(pod->n_containers);
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct k8s_container *container = &pod->containers[i];
		struct k8s_total own = k8s_container_total(container, resource, is_limit);

		if (names != UINT64_MAX && (~names & k8s_name_bits(container->name)))
			continue;
		total.has |= own.has;
		k8s_phases_add(&phases, container->type, own.nano);
	}
	total.nano = k8s_phases_most(&phases);
	return total;
}

struct k8s_total k8s_pod_total_of(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit, uint64_t names)
{
	const struct k8s_amount *own = is_limit ? &pod->resources.limits[resource] : &pod->resources.requests[resource];

	if (pod->has_pod_resources && resource != K8S_EPHEMERAL_STORAGE && own->text)
		return (struct k8s_total){.has = true, .nano = own->quantity.nano};
	return k8s_containers_total(pod, resource, is_limit, names);
}

struct k8s_total k8s_pod_total(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit, bool with_overhead)
{
	struct k8s_total total = k8s_pod_total_of(pod, resource, is_limit, UINT64_MAX);

	if (with_overhead && pod->overhead[resource].text && (total.has || !is_limit)) {
		total.has = true;
		total.nano += pod->overhead[resource].quantity.nano;
	}
	return total;
}

int64_t k8s_value_of(enum k8s_resource resource, __int128 nano)
{
	struct quantity quantity = {.nano = nano};

	return resource == K8S_CPU ? quantity_milli_value(&quantity) : quantity_value(&quantity);
}
