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

static void append_words(char *name, size_t size, const char *text)
{
	size_t n = strlen(name);

	for (const char *p = text; *p && n + 1 < size; p++) {
		char c = (char)tolower((unsigned char)*p);

		if (isalnum((unsigned char)c))
			name[n++] = c;
		else if (n > 0 && name[n - 1] != '-')
			name[n++] = '-';
	}
	name[n] = '\0';
}

/* Makes a name that Kubernetes accepts from what distinguishes shapes, in lower case. A product that is cut into slices
 * is offered as several resources. */
static void name_shape(struct node_shape *shape)
{
	const char *slash = strrchr(shape->resource, '/'), *unit = slash ? slash + 1 : "";
	const char *what = *shape->product ? shape->product : *shape->resource ? shape->resource : "cpu";
	bool is_told = !*shape->product || streq(unit, "gpu");
	char text[192];

	snprintf(text, sizeof(text), "%" PRId64 "x-%.48s%s%.20s-%" PRId64 "gi", shape->accelerators, what,
		 is_told ? "" : "-", is_told ? "" : unit, shape->memory_bytes / (int64_t)GIB);
	shape->name[0] = '\0';
	append_words(shape->name, sizeof(shape->name), text);
}

static void fill(const struct evidence_node *node, struct node_shape *ret)
{
	*ret = (struct node_shape){.accelerators = node->accelerators,
				   .memory_bytes = node->memory_bytes,
				   .ephemeral_bytes = node->ephemeral_bytes};
	if (*node->resource && !evidence_resource_name(node->resource, ret->resource, sizeof(ret->resource)))
		snprintf(ret->resource, sizeof(ret->resource), "%s", node->resource);
	snprintf(ret->product, sizeof(ret->product), "%s", node->product);
	snprintf(ret->instance_type, sizeof(ret->instance_type), "%s", node->instance_type);
}

/* Whether the node offers slices, or only some of its devices. Each such node may be cut differently. */
static bool is_cut(const struct node_shape *shape)
{
	return node_shape_all_units(shape) != shape->accelerators;
}

static bool is_one_shape(const struct node_shape *a, const struct node_shape *b)
{
	bool is_alike_cut = is_cut(a) && is_cut(b) && node_shape_all_units(a) == node_shape_all_units(b);

	return streq(a->resource, b->resource) && streq(a->product, b->product) &&
	       (is_alike_cut || (a->accelerators == b->accelerators && a->parts == b->parts)) &&
	       a->devices == b->devices && is_alike(a->memory_bytes, b->memory_bytes);
}

static int merge(struct shapes *shapes, const struct node_shape *shape)
{
	for (size_t i = 0; i < shapes->items.n; i++) {
		struct node_shape *same = &shapes->items.items[i];

		if (!is_one_shape(same, shape))
			continue;
		same->accelerators = MAX(same->accelerators, shape->accelerators);
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

/* Whether the shape must be written. A known shape keeps its name, so that another node that is a little smaller makes
 * no new shape. */
static bool is_news(struct node_shape *shape, const struct node_shape *known, size_t n_known, int64_t now_ms)
{
	for (size_t i = 0; i < n_known; i++) {
		if (known[i].is_declared || !is_one_shape(&known[i], shape))
			continue;
		memcpy(shape->name, known[i].name, sizeof(shape->name));
		if (is_cut(shape))
			shape->accelerators = MAX(shape->accelerators, known[i].accelerators);
		return shape->memory_bytes != known[i].memory_bytes ||
		       shape->ephemeral_bytes != known[i].ephemeral_bytes ||
		       shape->accelerators != known[i].accelerators ||
		       !streq(shape->instance_type, known[i].instance_type) ||
		       now_ms - known[i].last_seen_ms >= TIME_DAY_MS;
	}
	return true;
}

static bool is_name_taken(const char *name, const struct node_shape *shapes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (streq(shapes[i].name, name))
			return true;
	return false;
}

/* A declared shape keeps its name, even if a shape that was seen would get the same name. */
static bool is_taken(const struct node_shape *shape, const struct node_shape *known, size_t n_known)
{
	for (size_t i = 0; i < n_known; i++)
		if (known[i].is_declared && streq(known[i].name, shape->name))
			return true;
	return false;
}

/* Two shapes may have the same name, as memory is rounded to Gi. */
static void make_name_unique(struct node_shape *shape, const struct shapes *others, const struct node_shape *known,
			     size_t n_known)
{
	size_t n = strlen(shape->name);

	for (int i = 2; i < 1000; i++) {
		if (!is_name_taken(shape->name, known, n_known) &&
		    !is_name_taken(shape->name, others->items.items, others->items.n))
			return;
		snprintf(shape->name + MIN(n, sizeof(shape->name) - 5), 5, "-%d", i);
	}
}

int shapes_find_news(const struct shapes *seen, const struct node_shape *known, size_t n_known, int64_t now_ms,
		     struct shapes *ret)
{
	struct shapes all = {.items = VEC_INIT};
	int r = 0;

	for (size_t i = 0; i < seen->items.n && !r; i++)
		if (seen->items.items[i].memory_bytes > 0)
			r = merge(&all, &seen->items.items[i]);
	for (size_t i = 0; i < all.items.n && !r; i++) {
		struct node_shape *shape = &all.items.items[i];

		shape->last_seen_ms = now_ms;
		shape->name[0] = '\0';
		if (!is_news(shape, known, n_known, now_ms))
			continue;
		if (!*shape->name) {
			name_shape(shape);
			if (is_taken(shape, known, n_known))
				continue;
			make_name_unique(shape, ret, known, n_known);
		}
		r = vec_push(&ret->items, *shape);
	}
	vec_release(&all.items);
	return r;
}

int shapes_of_nodes(const struct evidence_nodes *nodes, const struct node_shape *known, size_t n_known, int64_t now_ms,
		    struct shapes *ret)
{
	struct shapes seen = {.items = VEC_INIT};
	struct node_shape shape;
	int r = 0;

	if (nodes->items.n)
		qsort(nodes->items.items, nodes->items.n, sizeof(*nodes->items.items), compare_nodes);
	for (size_t i = 0; i < nodes->items.n && !r; i++) {
		fill(&nodes->items.items[i], &shape);
		r = vec_push(&seen.items, shape);
	}
	if (!r)
		r = shapes_find_news(&seen, known, n_known, now_ms, ret);
	vec_release(&seen.items);
	return r;
}
