/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>

#define GATHER_MS  100
#define AT_ONCE_MS 2
/* Building may take a twentieth of the thread's time: with 100,000 profiles it takes longer than with a hundred. */
#define GATHER_BUILDS 20
#define NO_MEMORY_MS  (5 * TIME_SECOND_MS)
#define SWEEP_MS      (15 * TIME_MINUTE_MS)

const char *const cluster_watch_names[CLUSTER_WATCH_COUNT_] = {
	[CLUSTER_PROFILES] = "memoryprofiles", [CLUSTER_NODE_SHAPES] = "nodeshapes",
	[CLUSTER_NAMESPACES] = "namespaces",   [CLUSTER_LIMIT_RANGES] = "limitranges",
	[CLUSTER_QUOTAS] = "resourcequotas",   [CLUSTER_PRIORITY_CLASSES] = "priorityclasses",
	[CLUSTER_OWNERS] = "owners",	       [CLUSTER_PODS] = "pods",
};

const char *cluster_failure_name(size_t i)
{
	return i < KUBE_CONDITION_COUNT_ ? kube_condition_names[i] : i == KUBE_CONDITION_COUNT_ ? "network" : "object";
}

int cluster_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static void on_timer(void *context)
{
	struct cluster *self = context;

	self->config.changed(self->config.context);
}

struct snapshot_builder *cluster_builder(struct cluster *self)
{
	if (self->builder || self->has_no_memory)
		return self->builder;
	self->builder = snapshot_builder_new(self->current);
	/* what a new list tells again is not kept twice */
	if (self->builder && self->current)
		snapshot_builder_share(self->builder, self->current);
	return self->builder;
}

static void note_change(struct cluster *self, int64_t gather_ms, int64_t least_ms)
{
	int64_t delay_ms = self->built_at_ms + gather_ms - time_monotonic_ms();

	if (!cluster_is_synced(self) && !self->has_no_memory)
		return;
	/* whoever waits for the first one waits no longer than it must */
	if (!self->current)
		delay_ms = 0;
	delay_ms = self->has_no_memory ? NO_MEMORY_MS : MAX(delay_ms, least_ms);
	if (self->timer.is_set && self->timer.due_ms <= time_monotonic_ms() + delay_ms)
		return;
	/* a single change after a while comes in at once: a label before the next pod */
	kube_timer_set(self->client, &self->timer, delay_ms);
}

void cluster_note_change(struct cluster *self)
{
	note_change(self, MAX(self->config.gather_ms, self->build_ms * GATHER_BUILDS), AT_ONCE_MS);
}

void cluster_note_urgent_change(struct cluster *self)
{
	note_change(self, self->build_ms, 0);
}

void cluster_reconfigure(struct cluster *self)
{
	self->has_new_shapes = true;
	cluster_note_change(self);
}

static int start_watches(struct cluster *self, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < cluster_kinds_n && !r; i++)
		r = watch_start(self, &cluster_kinds[i], NULL, NULL, err);
	if (!r)
		kinds_start(self);
	return r;
}

static void stop_watches(struct cluster *self)
{
	quotas_release(self);
	kinds_stop(self);
	while (self->watches)
		watch_free(self->watches);
	owners_release(&self->owners);
	kube_timer_stop(self->client, &self->timer);
	snapshot_builder_free(self->builder);
	self->builder = NULL;
	self->current = snapshot_unref(self->current);
	vec_release(&self->shapes);
}

int cluster_start(struct kube_client *client, const struct cluster_config *config, struct cluster **ret,
		  struct err *err)
{
	struct cluster *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->client = client;
	self->config = *config;
	if (!self->config.gather_ms)
		self->config.gather_ms = GATHER_MS;
	self->timer = (struct kube_timer){.fire = on_timer, .context = self};
	self->has_new_shapes = true;
	self->swept_ms = time_monotonic_ms();
	self->scratch = (struct arena)ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	r = start_watches(self, err);
	if (r) {
		cluster_free(self);
		return r;
	}
	*ret = self;
	return 0;
}

void cluster_free(struct cluster *self)
{
	if (!self)
		return;
	stop_watches(self);
	arena_release(&self->scratch);
	free(self);
}

static int put_shapes(struct cluster *self, const struct config *config, struct snapshot_builder *builder)
{
	int r = snapshot_builder_clear_shapes(builder);

	for (size_t i = 0; i < self->shapes.n && !r; i++)
		r = snapshot_builder_put_shape(builder, &self->shapes.items[i]);
	for (size_t i = 0; i < config->n_node_shapes && !r; i++)
		r = snapshot_builder_put_shape(builder, &config->node_shapes[i]);
	return r;
}

/* What was told is lost with the builder: only a new list says it again. The snapshot in use stays where it is. */
static int start_over(struct cluster *self, struct err *err)
{
	struct err why = ERR_INIT;

	stop_watches(self);
	self->has_no_memory = false;
	self->has_new_shapes = true;
	if (start_watches(self, &why))
		log_err(LOG_ERROR, "cannot start the watches again", &why);
	return err_set(err, -ENOMEM, "out of memory; everything is listed anew");
}

/* What counted before a change is kept while it may still count. */
static int sweep(struct cluster *self, struct snapshot_builder *builder)
{
	int64_t now_ms = time_monotonic_ms();

	if (now_ms < self->swept_ms + SWEEP_MS)
		return 0;
	self->swept_ms = now_ms;
	return snapshot_builder_forget_previous(builder, time_now_ms());
}

static bool has_change(const struct cluster *self)
{
	return self->builder || self->has_new_shapes || self->has_no_memory || !self->current ||
	       owners_are_dirty(&self->owners) || self->owner_kinds != kinds_told(self);
}

int cluster_build(struct cluster *self, const struct config *config, struct snapshot **ret, struct err *err)
{
	int64_t start_ms = time_monotonic_ms();
	struct snapshot_builder *builder;
	struct snapshot *snapshot = NULL;

	if (!self->has_no_memory && (!cluster_is_synced(self) || !has_change(self)))
		return 1;
	builder = cluster_builder(self);
	if (builder && !self->has_no_memory && !owners_flush(&self->owners, builder) && !sweep(self, builder) &&
	    (!self->has_new_shapes || !put_shapes(self, config, builder))) {
		self->owner_kinds = kinds_told(self);
		snapshot_builder_set_owner_kinds(builder, self->owner_kinds);
		snapshot = snapshot_builder_finish(TAKE_PTR(self->builder), time_now_ms());
	}
	if (!snapshot)
		return start_over(self, err);
	self->has_new_shapes = false;
	self->built_at_ms = time_monotonic_ms();
	self->build_ms = self->built_at_ms - start_ms;
	snapshot_unref(self->current);
	self->current = snapshot;
	*ret = snapshot_ref(snapshot);
	return 0;
}
