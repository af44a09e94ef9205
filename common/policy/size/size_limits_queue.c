/* SPDX-License-Identifier: Apache-2.0 */
/* size_limits_queue: a patch must not make Kueue never admit a workload. A ClusterQueue admits no request of a resource
 * that it does not cover, and no pods that together request more than one of its flavors can ever provide. What the
 * object requests without us is the user's choice and is not reduced. */
#include "policy/size/size_limits.h"

#include "base/str.h"

/* The maximum request of one of the pods: an equal share. If the templates differ: its own value, plus an equal share
 * of the rest above the values of all. */
static __int128 most_of(const struct limits *limits, enum k8s_resource resource)
{
	const struct deciding *self = limits->self;
	__int128 most = k8s_bound_nano(resource, self->mode->queue->most[resource]);
	struct owner_sums sums;

	if (!self->mode->queue->is_covered[resource])
		return 0;
	if (self->mode->queue->most[resource] == INT64_MAX)
		return most;
	if (self->input->subject == SUBJECT_POD)
		return most / self->mode->queue_pods;
	sums = limits_owner_sums(limits, resource, REQUEST);
	return sums.is_known ? sums.own + MAX(most - sums.all, 0) / limits->pods : most / limits->pods;
}

static const char *words(const struct limits *limits, enum k8s_resource resource)
{
	const struct deciding *self = limits->self;
	const struct queue_facts *queue = self->mode->queue;
	const char *name = limits_name(self, queue->name);
	int64_t pods = self->input->subject == SUBJECT_POD ? self->mode->queue_pods : limits->pods;
	const char *most = limits_amount_text(self, resource, queue->most[resource]);

	if (!name || !most)
		return NULL;
	if (!queue->is_covered[resource])
		return arena_printf(self->arena, "ClusterQueue %s has no %s", name, k8s_resource_names[resource]);
	return pods == 1 ? arena_printf(self->arena, "ClusterQueue %s: %s", name, most)
			 : arena_printf(self->arena, "ClusterQueue %s: %s for %lld pods", name, most, (long long)pods);
}

static bool resource_breach(const struct limits *limits, enum k8s_resource resource, struct breach *ret)
{
	__int128 now = limits->now.with_overhead[REQUEST][resource].nano;
	__int128 was = limits->was.with_overhead[REQUEST][resource].nano, most;

	STEPS(1);
	if (now <= was)
		return false;
	most = most_of(limits, resource);
	if (now <= most)
		return false;
	*ret = (struct breach){.kind = BREACH_TOO_MUCH,
			       .resource = resource,
			       .field = REQUEST,
			       .bytes = limits_bytes(now - MAX(was, most)),
			       .why = words(limits, resource)};
	return true;
}

bool queue_breach(const struct limits *limits, struct breach *ret)
{
	return limits->self->mode->queue &&
	       (resource_breach(limits, K8S_MEMORY, ret) || resource_breach(limits, K8S_EPHEMERAL_STORAGE, ret));
}
