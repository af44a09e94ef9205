/* SPDX-License-Identifier: Apache-2.0 */
/* The objects and events that come to a reflector. */
#include "kube/reflector_internal.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "kube/kube_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EVENT_DEPTH 130
/* A longer line buffer is freed behind its line: events of this length are rare. */
#define LINE_KEPT_BYTES (64 * KIB)

static bool is_version(const char *version)
{
	return version && *version && strlen(version) < VERSION_BYTES;
}

int reflector_note_version(struct reflector *self, const char *version)
{
	if (!is_version(version))
		return -EINVAL;
	snprintf(self->resource_version, sizeof(self->resource_version), "%s", version);
	return 0;
}

int reflector_take_object(struct reflector *self, const struct kube_object *object)
{
	int change = kube_cache_put(&self->known, object, self->mark);

	if (change == KUBE_CACHE_NEW)
		self->config.added(self->config.context, object);
	else if (change == KUBE_CACHE_CHANGED)
		self->config.modified(self->config.context, object);
	return change < 0 ? change : 0;
}

void reflector_pass_over(void *reflector, const struct err *why)
{
	struct reflector *self = reflector;

	if (self->config.failed)
		self->config.failed(self->config.context, why, -1);
}

void reflector_make_progress(struct reflector *self)
{
	self->resumes = 0;
	self->has_expired = false;
}

/* A bookmark has a resourceVersion and no name. */
static int take_bookmark(struct reflector *self, const struct kube_object *object, struct err *err)
{
	if (reflector_note_version(self, object->resource_version))
		return err_set(err, -EINVAL, "a bookmark without a resourceVersion");
	self->stats.bookmarks++;
	return 0;
}

static int take_change(struct reflector *self, const char *type, const struct kube_object *object, struct err *err)
{
	if (!is_version(object->resource_version))
		return err_set(err, -EINVAL, "an object without a resourceVersion");
	if (!streq(type, "DELETED")) {
		if (reflector_take_object(self, object))
			return err_set(err, -ENOMEM, "out of memory");
	} else if (kube_cache_remove(&self->known, object->namespace, object->name)) {
		self->config.deleted(self->config.context, object);
	}
	self->stats.events++;
	/* last, because an event that failed before this arrives again from here */
	return reflector_note_version(self, object->resource_version);
}

/* The same for a reflector that wants json. */
static int take_json_change(struct reflector *self, const char *type, const struct kube_object *scanned,
			    struct err *err)
{
	CLEANUP(json_putp) struct json_object *json = NULL;
	struct kube_object object = *scanned;
	int r = json_parse(scanned->text, scanned->n_text, EVENT_DEPTH, &json, err);

	object.json = json;
	return r ? r : take_change(self, type, &object, err);
}

static int take_error(const struct kube_object *scanned, struct err *err)
{
	CLEANUP(json_putp) struct json_object *json = NULL;
	int r = json_parse(scanned->text, scanned->n_text, EVENT_DEPTH, &json, err);

	return r ? r : kube_status_of_object(json, err);
}

/* Leaves out an object that a list leaves out, too: one that was known counts as deleted. Otherwise it would stay known
 * after it was deleted, as that event cannot be read either. */
static void leave_out(struct reflector *self, struct kube_object *object, struct err *why)
{
	object->text = NULL;
	object->n_text = 0;
	if (object->name)
		snprintf(why->where, sizeof(why->where), "%s%s%s", object->namespace, *object->namespace ? "/" : "",
			 object->name);
	reflector_pass_over(self, why);
	if (object->name && kube_cache_remove(&self->known, object->namespace, object->name))
		self->config.deleted(self->config.context, object);
	/* without a version it arrives again if the watch ends before the next event */
	(void)reflector_note_version(self, object->resource_version);
	reflector_make_progress(self);
}

static int take_event(struct reflector *self, const char *text, size_t n, struct err *err)
{
	struct kube_event event;
	int r;

	arena_reset(&self->scratch);
	r = kube_event_scan(text, n, &self->scratch, &event, err);
	if (r == -E2BIG) {
		leave_out(self, &event.object, err);
		return 0;
	}
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
		reflector_make_progress(self);
	return r;
}

/* The current line is complete. A line that is too long is skipped; it is unknown which object it is about. */
static int end_line(struct reflector *self)
{
	struct err err = ERR_INIT;
	int r = 0;

	if (self->line.status == -E2BIG) {
		err_set(&err, -E2BIG, "an event of %s is longer than %zu bytes", self->config.selection.resource.plural,
			self->line.max);
		reflector_pass_over(self, &err);
	} else if (self->line.status) {
		r = err_set(&err, self->line.status, "out of memory");
	} else if (self->line.len) {
		r = take_event(self, strbuf_text(&self->line), self->line.len, &err);
	}
	if (self->line.capacity > LINE_KEPT_BYTES)
		strbuf_release(&self->line);
	strbuf_clear(&self->line);
	if (r) {
		self->watch_code = r;
		self->watch_err = err;
	}
	return r;
}

int reflector_take_bytes(void *reflector, const char *bytes, size_t n)
{
	struct reflector *self = reflector;
	int r = 0;

	self->stats.last_contact_ms = time_monotonic_ms();
	while (n > 0 && !r) {
		const char *end = memchr(bytes, '\n', n);
		size_t piece = end ? (size_t)(end - bytes) : n;

		strbuf_add(&self->line, bytes, piece); /* sticky: end_line checks the status */
		if (end) {
			r = end_line(self);
			piece++;
		}
		bytes += piece;
		n -= piece;
	}
	return r;
}
