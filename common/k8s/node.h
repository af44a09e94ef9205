/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node: what a Node object says that matters to sizes: what it offers to pods, and how much of the machine's
 * accelerators one unit of a resource is. A resource's name does not tell that: with time-slicing or MPS
 * `nvidia.com/gpu: 40` are four GPUs, with MIG some of a node's GPUs are offered as slices, and a Neuron device is
 * offered a second time as its cores. Labels of the device plugins (GPU feature discovery) say the rest.
 * Pure functions, any thread. */
#include "base/err.h"
#include "base/json.h"

#define K8S_NODE_OFFERS 8

/** One accelerator resource of a node. */
struct k8s_node_offer {
	char resource[96];
	int64_t count;	 /* units of it, also those that are out of order now */
	int64_t devices; /* whole devices of the node, of this make; 0: not known */
	int64_t parts;	 /* units that all of these would make: a unit is 1/parts of the node. At least `count` */
};

struct k8s_node {
	char name[256];
	char product[96];		       /* label value that names the accelerator's product; "" */
	char instance_type[64];		       /* node.kubernetes.io/instance-type; "" */
	int64_t memory_bytes, ephemeral_bytes; /* allocatable; 0: not known */
	struct k8s_node_offer offers[K8S_NODE_OFFERS];
	size_t n_offers;
	bool is_virtual; /* no machine: Fargate, virtual kubelets. What it offers says nothing of a pod's share */
	bool is_coming;	 /* its labels speak of accelerators that it does not offer yet */
};

/** @return 0; -EINVAL (no name, wrong types). Amounts that are no quantities count as not there. */
int k8s_node_read(struct json_object *json, struct k8s_node *ret, struct err *err) ATTR_NODISCARD;
