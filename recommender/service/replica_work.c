/* SPDX-License-Identifier: Apache-2.0 */
/* replica_work: what a replica does while it leads: the probe, watches of nodes, pods and rejections, Events,
 * resizes. */
#include "service/replica_internal.h"

#include "base/log.h"
#include "config/config.h"

#include <math.h>
#include <stdio.h>

#define FIRST_PROBE_MS (2 * TIME_SECOND_MS)

/* ---- the probe ---- */

static void probe_done(void *context, const struct probe_outcome *outcome)
{
	struct replica *self = context;
	struct metrics *metrics = self->config.metrics;
	enum probe_result result = outcome->result;
	bool is_known = result == PROBE_REACHED || result == PROBE_NOT_CONFIGURED || result == PROBE_FAILED_OPEN;

	metrics_count(metrics, METRIC_PROBES, result, 0, 0);
	metrics_observe_ns(metrics, METRIC_PROBE_DURATION, outcome->duration_ms * 1000000);
	metrics_set(metrics, METRIC_REACHABLE, is_known ? result == PROBE_REACHED : (double)NAN);
	if ((int)result != atomic_load(&self->probe_seen))
		log_event(result == PROBE_REACHED ? LOG_INFO : LOG_WARN, "webhook probe", "result",
			  probe_result_names[result], "why", outcome->text, NULL);
	atomic_store(&self->probe_seen, (int)result);
	kube_timer_set(self->access.client, &self->probe_timer, self->config.config->recommender.probe_ms);
}

static void probe_now(void *context)
{
	struct replica *self = context;

	probe_begin(&self->probe);
}

static void start_probing(struct replica *self)
{
	const struct config *config = self->config.config;

	self->probe = (struct probe){.client = self->access.client,
				     .namespace = self->namespace,
				     .configuration = config->webhook.mutating_configuration,
				     .done = probe_done,
				     .context = self};
	self->probe_timer.fire = probe_now;
	self->probe_timer.context = self;
	if (config->recommender.probe_ms)
		kube_timer_set(self->access.client, &self->probe_timer, FIRST_PROBE_MS);
}

static void stop_probing(struct replica *self)
{
	kube_timer_stop(self->access.client, &self->probe_timer);
	probe_cancel(&self->probe);
	atomic_store(&self->probe_seen, PROBE_RESULT_COUNT_);
	metrics_set(self->config.metrics, METRIC_REACHABLE, NAN);
}

/* ---- nodes ---- */

static void watch_failed(void *context, const struct err *why)
{
	struct replica *self = context;

	metrics_count(self->config.metrics, METRIC_WATCH_ERRORS, 0, 0, 0);
	if (reported_is_new(self->watch_said, why))
		log_err(LOG_WARN, "watch of nodes failed, will retry", why);
}

static void start_watching(struct replica *self)
{
	struct nodes *nodes = NULL;
	struct err err = ERR_INIT;

	self->watch_said[0] = '\0';
	if (nodes_start(self->access.client, watch_failed, self, &nodes, &err))
		log_err(LOG_ERROR, "nodes are not watched", &err);
	else
		SHARE(self, nodes, nodes);
}

static void stop_watching(struct replica *self)
{
	struct nodes *nodes = self->nodes;

	SHARE(self, nodes, NULL);
	nodes_free(nodes);
	metrics_set(self->config.metrics, METRIC_NODES, NAN);
}

/* ---- gangs that hang ---- */

static void show_hung(struct replica *self)
{
	const struct hung_list *list = &self->gangs.list;

	SHARE(self, hung, *list);
	metrics_set(self->config.metrics, METRIC_HUNG_GANGS, (double)list->n);
	metrics_set(self->config.metrics, METRIC_HUNG_ACCELERATORS, (double)list->accelerators_milli / 1000.0);
}

static void stop_gangs(struct replica *self)
{
	self->gangs = (struct hung_gangs){.searched_ms = 0};
	show_hung(self);
	metrics_set(self->config.metrics, METRIC_HUNG_GANGS, NAN);
	metrics_set(self->config.metrics, METRIC_HUNG_ACCELERATORS, NAN);
}

/* ---- resizes ---- */

static void start_resizes(struct replica *self)
{
	const struct config *config = self->config.config;
	struct resizes *resizes = NULL;
	struct err err = ERR_INIT;

	if (config->policy.resize == RESIZE_OFF)
		return;
	if (resizes_start(self->access.client, config, self->config.metrics, self->identity, &resizes, &err))
		log_err(LOG_ERROR, "running pods are not resized", &err);
	else
		SHARE(self, resizes, resizes);
}

static void stop_resizes(struct replica *self)
{
	struct resizes *resizes = self->resizes;

	SHARE(self, resizes, NULL);
	resizes_stop(resizes);
}

/* ---- events ---- */

static void refusals_failed(void *context, const struct err *why)
{
	struct replica *self = context;

	metrics_count(self->config.metrics, METRIC_WATCH_ERRORS, 0, 0, 0);
	if (reported_is_new(self->refusals_said, why))
		log_err(LOG_WARN, "events cannot be read, will retry", why);
}

struct refused {
	const char *namespace_name, *uid;
};

static bool is_refused(void *context, const struct sighting *sighting)
{
	const struct refused *self = context;

	return streq(sighting->owner.uid, self->uid) && streq(sighting->namespace_name, self->namespace_name);
}

static void owner_refused(void *context, const char *namespace_name, const char *uid)
{
	struct replica *self = context;

	pods_touch(self->pods, is_refused, &(struct refused){namespace_name, uid});
}

static void touch_overdue(struct replica *self)
{
	if (!self->pods || !self->is_working)
		return;
	if (overdue_pods_turn(&self->overdue, self->pods, self->config.config->harm.pending_after_ms,
			      time_monotonic_ms(), kube_client_now_ms(self->access.client)) &&
	    self->wait_events)
		wait_events_turn(self->wait_events);
}

static void events_failed(void *context, const struct err *why)
{
	struct replica *self = context;

	metrics_count(self->config.metrics, METRIC_EVENTS, EVENT_FAILED, 0, 0);
	if (reported_is_new(self->events_said, why))
		log_err(LOG_WARN, "an event was not written", why);
}

static void start_events(struct replica *self)
{
	struct refusals *refusals = NULL;
	struct err err = ERR_INIT;
	int64_t now_ms;

	self->refusals_said[0] = self->events_said[0] = '\0';
	self->announce = (struct announce){.pods = self->pods};
	if (kube_events_new(self->access.client,
			    &(struct kube_events_config){.component = REPLICA_NAME,
							 .instance = self->identity,
							 .failed = events_failed,
							 .context = self},
			    &self->announce.events, &err))
		log_err(LOG_ERROR, "no events are written", &err);
	if (!self->pods)
		return;
	now_ms = kube_client_now_ms(self->access.client);
	overdue_pods_start(&self->overdue, now_ms);
	atomic_store(&self->worked_since_ms, now_ms);
	if (wait_events_new(self->access.client,
			    &(struct wait_events_config){.pods = self->pods,
							 .after_ms = self->config.config->harm.pending_after_ms,
							 .failed = refusals_failed,
							 .context = self},
			    &self->wait_events, &err))
		log_err(LOG_ERROR, "events of waiting pods are not read", &err);
	if (refusals_start(
		    self->access.client,
		    &(struct refusals_config){.refused = owner_refused, .failed = refusals_failed, .context = self},
		    &refusals, &err))
		log_err(LOG_ERROR, "events are not watched", &err);
	else
		SHARE(self, refusals, refusals);
}

static void stop_events(struct replica *self)
{
	struct refusals *refusals = self->refusals;

	wait_events_free(TAKE_PTR(self->wait_events));
	SHARE(self, refusals, NULL);
	refusals_free(refusals);
	kube_events_free(self->announce.events);
	self->announce.events = NULL;
}

static void record_notice(struct replica *self, const struct notice *notice)
{
	struct err err = ERR_INIT;

	if (announce_notice(&self->announce, notice, &err))
		events_failed(self, &err);
	else
		metrics_count(self->config.metrics, METRIC_EVENTS, EVENT_RECORDED, 0, 0);
}

static void record_notices(struct replica *self)
{
	struct notice notice;

	while (self->announce.events && outbox_take(self->outbox, time_monotonic_ms(), &notice))
		record_notice(self, &notice);
	while (self->announce.events && self->is_working && hung_gangs_next(&self->gangs, &notice))
		record_notice(self, &notice);
}

/* ---- start and stop ---- */

void replica_start_work(struct replica *self)
{
	start_watching(self);
	start_resizes(self);
	replica_start_pods(self);
	start_events(self);
	start_probing(self);
}

void replica_stop_work(struct replica *self)
{
	stop_probing(self);
	stop_events(self);
	stop_gangs(self);
	replica_stop_pods(self);
	stop_resizes(self);
	stop_watching(self);
}

void replica_work(struct replica *self)
{
	if (self->nodes)
		metrics_set(self->config.metrics, METRIC_NODES, (double)nodes_count(self->nodes));
	if (self->is_working)
		replica_show_pods(self);
	if (self->resizes)
		resizer_turn(resizes_resizer(self->resizes));
	touch_overdue(self);
	if (self->pods && self->is_working &&
	    hung_gangs_turn(&self->gangs, self->pods, time_monotonic_ms(), kube_client_now_ms(self->access.client)))
		show_hung(self);
	record_notices(self);
}
