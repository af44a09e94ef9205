/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/limits.h"

/* qos: what the API server and the scheduler compute from a pod's resources. Exact quantities are summed and rounded
 * once, as in Kubernetes. Sources: pkg/apis/core/v1/defaults.go (SetDefaults_Pod, defaultPodRequests),
 * pkg/apis/core/v1/helper/qos/qos.go, component-helpers/resource/helpers.go (PodRequests). */

const char *const k8s_qos_names[3] = {"BestEffort", "Burstable", "Guaranteed"};

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
	/* The API server has no ephemeral-storage at pod level. */
	for (int i = 0; i < K8S_EPHEMERAL_STORAGE; i++) {
		struct k8s_total total = k8s_containers_total(pod, (enum k8s_resource)i, false, UINT64_MAX);

		if (resources->requests[i].text)
			continue;
		resources->requests[i] = resources->limits[i];
		if (total.has)
			resources->requests[i] = (struct k8s_amount){
				.text = "",
				.quantity = {.nano = total.nano, .format = resources->limits[i].quantity.format},
				.value = k8s_value_of((enum k8s_resource)i, total.nano)};
		if (resources->requests[i].text)
			resources->has_requests = true;
	}
}

void k8s_pod_default(struct k8s_pod *pod)
{
	STEPS(pod->n_containers);
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

	STEPS(pod->n_containers);
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
	return k8s_value_of(resource, k8s_pod_total(pod, resource, false, true).nano);
}
