/* SPDX-License-Identifier: Apache-2.0 */
#include "service/resizes.h"

#include "base/log.h"
#include "config/config.h"
#include "k8s/quantity.h"
#include "kube/kube_events.h"
#include "service/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define COMPONENT "memtamer-recommender"

struct resizes {
	struct resizer *resizer;
	struct kube_events *events;
	struct metrics *metrics;
	bool has_said_unsupported, has_said_events;
};

static const char *const reasons[RESIZE_RESULT_COUNT_] = {
	[RESIZE_APPLIED] = "MemoryResized",
	[RESIZE_DEFERRED] = "MemoryResizeDeferred",
	[RESIZE_INFEASIBLE] = "MemoryResizeInfeasible",
	[RESIZE_REFUSED] = "MemoryResizeRefused",
};

static const char *what_happened(const struct resize_ask *ask)
{
	return ask->kind == RESIZE_KIND_OOM ? "it was OOM-killed and restarts" : "its use rises to its limit";
}

static void write_event(struct resizes *self, const struct resize_report *report)
{
	const struct resize_ask *ask = report->ask;
	bool has_root = *ask->root.kind != '\0';
	const struct kube_event_object about = {
		.api_version = has_root ? ask->root.api_version : "v1",
		.kind = has_root ? ask->root.kind : "Pod",
		.name = has_root ? ask->root.name : ask->pod,
		.namespace = ask->namespace_name,
		.uid = has_root ? ask->root.uid : ask->uid,
	};
	char from[QUANTITY_TEXT_BYTES], to[QUANTITY_TEXT_BYTES], text[1000];
	struct err err = ERR_INIT;

	quantity_render_bytes(report->from_bytes, from);
	quantity_render_bytes(report->to_bytes, to);
	if (report->result == RESIZE_APPLIED)
		snprintf(text, sizeof(text),
			 "pod %s, container %s: memory limit raised in place from %s to %s, as %s%s%s", ask->pod,
			 ask->container, from, to, what_happened(ask), *report->why ? "; " : "", report->why);
	else
		snprintf(text, sizeof(text), "pod %s, container %s: memory limit %s, not %s, although %s: %s", ask->pod,
			 ask->container, from, report->to_bytes > report->from_bytes ? to : "raised",
			 what_happened(ask), report->why);
	if (kube_events_record(self->events, &about, report->result != RESIZE_APPLIED, reasons[report->result], text,
			       &err))
		log_err(LOG_WARN, "an Event is lost", &err);
}

static void write_log(const struct resize_report *report)
{
	const struct resize_ask *ask = report->ask;
	char from[QUANTITY_TEXT_BYTES], to[QUANTITY_TEXT_BYTES];

	log_event(report->result == RESIZE_APPLIED || report->result == RESIZE_HELD_BACK ||
				  report->result == RESIZE_GONE
			  ? LOG_INFO
			  : LOG_WARN,
		  report->result == RESIZE_APPLIED ? "memory raised in place" : "memory not raised in place", "kind",
		  resize_kind_names[ask->kind], "result", resize_result_names[report->result], "namespace",
		  ask->namespace_name, "pod", ask->pod, "container", ask->container, "from",
		  quantity_render_bytes(report->from_bytes, from), "to", quantity_render_bytes(report->to_bytes, to),
		  "why", report->why, NULL);
}

static void on_report(void *context, const struct resize_report *report)
{
	struct resizes *self = context;

	metrics_count(self->metrics, METRIC_RESIZES, report->ask->kind, report->result, 0);
	if (report->result != RESIZE_UNSUPPORTED || !self->has_said_unsupported)
		write_log(report);
	self->has_said_unsupported |= report->result == RESIZE_UNSUPPORTED;
	if (reasons[report->result])
		write_event(self, report);
}

static void event_failed(void *context, const struct err *why)
{
	struct resizes *self = context;

	if (!self->has_said_events)
		log_err(LOG_WARN, "Events of resizes cannot be written", why);
	self->has_said_events = true;
}

int resizes_start(struct kube_client *client, const struct config *config, struct metrics *metrics,
		  const char *instance, struct resizes **ret, struct err *err)
{
	struct resizes *self = calloc(1, sizeof(*self));
	const struct resizer_config resizer = {
		.client = client, .policy = &config->policy, .report = on_report, .context = self};
	const struct kube_events_config events = {
		.component = COMPONENT, .instance = instance, .failed = event_failed, .context = self};
	int r = self ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (r)
		return r;
	self->metrics = metrics;
	r = kube_events_new(client, &events, &self->events, err);
	if (!r)
		r = resizer_new(&resizer, &self->resizer, err);
	if (r) {
		resizes_stop(self);
		return r;
	}
	*ret = self;
	return 0;
}

void resizes_stop(struct resizes *self)
{
	if (!self)
		return;
	resizer_free(self->resizer);
	kube_events_free(self->events);
	free(self);
}

struct resizer *resizes_resizer(const struct resizes *self)
{
	return self->resizer;
}
