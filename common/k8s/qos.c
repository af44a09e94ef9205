/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/phases.h"

/* What the API server and the scheduler compute from a pod's resources. Sums are taken over exact quantities and
 * rounded once, as Kubernetes does. Sources: pkg/apis/core/v1/defaults.go (SetDefaults_Pod, defaultPodRequests),
 * pkg/apis/core/v1/helper/qos/qos.go, component-helpers/resource/helpers.go (PodRequests). */

const char *const k8s_qos_names[3] = {"BestEffort", "Burstable", "Guaranteed"};

/* The API server knows no ephemeral-storage at pod level. */
static bool is_pod_level(int resource)
{
	return resource == K8S_CPU || resource == K8S_MEMORY;
}

static __int128 containers_request_nano(const struct k8s_pod *pod, int resource, bool *ret_has_any)
{
	struct k8s_phases phases = {.together = 0};

	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct k8s_container *container = &pod->containers[i];
		const struct k8s_amount *amount = &container->resources.requests[resource];

		if (amount->text && ret_has_any)
			*ret_has_any = true;
		k8s_phases_add(&phases, container->type, amount->quantity.nano);
	}
	return k8s_phases_most(&phases);
}

static int64_t value_of(__int128 nano, int resource)
{
	struct quantity quantity = {.nano = nano};

	return resource == K8S_CPU ? quantity_milli_value(&quantity) : quantity_value(&quantity);
}

static void default_requests(struct k8s_resources *resources)
{
	for (int i = 0; i < K8S_RESOURCE_COUNT_; i++)
		if (resources->limits[i].text && !resources->requests[i].text) {
			resources->requests[i] = resources->limits[i];
			resources->has_requests = true;
		}
	if (resources->has_limits && resources->n_extended)
		resources->has_requests = true;
}

static void default_pod_requests(struct k8s_pod *pod)
{
	struct k8s_resources *resources = &pod->resources;

	if (!pod->has_pod_resources || !resources->has_limits)
		return;
	for (int i = 0; i < K8S_RESOURCE_COUNT_; i++) {
		bool has_any = false;
		__int128 nano = containers_request_nano(pod, i, &has_any);

		if (!is_pod_level(i) || resources->requests[i].text)
			continue;
		if (has_any)
			resources->requests[i] = (struct k8s_amount){
				.text = "",
				.quantity = {.nano = nano, .format = resources->limits[i].quantity.format},
				.value = value_of(nano, i)};
		else
			resources->requests[i] = resources->limits[i];
		if (resources->requests[i].text)
			resources->has_requests = true;
	}
}

void k8s_pod_default(struct k8s_pod *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		default_requests(&pod->containers[i].resources);
	default_pod_requests(pod);
}

struct qos_sums {
	__int128 requests[2], limits[2]; /* cpu, memory */
	bool has_request[2], has_limit[2];
	bool has_all_limits; /* every container has both */
};

static void qos_add(struct qos_sums *sums, const struct k8s_resources *resources)
{
	for (int i = 0; i < 2; i++) {
		__int128 request = resources->requests[i].quantity.nano, limit = resources->limits[i].quantity.nano;

		if (resources->requests[i].text && request > 0) {
			sums->requests[i] += request;
			sums->has_request[i] = true;
		}
		if (resources->limits[i].text && limit > 0) {
			sums->limits[i] += limit;
			sums->has_limit[i] = true;
		} else {
			sums->has_all_limits = false;
		}
	}
}

enum k8s_qos k8s_pod_qos(const struct k8s_pod *pod)
{
	struct qos_sums sums = {.has_all_limits = true};

	if (pod->has_pod_resources)
		qos_add(&sums, &pod->resources);
	else
		for (size_t i = 0; i < pod->n_containers; i++)
			qos_add(&sums, &pod->containers[i].resources);
	if (!sums.has_request[0] && !sums.has_request[1] && !sums.has_limit[0] && !sums.has_limit[1])
		return K8S_QOS_BEST_EFFORT;
	for (int i = 0; i < 2; i++)
		if (!sums.has_all_limits || !sums.has_request[i] || sums.requests[i] != sums.limits[i])
			return K8S_QOS_BURSTABLE;
	return K8S_QOS_GUARANTEED;
}

int64_t k8s_pod_effective_request(const struct k8s_pod *pod, enum k8s_resource resource)
{
	const struct k8s_amount *pod_level = &pod->resources.requests[resource];
	__int128 nano = containers_request_nano(pod, (int)resource, NULL);

	if (pod->has_pod_resources && is_pod_level((int)resource) && pod_level->text)
		nano = pod_level->quantity.nano;
	return value_of(nano + pod->overhead[resource].quantity.nano, (int)resource);
}
