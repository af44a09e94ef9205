/* SPDX-License-Identifier: Apache-2.0 */
/* What every source of objects needs of the cluster: the builder, and a way to say that something changed. */
#include "cluster/cluster_internal.h"

#include "base/timefmt.h"

#include <errno.h>

#define AT_ONCE_MS 2
/* Builds may take a twentieth of the thread's time: with 100,000 profiles a build takes longer than with a hundred. */
#define GATHER_BUILDS 20
#define NO_MEMORY_MS  (5 * TIME_SECOND_MS)
#define LOOK_SOON_MS  TIME_MINUTE_MS

const char *const cluster_watch_names[CLUSTER_WATCH_COUNT_] = {
	[CLUSTER_PROFILES] = "memoryprofiles",
	[CLUSTER_NODE_SHAPES] = "nodeshapes",
	[CLUSTER_NAMESPACES] = "namespaces",
	[CLUSTER_LIMIT_RANGES] = "limitranges",
	[CLUSTER_QUOTAS] = "resourcequotas",
	[CLUSTER_PRIORITY_CLASSES] = "priorityclasses",
	[CLUSTER_OWNERS] = "owners",
	[CLUSTER_PODS] = "pods",
	[CLUSTER_LOCAL_QUEUES] = "localqueues",
	[CLUSTER_CLUSTER_QUEUES] = "clusterqueues",
	[CLUSTER_VPAS] = "verticalpodautoscalers",
};

const char *cluster_failure_name(size_t i)
{
	return i < KUBE_CONDITION_COUNT_ ? kube_condition_names[i] : i == KUBE_CONDITION_COUNT_ ? "network" : "object";
}

int cluster_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

struct snapshot_builder *cluster_builder(struct cluster *self)
{
	if (self->builder || self->has_no_memory)
		return self->builder;
	self->builder = snapshot_builder_new(self->current);
	/* unchanged objects of a new list are shared with the last snapshot */
	if (self->builder && self->current)
		snapshot_builder_share(self->builder, self->current);
	return self->builder;
}

void cluster_note_change(struct cluster *self)
{
	int64_t gather_ms = MAX(self->config.gather_ms, self->build_ms * GATHER_BUILDS);
	int64_t delay_ms = self->built_at_ms + gather_ms - time_monotonic_ms();

	if (!cluster_is_synced(self) && !self->has_no_memory)
		return;
	/* the first snapshot is built without delay */
	if (!self->current)
		delay_ms = 0;
	delay_ms = self->has_no_memory ? NO_MEMORY_MS : MAX(delay_ms, AT_ONCE_MS);
	if (self->timer.is_set && self->timer.due_ms <= time_monotonic_ms() + delay_ms)
		return;
	/* after a quiet time a single change is built at once: a label that is set just before the next pod */
	kube_timer_set(self->client, &self->timer, delay_ms);
}

bool cluster_is_synced(const struct cluster *self)
{
	for (const struct watch *watch = self->watches; watch; watch = watch->next)
		if (watch->kind.is_necessary && !watch->is_synced)
			return false;
	return true;
}

void cluster_look_for_kinds(struct cluster *cluster)
{
	struct discovery *self = &cluster->discovery;

	if (self->kinds && !self->call && time_monotonic_ms() >= self->asked_ms + LOOK_SOON_MS)
		kube_timer_set(cluster->client, &self->timer, 0);
}
