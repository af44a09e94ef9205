/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node_shape: NodeShape (memtamer.io/v1alpha1, cluster-scoped): a kind of node, by what it offers to pods. Pure. */
#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"

struct node_shape {
	char name[96];
	char resource[96];	/* accelerator resource, "nvidia.com/gpu"; "": none */
	char product[96];	/* node label value, "NVIDIA-H100-80GB-HBM3"; "": not known */
	char instance_type[64]; /* node.kubernetes.io/instance-type; "": not known */
	int64_t accelerators;	/* units of the resource that one node offers */
	int64_t devices;	/* whole devices of one node; 0: as many as `accelerators`, or not known */
	/* units that all devices of a node would make (slices, several pods on a device); 0: `accelerators` */
	int64_t parts;
	int64_t memory_bytes, ephemeral_bytes; /* allocatable; 0: not known */
	int64_t last_seen_ms;		       /* 0: declared by people */
	bool is_declared; /* from the configuration or by people: the shapes of its resource count as complete */
};

/** Number of units of the resource on the whole node; one unit stands for that share of its memory. 0: no
 * accelerators. */
static inline int64_t node_shape_all_units(const struct node_shape *self)
{
	return self->parts > 0 ? self->parts : self->accelerators;
}

/** Number of whole devices of the node, as far as known. */
static inline int64_t node_shape_devices(const struct node_shape *self)
{
	return self->devices > 0 ? self->devices : self->accelerators;
}

/** As profile_read; node_shape_encode returns the sticky status of `buf`. */
int node_shape_read(const char *text, size_t n, struct arena *scratch, struct node_shape *ret,
		    struct err *err) ATTR_NODISCARD;
int node_shape_encode(const struct node_shape *self, struct strbuf *buf);
