/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/shapes.h"

#include "base/limits.h"
#include "base/timefmt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIKE_PERMILLE = 20 };

static bool is_alike(int64_t a, int64_t b)
{
	int64_t most = MAX(a, b), least = MIN(a, b);

	return (__int128)(most - least) * 1000 <= (__int128)most * ALIKE_PERMILLE;
}

/* A name that Kubernetes takes: what tells shapes apart, in lower case. */
static void name_shape(struct node_shape *shape)
{
	const char *what = *shape->product ? shape->product : *shape->resource ? shape->resource : "cpu";
	size_t n = 0;
	char text[192];

	snprintf(text, sizeof(text), "%" PRId64 "x-%.60s-%" PRId64 "gi", shape->accelerators, what,
		 shape->memory_bytes / (int64_t)GIB);
	for (const char *p = text; *p && n + 1 < sizeof(shape->name); p++) {
		char c = (char)tolower((unsigned char)*p);

		if (isalnum((unsigned char)c))
			shape->name[n++] = c;
		else if (n > 0 && shape->name[n - 1] != '-')
			shape->name[n++] = '-';
	}
	shape->name[n] = '\0';
}

static void fill(const struct evidence_node *node, int64_t now_ms, struct node_shape *ret)
{
	*ret = (struct node_shape){.accelerators = node->accelerators,
				   .memory_bytes = node->memory_bytes,
				   .ephemeral_bytes = node->ephemeral_bytes,
				   .last_seen_ms = now_ms};
	if (*node->resource && !evidence_resource_name(node->resource, ret->resource, sizeof(ret->resource)))
		snprintf(ret->resource, sizeof(ret->resource), "%s", node->resource);
	snprintf(ret->product, sizeof(ret->product), "%s", node->product);
	snprintf(ret->instance_type, sizeof(ret->instance_type), "%s", node->instance_type);
}

static bool is_one_shape(const struct node_shape *a, const struct node_shape *b)
{
	return streq(a->resource, b->resource) && streq(a->product, b->product) && a->accelerators == b->accelerators &&
	       is_alike(a->memory_bytes, b->memory_bytes);
}

static int merge(struct shapes *shapes, const struct node_shape *shape)
{
	for (size_t i = 0; i < shapes->items.n; i++) {
		struct node_shape *same = &shapes->items.items[i];

		if (!is_one_shape(same, shape))
			continue;
		same->memory_bytes = MIN(same->memory_bytes, shape->memory_bytes);
		same->ephemeral_bytes = MIN(same->ephemeral_bytes, shape->ephemeral_bytes);
		if (!streq(same->instance_type, shape->instance_type))
			same->instance_type[0] = '\0';
		return 0;
	}
	return vec_push(&shapes->items, *shape);
}

static int compare_nodes(const void *a, const void *b)
{
	const struct evidence_node *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Known shapes keep their name, so that one more node a little smaller makes no new shape. */
static bool is_news(struct node_shape *shape, const struct node_shape *known, size_t n_known, int64_t now_ms)
{
	for (size_t i = 0; i < n_known; i++) {
		if (known[i].is_declared || !is_one_shape(&known[i], shape))
			continue;
		memcpy(shape->name, known[i].name, sizeof(shape->name));
		return shape->memory_bytes != known[i].memory_bytes ||
		       shape->ephemeral_bytes != known[i].ephemeral_bytes ||
		       !streq(shape->instance_type, known[i].instance_type) ||
		       now_ms - known[i].last_seen_ms >= TIME_DAY_MS;
	}
	return true;
}

int shapes_of_nodes(const struct evidence_nodes *nodes, const struct node_shape *known, size_t n_known, int64_t now_ms,
		    struct shapes *ret)
{
	struct shapes all = {.items = VEC_INIT};
	struct node_shape shape;
	int r = 0;

	if (nodes->items.n)
		qsort(nodes->items.items, nodes->items.n, sizeof(*nodes->items.items), compare_nodes);
	for (size_t i = 0; i < nodes->items.n && !r; i++) {
		if (nodes->items.items[i].memory_bytes <= 0)
			continue;
		fill(&nodes->items.items[i], now_ms, &shape);
		r = merge(&all, &shape);
	}
	for (size_t i = 0; i < all.items.n && !r; i++) {
		name_shape(&all.items.items[i]);
		if (is_news(&all.items.items[i], known, n_known, now_ms))
			r = vec_push(&ret->items, all.items.items[i]);
	}
	vec_release(&all.items);
	return r;
}
