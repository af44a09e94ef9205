/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_watch: one reflector of the cluster, and what it is to say when it fails: once for each change of its state,
 * however often it is tried again. */
#include "cluster/cluster_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* What a person can do about it. */
static const char *advice(const struct watch *watch, int code)
{
	switch (code) {
	case KUBE_NOT_FOUND:
		return watch->kind.is_necessary ? "are memtamer's CustomResourceDefinitions installed?" : NULL;
	case KUBE_FORBIDDEN:
		return "its ClusterRole must grant list and watch";
	case KUBE_UNAUTHORIZED:
		return "its token or certificate is not accepted";
	default:
		return code < 0 && code != -EPIPE ? "the API server cannot be reached" : NULL;
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

static void tell_passed_over(struct watch *self, const char *name, const struct err *why)
{
	log_event(LOG_WARN, "object passed over", "resource", cluster_watch_names[self->kind.id], "object", name,
		  "field", why->where, "error", why->msg, NULL);
	count_failure(self, CLUSTER_FAILURES - 1);
}

static void on_put(void *context, const struct kube_object *object)
{
	struct watch *self = context;
	struct err err = ERR_INIT;
	char name[400];
	int r = self->kind.put(self, object, &err);

	if (r == -ENOMEM)
		broken_memory(self);
	else if (r)
		tell_passed_over(self, full_name(object, name), &err);
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

/* It goes on: say so if it had been said that it does not. */
static void recovered(struct watch *self)
{
	if (self->is_failing)
		log_event(LOG_INFO, "watch goes on", "resource", cluster_watch_names[self->kind.id], NULL);
	self->is_failing = false;
	self->why = (struct err)ERR_INIT;
	cluster_note_change(self->cluster);
}

static void on_synced(void *context)
{
	struct watch *self = context;

	self->is_synced = true;
	recovered(self);
	cluster_note_change(self->cluster);
}

static void on_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct watch *self = context;
	const char *hint = advice(self, why->code);

	if (retry_ms < 0) {
		tell_passed_over(self, "", why);
		return;
	}
	count_failure(self, why->code > 0 ? (size_t)why->code : KUBE_CONDITION_COUNT_);
	if (!self->is_failing || self->why.code != why->code)
		log_event(LOG_ERROR, self->is_synced ? "watch lost; what was last known goes on" : "cannot watch",
			  "resource", cluster_watch_names[self->kind.id], "where", why->where, "error", why->msg,
			  "hint", hint ? hint : "", NULL);
	self->is_failing = true;
	self->why = *why;
	cluster_note_change(self->cluster);
	if (self->kind.id == CLUSTER_OWNERS && why->code == KUBE_NOT_FOUND)
		kinds_look_soon(self->cluster);
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

bool watch_is_told_as_it_happens(const struct watch *self)
{
	struct reflector_stats stats;

	reflector_stats(self->reflector, &stats);
	return stats.is_watching;
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

/* Was this reason said of a watch before? */
static bool is_said(const struct cluster *self, const struct watch *until)
{
	for (const struct watch *watch = self->watches; watch != until; watch = watch->next)
		if (is_missing(watch) && watch->why.code == until->why.code)
			return true;
	return false;
}

/* "memoryprofiles, nodeshapes: why": all that miss for one reason, in the words of the first. */
static void say_missing(const struct cluster *self, const struct watch *first, struct strbuf *buf)
{
	const char *hint = advice(first, first->why.code), *comma = buf->len ? "; " : "waiting for ";

	for (size_t i = 0; i < cluster_kinds_n; i++)
		for (const struct watch *watch = self->watches; watch; watch = watch->next) {
			if (!is_missing(watch) || watch->kind.id != cluster_kinds[i].id ||
			    watch->why.code != first->why.code)
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

bool cluster_is_synced(const struct cluster *self)
{
	for (const struct watch *watch = self->watches; watch; watch = watch->next)
		if (watch->kind.is_necessary && !watch->is_synced)
			return false;
	return true;
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
