/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* accelerator: which resources are accelerators, and how much of them a pod asks for.
 * The patterns are a table in accelerator.c (NVIDIA, MIG, shared GPUs, AMD, Intel, Gaudi, TPU, Neuron, Ascend ...). */
#include "k8s/pod.h"

/** Accelerators that a container or pod asks for. `milli` counts whole devices in thousandths so that MIG slices and
 *  fractions compare: one GPU is 1000, a MIG 3g.20gb slice 500 (half of the memory), KAI gpu-fraction 0.5 is 500. */
struct accelerator_ask {
	const char *resource; /* first resource name that matched, e.g. "nvidia.com/gpu"; "" when none */
	int64_t count;	      /* units of that resource as asked; 0 for claims and annotations */
	int64_t milli;	      /* share of whole devices; 0: not known (claims) */
	bool by_claim, by_annotation;
};

bool accelerator_is_resource(const char *resource_name);
/** Thousandths of a whole device that one unit of a resource is. 0: not known; -1: no accelerator. */
int64_t accelerator_milli(const char *resource_name);

/** A MIG slice: `milli` is its part of the device's memory in thousandths (eighths of it), `compute` its compute slices
 *  (of 7, of some devices 4). */
struct accelerator_mig {
	int64_t milli;
	int compute;
};
/** Read a profile: "3g.20gb", "1g.10gb.me". @param device_mib  memory of the whole device; 0: not known, then the usual
 *  device that has such slices. @return false: no profile. */
bool accelerator_mig_read(const char *profile, int64_t device_mib, struct accelerator_mig *ret);
/** true and the ask when the container holds an accelerator (resources or claims). */
bool accelerator_of_container(const struct k8s_container *container, struct accelerator_ask *ret);
/** The pod's sum over its main and sidecar containers, or its annotations (KAI gpu-fraction, gpu-memory; HAMi). */
bool accelerator_of_pod(const struct k8s_pod *pod, struct accelerator_ask *ret);
/** kube-state-metrics' spelling of a resource name ("nvidia_com_gpu", "nvidia_com_mig_1g_5gb"): is it an accelerator?
 */
bool accelerator_is_metric_resource(const char *sanitised_name);
