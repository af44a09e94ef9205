/* SPDX-License-Identifier: Apache-2.0 */
/* size_limits_quota: what a ResourceQuota leaves for all pods of one root owner together, and for this one of them. */
#include "policy/size/size_limits.h"

#include "base/str.h"

/* The resources in the templates of the root owner's pods; NULL: not known. */
static const struct k8s_declared *declared_of(const struct deciding *self)
{
	const struct k8s_declared *declared = self->input->subject == SUBJECT_TEMPLATE ? &self->input->declared
					      : self->facts->owner		       ? &self->facts->owner->declared
										       : NULL;

	return declared && declared->variants ? declared : NULL;
}

static int64_t pods_of_owner(const struct deciding *self)
{
	const struct k8s_declared *declared = declared_of(self);

	if (self->input->subject == SUBJECT_TEMPLATE)
		return MAX(declared ? declared->pods : self->input->replicas, 1);
	if (!k8s_pod_controller(&self->facts->pod))
		return 1;
	return self->facts->owner ? self->facts->owner->pods : 0;
}

/* The default of LimitRanges for a container without a value. */
static __int128 default_of(const struct deciding *self, enum k8s_resource resource, int field)
{
	enum k8s_bound bound = field == LIMIT ? K8S_BOUND_DEFAULT : K8S_BOUND_DEFAULT_REQUEST;
	int64_t value = self->facts->namespace ? self->facts->namespace->rules.rules[0][bound][resource].value
					       : K8S_NO_BOUND;

	return value == K8S_NO_BOUND ? 0 : k8s_bound_nano(resource, value);
}

/* All pods are assumed to have this pod's overhead. */
struct owner_sums limits_owner_sums(const struct limits *limits, enum k8s_resource resource, int field)
{
	const struct deciding *self = limits->self;
	const struct k8s_declared *declared = declared_of(self);
	__int128 overhead = self->facts->pod.overhead[resource].quantity.nano;
	uint64_t names;

	if (!declared || declared->variants == 1)
		return (struct owner_sums){.is_known = false};
	names = declared->names ? declared->names : UINT64_MAX;
	return (struct owner_sums){
		.is_known = true,
		.all = k8s_bound_nano(resource, declared->amounts[field == LIMIT][resource]) +
		       declared->lacking[field == LIMIT][resource] * default_of(self, resource, field) +
		       limits->pods * overhead,
		.own = k8s_pod_total_of(&self->facts->pod, resource, field == LIMIT, names).nano + overhead,
	};
}

void quotas_init(struct limits *limits)
{
	const struct deciding *self = limits->self;
	const struct namespace_facts *facts = self->facts->namespace;

	limits->n_quotas = 0;
	limits->pods = pods_of_owner(self);
	limits->has_too_many_quotas = facts && facts->n_quotas > LIMIT_NAMESPACE_QUOTAS;
	for (size_t i = 0; facts && i < facts->n_quotas && !limits->has_too_many_quotas; i++)
		if (k8s_quota_matches_rest(facts->quotas[i], &self->facts->pod))
			limits->quotas[limits->n_quotas++] = facts->quotas[i];
	if (!limits->n_quotas)
		return;
	for (int f = 0; f < 2; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			limits->owner[f][r] = limits_owner_sums(limits, (enum k8s_resource)r, f);
}

/* ---- one amount of one quota ---- */

struct counted {
	const struct limits *limits;
	const struct k8s_quota *quota;
	enum k8s_resource resource;
	int field;
};

static const char *quota_words(const struct counted *self, const char *words)
{
	struct arena *arena = self->limits->self->arena;
	const char *name = limits_name(self->limits->self, self->quota->name);

	return name && words ? arena_printf(arena, "quota %s: %s", name, words) : NULL;
}

static const struct owner_sums *owner_of(const struct counted *self)
{
	return &self->limits->owner[self->field][self->resource];
}

/* The maximum of one of the owner's pods, of the amount that they have together: an equal share. If the pods differ:
 * its own value, plus an equal share of the rest above the values of all. */
static int64_t share_of(const struct counted *self, __int128 together)
{
	const struct owner_sums *owner = owner_of(self);
	__int128 unit = k8s_bound_nano(self->resource, 1), n = self->limits->pods, share = together / n;

	if (owner->is_known)
		share = (owner->own + MAX((together * unit - owner->all) / n, 0)) / unit;
	return (int64_t)MIN(share, (__int128)INT64_MAX);
}

static const struct k8s_quota_amount *amount_of(const struct counted *self)
{
	return &self->quota->amounts[self->field == LIMIT][self->resource];
}

/* The amount that all pods of the owner have together: what is left, and what its known pods hold already. */
static __int128 together_of(const struct counted *self)
{
	const struct owner_facts *owner = self->limits->self->facts->owner;
	const struct k8s_quota_amount *amount = amount_of(self);

	return (__int128)MAX(amount->hard - amount->used, 0) +
	       (owner ? owner->held[self->field == LIMIT][self->resource] : 0);
}

/* The amount that the pods have together; if they differ, above their own requests. */
static const char *share_words(const struct counted *self, __int128 together)
{
	const struct deciding *deciding = self->limits->self;
	const struct owner_sums *owner = owner_of(self);

	if (owner->is_known)
		together = MAX(together - owner->all / k8s_bound_nano(self->resource, 1), 0);
	return arena_printf(deciding->arena, "%s%s for %lld pods",
			    limits_amount_text(deciding, K8S_MEMORY, (int64_t)MIN(together, (__int128)INT64_MAX)),
			    owner->is_known ? " more" : "", (long long)self->limits->pods);
}

static const char *left_words(const struct counted *self, int64_t left)
{
	const struct deciding *deciding = self->limits->self;

	return arena_printf(deciding->arena, "%s left", limits_amount_text(deciding, K8S_MEMORY, left));
}

/* Whether `now` exceeds what the pod may have of the amount: never more than is left and, if the pod was accepted
 * without us, no more than its share, so that there is room for its siblings. Texts are made only for a breach. */
static bool exceeds(const struct counted *self, __int128 now, bool was_refused, int64_t *ret_most, const char **ret_why)
{
	const struct k8s_quota_amount *amount = amount_of(self);
	int64_t left = MAX(amount->hard - amount->used, 0), pods = self->limits->pods;
	__int128 together = pods ? together_of(self) : 0;
	int64_t each = pods ? share_of(self, together) : was_refused ? left : 0;

	*ret_most = MIN(each, left);
	if (now <= k8s_bound_nano(self->resource, *ret_most))
		return false;
	*ret_why = quota_words(self, pods && each < left   ? share_words(self, together)
				     : pods || was_refused ? left_words(self, left)
							   : "number of pods unknown");
	return true;
}

static bool amount_breach(const struct counted *self, bool was_counted, struct breach *ret)
{
	const struct limits *limits = self->limits;
	enum k8s_resource resource = self->resource;
	int field = self->field;
	bool demands = k8s_quota_demands(self->quota, (enum k8s_quota_field)(field == LIMIT), resource);
	bool was_refused = was_counted && demands && limits->was.lacks[field][resource];
	__int128 now = limits->now.with_overhead[field][resource].nano;
	__int128 was = was_counted ? limits->was.with_overhead[field][resource].nano : 0;
	int64_t most;

	*ret = (struct breach){.resource = resource, .field = field};
	if (demands && !was_refused && limits->now.lacks[field][resource]) {
		ret->kind = BREACH_COUNTED;
		ret->why = quota_words(self, arena_printf(limits->self->arena, "all containers need %s %s",
							  k8s_resource_names[resource],
							  field == LIMIT ? "limits" : "requests"));
		return true;
	}
	if (now <= was || !exceeds(self, now, was_refused, &most, &ret->why))
		return false;
	ret->kind = resource == K8S_CPU ? BREACH_COUNTED : BREACH_TOO_MUCH;
	ret->bytes = limits_bytes(now - MAX(was, k8s_bound_nano(resource, most)));
	return true;
}

/* The pod leaves BestEffort and is counted by a quota that did not count it: whether there is no room for it and its
 * siblings. */
static bool count_breach(const struct counted *self, struct breach *ret)
{
	const struct k8s_quota_amount *pods = &self->quota->pods;
	const struct owner_facts *owner = self->limits->self->facts->owner;
	int64_t n = self->limits->pods, left = pods->hard - pods->used;

	if (pods->hard == K8S_NO_BOUND)
		return false;
	if (n && left >= MAX(n - (owner ? owner->held_pods : 0), 1))
		return false;
	*ret = (struct breach){.kind = BREACH_COUNTED,
			       .resource = K8S_MEMORY,
			       .why = quota_words(self, !n	 ? "number of pods unknown"
							: n == 1 ? "no room for one more pod"
								 : "no room for all its pods")};
	return true;
}

static bool quota_breach(const struct limits *limits, size_t index, struct breach *ret)
{
	struct counted counted = {.limits = limits, .quota = limits->quotas[index]};
	bool was_counted = k8s_quota_matches_qos(counted.quota, limits->was.qos);

	if (!k8s_quota_matches_qos(counted.quota, limits->now.qos))
		return false;
	if (!was_counted && count_breach(&counted, ret))
		return true;
	STEPS(2 * K8S_RESOURCE_COUNT_);
	for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
		for (int f = 0; f < 2; f++) {
			counted.resource = (enum k8s_resource)r;
			counted.field = f;
			if (amount_of(&counted)->hard != K8S_NO_BOUND && amount_breach(&counted, was_counted, ret))
				return true;
		}
	return false;
}

/* Of several quotas that the same requests or limits exceed, the one that must shrink them most, so that one step is
 * enough. */
bool quotas_breach(const struct limits *limits, struct breach *ret)
{
	bool is_found = false;
	struct breach next;

	for (size_t i = 0; i < limits->n_quotas; i++) {
		if (!quota_breach(limits, i, &next))
			continue;
		if (is_found && (next.kind != ret->kind || next.resource != ret->resource || next.field != ret->field ||
				 next.bytes <= ret->bytes))
			continue;
		*ret = next;
		is_found = true;
	}
	return is_found;
}
