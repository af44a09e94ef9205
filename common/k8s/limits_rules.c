/* SPDX-License-Identifier: Apache-2.0 */
/* limits_rules: copies, and what the API server computes. Amounts are compared as exact quantities. */
#include "k8s/limits.h"

#include "base/hash.h"
#include "base/str.h"
#include "k8s/phases.h"

#include <stdlib.h>

static const __int128 nano_of_unit = 1000000000, nano_of_milli = 1000000;

/* ---- copies ---- */

/* The part behind a struct in its block: first the arrays, then the texts. */
static void *carve(char **at, size_t bytes)
{
	void *part = *at;

	*at += bytes;
	return part;
}

static const char *carve_text(char **at, const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(carve(at, n), text, n);
}

struct k8s_limit_range *k8s_limit_range_dup(const struct k8s_limit_range *self)
{
	size_t items_bytes = self->n_items * sizeof(*self->items);
	struct k8s_limit_range *copy = malloc(sizeof(*copy) + items_bytes + strlen(self->namespace_name) +
					      strlen(self->name) + 2);
	char *at;

	if (!copy)
		return NULL;
	*copy = *self;
	at = (char *)(copy + 1);
	copy->items = carve(&at, items_bytes);
	if (self->n_items)
		memcpy(copy + 1, self->items, items_bytes);
	copy->namespace_name = carve_text(&at, self->namespace_name);
	copy->name = carve_text(&at, self->name);
	return copy;
}

static size_t quota_values(const struct k8s_quota *self)
{
	size_t n = 0;

	for (size_t i = 0; i < self->n_scopes; i++)
		n += self->scopes[i].n_values;
	return n;
}

static size_t quota_bytes(const struct k8s_quota *self)
{
	size_t bytes = sizeof(*self) + self->n_scopes * sizeof(*self->scopes) + quota_values(self) * sizeof(char *) +
		       strlen(self->namespace_name) + strlen(self->name) + 2;

	for (size_t i = 0; i < self->n_scopes; i++)
		for (size_t k = 0; k < self->scopes[i].n_values; k++)
			bytes += strlen(self->scopes[i].values[k]) + 1;
	return bytes;
}

struct k8s_quota *k8s_quota_dup(const struct k8s_quota *self)
{
	struct k8s_quota *copy = malloc(quota_bytes(self));
	struct k8s_quota_scope *scopes;
	const char **values;
	char *at;

	if (!copy)
		return NULL;
	*copy = *self;
	at = (char *)(copy + 1);
	scopes = carve(&at, self->n_scopes * sizeof(*scopes));
	copy->scopes = scopes;
	values = carve(&at, quota_values(self) * sizeof(*values));
	copy->namespace_name = carve_text(&at, self->namespace_name);
	copy->name = carve_text(&at, self->name);
	for (size_t i = 0; i < self->n_scopes; i++) {
		scopes[i] = self->scopes[i];
		scopes[i].values = values;
		for (size_t k = 0; k < scopes[i].n_values; k++)
			*values++ = carve_text(&at, self->scopes[i].values[k]);
	}
	return copy;
}

/* ---- defaults ---- */

__int128 k8s_bound_nano(enum k8s_resource resource, int64_t bound)
{
	return bound * (resource == K8S_CPU ? nano_of_milli : nano_of_unit);
}

static bool set_absent(struct k8s_amount *amount, int resource, int64_t bound)
{
	if (amount->text || bound == K8S_NO_BOUND)
		return false;
	*amount = (struct k8s_amount){
		.text = "",
		.quantity = {.nano = k8s_bound_nano((enum k8s_resource)resource, bound),
			     .format = resource == K8S_CPU ? QUANTITY_DECIMAL_SI : QUANTITY_BINARY_SI},
		.value = bound};
	return true;
}

void k8s_limit_range_default(const struct k8s_limit_range *self, struct k8s_pod *pod)
{
	for (size_t k = 0; k < self->n_items; k++) {
		const struct k8s_limit_item *item = &self->items[k];

		for (size_t i = 0; i < pod->n_containers && !item->is_pod; i++) {
			struct k8s_resources *resources = &pod->containers[i].resources;

			for (int r = 0; r < K8S_RESOURCE_COUNT_; r++) {
				resources->has_limits |= set_absent(&resources->limits[r], r,
								    item->bounds[K8S_BOUND_DEFAULT][r]);
				resources->has_requests |= set_absent(&resources->requests[r], r,
								      item->bounds[K8S_BOUND_DEFAULT_REQUEST][r]);
			}
			resources->is_present |= resources->has_limits || resources->has_requests;
		}
	}
}

/* ---- totals ---- */

struct k8s_total k8s_container_total(const struct k8s_container *container, enum k8s_resource resource, bool is_limit)
{
	const struct k8s_resources *resources = &container->resources;
	const struct k8s_amount *amount = is_limit ? &resources->limits[resource] : &resources->requests[resource];

	return (struct k8s_total){.has = amount->text != NULL, .nano = amount->quantity.nano};
}

uint64_t k8s_name_bits(const char *name)
{
	uint64_t hash = hash_stable(HASH_STABLE_INIT, name, strlen(name));

	return (uint64_t)1 << (hash & 63) | (uint64_t)1 << (hash >> 24 & 63) | (uint64_t)1 << (hash >> 48 & 63);
}

struct k8s_total k8s_pod_total_of(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit, uint64_t names)
{
	const struct k8s_amount *pod_level = is_limit ? &pod->resources.limits[resource]
						      : &pod->resources.requests[resource];
	struct k8s_total total = {.has = false};
	struct k8s_phases phases = {.together = 0};

	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct k8s_container *container = &pod->containers[i];
		struct k8s_total own = k8s_container_total(container, resource, is_limit);

		if (names != UINT64_MAX && (~names & k8s_name_bits(container->name)))
			continue;
		total.has |= own.has;
		k8s_phases_add(&phases, container->type, own.nano);
	}
	total.nano = k8s_phases_most(&phases);
	if (pod->has_pod_resources && resource != K8S_EPHEMERAL_STORAGE && pod_level->text)
		total = (struct k8s_total){.has = true, .nano = pod_level->quantity.nano};
	return total;
}

struct k8s_total k8s_pod_total(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit, bool with_overhead)
{
	struct k8s_total total = k8s_pod_total_of(pod, resource, is_limit, UINT64_MAX);

	if (with_overhead && pod->overhead[resource].text && (total.has || !is_limit)) {
		total.has = true;
		total.nano += pod->overhead[resource].quantity.nano;
	}
	return total;
}

/* ---- LimitRange ---- */

static int64_t rounded_up(enum k8s_resource resource, __int128 nano)
{
	struct quantity quantity = {.nano = nano};

	return resource == K8S_CPU ? quantity_milli_value(&quantity) : quantity_value(&quantity);
}

/* The API server divided as floating point up to 1.36 and compares exactly since: what either refuses counts. */
static bool is_over_ratio(enum k8s_resource resource, struct k8s_total request, struct k8s_total limit, int64_t milli)
{
	int64_t r = rounded_up(resource, request.nano), l = rounded_up(resource, limit.nano);

	if (!request.has || r <= 0 || !limit.has || l <= 0)
		return true;
	return (__int128)l * 1000 > (__int128)r * milli || (double)l / (double)r * 1000 > (double)milli;
}

bool k8s_limit_item_refuses(const struct k8s_limit_item *item, enum k8s_bound bound, enum k8s_resource resource,
			    struct k8s_total request, struct k8s_total limit)
{
	int64_t value = item->bounds[bound][resource];
	__int128 nano = k8s_bound_nano(resource, value);

	if (value == K8S_NO_BOUND)
		return false;
	if (bound == K8S_BOUND_MIN)
		return !request.has || request.nano < nano || (limit.has && limit.nano < nano);
	if (bound == K8S_BOUND_MAX)
		return !limit.has || limit.nano > nano || (request.has && request.nano > nano);
	return bound == K8S_BOUND_RATIO && is_over_ratio(resource, request, limit, value);
}

/* ---- ResourceQuota ---- */

static bool has_value(const struct k8s_quota_scope *scope, const char *value)
{
	for (size_t i = 0; i < scope->n_values; i++)
		if (streq(scope->values[i], value))
			return true;
	return false;
}

static bool priority_matches(const struct k8s_quota_scope *scope, const char *priority_class)
{
	bool has_class = priority_class[0] != '\0';

	switch (scope->operator_) {
	case K8S_SCOPE_EXISTS:
		return has_class;
	case K8S_SCOPE_DOES_NOT_EXIST:
		return !has_class;
	case K8S_SCOPE_IN:
		return has_class && has_value(scope, priority_class);
	case K8S_SCOPE_NOT_IN:
		return !has_class || !has_value(scope, priority_class);
	}
	return false;
}

static bool scope_matches(const struct k8s_quota_scope *scope, const struct k8s_pod *pod)
{
	switch (scope->scope) {
	case K8S_SCOPE_TERMINATING:
		return pod->has_deadline;
	case K8S_SCOPE_NOT_TERMINATING:
		return !pod->has_deadline;
	case K8S_SCOPE_BEST_EFFORT:
		return k8s_pod_qos(pod) == K8S_QOS_BEST_EFFORT;
	case K8S_SCOPE_NOT_BEST_EFFORT:
		return k8s_pod_qos(pod) != K8S_QOS_BEST_EFFORT;
	case K8S_SCOPE_PRIORITY_CLASS:
		return priority_matches(scope, pod->priority_class);
	case K8S_SCOPE_CLAIMS:
		return false;
	case K8S_SCOPE_CROSS_NAMESPACE_AFFINITY:
	case K8S_SCOPE_UNKNOWN:
		break;
	}
	return true;
}

bool k8s_quota_matches(const struct k8s_quota *self, const struct k8s_pod *pod)
{
	for (size_t i = 0; i < self->n_scopes; i++)
		if (!scope_matches(&self->scopes[i], pod))
			return false;
	return true;
}

bool k8s_quota_demands(const struct k8s_quota *self, enum k8s_quota_field field, enum k8s_resource resource)
{
	return resource != K8S_EPHEMERAL_STORAGE && self->amounts[field][resource].hard != K8S_NO_BOUND;
}
