/* SPDX-License-Identifier: Apache-2.0 */
/* replica_pods: a leader's watches of the ignored namespaces and of the pods in all others. */
#include "service/replica_internal.h"

#include "base/log.h"
#include "config/config.h"

#include <math.h>

static void pods_changed(void *context)
{
	struct replica *self = context;

	self->config.pods_changed(self->config.context);
}

static void pods_failed(void *context, const struct err *why)
{
	struct replica *self = context;

	metrics_count(self->config.metrics, METRIC_WATCH_ERRORS, 0, 0, 0);
	if (reported_is_new(self->pods_said, why))
		log_err(LOG_WARN, "watch of pods failed, will retry", why);
}

static bool is_ignored(void *context, const char *namespace_name)
{
	const struct replica *self = context;

	return ignored_namespaces_find(self->ignored, namespace_name) != ENGINE_LEARNED;
}

int replica_make_pods(struct replica *self, struct err *err)
{
	const struct config *config = self->config.config;
	const struct pods_config pods = {
		.own_namespace = self->namespace,
		.namespaces = config->recommender.namespaces,
		.excluded_namespaces = config->policy.excluded_namespaces,
		.is_ignored = is_ignored,
		.changed = pods_changed,
		.failed = pods_failed,
		.context = self,
	};

	return config->recommender.pods ? pods_new(&pods, &self->pods, err) : 0;
}

/* Pods are listed when it is known which of them to leave alone. */
static void start_pods(void *context)
{
	struct replica *self = context;
	struct err err = ERR_INIT;

	if (self->pods && pods_watch(self->pods, self->access.client, &err))
		log_err(LOG_ERROR, "pods are not watched", &err);
}

static void namespace_changed(void *context, const char *namespace_name, bool is_ignored_now)
{
	struct replica *self = context;

	log_event(LOG_INFO, is_ignored_now ? "namespace is ignored" : "namespace is no longer ignored", "namespace",
		  namespace_name, NULL);
	if (self->pods)
		pods_set_ignored(self->pods, namespace_name, is_ignored_now);
}

static void namespaces_failed(void *context, const struct err *why)
{
	struct replica *self = context;

	metrics_count(self->config.metrics, METRIC_WATCH_ERRORS, 0, 0, 0);
	if (reported_is_new(self->namespaces_said, why))
		log_err(LOG_WARN, "watch of namespaces failed, will retry", why);
}

void replica_start_pods(struct replica *self)
{
	const struct ignored_namespaces_config config = {
		.changed = namespace_changed,
		.synced = start_pods,
		.failed = namespaces_failed,
		.context = self,
	};
	struct ignored_namespaces *ignored = NULL;
	struct err err = ERR_INIT;

	self->pods_said[0] = self->namespaces_said[0] = '\0';
	if (ignored_namespaces_start(self->access.client, &config, &ignored, &err))
		log_err(LOG_ERROR, "namespaces and pods are not watched", &err);
	else
		SHARE(self, ignored, ignored);
}

void replica_stop_pods(struct replica *self)
{
	struct ignored_namespaces *ignored = self->ignored;

	if (self->pods)
		pods_unwatch(self->pods);
	SHARE(self, ignored, NULL);
	ignored_namespaces_free(ignored);
	metrics_set(self->config.metrics, METRIC_PODS_WATCHED, NAN);
}

void replica_show_pods(struct replica *self)
{
	struct pods_figures figures;

	if (!self->pods)
		return;
	pods_figures(self->pods, &figures);
	for (size_t i = 0; i < OUTCOME_COUNT_; i++)
		metrics_add(self->config.metrics, METRIC_POD_ENDS, i, 0, 0, figures.ends[i] - self->counted.ends[i]);
	self->counted = figures;
	metrics_set(self->config.metrics, METRIC_PODS_WATCHED, (double)figures.watched);
}
