/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>

#define GATHER_MS 100
#define SWEEP_MS  (15 * TIME_MINUTE_MS)

static void on_timer(void *context)
{
	struct cluster *self = context;

	self->config.changed(self->config.context);
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
	queues_release(self);
	(void)vpas_forget(self);
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

/* The reported objects are lost with the builder, and only a new list reports them again. The snapshot in use stays. */
static int start_over(struct cluster *self, struct err *err)
{
	struct err why = ERR_INIT;

	stop_watches(self);
	self->has_no_memory = false;
	self->has_new_shapes = true;
	if (start_watches(self, &why))
		log_err(LOG_ERROR, "cannot start the watches again", &why);
	return err_set(err, -ENOMEM, "out of memory; all resources are listed again");
}

/* Superseded recommendations are kept only as long as they may still apply. */
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
	       owners_are_dirty(&self->owners) || self->quotas.is_dirty || self->queues.is_dirty || self->vpas.is_dirty;
}

int cluster_build(struct cluster *self, const struct config *config, struct snapshot **ret, struct err *err)
{
	int64_t start_ms = time_monotonic_ms();
	struct snapshot_builder *builder;
	struct snapshot *snapshot = NULL;

	if (!self->has_no_memory && (!cluster_is_synced(self) || !has_change(self)))
		return 1;
	builder = cluster_builder(self);
	if (builder && !self->has_no_memory && !owners_flush(&self->owners, builder) && !quotas_flush(self, builder) &&
	    !queues_flush(self, builder) && !vpas_flush(self, builder) && !sweep(self, builder) &&
	    (!self->has_new_shapes || !put_shapes(self, config, builder))) {
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
