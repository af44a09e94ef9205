/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks_above: requests above limits. */
#include "policy/decide/decide_checks.h"

#include "base/str.h"

#include <errno.h>

enum { SWAPPED_RATIO = 10 };

/* The number of an amount of bytes, and its unit. An exponent is no unit. */
static bool split_amount(const char *text, struct quantity *ret_number, const char **ret_unit)
{
	const char *digits = "0123456789.";
	size_t n = text ? strspn(text, digits) : 0;

	if (!n || strpbrk(text + n, digits) || quantity_parse(text, n, ret_number, NULL))
		return false;
	*ret_unit = text + n;
	return true;
}

/* "; write limit 64Gi or request 64M" for 64Gi above 64M: with the same unit the request would fit, and the limit would
 * not be far above it. A request in bytes or less is not meant. "": not so; NULL: the arena is full. */
static const char *swapped_unit(struct arena *arena, const char *request, const char *limit)
{
	const char *unit_of_request, *unit_of_limit, *better;
	struct quantity r, l;

	if (!split_amount(request, &r, &unit_of_request) || !split_amount(limit, &l, &unit_of_limit) ||
	    streq(unit_of_request, unit_of_limit) || r.nano > l.nano || l.nano >= SWAPPED_RATIO * r.nano)
		return "";
	better = arena_printf(arena, "; write limit %.*s%s", (int)(unit_of_limit - limit), limit, unit_of_request);
	if (!better || !*unit_of_limit || strchr("mun", *unit_of_limit))
		return better;
	return arena_printf(arena, "%s or request %.*s%s", better, (int)(unit_of_request - request), request,
			    unit_of_limit);
}

static int find_above(const struct deciding *self, struct findings *list, const struct k8s_container *container,
		      const char *pointer, const char *name, const char *request, const char *limit, const char *better)
{
	if (!name || !request || !limit || !better)
		return -ENOMEM;
	return finding_add(self, list, CHECK_REQUEST_ABOVE_LIMIT, false, container, pointer,
			   arena_printf(self->arena, "the API server rejects %s request %s above limit %s%s", name,
					request, limit, better));
}

/* Memory and disk of a container, as they will be. */
static int check_sized(const struct deciding *self, struct findings *list, const struct sized *item,
		       enum sized_resource resource)
{
	const struct field *fields = item->fields[resource];
	const struct k8s_resources *written = &item->container->resources;
	enum k8s_resource k = sized_resource_of(resource);

	if (!fields[SIZE_REQUEST].has || !(fields[SIZE_LIMIT].has || fields[SIZE_LIMIT].is_zero) ||
	    fields[SIZE_REQUEST].is_invalid || fields[SIZE_LIMIT].is_invalid ||
	    field_final(&fields[SIZE_REQUEST]) <= field_final(&fields[SIZE_LIMIT]))
		return 0;
	return find_above(self, list, item->container, finding_pointer(self, item, resource, SIZE_REQUEST),
			  k8s_resource_names[k], text_value(self, item, resource, SIZE_REQUEST),
			  text_value(self, item, resource, SIZE_LIMIT),
			  swapped_unit(self->arena, written->requests[k].text, written->limits[k].text));
}

/* What memtamer does not size: the cpu of a container, and the pod's own cpu and memory. */
struct pair {
	const struct k8s_container *container;	   /* NULL: of the pod */
	const struct k8s_resources *written, *now; /* now: with defaults */
	enum k8s_resource resource;
};

/* An amount as in the manifest; one that is not there, with its origin. */
static const char *pair_text(const struct deciding *self, const struct pair *pair, bool is_limit)
{
	const struct k8s_resources *written = pair->written, *now = pair->now;
	const struct k8s_amount *amount = &(is_limit ? now->limits : now->requests)[pair->resource];
	const char *said = (is_limit ? written->limits : written->requests)[pair->resource].text;
	char text[QUANTITY_TEXT_BYTES];

	if (said)
		return text_clean(self->arena, said, TEXT_VALUE_CHARS);
	return arena_printf(self->arena, "%s (%s)", quantity_render(&amount->quantity, text),
			    pair->container ? "by LimitRange" : "sum of containers");
}

static const char *pair_pointer(const struct deciding *self, const struct pair *pair)
{
	const char *map = pair->written->requests[pair->resource].text ? "requests" : "limits";
	const char *name = k8s_resource_names[pair->resource];

	if (!pair->container)
		return arena_printf(self->arena, "/spec/resources/%s/%s", map, name);
	return arena_printf(self->arena, "/spec/%s/%zu/resources/%s/%s", k8s_container_array(pair->container),
			    pair->container->index, map, name);
}

static int check_pair(const struct deciding *self, struct findings *list, const struct pair *pair)
{
	const struct k8s_amount *request = &pair->now->requests[pair->resource];
	const struct k8s_amount *limit = &pair->now->limits[pair->resource];
	const char *name = k8s_resource_names[pair->resource], *better = "";

	if (!request->text || !limit->text || request->is_invalid || limit->is_invalid || limit->quantity.nano < 0 ||
	    quantity_cmp(&request->quantity, &limit->quantity) <= 0)
		return 0;
	if (pair->resource == K8S_MEMORY)
		better = swapped_unit(self->arena, request->text, limit->text);
	return find_above(self, list, pair->container, pair_pointer(self, pair),
			  pair->container ? name : arena_printf(self->arena, "pod-level %s", name),
			  pair_text(self, pair, false), pair_text(self, pair, true), better);
}

int check_request_above_limit(const struct deciding *self, struct findings *list)
{
	struct pair pair = {.written = &self->input->pod->resources, .now = &self->facts->pod.resources};
	int r = 0;

	for (int k = K8S_CPU; k <= K8S_MEMORY && !r; k++) {
		pair.resource = (enum k8s_resource)k;
		r = check_pair(self, list, &pair);
	}
	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];

		for (int k = 0; k < SIZED_COUNT_ && !r; k++)
			r = check_sized(self, list, item, (enum sized_resource)k);
		pair.container = item->container;
		pair.resource = K8S_CPU;
		pair.written = &item->container->resources;
		pair.now = &self->facts->pod.containers[item->after - self->after.containers].resources;
		if (!r)
			r = check_pair(self, list, &pair);
	}
	return r;
}
