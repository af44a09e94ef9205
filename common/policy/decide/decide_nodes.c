/* SPDX-License-Identifier: Apache-2.0 */
/* decide_nodes: what the nodes on which the pod may run offer, and the share of it that belongs to its accelerators. */
#include "policy/decide/decide_internal.h"

#include "base/str.h"
#include "k8s/node.h"
#include "policy/size_math.h"

static const char *node_demand(const struct k8s_pod *pod, const char *const *keys)
{
	for (; *keys; keys++) {
		const char *value = k8s_label_get(&pod->node_selector, *keys);

		if (!value)
			value = k8s_label_get(&pod->required_affinity, *keys);
		if (value)
			return value;
	}
	return NULL;
}

/* MIG slices run on nodes that are listed by their whole devices, unless the list contains the slices themselves. */
static bool is_slice_of(const char *asked, const char *offered)
{
	return strstarts(asked, "nvidia.com/mig-") && streq(offered, "nvidia.com/gpu");
}

static int64_t devices_milli(const struct node_shape *shape)
{
	return MIN(node_shape_devices(shape), INT64_MAX / 1000) * 1000;
}

/* The pod's part of the devices of such a node, in thousandths of a device; 0: not known. */
static int64_t part_milli(const struct accelerator_ask *ask, const struct node_shape *shape)
{
	if (streq(ask->resource, shape->resource) && ask->count > 0)
		return size_share(devices_milli(shape), ask->count, node_shape_all_units(shape));
	return ask->milli;
}

static int64_t share_of(const struct accelerator_ask *ask, const struct node_shape *shape, int64_t bytes)
{
	if (streq(ask->resource, shape->resource) && ask->count > 0)
		return size_share(bytes, ask->count, node_shape_all_units(shape));
	return size_share(bytes, ask->milli, devices_milli(shape));
}

/* The requirements for a node on which the pod may run. */
struct demand {
	const char *product, *instance_type; /* NULL: any */
	bool takes_slices; /* nodes listed by whole devices may offer the slices that the pod requests */
};

static bool is_candidate(const struct pod_facts *self, const struct node_shape *shape, const struct demand *demand)
{
	const struct accelerator_ask *ask = &self->ask;
	bool is_same = streq(ask->resource, shape->resource);
	const char *type = demand->instance_type;

	if (!is_same && !(demand->takes_slices && is_slice_of(ask->resource, shape->resource)))
		return false;
	if (ask->resource[0] && (shape->accelerators <= 0 || (is_same && ask->count > shape->accelerators)))
		return false;
	if (demand->product && shape->product[0] && !streq(demand->product, shape->product))
		return false;
	return !type || !shape->instance_type[0] || streq(type, shape->instance_type);
}

static void view_shape(struct pod_facts *self, const struct node_shape *shape)
{
	const struct accelerator_ask *ask = &self->ask;
	struct node_view *view = &self->nodes;
	int64_t share = ask->resource[0] ? share_of(ask, shape, shape->memory_bytes) : 0;

	if (share > view->share_memory_bytes || !view->devices) {
		view->share_memory_bytes = share;
		view->devices = node_shape_devices(shape);
		view->part_milli = part_milli(ask, shape);
	}
	if (ask->resource[0])
		view->share_ephemeral_bytes = MAX(view->share_ephemeral_bytes,
						  share_of(ask, shape, shape->ephemeral_bytes));
	view->largest_memory_bytes = MAX(view->largest_memory_bytes, shape->memory_bytes);
	view->largest_ephemeral_bytes = MAX(view->largest_ephemeral_bytes, shape->ephemeral_bytes);
}

static bool is_offered(const char *resource, const struct node_shape *shapes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (streq(resource, shapes[i].resource))
			return true;
	return false;
}

void decide_nodes(struct pod_facts *self)
{
	static const char *const product_keys[] = {"nvidia.com/gpu.product", "amd.com/gpu.product-name",
						   "cloud.google.com/gke-accelerator", NULL};
	static const char *const type_keys[] = {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
						NULL};
	struct demand demand = {.product = node_demand(&self->pod, product_keys),
				.instance_type = node_demand(&self->pod, type_keys)};
	bool is_pinned = false, is_memory_known = true, is_ephemeral_known = true;
	const struct node_shape *shapes;
	size_t n;

	if (self->ask.by_claim && !self->ask.resource[0])
		return;
	shapes = snapshot_node_shapes(self->input->snapshot, &n);
	demand.takes_slices = !is_offered(self->ask.resource, shapes, n);
	for (size_t i = 0; i < n; i++) {
		if (!is_candidate(self, &shapes[i], &demand))
			continue;
		view_shape(self, &shapes[i]);
		is_memory_known &= shapes[i].memory_bytes > 0;
		is_ephemeral_known &= shapes[i].ephemeral_bytes > 0;
		is_pinned |= demand.instance_type && streq(demand.instance_type, shapes[i].instance_type);
	}
	self->nodes.is_complete = is_pinned || snapshot_shapes_complete(self->input->snapshot, self->ask.resource);
	if (!is_memory_known)
		self->nodes.largest_memory_bytes = 0;
	if (!is_ephemeral_known)
		self->nodes.largest_ephemeral_bytes = 0;
}
