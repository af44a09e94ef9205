/* SPDX-License-Identifier: Apache-2.0 */
#include "service/resizes.h"

#include "base/hash.h"
#include "base/log.h"
#include "config/config.h"
#include "k8s/quantity.h"
#include "kube/kube_events.h"
#include "service/metrics.h"
#include "service/reported.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define COMPONENT "memtamer-recommender"

struct resizes {
	struct resizer *resizer;
	struct kube_events *events;
	struct metrics *metrics;
	struct reported reported;
	bool has_said_unsupported, has_said_events;
};

static const char *const reasons[RESIZE_RESULT_COUNT_] = {
	[RESIZE_APPLIED] = "MemoryResized",
	[RESIZE_DEFERRED] = "MemoryResizeDeferred",
	[RESIZE_INFEASIBLE] = "MemoryResizeInfeasible",
	[RESIZE_REFUSED] = "MemoryResizeRefused",
};

/* What people can do after these results, besides submitting again. */
#define NEXT_POD "delete the pod, so that its next try is sized when it is created"
static const char *const remedies[RESIZE_RESULT_COUNT_] = {
	[RESIZE_DEFERRED] = RESIZE_REMEDY_NODE, [RESIZE_INFEASIBLE] = RESIZE_REMEDY_NODE, [RESIZE_REFUSED] = "",
	[RESIZE_UNSUPPORTED] = NEXT_POD,	[RESIZE_UNANSWERED] = NEXT_POD,
};

static const char *remedy_of(const struct resize_report *report)
{
	if (report->ask->kind != RESIZE_KIND_OOM)
		return NULL;
	return report->result == RESIZE_HELD_BACK ? report->remedy : remedies[report->result];
}

/* A container that restarts with the size that killed it is reported whatever the cause. NULL: no Event. */
static const char *reason_of(const struct resize_report *report)
{
	if (reasons[report->result])
		return reasons[report->result];
	return remedy_of(report) ? "MemoryNotRaised" : NULL;
}

/* The pods of an owner are killed and restart again and again: each result is reported once for each limit. */
static bool is_repeated(struct resizes *self, const struct resize_report *report)
{
	const struct resize_ask *ask = report->ask;
	const int64_t values[] = {report->result, ask->killed_bytes};
	uint64_t hash = hash_stable_text(HASH_STABLE_INIT, *ask->root.kind ? ask->root.uid : ask->uid);

	hash = hash_stable(hash_stable_text(hash, ask->container), values, sizeof(values));
	return remedy_of(report) && !reported_add(&self->reported, hash);
}

static const char *what_happened(const struct resize_ask *ask)
{
	return ask->kind == RESIZE_KIND_OOM ? "it was OOM-killed and restarts" : "its use rises to its limit";
}

/* What to do: "; raise that pin, or submit again with 128Mi". */
static void print_remedy(const struct resize_report *report, char *ret, size_t size)
{
	int64_t killed = report->ask->killed_bytes, twice = killed > INT64_MAX / 2 ? INT64_MAX : killed * 2;
	const char *remedy = remedy_of(report);
	char to[QUANTITY_TEXT_BYTES];

	*ret = '\0';
	if (remedy)
		snprintf(ret, size, "; %s%ssubmit again with %s", remedy, *remedy ? ", or " : "",
			 quantity_render_bytes(MAX(report->to_bytes, twice), to));
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
	char from[QUANTITY_TEXT_BYTES], to[QUANTITY_TEXT_BYTES], remedy[160], text[1000];
	struct err err = ERR_INIT;

	/* before the plan is made, only the limit at the kill is known */
	quantity_render_bytes(report->from_bytes ? report->from_bytes : ask->killed_bytes, from);
	quantity_render_bytes(report->to_bytes, to);
	print_remedy(report, remedy, sizeof(remedy));
	if (report->result == RESIZE_APPLIED)
		snprintf(text, sizeof(text),
			 "pod %s, container %s: memory limit raised in place from %s to %s, as %s%s%s", ask->pod,
			 ask->container, from, to, what_happened(ask), *report->why ? "; " : "", report->why);
	else
		snprintf(text, sizeof(text), "pod %s, container %s: memory limit %s, not %s, although %s: %s%s",
			 ask->pod, ask->container, from, report->to_bytes > report->from_bytes ? to : "raised",
			 what_happened(ask), report->why, remedy);
	if (kube_events_record(self->events, &about, report->result != RESIZE_APPLIED, reason_of(report), text, &err))
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
	if (reason_of(report) && !is_repeated(self, report))
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
