/* SPDX-License-Identifier: Apache-2.0 */
/* size_limits: compares the rules of a namespace with a pod as it came and as it would be. What was rejected before is
 * not repaired; what would be rejected only with our sizes is a breach. */
#include "policy/size/size_limits.h"

enum { ROUNDS_MAX = 256, CONTAINER_ROUNDS_MAX = 32 };

/* ---- sums ---- */

/* Whether a container lacks an amount that a quota counts. */
static bool lacks(const struct k8s_pod *pod, enum k8s_resource resource, int field)
{
	STEPS(pod->n_containers);
	for (size_t i = 0; i < pod->n_containers && !pod->has_pod_resources; i++)
		if (!k8s_container_total(&pod->containers[i], resource, field == LIMIT).has)
			return true;
	return false;
}

static void add_up(const struct k8s_pod *pod, struct pod_sums *ret)
{
	for (int f = 0; f < 2; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++) {
			enum k8s_resource resource = (enum k8s_resource)r;

			ret->own[f][r] = k8s_pod_total(pod, resource, f == LIMIT, false);
			ret->with_overhead[f][r] = k8s_pod_total(pod, resource, f == LIMIT, true);
			ret->lacks[f][r] = lacks(pod, resource, f);
		}
	ret->qos = k8s_pod_qos(pod);
}

/* ---- all rules ---- */

static void limits_init(struct limits *limits, struct deciding *self)
{
	limits->self = self;
	add_up(&self->facts->pod, &limits->was);
	quotas_init(limits);
}

static bool pod_breach(struct limits *limits, struct breach *ret)
{
	add_up(&limits->self->after, &limits->now);
	return ranges_breach(limits, ret) || queue_breach(limits, ret) || quotas_breach(limits, ret);
}

bool limits_breach(struct deciding *self, struct breach *ret)
{
	struct limits limits;

	if (!self->facts->namespace && !self->mode->queue)
		return false;
	for (size_t i = 0; i < self->n_items; i++)
		if (ranges_breach_container(self, &self->items[i], ret))
			return true;
	limits_init(&limits, self);
	return pod_breach(&limits, ret);
}

/* If rules contradict each other, sizes are dropped, since the pod must not be rejected. */
static void repair_container(struct deciding *self, struct sized *item)
{
	struct breach breach;

	for (int i = 0; ranges_breach_container(self, item, &breach); i++) {
		if (i == CONTAINER_ROUNDS_MAX) {
			limits_drop_all(self, true, breach.why);
			return;
		}
		limits_repair(self, &breach);
	}
}

static void repair_containers(struct deciding *self)
{
	for (size_t i = 0; i < self->n_items; i++)
		repair_container(self, &self->items[i]);
}

void size_limits(struct deciding *self)
{
	struct limits limits;
	struct breach breach;

	if (!self->facts->namespace && !self->mode->queue)
		return;
	for (size_t n = 0; self->facts->namespace && n < self->n_items * SIZED_COUNT_ * 2; n++)
		ranges_cap_words(self, &self->items[n / 4].fields[n / 2 % 2][n % 2],
				 sized_resource_of((enum sized_resource)(n / 2 % 2)));
	limits_init(&limits, self);
	if (limits.has_too_many_quotas) {
		limits_drop_all(self, true, "the namespace has too many quotas");
		return;
	}
	for (int i = 0; i < ROUNDS_MAX; i++) {
		repair_containers(self);
		if (!pod_breach(&limits, &breach))
			return;
		limits_repair(self, &breach);
	}
	limits_drop_all(self, true, breach.why);
}
