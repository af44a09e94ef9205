/* SPDX-License-Identifier: Apache-2.0 */
/* States: listing (`list` is set), watching (`watch` is set), or waiting for `timer`, which then does the one or the
 * other. A watch is resumed as long as its resourceVersion is known and good; whatever casts doubt on it (410, an error
 * that the server does not explain, three failures in a row) leads to a new list. */
#include "kube/reflector.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "http_client/http_client.h"
#include "kube/kube_known.h"
#include "kube/kube_status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WATCH_MIN_MS   (5 * TIME_MINUTE_MS)
#define WATCH_MAX_MS   (10 * TIME_MINUTE_MS)
#define BACKOFF_MIN_MS TIME_SECOND_MS
#define BACKOFF_MAX_MS (30 * TIME_SECOND_MS)
/* Bookmarks come every minute or so; two may be lost. */
#define STALL_MS (150 * TIME_SECOND_MS)
/* Beyond its own end the server gets so long to say that a watch is over. */
#define GRACE_MS (30 * TIME_SECOND_MS)
/* A watch that ends sooner is no success, one that lasts longer makes earlier failures forgotten. */
#define SHORT_WATCH_MS	TIME_SECOND_MS
#define STEADY_WATCH_MS (10 * TIME_SECOND_MS)
#define MAX_RESUMES	3
#define EVENT_DEPTH	130
#define VERSION_BYTES	256

struct reflector {
	struct kube_client *client;
	struct reflector_config config;
	struct arena arena;
	struct arena scratch; /* of an event */
	struct kube_list *list;
	struct kube_call *watch;
	struct kube_timer timer;
	struct kube_known known;
	struct strbuf line;		      /* of the watch, so far */
	char resource_version[VERSION_BYTES]; /* "": list */
	uint32_t mark;
	unsigned int failures; /* in a row */
	bool has_expired;      /* since the last progress */
	bool is_open;	       /* the server has answered the watch */
	int64_t watch_since_ms;
	int watch_code; /* why we end the watch ourselves */
	struct err watch_err;
	struct reflector_stats stats;
};

static void go_on(void *context);

/* From 1..2 times the minimum, doubled with every failure, to the upper half of the maximum. */
static int64_t backoff_ms(struct reflector *self)
{
	int64_t high = self->config.backoff_max_ms;

	if (self->failures < 20)
		high = MIN(high, self->config.backoff_min_ms << self->failures);
	return kube_client_random(self->client, high / 2, high + 1);
}

static void tell_passed_over(void *context, const struct err *why)
{
	struct reflector *self = context;

	self->stats.passed_over++;
	if (self->config.failed)
		self->config.failed(self->config.context, why, -1);
}

/* Try again later. */
static void fail(struct reflector *self, const struct err *why, int64_t at_least_ms)
{
	int64_t delay_ms;

	self->failures++;
	self->stats.failures++;
	delay_ms = MAX(backoff_ms(self), at_least_ms);
	kube_timer_set(self->client, &self->timer, delay_ms);
	if (self->config.failed)
		self->config.failed(self->config.context, why, delay_ms);
}

static bool is_version(const char *version)
{
	return version && *version && strlen(version) < VERSION_BYTES;
}

static int note_version(struct reflector *self, const char *version)
{
	if (!is_version(version))
		return -EINVAL;
	snprintf(self->resource_version, sizeof(self->resource_version), "%s", version);
	return 0;
}

static int take_object(struct reflector *self, const struct kube_object *object)
{
	int change = kube_known_put(&self->known, object, self->mark);

	if (change == KUBE_KNOWN_NEW)
		self->config.added(self->config.context, object);
	else if (change == KUBE_KNOWN_CHANGED)
		self->config.modified(self->config.context, object);
	return change < 0 ? change : 0;
}

static int list_item(void *context, const struct kube_object *object, struct err *err)
{
	struct reflector *self = context;

	self->stats.last_contact_ms = time_monotonic_ms();
	return take_object(self, object) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* What the pages so far have marked may have gone since. */
static void list_restarted(void *context)
{
	((struct reflector *)context)->mark++;
}

static void tell_gone(void *context, const struct kube_object *object)
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

	if (!r && note_version(self, resource_version))
		r = err_set(&err, -EINVAL, "the list has a resourceVersion that cannot be used");
	kube_list_free(TAKE_PTR(self->list));
	if (r) {
		fail(self, &err, result->retry_after_s * TIME_SECOND_MS);
		return;
	}
	self->stats.last_contact_ms = time_monotonic_ms();
	n_gone = kube_known_sweep(&self->known, self->mark, tell_gone, self);
	if (n_gone && self->config.gone)
		self->config.gone(self->config.context, n_gone);
	self->stats.is_synced = true;
	kube_timer_set(self->client, &self->timer, 0);
	if (self->config.synced)
		self->config.synced(self->config.context);
}

static void start_list(struct reflector *self)
{
	const struct kube_list_request request = {
		.selection = self->config.selection,
		.page_items = self->config.page_items,
		/* Later lists are there because the watch cannot go on from what the server has in memory. And what
		 * comes whole has to come within the minute that the server allows: where it did not, pages may. */
		.is_cached = !self->stats.is_synced && self->failures % 2 == 0,
		.wants_text = self->config.wants_text,
		.item = list_item,
		.bad = tell_passed_over,
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

static void make_progress(struct reflector *self)
{
	self->failures = 0;
	self->has_expired = false;
}

/* A bookmark has a version and no name. */
static int take_bookmark(struct reflector *self, const struct kube_object *object, struct err *err)
{
	if (note_version(self, object->resource_version))
		return err_set(err, -EINVAL, "a bookmark without a resourceVersion");
	self->stats.bookmarks++;
	return 0;
}

static int take_change(struct reflector *self, const char *type, const struct kube_object *object, struct err *err)
{
	if (!is_version(object->resource_version))
		return err_set(err, -EINVAL, "an object without a resourceVersion");
	if (!streq(type, "DELETED")) {
		if (take_object(self, object))
			return err_set(err, -ENOMEM, "out of memory");
	} else if (kube_known_remove(&self->known, object->namespace, object->name)) {
		self->config.deleted(self->config.context, object);
	}
	self->stats.events++;
	/* last: what could not be told comes again from here */
	return note_version(self, object->resource_version);
}

/* An object with the json that was asked for. */
static int take_json_change(struct reflector *self, const char *type, const struct kube_object *scanned,
			    struct err *err)
{
	CLEANUP(json_putp) struct json_object *json = NULL;
	struct kube_object object;
	int r = json_parse(scanned->text, scanned->n_text, EVENT_DEPTH, &json, err);

	if (!r)
		r = kube_object_read(json, &object, err);
	if (r)
		return r;
	object.text = scanned->text;
	object.n_text = scanned->n_text;
	return take_change(self, type, &object, err);
}

static int take_error(const struct kube_object *scanned, struct err *err)
{
	CLEANUP(json_putp) struct json_object *json = NULL;
	int r = json_parse(scanned->text, scanned->n_text, EVENT_DEPTH, &json, err);

	return r ? r : kube_status_of_object(json, err);
}

static int take_event(struct reflector *self, const char *text, size_t n, struct err *err)
{
	struct kube_event event;
	int r;

	arena_reset(&self->scratch);
	r = kube_event_scan(text, n, &self->scratch, &event, err);
	if (r)
		return r;
	if (streq(event.type, "ERROR"))
		return take_error(&event.object, err);
	if (streq(event.type, "BOOKMARK"))
		r = take_bookmark(self, &event.object, err);
	else if (!streq(event.type, "ADDED") && !streq(event.type, "MODIFIED") && !streq(event.type, "DELETED"))
		r = err_set(err, -EINVAL, "an event of type %.40s", event.type);
	else if (!event.object.name || !*event.object.name)
		r = err_set(err, -EINVAL, "an object without a name");
	else if (self->config.wants_text)
		r = take_change(self, event.type, &event.object, err);
	else
		r = take_json_change(self, event.type, &event.object, err);
	if (!r)
		make_progress(self);
	return r;
}

/* One line is there. Too long a one is passed over: which object it was is not known. */
static int end_line(struct reflector *self)
{
	struct err err = ERR_INIT;
	int r = 0;

	if (self->line.status == -E2BIG) {
		err_set(&err, -E2BIG, "an event of %s is longer than %zu bytes", self->config.selection.resource.plural,
			self->line.max);
		tell_passed_over(self, &err);
	} else if (self->line.status) {
		r = err_set(&err, self->line.status, "out of memory");
	} else if (self->line.len) {
		r = take_event(self, strbuf_text(&self->line), self->line.len, &err);
	}
	strbuf_clear(&self->line);
	if (r) {
		self->watch_code = r;
		self->watch_err = err;
	}
	return r;
}

static void watch_began(void *context)
{
	struct reflector *self = context;

	self->is_open = true;
	self->stats.last_contact_ms = time_monotonic_ms();
}

static int watch_piece(void *context, const char *bytes, size_t n)
{
	struct reflector *self = context;
	int r = 0;

	self->stats.last_contact_ms = time_monotonic_ms();
	while (n > 0 && !r) {
		const char *end = memchr(bytes, '\n', n);
		size_t piece = end ? (size_t)(end - bytes) : n;

		strbuf_add(&self->line, bytes, piece); /* sticky: end_line looks */
		if (end) {
			r = end_line(self);
			piece++;
		}
		bytes += piece;
		n -= piece;
	}
	return r;
}

static bool leads_to_list(const struct reflector *self, int code)
{
	/* a server that is busy has said nothing of this watch */
	if (self->failures >= MAX_RESUMES && code != KUBE_TOO_MANY)
		return true;
	return code > 0 && code != KUBE_TOO_MANY && code != KUBE_TIMEOUT && code != KUBE_UNAVAILABLE;
}

static void watch_done(void *context, const struct kube_result *result)
{
	struct reflector *self = context;
	int64_t lasted_ms = time_monotonic_ms() - self->watch_since_ms;
	struct err err = self->watch_code ? self->watch_err : result->err;
	int code = self->watch_code ? self->watch_code : result->code;

	self->watch = NULL;
	if (self->is_open && lasted_ms >= STEADY_WATCH_MS)
		make_progress(self);
	if (!code && lasted_ms < SHORT_WATCH_MS)
		code = err_set(&err, -EPIPE, "the server ended a watch after %lld ms", (long long)lasted_ms);
	if (!code) {
		kube_timer_set(self->client, &self->timer, 0);
		return;
	}
	if (leads_to_list(self, code))
		self->resource_version[0] = '\0';
	if (code == KUBE_EXPIRED && !self->has_expired) {
		/* ordinary after a pause or a restart; only from the second time on it is a failure */
		self->has_expired = true;
		kube_timer_set(self->client, &self->timer, 0);
		return;
	}
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
		.stall_timeout_ms = self->config.stall_ms,
		.is_tried_once = true, /* waiting is done here */
		.began = watch_began,
		.piece = watch_piece,
		.done = watch_done,
		.context = self,
	};
	char seconds[24];

	snprintf(seconds, sizeof(seconds), "%lld", (long long)MAX(1, timeout_ms / TIME_SECOND_MS));
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
}

static void go_on(void *context)
{
	struct reflector *self = context;

	if (self->resource_version[0])
		start_watch(self);
	else
		start_list(self);
}

static int copy_config(struct reflector *self, const struct reflector_config *config)
{
	struct kube_selection *s = &self->config.selection;
	const char **texts[] = {&s->resource.group, &s->resource.version, &s->resource.plural,
				&s->namespace,	    &s->label_selector,	  &s->field_selector};
	const struct {
		int64_t *value, otherwise;
	} numbers[] = {{&self->config.watch_min_ms, WATCH_MIN_MS},
		       {&self->config.watch_max_ms, WATCH_MAX_MS},
		       {&self->config.backoff_min_ms, BACKOFF_MIN_MS},
		       {&self->config.backoff_max_ms, BACKOFF_MAX_MS},
		       {&self->config.stall_ms, STALL_MS}};

	self->config = *config;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (*texts[i] && !(*texts[i] = arena_strdup(&self->arena, *texts[i])))
			return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (!*numbers[i].value)
			*numbers[i].value = numbers[i].otherwise;
	return 0;
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
	kube_known_release(&self->known);
	strbuf_release(&self->line);
	arena_release(&self->arena);
	arena_release(&self->scratch);
	free(self);
}

bool reflector_has(const struct reflector *self, const char *namespace, const char *name)
{
	return kube_known_has(&self->known, namespace, name);
}

void reflector_stats(const struct reflector *self, struct reflector_stats *ret)
{
	*ret = self->stats;
	ret->is_watching = self->watch != NULL;
	ret->is_in_contact = self->watch && self->is_open;
	ret->objects = self->known.n;
}
