/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator_pod: what containers and pods request; the names are in accelerator.c. */
#include "k8s/accelerator.h"

static int64_t saturating_mul(int64_t a, int64_t b)
{
	int64_t product;

	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t saturating_add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* HAMi divides a device by resources of its own beside nvidia.com/gpu: a percentage says the share, MiB do not. @return
 * thousandths of a device; 0: not known; -1: not divided. */
static int64_t hami_milli(const struct k8s_resources *resources)
{
	STEPS(2 * resources->n_extended);
	for (size_t i = 0; i < resources->n_extended; i++) {
		const struct k8s_extended *item = &resources->extended[i];

		if (item->count > 0 && item->count < 100 && streq(item->name, "nvidia.com/gpumem-percentage"))
			return item->count * 10;
		if (item->count > 0 && streq(item->name, "nvidia.com/gpumem"))
			return 0;
	}
	return -1;
}

bool accelerator_of_container(const struct k8s_container *container, struct accelerator_ask *ret)
{
	const struct k8s_resources *resources = &container->resources;
	struct accelerator_ask ask = {.resource = ""};
	int64_t hami = hami_milli(resources);
	bool is_known = true;

	for (size_t i = 0; i < resources->n_extended; i++) {
		const struct k8s_extended *item = &resources->extended[i];
		int64_t milli;

		STEPS(1);
		if (item->milli < 0 || (item->count <= 0 && !item->is_invalid))
			continue;
		milli = saturating_mul(item->count, hami >= 0 ? hami : item->milli);
		if (!*ask.resource) {
			ask.resource = item->name;
			ask.count = item->count;
		}
		is_known = is_known && milli > 0;
		ask.milli = saturating_add(ask.milli, milli);
	}
	ask.by_claim = resources->n_claims > 0;
	if (!is_known || ask.by_claim)
		ask.milli = 0;
	*ret = ask;
	return *ask.resource || ask.by_claim;
}

/* KAI shares devices by annotations; the pod names no resource. gpu-memory (MiB) does not say the share. */
static bool ask_of_annotations(const struct k8s_pod *pod, struct accelerator_ask *ret)
{
	const char *fraction = k8s_label_get(&pod->annotations, "gpu-fraction");
	const char *devices = k8s_label_get(&pod->annotations, "gpu-fraction-num-devices");
	struct quantity share = {.nano = 0}, n = {.nano = 0};

	if (!fraction && !k8s_label_get(&pod->annotations, "gpu-memory"))
		return false;
	*ret = (struct accelerator_ask){.resource = "", .by_annotation = true};
	if (!fraction || quantity_parse(fraction, strlen(fraction), &share, NULL) || share.nano <= 0)
		return true;
	ret->milli = quantity_milli_value(&share);
	if (devices && !quantity_parse(devices, strlen(devices), &n, NULL) && n.nano > 0)
		ret->milli = saturating_mul(ret->milli, quantity_value(&n));
	return true;
}

bool accelerator_of_pod(const struct k8s_pod *pod, struct accelerator_ask *ret)
{
	struct accelerator_ask sum = {.resource = ""};
	bool is_known = true;

	for (size_t i = 0; i < pod->n_containers; i++) {
		struct accelerator_ask ask;

		if (pod->containers[i].type == K8S_CONTAINER_INIT ||
		    !accelerator_of_container(&pod->containers[i], &ask))
			continue;
		if (!*sum.resource)
			sum.resource = ask.resource;
		if (streq(sum.resource, ask.resource))
			sum.count = saturating_add(sum.count, ask.count);
		is_known = is_known && ask.milli > 0;
		sum.milli = saturating_add(sum.milli, ask.milli);
		sum.by_claim |= ask.by_claim;
	}
	sum.by_claim |= pod->n_resource_claims > 0;
	if (!is_known || sum.by_claim)
		sum.milli = 0;
	*ret = sum;
	return *sum.resource || sum.by_claim || ask_of_annotations(pod, ret);
}
