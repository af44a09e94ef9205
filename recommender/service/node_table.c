/* SPDX-License-Identifier: Apache-2.0 */
#include "service/node_table.h"

#include "k8s/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct node_entry {
	char name[256];
	VEC(struct node_shape) shapes; /* one shape for a node without accelerators; empty: the node does not count */
};

/* The index of the node; the number of nodes if it is not there. */
static size_t find(const struct node_table *self, const char *name)
{
	size_t i = 0;

	while (i < self->entries.n && !streq(name, self->entries.items[i]->name))
		i++;
	return i;
}

static void entry_free(struct node_entry *entry)
{
	if (entry)
		vec_release(&entry->shapes);
	free(entry);
}

void node_table_release(struct node_table *self)
{
	for (size_t i = 0; i < self->entries.n; i++)
		entry_free(self->entries.items[i]);
	vec_release(&self->entries);
}

void node_table_remove(struct node_table *self, const char *name)
{
	size_t at = find(self, name);

	if (at == self->entries.n)
		return;
	entry_free(self->entries.items[at]);
	self->entries.items[at] = self->entries.items[--self->entries.n];
}

static int add_shape(struct node_entry *entry, const struct k8s_node *node, const struct k8s_node_offer *offer)
{
	struct node_shape shape = {.memory_bytes = node->memory_bytes, .ephemeral_bytes = node->ephemeral_bytes};

	snprintf(shape.product, sizeof(shape.product), "%s", node->product);
	snprintf(shape.instance_type, sizeof(shape.instance_type), "%s", node->instance_type);
	if (offer) {
		snprintf(shape.resource, sizeof(shape.resource), "%s", offer->resource);
		shape.accelerators = offer->count;
		/* The common case leaves these fields empty, so that the shape equals the one from
		 * kube-state-metrics. */
		if (offer->devices != offer->count)
			shape.devices = offer->devices;
		if (offer->parts != offer->count)
			shape.parts = offer->parts;
	}
	return vec_push(&entry->shapes, shape);
}

static struct node_entry *make_entry(const struct k8s_node *node)
{
	struct node_entry *entry = calloc(1, sizeof(*entry));
	int r = entry ? 0 : -ENOMEM;

	if (!entry)
		return NULL;
	snprintf(entry->name, sizeof(entry->name), "%s", node->name);
	if (!node->is_virtual && !node->is_coming && !node->n_offers)
		r = add_shape(entry, node, NULL);
	for (size_t i = 0; i < node->n_offers && !node->is_virtual && !r; i++)
		r = add_shape(entry, node, &node->offers[i]);
	if (!r)
		return entry;
	entry_free(entry);
	return NULL;
}

int node_table_put(struct node_table *self, struct json_object *json, struct err *err)
{
	struct node_entry *entry;
	struct k8s_node node;
	size_t at;
	int r = k8s_node_read(json, &node, err);

	if (r)
		return r;
	entry = make_entry(&node);
	at = find(self, node.name);
	if (!entry || (at == self->entries.n && vec_push(&self->entries, NULL))) {
		entry_free(entry);
		return err_set(err, -ENOMEM, "out of memory for node %s", node.name);
	}
	entry_free(self->entries.items[at]);
	self->entries.items[at] = entry;
	return 0;
}

static int compare(const void *a, const void *b)
{
	struct node_entry *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

int node_table_shapes(struct node_table *self, struct shapes *ret)
{
	int r = 0;

	if (self->entries.n)
		qsort(self->entries.items, self->entries.n, sizeof(struct node_entry *), compare);
	for (size_t i = 0; i < self->entries.n && !r; i++)
		for (size_t k = 0; k < self->entries.items[i]->shapes.n && !r; k++)
			r = vec_push(&ret->items, self->entries.items[i]->shapes.items[k]);
	return r;
}
