/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node_shape: NodeShape (memtamer.io/v1alpha1, cluster-scoped): a kind of node, by what it offers to pods. */
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"

struct node_shape {
	char name[96];
	char resource[96];	/* accelerator resource, "nvidia.com/gpu"; "" for nodes without */
	char product[96];	/* node label value, "NVIDIA-H100-80GB-HBM3"; "" when not known */
	char instance_type[64]; /* node.kubernetes.io/instance-type; "" when not known */
	int64_t accelerators;	/* units of the resource that one node offers */
	int64_t devices;	/* whole devices of one node; 0: as many as `accelerators`, or not known */
	int64_t parts; /* units that all its devices would make (slices, several pods to a device); 0: `accelerators` */
	int64_t memory_bytes, ephemeral_bytes; /* allocatable; 0: not known */
	int64_t last_seen_ms;		       /* 0: declared by hand */
	bool is_declared; /* from config or by hand: the list counts as complete for its resource */
};

/** Units of the resource that make up all of the node: one of them is that part of its memory. 0: no accelerators. */
static inline int64_t node_shape_all_units(const struct node_shape *self)
{
	return self->parts > 0 ? self->parts : self->accelerators;
}

/** Whole devices of the node, as far as is known. */
static inline int64_t node_shape_devices(const struct node_shape *self)
{
	return self->devices > 0 ? self->devices : self->accelerators;
}

/** As profile_decode and profile_read. */
int node_shape_read(const char *text, size_t n, struct arena *scratch, struct node_shape *ret,
		    struct err *err) ATTR_NODISCARD;
int node_shape_decode(struct json_object *object, struct node_shape *ret, struct err *err) ATTR_NODISCARD;
int node_shape_encode(const struct node_shape *self, struct strbuf *buf);
