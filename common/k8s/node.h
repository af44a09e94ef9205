/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node: reads from a Node object what matters for sizes: what it offers to pods, and which part of its accelerators one
 * unit of a resource is. The resource's name does not say it: with time-slicing or MPS `nvidia.com/gpu: 40` are four
 * GPUs, with MIG some of a node's GPUs are offered as slices, and a Neuron device is offered a second time as its
 * cores. Labels of the device plugins (GPU feature discovery) say the rest. Pure, any thread. */
#include "base/err.h"
#include "base/json.h"

#define K8S_NODE_OFFERS 8

/** One accelerator resource of a node. */
struct k8s_node_offer {
	char resource[96];
	int64_t count;	 /* units, including those that are out of order now */
	int64_t devices; /* whole devices of this type; 0: not known */
	int64_t parts;	 /* units that all devices would make: a unit is 1/parts of the node. At least `count` */
};

struct k8s_node {
	char name[256];
	char product[96];		       /* label value with the accelerator's product name; "" */
	char instance_type[64];		       /* node.kubernetes.io/instance-type; "" */
	int64_t memory_bytes, ephemeral_bytes; /* allocatable; 0: not known */
	struct k8s_node_offer offers[K8S_NODE_OFFERS];
	size_t n_offers;
	bool is_virtual; /* not a machine: Fargate, virtual kubelets. What it offers says nothing about a pod's share */
	bool is_coming;	 /* its labels announce accelerators that it does not offer yet */
};

/** Reads a Node. Malformed quantities count as absent. @return 0; -EINVAL: no name, or wrong types. */
int k8s_node_read(struct json_object *json, struct k8s_node *ret, struct err *err) ATTR_NODISCARD;
