/* SPDX-License-Identifier: Apache-2.0 */
/* size_limits: the rules of a namespace beside a pod as it came and as it would be. What was refused before is not ours
 * to mend; what would be refused only now is a breach. */
#include "policy/size_limits.h"

#include "base/limits.h"
#include "base/str.h"

enum { NAME_CHARS = 24, ROUNDS_MAX = 256 };

static const __int128 nano_of_byte = 1000000000;

static int64_t bytes_of(__int128 nano)
{
	__int128 bytes = (nano + nano_of_byte - 1) / nano_of_byte;

	return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

static const char *amount_text(const struct deciding *self, enum k8s_resource resource, int64_t amount)
{
	struct quantity milli = {.nano = k8s_bound_nano(K8S_CPU, amount), .format = QUANTITY_DECIMAL_SI};
	char text[QUANTITY_TEXT_BYTES];

	return arena_printf(self->arena, "%s",
			    resource == K8S_CPU ? quantity_render(&milli, text) : text_exact(amount, text));
}

/* ---- LimitRange ---- */

/* What one bound of a LimitRange is held against. */
struct pair {
	struct k8s_total request, limit;
};

static struct pair pair_of(const struct k8s_pod *pod, const struct k8s_container *container, enum k8s_resource resource)
{
	if (container)
		return (struct pair){k8s_container_total(container, resource, false),
				     k8s_container_total(container, resource, true)};
	return (struct pair){k8s_pod_total(pod, resource, false, false), k8s_pod_total(pod, resource, true, false)};
}

/* Thousandths without zeros at the end: "1.25". */
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

static const char *range_words(const struct deciding *self, const struct k8s_limit_range *range,
			       const struct k8s_limit_item *item, enum k8s_bound bound, enum k8s_resource resource)
{
	static const char *const words[K8S_BOUND_COUNT_] = {
		[K8S_BOUND_MIN] = "asks for at least",
		[K8S_BOUND_MAX] = "allows at most",
		[K8S_BOUND_RATIO] = "allows at most",
	};
	const char *name = text_clean(self->arena, range->name, NAME_CHARS);
	int64_t value = item->bounds[bound][resource];

	if (!name)
		return NULL;
	if (bound == K8S_BOUND_RATIO)
		return arena_printf(self->arena, "LimitRange %s allows %s times the request%s", name,
				    ratio_text(self, value), item->is_pod ? " a pod" : "");
	return arena_printf(self->arena, "LimitRange %s %s %s%s", name, words[bound],
			    amount_text(self, resource, value), item->is_pod ? " a pod" : "");
}

static void measure_min(struct breach *ret, const struct pair *now, __int128 bound)
{
	bool is_request = now->request.nano < bound;

	ret->kind = BREACH_TOO_LITTLE;
	ret->field = is_request ? REQUEST : LIMIT;
	ret->bytes = bytes_of(bound - (is_request ? now->request.nano : now->limit.nano));
}

static void measure_max(struct breach *ret, const struct pair *now, __int128 bound)
{
	bool is_limit = now->limit.nano > bound;

	ret->kind = BREACH_TOO_MUCH;
	ret->field = is_limit ? LIMIT : REQUEST;
	ret->bytes = bytes_of((is_limit ? now->limit.nano : now->request.nano) - bound);
}

static void measure_ratio(struct breach *ret, const struct pair *now, int64_t milli)
{
	__int128 need = milli > 0 ? (now->limit.nano * 1000 + milli - 1) / milli : now->limit.nano;
	__int128 most = now->request.nano / 1000 * milli;

	ret->kind = BREACH_RATIO;
	ret->field = LIMIT;
	ret->bytes = MAX(bytes_of(need - now->request.nano), 1);
	ret->limit_bytes = MAX(bytes_of(now->limit.nano - most), 1);
}

static bool range_breach(const struct deciding *self, const struct k8s_limit_range *range,
			 const struct k8s_limit_item *item, const struct k8s_container *within,
			 const struct k8s_container *before, struct breach *ret)
{
	static const enum k8s_bound bounds[] = {K8S_BOUND_MAX, K8S_BOUND_MIN, K8S_BOUND_RATIO};

	for (int r = K8S_MEMORY; r < K8S_RESOURCE_COUNT_; r++) {
		enum k8s_resource resource = (enum k8s_resource)r;
		struct pair now = pair_of(&self->after, within, resource);
		struct pair was = pair_of(&self->pod, before, resource);

		for (size_t b = 0; b < ARRAY_LEN(bounds); b++) {
			int64_t value = item->bounds[bounds[b]][r];

			if (!k8s_limit_item_refuses(item, bounds[b], resource, now.request, now.limit) ||
			    k8s_limit_item_refuses(item, bounds[b], resource, was.request, was.limit))
				continue;
			*ret = (struct breach){.resource = resource,
					       .within = within,
					       .why = range_words(self, range, item, bounds[b], resource)};
			if (bounds[b] == K8S_BOUND_MIN)
				measure_min(ret, &now, k8s_bound_nano(resource, value));
			else if (bounds[b] == K8S_BOUND_MAX)
				measure_max(ret, &now, k8s_bound_nano(resource, value));
			else
				measure_ratio(ret, &now, value);
			return true;
		}
	}
	return false;
}

static bool item_breach(const struct deciding *self, const struct k8s_limit_range *range,
			const struct k8s_limit_item *item, struct breach *ret)
{
	if (item->is_pod)
		return range_breach(self, range, item, NULL, NULL, ret);
	for (size_t i = 0; i < self->after.n_containers; i++)
		if (range_breach(self, range, item, &self->after.containers[i], &self->pod.containers[i], ret))
			return true;
	return false;
}

/* ---- ResourceQuota ---- */

/* What the pods of the root owner are made with; NULL: not known. */
static const struct k8s_declared *declared_of(const struct deciding *self)
{
	const struct k8s_declared *declared = self->input->subject == SUBJECT_TEMPLATE ? &self->input->declared
					      : self->owner			       ? &self->owner->declared
										       : NULL;

	return declared && declared->variants ? declared : NULL;
}

/* How many pods the root owner has; 0: not known. */
static int64_t pods_of_owner(const struct deciding *self)
{
	const struct k8s_declared *declared = declared_of(self);

	if (self->input->subject == SUBJECT_TEMPLATE)
		return MAX(declared ? declared->pods : self->input->replicas, 1);
	if (!k8s_pod_controller(&self->pod))
		return 1;
	return self->owner ? self->owner->pods : 0;
}

/* A container that does not say an amount that the quota counts. */
static bool lacks(const struct k8s_pod *pod, enum k8s_resource resource, int field)
{
	for (size_t i = 0; i < pod->n_containers && !pod->has_pod_resources; i++)
		if (!k8s_container_total(&pod->containers[i], resource, field == LIMIT).has)
			return true;
	return false;
}

static const char *quota_words(const struct deciding *self, const struct k8s_quota *quota, const char *words)
{
	const char *name = text_clean(self->arena, quota->name, NAME_CHARS);

	return name && words ? arena_printf(self->arena, "quota %s: %s", name, words) : NULL;
}

static const struct quota_base *base_of(const struct deciding *self, const struct k8s_quota *quota)
{
	for (size_t i = 0; self->owner && i < self->owner->n_bases; i++)
		if (streq(self->owner->bases[i].name, quota->name))
			return &self->owner->bases[i];
	return NULL;
}

/* What LimitRanges give a container that does not say an amount. */
static __int128 default_of(const struct deciding *self, enum k8s_resource resource, int field)
{
	struct k8s_container container = {.name = ""};
	struct k8s_pod pod = {.containers = &container, .n_containers = 1, .n_main = 1};

	for (size_t i = 0; self->facts && i < self->facts->n_limit_ranges; i++)
		k8s_limit_range_default(self->facts->limit_ranges[i], &pod);
	return k8s_container_total(&container, resource, field == LIMIT).nano;
}

/* What the n pods of the owner have without us, where they are not all alike. The overhead is each as this pod's. */
static bool own_of_all(const struct deciding *self, enum k8s_resource resource, int field, int64_t n, __int128 *ret)
{
	const struct k8s_declared *declared = declared_of(self);

	if (!declared || declared->variants == 1)
		return false;
	*ret = k8s_bound_nano(resource, declared->amounts[field == LIMIT][resource]) +
	       declared->lacking[field == LIMIT][resource] * default_of(self, resource, field) +
	       n * self->pod.overhead[resource].quantity.nano;
	return true;
}

/* What one of n pods may have of what they have together: an even share. Where they are not alike each has its own
 * value, and an even share of what is left above all of these. */
static int64_t share_of(const struct deciding *self, __int128 together, enum k8s_resource resource, int field,
			int64_t n)
{
	__int128 unit = k8s_bound_nano(resource, 1), all, own, share = together / n;

	if (own_of_all(self, resource, field, n, &all)) {
		uint64_t names = declared_of(self)->names;

		own = k8s_pod_total_of(&self->pod, resource, field == LIMIT, names ? names : UINT64_MAX).nano +
		      self->pod.overhead[resource].quantity.nano;
		share = (own + MAX((together * unit - all) / n, 0)) / unit;
	}
	return (int64_t)MIN(share, (__int128)INT64_MAX);
}

/* What all pods of the owner have together. While they come it is what was left before the first of them, so that all
 * get the same; unless more has gone since than the others can have taken: then somebody else has. */
static __int128 together_of(const struct deciding *self, const struct k8s_quota *quota,
			    const struct k8s_quota_amount *amount, enum k8s_resource resource, int field, int64_t n)
{
	const struct quota_base *base = base_of(self, quota);
	const struct k8s_quota_amount *then = base ? &base->amounts[field == LIMIT][resource] : NULL;
	int64_t left = MAX(amount->hard - amount->used, 0);

	if (then && then->hard != K8S_NO_BOUND) {
		int64_t all = MAX(MIN(then->hard, amount->hard) - then->used, 0);

		if (amount->used - then->used <= all - share_of(self, all, resource, field, n))
			return all;
	}
	return (__int128)left + (self->owner ? self->owner->held[field == LIMIT][resource] : 0);
}

static const char *share_words(const struct deciding *self, __int128 together, enum k8s_resource resource, int field,
			       int64_t n)
{
	const char *text = amount_text(self, K8S_MEMORY, (int64_t)MIN(together, (__int128)INT64_MAX));
	const char *of_all;
	__int128 all;

	if (!own_of_all(self, resource, field, n, &all))
		return arena_printf(self->arena, "%s left for %lld pods", text, (long long)n);
	of_all = amount_text(self, K8S_MEMORY, (int64_t)MIN(all / k8s_bound_nano(resource, 1), (__int128)INT64_MAX));
	return arena_printf(self->arena, "%s left for %lld pods with %s of their own", text, (long long)n, of_all);
}

/* What the pod may hold of one amount of a quota: never more than is left; where it was accepted without us, also no
 * more than leaves room for its siblings' own values and as much on top. */
static int64_t allowance(const struct deciding *self, const struct k8s_quota *quota,
			 const struct k8s_quota_amount *amount, enum k8s_resource resource, int field, bool is_refused,
			 const char **ret_why)
{
	int64_t left = MAX(amount->hard - amount->used, 0), n = pods_of_owner(self), each;
	const char *text = amount_text(self, K8S_MEMORY, left);
	__int128 together;

	*ret_why = quota_words(self, quota, arena_printf(self->arena, "%s left", text));
	if (!n && is_refused)
		return left;
	if (!n) {
		*ret_why = quota_words(self, quota, "number of pods unknown");
		return 0;
	}
	together = together_of(self, quota, amount, resource, field, n);
	each = share_of(self, together, resource, field, n);
	if (each >= left)
		return left;
	*ret_why = quota_words(self, quota, share_words(self, together, resource, field, n));
	return each;
}

static bool amount_breach(const struct deciding *self, const struct k8s_quota *quota, bool was_counted,
			  enum k8s_resource resource, int field, struct breach *ret)
{
	const struct k8s_quota_amount *amount = &quota->amounts[field == LIMIT][resource];
	bool demands = k8s_quota_demands(quota, (enum k8s_quota_field)(field == LIMIT), resource);
	bool was_refused = was_counted && demands && lacks(&self->pod, resource, field);
	__int128 now = k8s_pod_total(&self->after, resource, field == LIMIT, true).nano;
	__int128 was = was_counted ? k8s_pod_total(&self->pod, resource, field == LIMIT, true).nano : 0;
	int64_t most;

	*ret = (struct breach){.resource = resource, .field = field};
	if (demands && !was_refused && lacks(&self->after, resource, field)) {
		ret->kind = BREACH_COUNTED;
		ret->why = quota_words(self, quota,
				       arena_printf(self->arena, "all containers need %s %s",
						    k8s_resource_names[resource],
						    field == LIMIT ? "limits" : "requests"));
		return true;
	}
	if (now <= was)
		return false;
	most = allowance(self, quota, amount, resource, field, was_refused, &ret->why);
	if (now <= k8s_bound_nano(resource, most))
		return false;
	ret->kind = resource == K8S_CPU ? BREACH_COUNTED : BREACH_TOO_MUCH;
	ret->bytes = bytes_of(now - MAX(was, k8s_bound_nano(resource, most)));
	return true;
}

/* The pod leaves BestEffort and is counted by a quota that did not count it: is there room for it and its siblings? */
static bool count_breach(const struct deciding *self, const struct k8s_quota *quota, struct breach *ret)
{
	const struct quota_base *base = base_of(self, quota);
	int64_t n = pods_of_owner(self), left = quota->pods.hard - quota->pods.used;

	if (quota->pods.hard == K8S_NO_BOUND)
		return false;
	/* while its pods come: what was left for them */
	if (base && base->pods.hard != K8S_NO_BOUND && n && left > 0 && base->pods.hard - base->pods.used >= n)
		return false;
	if (n && left >= MAX(n - (self->owner ? self->owner->held_pods : 0), 1))
		return false;
	*ret = (struct breach){.kind = BREACH_COUNTED,
			       .resource = K8S_MEMORY,
			       .why = quota_words(self, quota,
						  !n	   ? "number of pods unknown"
						  : n == 1 ? "no room for one more pod"
							   : "no room for all its pods")};
	return true;
}

static bool quota_breach(const struct deciding *self, const struct k8s_quota *quota, struct breach *ret)
{
	bool was_counted = k8s_quota_matches(quota, &self->pod);

	if (!k8s_quota_matches(quota, &self->after))
		return false;
	if (!was_counted && count_breach(self, quota, ret))
		return true;
	for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
		for (int f = 0; f < 2; f++)
			if (quota->amounts[f == LIMIT][r].hard != K8S_NO_BOUND &&
			    amount_breach(self, quota, was_counted, (enum k8s_resource)r, f, ret))
				return true;
	return false;
}

/* ---- all together ---- */

bool limits_breach(const struct deciding *self, struct breach *ret)
{
	const struct namespace_facts *facts = self->facts;

	for (size_t i = 0; facts && i < facts->n_limit_ranges; i++)
		for (size_t k = 0; k < facts->limit_ranges[i]->n_items; k++)
			if (item_breach(self, facts->limit_ranges[i], &facts->limit_ranges[i]->items[k], ret))
				return true;
	for (size_t i = 0; facts && i < facts->n_quotas; i++)
		if (quota_breach(self, facts->quotas[i], ret))
			return true;
	return false;
}

/* What is only spoken of is no more than a container may have. */
static void cap_words(struct deciding *self, const struct k8s_limit_range *range, const struct k8s_limit_item *item,
		      struct field *field, enum k8s_resource resource)
{
	int64_t max = item->bounds[K8S_BOUND_MAX][resource];
	enum gate gate = field->proposal.gate;

	if (max == K8S_NO_BOUND || field->proposal.to_bytes <= max || gate < GATE_ACTION || gate > GATE_QUEUE)
		return;
	field->cap_why = range_words(self, range, item, K8S_BOUND_MAX, resource);
	field->proposal.to_bytes = max;
	if (field->has && max <= field->now_bytes)
		field->proposal.gate = GATE_LIMITS;
}

static void cap_all_words(struct deciding *self)
{
	const struct namespace_facts *facts = self->facts;

	for (size_t i = 0; facts && i < facts->n_limit_ranges; i++)
		for (size_t k = 0; k < facts->limit_ranges[i]->n_items; k++) {
			const struct k8s_limit_item *item = &facts->limit_ranges[i]->items[k];

			for (size_t n = 0; n < self->n_items * SIZED_COUNT_ * 2 && !item->is_pod; n++)
				cap_words(self, facts->limit_ranges[i], item,
					  &self->items[n / 4].fields[n / 2 % 2][n % 2],
					  sized_resource_of((enum sized_resource)(n / 2 % 2)));
		}
}

void size_limits(struct deciding *self)
{
	struct breach breach;

	cap_all_words(self);
	for (int i = 0; i < ROUNDS_MAX; i++) {
		if (!limits_breach(self, &breach))
			return;
		limits_repair(self, &breach);
		fit_carry_out(self);
	}
	/* Rules that work against each other: better no size than a refused pod. */
	limits_drop_all(self, true, breach.why);
	fit_carry_out(self);
}
