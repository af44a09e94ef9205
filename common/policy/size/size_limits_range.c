/* SPDX-License-Identifier: Apache-2.0 */
/* size_limits_range: what the LimitRanges of a namespace reject of a container or of a pod with its new sizes. What was
 * rejected before is not repaired. */
#include "policy/size/size_limits.h"

#include "base/str.h"

/* The values that a bound of a LimitRange is compared with. */
struct pair {
	struct k8s_total request, limit;
};

static struct pair pair_of_container(const struct k8s_container *container, enum k8s_resource resource)
{
	return (struct pair){k8s_container_total(container, resource, false),
			     k8s_container_total(container, resource, true)};
}

static struct pair pair_of_pod(const struct pod_sums *sums, enum k8s_resource resource)
{
	return (struct pair){sums->own[REQUEST][resource], sums->own[LIMIT][resource]};
}

/* Thousandths without trailing zeros: "1.25". */
static const char *ratio_text(const struct deciding *self, int64_t milli)
{
	int64_t rest = milli % 1000;
	int digits = 3;

	for (; digits > 0 && rest % 10 == 0; digits--)
		rest /= 10;
	if (!digits)
		return arena_printf(self->arena, "%lld", (long long)(milli / 1000));
	return arena_printf(self->arena, "%lld.%0*lld", (long long)(milli / 1000), digits, (long long)rest);
}

static const char *rule_words(const struct deciding *self, bool is_pod, enum k8s_bound bound,
			      enum k8s_resource resource)
{
	const struct k8s_limit_rule *rule = &self->facts->namespace->rules.rules[is_pod][bound][resource];
	const char *name = limits_name(self, rule->name);

	if (!name)
		return NULL;
	if (bound == K8S_BOUND_RATIO)
		return arena_printf(self->arena, "LimitRange %s: ratio %s%s", name, ratio_text(self, rule->value),
				    is_pod ? " a pod" : "");
	return arena_printf(self->arena, "LimitRange %s: %s %s%s", name, bound == K8S_BOUND_MIN ? "min" : "max",
			    limits_amount_text(self, resource, rule->value), is_pod ? " a pod" : "");
}

/* A value that was below the minimum before is compared with its old value: it must not become smaller. */
static bool measure_min(struct breach *ret, const struct pair *was, const struct pair *now, __int128 bound)
{
	bool is_request = now->request.nano < MIN(bound, was->request.nano);

	ret->kind = BREACH_TOO_LITTLE;
	ret->field = is_request ? REQUEST : LIMIT;
	ret->bytes = limits_bytes(bound - (is_request ? now->request.nano : now->limit.nano));
	return is_request || (now->limit.has && now->limit.nano < MIN(bound, was->limit.nano));
}

static bool measure_max(struct breach *ret, const struct pair *was, const struct pair *now, __int128 bound)
{
	bool is_limit = now->limit.nano > MAX(bound, was->limit.nano);

	ret->kind = BREACH_TOO_MUCH;
	ret->field = is_limit ? LIMIT : REQUEST;
	ret->bytes = limits_bytes((is_limit ? now->limit.nano : now->request.nano) - bound);
	return is_limit || now->request.nano > MAX(bound, was->request.nano);
}

/* If there was no pair before, the new values must fit, even if the pod would be rejected without them. */
static bool measure_ratio(struct breach *ret, const struct pair *was, const struct pair *now, int64_t milli)
{
	__int128 need = milli > 0 ? (now->limit.nano * 1000 + milli - 1) / milli : now->limit.nano;
	__int128 most = now->request.nano / 1000 * milli;

	ret->kind = BREACH_RATIO;
	ret->field = LIMIT;
	ret->bytes = MAX(limits_bytes(need - now->request.nano), 1);
	ret->limit_bytes = MAX(limits_bytes(now->limit.nano - most), 1);
	if (now->request.nano <= 0 || now->limit.nano <= 0)
		return false;
	return was->request.nano <= 0 || was->limit.nano <= 0 ||
	       (__int128)limits_bytes(now->limit.nano) * limits_bytes(was->request.nano) >
		       (__int128)limits_bytes(was->limit.nano) * limits_bytes(now->request.nano);
}

/* Sets the step that a bound requires. @return whether the pair is further from the bound than before: a pair that was
 * rejected before may then be rejected by a second LimitRange. */
static bool measure(struct breach *ret, enum k8s_bound bound, const struct pair *was, const struct pair *now,
		    int64_t value)
{
	if (bound == K8S_BOUND_RATIO)
		return measure_ratio(ret, was, now, value);
	return (bound == K8S_BOUND_MIN ? measure_min : measure_max)(ret, was, now,
								    k8s_bound_nano(ret->resource, value));
}

/* `within` NULL: the whole pod. */
static bool rule_breach(const struct deciding *self, const struct k8s_container *within, enum k8s_resource resource,
			const struct pair *was, const struct pair *now, struct breach *ret)
{
	static const enum k8s_bound bounds[] = {K8S_BOUND_MAX, K8S_BOUND_MIN, K8S_BOUND_RATIO};

	for (size_t b = 0; b < ARRAY_LEN(bounds) && self->facts->namespace; b++) {
		int64_t value = self->facts->namespace->rules.rules[!within][bounds[b]][resource].value;

		STEPS(1);
		if (!k8s_bound_refuses(bounds[b], resource, value, now->request, now->limit))
			continue;
		*ret = (struct breach){.resource = resource, .within = within};
		if (!measure(ret, bounds[b], was, now, value) &&
		    k8s_bound_refuses(bounds[b], resource, value, was->request, was->limit))
			continue;
		ret->why = rule_words(self, !within, bounds[b], resource);
		return true;
	}
	return false;
}

bool ranges_breach_container(const struct deciding *self, const struct sized *item, struct breach *ret)
{
	const struct k8s_container *before = &self->facts->pod.containers[item->after - self->after.containers];

	for (int r = K8S_MEMORY; r < K8S_RESOURCE_COUNT_; r++) {
		struct pair was = pair_of_container(before, (enum k8s_resource)r);
		struct pair now = pair_of_container(item->after, (enum k8s_resource)r);

		if (rule_breach(self, item->after, (enum k8s_resource)r, &was, &now, ret))
			return true;
	}
	return false;
}

bool ranges_breach(const struct limits *limits, struct breach *ret)
{
	for (int r = K8S_MEMORY; r < K8S_RESOURCE_COUNT_; r++) {
		struct pair was = pair_of_pod(&limits->was, (enum k8s_resource)r);
		struct pair now = pair_of_pod(&limits->now, (enum k8s_resource)r);

		if (rule_breach(limits->self, NULL, (enum k8s_resource)r, &was, &now, ret))
			return true;
	}
	return false;
}

void ranges_cap_words(const struct deciding *self, struct field *field, enum k8s_resource resource)
{
	int64_t max = self->facts->namespace->rules.rules[0][K8S_BOUND_MAX][resource].value;
	enum gate gate = field->proposal.gate;

	if (max == K8S_NO_BOUND || field->proposal.to_bytes <= max || gate < GATE_ACTION || gate > GATE_QUEUE)
		return;
	field->cap_why = rule_words(self, false, K8S_BOUND_MAX, resource);
	field->proposal.to_bytes = max;
	if (field->has && max <= field->now_bytes)
		field->proposal.gate = GATE_LIMITS;
}
