/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* accelerator: which resources are accelerators, and how much of them a pod requests. The patterns are a table in
 * accelerator.c (NVIDIA, MIG, shared GPUs, AMD, Intel, Gaudi, TPU, Neuron, Ascend ...). Pure; any thread. Cost: a name
 * is compared with each row of the table, and a name of more than LIMIT_QUALIFIED_NAME_BYTES is no resource. Decoding
 * does this once for each resource of a pod; what asks for containers and pods costs one step for each of these. */
#include "k8s/pod.h"

/** Accelerators that a container or pod requests. `milli` counts whole devices in thousandths, so that MIG slices and
 * fractions can be compared: one GPU is 1000, a MIG 3g.20gb slice 500 (half of the memory), KAI gpu-fraction 0.5 is
 * 500. */
struct accelerator_ask {
	const char *resource; /* the first resource name that matched, for example "nvidia.com/gpu"; "": none */
	int64_t count;	      /* units of that resource; 0 for claims and annotations */
	int64_t milli;	      /* share of whole devices; 0: not known (claims) */
	bool by_claim, by_annotation;
};

/** Whether a resource name is an accelerator. */
bool accelerator_is_resource(const char *resource_name);
/** Pattern i of the table, for the documentation. `*ret_is`: whether it matches accelerators (the first pattern that
 * matches decides). NULL after the last. */
const char *accelerator_pattern(size_t i, bool *ret_is);
/** The share of a device that one unit of a resource is, in thousandths. 0: not known; -1: not an accelerator. */
int64_t accelerator_milli(const char *resource_name);

/** A MIG slice. `milli`: its part of the device's memory in thousandths (a number of eighths); `compute`: its compute
 * slices (of 7, on some devices of 4). */
struct accelerator_mig {
	int64_t milli;
	int compute;
};
/** Parses a MIG profile: "3g.20gb", "1g.10gb.me". @param device_mib  memory of the whole device; 0: not known, then
 * that of the usual device with such slices. @return false: not a profile. */
bool accelerator_mig_read(const char *profile, int64_t device_mib, struct accelerator_mig *ret);
/** Whether the container has an accelerator (resources or claims). If so, `ret` is set. */
bool accelerator_of_container(const struct k8s_container *container, struct accelerator_ask *ret);
/** The sum over the pod's main and sidecar containers, or from its annotations (KAI gpu-fraction, gpu-memory; HAMi).
 * @return false: the pod has no accelerator. */
bool accelerator_of_pod(const struct k8s_pod *pod, struct accelerator_ask *ret);
/** Whether a resource name in the spelling of kube-state-metrics ("nvidia_com_gpu", "nvidia_com_mig_1g_5gb") is an
 * accelerator. */
bool accelerator_is_metric_resource(const char *sanitised_name);
