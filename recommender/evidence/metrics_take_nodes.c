/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the series about nodes. */
#include "evidence/metrics_internal.h"

#include "k8s/accelerator.h"

/* Finds or adds the node of a series, in constant time; NULL: the series has no name. */
static int node_put(struct metric_sink *sink, struct json_object *labels, struct evidence_node **ret, struct err *err)
{
	const char *name = label(labels, "node");
	struct evidence_node node = {.resource = "", .product = "", .instance_type = ""};
	struct evidence_nodes *nodes = sink->nodes;
	uintptr_t at = (uintptr_t)strmap_get(&nodes->by_name, name);

	*ret = NULL;
	if (!*name)
		return 0;
	if (!at) {
		node.name = arena_strdup(&nodes->arena, name);
		if (!node.name || vec_push(&nodes->items, node))
			return no_memory(err);
		at = nodes->items.n;
		if (strmap_put(&nodes->by_name, node.name, (void *)at))
			return no_memory(err);
	}
	*ret = &nodes->items.items[at - 1];
	return 0;
}

int metric_take_allocatable(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	const char *resource = label(labels, "resource");
	struct evidence_node *node;
	int r = node_put(sink, labels, &node, err);

	if (r || !node)
		return r;
	if (streq(resource, "memory"))
		node->memory_bytes = whole(value);
	else if (streq(resource, "ephemeral_storage"))
		node->ephemeral_bytes = whole(value);
	else if (accelerator_is_metric_resource(resource) && whole(value) > node->accelerators) {
		node->accelerators = whole(value);
		node->resource = arena_strdup(&sink->nodes->arena, resource);
		if (!node->resource)
			return no_memory(err);
	}
	return 0;
}

int metric_take_node_labels(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	const char *product = label(labels, "label_nvidia_com_gpu_product");
	struct evidence_node *node;
	int r = node_put(sink, labels, &node, err);

	(void)value;
	if (r || !node)
		return r;
	if (!*product)
		product = label(labels, "label_amd_com_gpu_product_name");
	node->product = arena_strdup(&sink->nodes->arena, product);
	node->instance_type = arena_strdup(&sink->nodes->arena,
					   label(labels, "label_node_kubernetes_io_instance_type"));
	return node->product && node->instance_type ? 0 : no_memory(err);
}
