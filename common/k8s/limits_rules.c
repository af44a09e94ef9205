/* SPDX-License-Identifier: Apache-2.0 */
/* limits_rules: copies, and what the API server computes. Amounts are compared as exact quantities. */
#include "k8s/limits.h"

#include "base/str.h"

#include <stdlib.h>

static const __int128 nano_of_unit = 1000000000, nano_of_milli = 1000000;

/* ---- copies ---- */

/* Takes a part of the block behind a struct: first the arrays, then the texts. */
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

void k8s_limit_rules_init(struct k8s_limit_rules *self)
{
	struct k8s_limit_rule *rule = &self->rules[0][0][0];

	for (size_t i = 0; i < sizeof(self->rules) / sizeof(*rule); i++)
		rule[i] = (struct k8s_limit_rule){.value = K8S_NO_BOUND};
}

static bool is_stricter(enum k8s_bound bound, int64_t value, int64_t than)
{
	if (than == K8S_NO_BOUND)
		return value != K8S_NO_BOUND;
	if (value == K8S_NO_BOUND || bound == K8S_BOUND_DEFAULT || bound == K8S_BOUND_DEFAULT_REQUEST)
		return false;
	return bound == K8S_BOUND_MIN ? value > than : value < than;
}

void k8s_limit_rules_add(struct k8s_limit_rules *self, const struct k8s_limit_range *range)
{
	for (size_t i = 0; i < range->n_items; i++)
		for (int b = 0; b < K8S_BOUND_COUNT_; b++)
			for (int r = 0; r < K8S_RESOURCE_COUNT_; r++) {
				struct k8s_limit_rule *rule = &self->rules[range->items[i].is_pod][b][r];
				int64_t value = range->items[i].bounds[b][r];

				if (is_stricter((enum k8s_bound)b, value, rule->value))
					*rule = (struct k8s_limit_rule){value, range->name};
			}
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

void k8s_limit_rules_default(const struct k8s_limit_rules *self, struct k8s_pod *pod)
{
	const struct k8s_limit_rule(*rules)[K8S_RESOURCE_COUNT_] = self->rules[0];

	STEPS(pod->n_containers);
	for (size_t i = 0; i < pod->n_containers; i++) {
		struct k8s_resources *resources = &pod->containers[i].resources;

		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++) {
			resources->has_limits |= set_absent(&resources->limits[r], r,
							    rules[K8S_BOUND_DEFAULT][r].value);
			resources->has_requests |= set_absent(&resources->requests[r], r,
							      rules[K8S_BOUND_DEFAULT_REQUEST][r].value);
		}
		resources->is_present |= resources->has_limits || resources->has_requests;
	}
}

/* ---- LimitRange ---- */

/* The API server divided in floating point up to 1.36 and compares exactly since; a rejection by either counts. */
static bool is_over_ratio(enum k8s_resource resource, struct k8s_total request, struct k8s_total limit, int64_t milli)
{
	int64_t r = k8s_value_of(resource, request.nano), l = k8s_value_of(resource, limit.nano);

	if (!request.has || r <= 0 || !limit.has || l <= 0)
		return true;
	return (__int128)l * 1000 > (__int128)r * milli || (double)l / (double)r * 1000 > (double)milli;
}

bool k8s_bound_refuses(enum k8s_bound bound, enum k8s_resource resource, int64_t value, struct k8s_total request,
		       struct k8s_total limit)
{
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
	case K8S_SCOPE_PRIORITY_CLASS:
		return priority_matches(scope, pod->priority_class);
	case K8S_SCOPE_CLAIMS:
		return false;
	case K8S_SCOPE_BEST_EFFORT:
	case K8S_SCOPE_NOT_BEST_EFFORT:
	case K8S_SCOPE_CROSS_NAMESPACE_AFFINITY:
	case K8S_SCOPE_UNKNOWN:
		break;
	}
	return true;
}

bool k8s_quota_matches_rest(const struct k8s_quota *self, const struct k8s_pod *pod)
{
	for (size_t i = 0; i < self->n_scopes; i++)
		if (!scope_matches(&self->scopes[i], pod))
			return false;
	return true;
}

bool k8s_quota_matches_qos(const struct k8s_quota *self, enum k8s_qos qos)
{
	STEPS(self->n_scopes);
	for (size_t i = 0; i < self->n_scopes; i++)
		if (self->scopes[i].scope ==
		    (qos == K8S_QOS_BEST_EFFORT ? K8S_SCOPE_NOT_BEST_EFFORT : K8S_SCOPE_BEST_EFFORT))
			return false;
	return true;
}

bool k8s_quota_matches(const struct k8s_quota *self, const struct k8s_pod *pod)
{
	return k8s_quota_matches_rest(self, pod) && k8s_quota_matches_qos(self, k8s_pod_qos(pod));
}

bool k8s_quota_is_decidable(const struct k8s_quota *self)
{
	for (size_t i = 0; i < self->n_scopes; i++)
		if (self->scopes[i].scope == K8S_SCOPE_CROSS_NAMESPACE_AFFINITY ||
		    self->scopes[i].scope == K8S_SCOPE_UNKNOWN)
			return false;
	return true;
}

bool k8s_quota_demands(const struct k8s_quota *self, enum k8s_quota_field field, enum k8s_resource resource)
{
	return resource != K8S_EPHEMERAL_STORAGE && self->amounts[field][resource].hard != K8S_NO_BOUND;
}
