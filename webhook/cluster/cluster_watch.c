/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_watch: one reflector of the cluster, and the logging of its failures: one line for each change of its state,
 * however often it is retried and however many watches of its kind fail too. */
#include "cluster/cluster_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "k8s/doc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Advice for people about a failure. */
static const char *advice(const struct watch *watch, int code)
{
	switch (code) {
	case KUBE_NOT_FOUND:
		return watch->kind.is_necessary ? "are memtamer's CustomResourceDefinitions installed?" : NULL;
	case KUBE_FORBIDDEN:
		return "its ClusterRole must grant list and watch";
	case KUBE_UNAUTHORIZED:
		return "its token or certificate is not accepted";
	case -ECONNREFUSED:
	case -ETIMEDOUT:
	case -EIO:
		return "the API server cannot be reached";
	default:
		return NULL;
	}
}

static const char *full_name(const struct kube_object *object, char buf[400])
{
	snprintf(buf, 400, "%s%s%s", object->namespace, *object->namespace ? "/" : "", object->name);
	return buf;
}

static void broken_memory(struct watch *self)
{
	self->cluster->has_no_memory = true;
	cluster_note_change(self->cluster);
}

static void count_failure(struct watch *self, size_t reason)
{
	const struct cluster_config *config = &self->cluster->config;

	config->failed(config->context, self->kind.id, cluster_failure_name(reason));
}

static void report_skipped(struct watch *self, const char *name, const struct err *why)
{
	static const struct log_kind line = {LOG_WARN, "object skipped", CLUSTER_OBJECT_LINES};

	log_limited(&self->cluster->skipped, &line, "resource", cluster_watch_names[self->kind.id], "object", name,
		    "field", why->where, "error", why->msg, NULL);
	count_failure(self, CLUSTER_FAILURES - 1);
}

static void on_put(void *context, const struct kube_object *object)
{
	struct watch *self = context;
	struct err err = ERR_INIT;
	char name[400];
	int r;

	arena_reset(&self->cluster->scratch);
	r = doc_reading_ended(&self->cluster->scratch, self->kind.put(self, object, &err), &err);
	if (r == -ENOMEM)
		broken_memory(self);
	else if (r)
		report_skipped(self, full_name(object, name), &err);
	else
		cluster_note_change(self->cluster);
}

static void on_deleted(void *context, const struct kube_object *object)
{
	struct watch *self = context;

	if (self->kind.remove(self, object))
		broken_memory(self);
	else
		cluster_note_change(self->cluster);
}

static void on_gone(void *context, size_t n)
{
	struct watch *self = context;

	(void)n;
	if (self->kind.remove_gone(self))
		broken_memory(self);
	else
		cluster_note_change(self->cluster);
}

/* Whether another watch of this kind fails for the same reason: one line covers all namespaces. */
static bool is_logged(const struct watch *self, int code)
{
	for (const struct watch *watch = self->cluster->watches; watch; watch = watch->next)
		if (watch->kind.id == self->kind.id && watch->is_failing && watch->why.code == code)
			return true;
	return false;
}

/* The watch works again, which is logged when the last one of its kind does. */
static void recovered(struct watch *self)
{
	bool was_failing = self->is_failing;
	int code = self->why.code;

	self->is_failing = false;
	self->why = (struct err)ERR_INIT;
	if (was_failing && !is_logged(self, code))
		log_event(LOG_INFO, "watch resumed", "resource", cluster_watch_names[self->kind.id], NULL);
	cluster_note_change(self->cluster);
}

static void on_synced(void *context)
{
	struct watch *self = context;

	self->is_synced = true;
	recovered(self);
	cluster_note_change(self->cluster);
}

static void on_ended(void *context, const struct err *why, int64_t delay_ms)
{
	struct watch *self = context;

	log_event(LOG_DEBUG, "watch ended and is resumed", "resource", cluster_watch_names[self->kind.id], "error",
		  why->msg, "delay_ms", log_i64(delay_ms), NULL);
}

static void on_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct watch *self = context;
	const char *hint = advice(self, why->code);

	if (retry_ms < 0) {
		struct err skipped = *why;

		skipped.where[0] = '\0';
		report_skipped(self, why->where, &skipped);
		return;
	}
	count_failure(self, why->code > 0 ? (size_t)why->code : KUBE_CONDITION_COUNT_);
	if (!is_logged(self, why->code))
		log_event(LOG_ERROR, self->is_synced ? "watch lost; the objects last seen stay in use" : "cannot watch",
			  "resource", cluster_watch_names[self->kind.id], "where", why->where, "error", why->msg,
			  "hint", hint ? hint : "", NULL);
	self->is_failing = true;
	self->why = *why;
	cluster_note_change(self->cluster);
	if (!self->kind.is_necessary && why->code == KUBE_NOT_FOUND)
		cluster_look_for_kinds(self->cluster);
}

int watch_start(struct cluster *cluster, const struct watch_kind *kind, const char *namespace, struct watch **ret,
		struct err *err)
{
	struct watch *self = calloc(1, sizeof(*self));
	const struct reflector_config config = {
		.selection = {.resource = kind->resource, .namespace = namespace},
		.wants_text = kind->wants_text,
		.added = on_put,
		.modified = on_put,
		.deleted = on_deleted,
		.gone = kind->remove_gone ? on_gone : NULL,
		.synced = on_synced,
		.failed = on_failed,
		.ended = on_ended,
		.context = self,
		.backoff_min_ms = cluster->config.backoff_min_ms,
		.backoff_max_ms = cluster->config.backoff_max_ms,
	};
	int r;

	if (!self)
		return cluster_no_memory(err);
	self->cluster = cluster;
	self->kind = *kind;
	self->kind.resource = (struct kube_resource){NULL, NULL, NULL};
	r = reflector_start(cluster->client, &config, &self->reflector, err);
	if (r) {
		free(self);
		return r;
	}
	self->next = cluster->watches;
	cluster->watches = self;
	if (ret)
		*ret = self;
	return 0;
}

static uint64_t restarts_of(const struct reflector_stats *stats)
{
	return stats->lists + stats->watches - (stats->lists > 0) - (stats->watches > 0);
}

void watch_free(struct watch *self)
{
	struct reflector_stats stats;
	struct watch **at;

	if (!self)
		return;
	reflector_stats(self->reflector, &stats);
	self->cluster->past_restarts[self->kind.id] += restarts_of(&stats);
	at = &self->cluster->watches;
	while (*at != self)
		at = &(*at)->next;
	*at = self->next;
	reflector_free(self->reflector);
	free(self);
}

static bool is_missing(const struct watch *watch)
{
	return watch->kind.is_necessary && !watch->is_synced;
}

/* Whether an earlier watch had the same reason. */
static bool is_said(const struct cluster *self, const struct watch *until)
{
	for (const struct watch *watch = self->watches; watch != until; watch = watch->next)
		if (is_missing(watch) && watch->why.code == until->why.code)
			return true;
	return false;
}

/* Writes "memoryprofiles, nodeshapes: why": all watches that are missing for one reason, with the message of the
 * first. */
static void say_missing(const struct cluster *self, const struct watch *first, struct strbuf *buf)
{
	const char *hint = advice(first, first->why.code), *comma = buf->len ? "; " : "waiting for ";

	for (size_t id = 0; id < CLUSTER_WATCH_COUNT_; id++)
		for (const struct watch *watch = self->watches; watch; watch = watch->next) {
			if (!is_missing(watch) || watch->kind.id != id || watch->why.code != first->why.code)
				continue;
			strbuf_addf(buf, "%s%s", comma, cluster_watch_names[watch->kind.id]);
			comma = ", ";
		}
	strbuf_addf(buf, ": %s", first->why.code ? first->why.msg : "the list is not here yet");
	if (hint)
		strbuf_addf(buf, " (%s)", hint);
}

const char *cluster_missing(const struct cluster *self, char *buf, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(8 * KIB);

	for (const struct watch *watch = self->watches; watch; watch = watch->next)
		if (is_missing(watch) && !is_said(self, watch))
			say_missing(self, watch, &words);
	snprintf(buf, size, "%s", strbuf_text(&words));
	return buf;
}

void cluster_watch_state(const struct cluster *self, enum cluster_watch_id id, struct cluster_watch_state *ret)
{
	*ret = (struct cluster_watch_state){
		.is_synced = true, .is_in_contact = true, .restarts = self->past_restarts[id]};
	for (const struct watch *watch = self->watches; watch; watch = watch->next) {
		struct reflector_stats stats;

		if (watch->kind.id != id)
			continue;
		reflector_stats(watch->reflector, &stats);
		ret->is_synced &= stats.is_synced;
		ret->is_in_contact &= stats.is_in_contact;
		ret->objects += stats.objects;
		ret->restarts += restarts_of(&stats);
	}
}

void watches_look(struct cluster *cluster)
{
	for (struct watch *watch = cluster->watches; watch; watch = watch->next) {
		struct reflector_stats stats;

		reflector_stats(watch->reflector, &stats);
		if (watch->is_failing && stats.is_in_contact)
			recovered(watch);
	}
}

int64_t cluster_confirmed_ms(struct cluster *self)
{
	int64_t confirmed_ms = time_monotonic_ms();

	watches_look(self);
	if (!self->current)
		return 0;
	for (const struct watch *watch = self->watches; watch; watch = watch->next) {
		struct reflector_stats stats;

		reflector_stats(watch->reflector, &stats);
		if (watch->kind.is_necessary && !stats.is_in_contact)
			confirmed_ms = MIN(confirmed_ms, stats.last_contact_ms);
	}
	return confirmed_ms;
}
