/* SPDX-License-Identifier: Apache-2.0 */
#include "service/node_table.h"

#include "k8s/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct node_entry {
	char name[256];
	VEC(struct node_shape) shapes; /* without accelerators one; none: the node does not count */
};

/* Where it is, or would be. */
static size_t find(const struct node_table *self, const char *name, bool *ret_is_there)
{
	size_t from = 0, to = self->entries.n;

	*ret_is_there = false;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(name, self->entries.items[middle]->name);

		if (order == 0) {
			*ret_is_there = true;
			return middle;
		}
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
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
	bool is_there;
	size_t at = find(self, name, &is_there);

	if (!is_there)
		return;
	entry_free(self->entries.items[at]);
	self->entries.n--;
	memmove(self->entries.items + at, self->entries.items + at + 1,
		(self->entries.n - at) * sizeof(*self->entries.items));
}

static int add_shape(struct node_entry *entry, const struct k8s_node *node, const struct k8s_node_offer *offer)
{
	struct node_shape shape = {.memory_bytes = node->memory_bytes, .ephemeral_bytes = node->ephemeral_bytes};

	snprintf(shape.product, sizeof(shape.product), "%s", node->product);
	snprintf(shape.instance_type, sizeof(shape.instance_type), "%s", node->instance_type);
	if (offer) {
		snprintf(shape.resource, sizeof(shape.resource), "%s", offer->resource);
		shape.accelerators = offer->count;
		/* The plain case is written plainly, and is the same as what kube-state-metrics tells of it. */
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

/* Replace, or make room for it. */
static int put_entry(struct node_table *self, struct node_entry *take_entry)
{
	bool is_there;
	size_t at = find(self, take_entry->name, &is_there);

	if (is_there) {
		entry_free(self->entries.items[at]);
	} else if (vec_push(&self->entries, take_entry)) {
		entry_free(take_entry);
		return -ENOMEM;
	} else {
		memmove(self->entries.items + at + 1, self->entries.items + at,
			(self->entries.n - 1 - at) * sizeof(*self->entries.items));
	}
	self->entries.items[at] = take_entry;
	return 0;
}

int node_table_put(struct node_table *self, struct json_object *json, struct err *err)
{
	struct node_entry *entry;
	struct k8s_node node;
	int r = k8s_node_read(json, &node, err);

	if (r)
		return r;
	entry = make_entry(&node);
	if (!entry || put_entry(self, entry))
		return err_set(err, -ENOMEM, "out of memory for node %s", node.name);
	return 0;
}

int node_table_shapes(const struct node_table *self, struct shapes *ret)
{
	int r = 0;

	for (size_t i = 0; i < self->entries.n && !r; i++)
		for (size_t k = 0; k < self->entries.items[i]->shapes.n && !r; k++)
			r = vec_push(&ret->items, self->entries.items[i]->shapes.items[k]);
	return r;
}
