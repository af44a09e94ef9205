/* SPDX-License-Identifier: Apache-2.0 */
/* States: listing (`list` is set), watching (`watch` is set), or waiting for `timer`, which then starts a list or a
 * watch. A watch is resumed while its resourceVersion is usable. A 410, an error of the server other than overload, or
 * three failures in a row lead to a new list.
 *
 * When an API server restarts, all watches of all clients end at the same moment. So nothing is retried at once: the
 * first try comes at random within backoff_min, later ones wait exponentially longer, also at random. The list after a
 * 410 is read from the server's watch cache, which costs the server a seventh of a list from etcd. */
#include "kube/reflector_internal.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "http_client/http_client.h"
#include "kube/kube_status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WATCH_MIN_MS   (5 * TIME_MINUTE_MS)
#define WATCH_MAX_MS   (10 * TIME_MINUTE_MS)
#define BACKOFF_MIN_MS TIME_SECOND_MS
#define BACKOFF_MAX_MS (30 * TIME_SECOND_MS)
/* Time for the API server to accept a watch, which may wait in a queue of its priority level. */
#define OPEN_MS (60 * TIME_SECOND_MS)
/* Time after the end of a watch in which the server must close it. */
#define GRACE_MS (30 * TIME_SECOND_MS)
/* A shorter watch is a failure; a watch of STEADY_MS resets the back-off. */
#define SHORT_WATCH_MS TIME_SECOND_MS
#define STEADY_MS      (30 * TIME_SECOND_MS)
#define MAX_RESUMES    3

static void go_on(void *context);

/* At random between half of a bound and the bound. The bound is twice backoff_min after the first failure, doubles with
 * each further failure and is at most backoff_max. */
static int64_t backoff_ms(struct reflector *self)
{
	int64_t high = self->config.backoff_max_ms;

	if (self->failures < 20)
		high = MIN(high, self->config.backoff_min_ms << self->failures);
	return kube_client_random(self->client, high / 2, high + 1);
}

/* Schedules a retry and reports the failure. */
static void fail(struct reflector *self, const struct err *why, int64_t at_least_ms)
{
	int64_t delay_ms;

	self->failures++;
	self->resumes++;
	delay_ms = MAX(backoff_ms(self), at_least_ms);
	kube_timer_set(self->client, &self->timer, delay_ms);
	if (self->config.failed)
		self->config.failed(self->config.context, why, delay_ms);
}

static int list_item(void *context, const struct kube_object *object, struct err *err)
{
	struct reflector *self = context;

	self->stats.last_contact_ms = time_monotonic_ms();
	return reflector_take_object(self, object) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* Objects on the pages so far may have been deleted since. */
static void list_restarted(void *context)
{
	((struct reflector *)context)->mark++;
}

static void report_gone(void *context, const struct kube_object *object)
{
	struct reflector *self = context;

	self->config.deleted(self->config.context, object);
}

static void list_done(void *context, const struct kube_result *result, const char *resource_version)
{
	struct reflector *self = context;
	struct err err = result->err;
	int r = result->code;
	size_t n_gone;

	if (!r && reflector_note_version(self, resource_version))
		r = err_set(&err, -EINVAL, "the list has a resourceVersion that cannot be used");
	kube_list_free(TAKE_PTR(self->list));
	if (r) {
		fail(self, &err, result->retry_after_s * TIME_SECOND_MS);
		return;
	}
	self->stats.last_contact_ms = time_monotonic_ms();
	n_gone = kube_cache_sweep(&self->known, self->mark, report_gone, self);
	if (n_gone && self->config.gone)
		self->config.gone(self->config.context, n_gone);
	self->stats.is_synced = true;
	self->resumes = 0;
	kube_timer_set(self->client, &self->timer, 0);
	if (self->config.synced)
		self->config.synced(self->config.context);
}

static void start_list(struct reflector *self)
{
	const char *not_older_than = self->stats.is_synced ? self->expired_version : "0";
	const struct kube_list_request request = {
		.selection = self->config.selection,
		.page_items = self->config.page_items,
		/* A list from the watch cache is not paged and must end within the server's minute. If that failed,
		 * pages may succeed, which also do not depend on the version known here. */
		.not_older_than = *not_older_than && self->failures % 2 == 0 ? not_older_than : NULL,
		.is_shared = true,
		.wants_text = self->config.wants_text,
		.item = list_item,
		.bad = reflector_pass_over,
		.restarted = list_restarted,
		.done = list_done,
		.context = self,
	};
	struct err err = ERR_INIT;

	self->mark++;
	self->stats.lists++;
	if (kube_list_start(self->client, &request, &self->list, &err))
		fail(self, &err, 0);
}

static void watch_began(void *context)
{
	struct reflector *self = context;

	self->is_open = true;
	kube_timer_stop(self->client, &self->timer);
	self->stats.last_contact_ms = time_monotonic_ms();
}

static bool leads_to_list(const struct reflector *self, int code)
{
	/* a busy server has not answered the question */
	if (self->resumes >= MAX_RESUMES && code != KUBE_TOO_MANY)
		return true;
	return code > 0 && code != KUBE_TOO_MANY && code != KUBE_TIMEOUT && code != KUBE_UNAVAILABLE;
}

/* Whether this end is ordinary: the server or the connection ended a watch that had worked, or it is the first 410, as
 * after a pause or a restart. */
static bool is_ordinary(const struct reflector *self, int code, bool was_steady)
{
	if (code == KUBE_EXPIRED)
		return !self->has_expired;
	return !code || (code < 0 && was_steady && !self->watch_code);
}

static void end_quietly(struct reflector *self, const struct err *why, int64_t lasted_ms)
{
	int64_t delay_ms = kube_client_random(self->client, 0, self->config.backoff_min_ms + 1);

	/* ends at the requested time are spread already; any other may happen to all clients at this moment */
	if (!why->code && lasted_ms >= self->watch_asked_ms)
		delay_ms = 0;
	self->has_expired |= why->code == KUBE_EXPIRED;
	kube_timer_set(self->client, &self->timer, delay_ms);
	if (self->config.ended)
		self->config.ended(self->config.context, why, delay_ms);
}

static void take_version_back(struct reflector *self, int code)
{
	if (code == KUBE_EXPIRED)
		memcpy(self->expired_version, self->resource_version, VERSION_BYTES);
	else
		self->expired_version[0] = '\0';
	self->resource_version[0] = '\0';
}

static void watch_done(void *context, const struct kube_result *result)
{
	struct reflector *self = context;
	int64_t lasted_ms = time_monotonic_ms() - self->watch_since_ms;
	bool was_steady = self->is_open && lasted_ms >= self->config.steady_ms;
	struct err err = self->watch_code ? self->watch_err : result->err;
	int code = self->watch_code ? self->watch_code : result->code;

	self->watch = NULL;
	if (was_steady) {
		self->failures = 0;
		reflector_make_progress(self);
	}
	if (!code && lasted_ms < SHORT_WATCH_MS)
		code = err_set(&err, -EPIPE, "the server ended a watch after %lld ms", (long long)lasted_ms);
	if (code && leads_to_list(self, code))
		take_version_back(self, code);
	if (is_ordinary(self, code, was_steady))
		end_quietly(self, &err, lasted_ms);
	else
		fail(self, &err, result->retry_after_s * TIME_SECOND_MS);
}

static int submit_watch(struct reflector *self, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf query = STRBUF_INIT(16 * KIB);
	const struct kube_selection *selection = &self->config.selection;
	int64_t timeout_ms = kube_client_random(self->client, self->config.watch_min_ms, self->config.watch_max_ms + 1);
	struct kube_request request = {
		.verb = KUBE_WATCH,
		.resource = selection->resource,
		.namespace = selection->namespace,
		.timeout_ms = timeout_ms + GRACE_MS,
		.stall_timeout_ms = HTTP_NO_STALL, /* an idle cluster sends nothing; kube_lanes checks the connection */
		.is_shared = true,
		.is_tried_once = true, /* the reflector has its own back-off */
		.began = watch_began,
		.piece = reflector_take_bytes,
		.done = watch_done,
		.context = self,
	};
	char seconds[24];

	self->watch_asked_ms = MAX(TIME_SECOND_MS, timeout_ms - timeout_ms % TIME_SECOND_MS);
	snprintf(seconds, sizeof(seconds), "%lld", (long long)(self->watch_asked_ms / TIME_SECOND_MS));
	kube_selection_query(selection, &query);
	http_form_add(&query, "watch", "true");
	http_form_add(&query, "allowWatchBookmarks", "true");
	http_form_add(&query, "resourceVersion", self->resource_version);
	http_form_add(&query, "timeoutSeconds", seconds);
	if (query.status)
		return err_set(err, query.status, "the query of a watch is too long");
	request.query = strbuf_text(&query);
	return kube_client_submit(self->client, &request, &self->watch, err);
}

static void start_watch(struct reflector *self)
{
	struct err err = ERR_INIT;

	strbuf_clear(&self->line);
	self->watch_code = 0;
	self->is_open = false;
	self->watch_since_ms = time_monotonic_ms();
	self->stats.watches++;
	if (submit_watch(self, &err))
		fail(self, &err, 0);
	else
		kube_timer_set(self->client, &self->timer, self->config.open_ms);
}

static void end_unopened(struct reflector *self)
{
	struct err err = ERR_INIT;

	kube_client_cancel(self->client, TAKE_PTR(self->watch));
	err_set(&err, -ETIMEDOUT, "the server did not answer a watch within %lld s",
		(long long)(self->config.open_ms / TIME_SECOND_MS));
	fail(self, &err, 0);
}

static void go_on(void *context)
{
	struct reflector *self = context;

	if (self->watch)
		end_unopened(self);
	else if (self->resource_version[0])
		start_watch(self);
	else
		start_list(self);
}

static int copy_config(struct reflector *self, const struct reflector_config *config)
{
	const struct {
		int64_t *value, otherwise;
	} numbers[] = {{&self->config.watch_min_ms, WATCH_MIN_MS},     {&self->config.watch_max_ms, WATCH_MAX_MS},
		       {&self->config.backoff_min_ms, BACKOFF_MIN_MS}, {&self->config.backoff_max_ms, BACKOFF_MAX_MS},
		       {&self->config.steady_ms, STEADY_MS},	       {&self->config.open_ms, OPEN_MS}};

	self->config = *config;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (!*numbers[i].value)
			*numbers[i].value = numbers[i].otherwise;
	return kube_selection_copy(&self->config.selection, &self->arena);
}

int reflector_start(struct kube_client *client, const struct reflector_config *config, struct reflector **ret,
		    struct err *err)
{
	struct reflector *self = calloc(1, sizeof(*self));

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->client = client;
	self->arena = (struct arena)ARENA_INIT(64 * KIB);
	self->scratch = (struct arena)ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	self->line = (struct strbuf)STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);
	self->timer = (struct kube_timer){.fire = go_on, .context = self};
	self->known.forgets_names = config->gone != NULL;
	if (copy_config(self, config)) {
		reflector_free(self);
		return err_set(err, -ENOMEM, "out of memory");
	}
	kube_timer_set(client, &self->timer, 0);
	*ret = self;
	return 0;
}

void reflector_free(struct reflector *self)
{
	if (!self)
		return;
	kube_timer_stop(self->client, &self->timer);
	kube_client_cancel(self->client, self->watch);
	kube_list_free(self->list);
	kube_cache_release(&self->known);
	strbuf_release(&self->line);
	arena_release(&self->arena);
	arena_release(&self->scratch);
	free(self);
}

void reflector_list_again(struct reflector *self)
{
	kube_client_cancel(self->client, TAKE_PTR(self->watch));
	take_version_back(self, 0);
	if (!self->list)
		kube_timer_set(self->client, &self->timer, 0);
}

bool reflector_has(const struct reflector *self, const char *namespace, const char *name)
{
	return kube_cache_has(&self->known, namespace, name);
}

bool reflector_is_listing(const struct reflector *self)
{
	return self->list != NULL;
}

void reflector_stats(const struct reflector *self, struct reflector_stats *ret)
{
	*ret = self->stats;
	ret->is_in_contact = self->watch && self->is_open;
	ret->objects = self->known.objects.n;
}
