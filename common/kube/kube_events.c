/* SPDX-License-Identifier: Apache-2.0 */
/* A small table of events that were recorded recently. When it is full, the event that was recorded least recently is
 * evicted. */
#include "kube/kube_events.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES	    256
#define INTERVAL_MS (10 * TIME_SECOND_MS)

static const struct kube_resource events = {"", "v1", "events"};

struct entry {
	struct kube_events *owner;
	struct kube_call *call;	   /* the write under way; NULL: none */
	struct json_object *event; /* the Event as created; NULL: the entry is free */
	char *name, *namespace;
	uint64_t key, used;	      /* `used`: serial number of the last record, the lowest is evicted first */
	int64_t count, written_count; /* written_count: 0: not created yet */
	int64_t last_ms;	      /* wall clock: last record */
	int64_t next_ms;	      /* monotonic: no write before this time */
	bool is_creating;
};

struct kube_events {
	struct kube_client *client;
	struct kube_events_config config;
	struct arena arena;
	struct kube_timer timer;
	struct entry entries[ENTRIES];
	uint64_t serial;
};

static void entry_clear(struct entry *entry)
{
	kube_client_cancel(entry->owner->client, entry->call);
	json_object_put(entry->event);
	free(entry->name);
	free(entry->namespace);
	*entry = (struct entry){.owner = entry->owner};
}

static void report_failure(struct kube_events *self, const struct err *why)
{
	if (self->config.failed)
		self->config.failed(self->config.context, why);
}

/* Sets the timer for the next entry with an unwritten count. */
static void set_timer(struct kube_events *self)
{
	int64_t next_ms = INT64_MAX;

	for (size_t i = 0; i < ENTRIES; i++) {
		const struct entry *entry = &self->entries[i];

		if (entry->event && !entry->call && entry->count > entry->written_count)
			next_ms = MIN(next_ms, entry->next_ms);
	}
	if (next_ms != INT64_MAX)
		kube_timer_set(self->client, &self->timer, next_ms - time_monotonic_ms());
}

static void written(void *context, const struct kube_result *result)
{
	struct entry *entry = context;
	struct kube_events *self = entry->owner;

	entry->call = NULL;
	if (result->code == KUBE_NOT_FOUND && !entry->is_creating) {
		/* the cluster deletes Events after an hour, so the next record creates a new one */
		entry->written_count = 0;
		entry->count = 1;
	} else if (result->code == KUBE_ALREADY_EXISTS && entry->is_creating) {
		entry->count++; /* with that of an earlier process, or of an entry that was evicted */
	} else if (result->code) {
		report_failure(self, &result->err);
		entry_clear(entry);
	}
	set_timer(self);
}

/* "pod.1a2b3c": the same for each process. */
static int set_name(struct entry *entry)
{
	const char *about = NULL;
	char name[LIMIT_NAME_BYTES + 1];

	if (json_get_string(json_member(entry->event, "involvedObject"), "", "name", &about, NULL))
		return -EINVAL;
	snprintf(name, sizeof(name), "%.200s.%016llx", about, (unsigned long long)entry->key);
	free(entry->name);
	entry->name = strdup(name);
	json_set_text(&entry->event, "metadata.name", entry->name);
	return entry->name ? 0 : -ENOMEM;
}

/* Makes the fields that never change. NULL: out of memory. */
static struct json_object *make_event(const struct kube_events *self, const struct kube_event_object *object,
				      bool is_warning, const char *reason, const char *message)
{
	struct json_object *event = json_object_new_object();
	const char *namespace = object->namespace && *object->namespace ? object->namespace : NULL;
	const struct {
		const char *path, *value;
	} members[] = {
		{"apiVersion", "v1"},
		{"kind", "Event"},
		{"type", is_warning ? "Warning" : "Normal"},
		{"reason", reason},
		{"message", message},
		{"reportingComponent", self->config.component},
		{"reportingInstance", self->config.instance},
		{"involvedObject.apiVersion", object->api_version},
		{"involvedObject.kind", object->kind},
		{"involvedObject.name", object->name},
		{"involvedObject.namespace", namespace},
		{"involvedObject.uid", object->uid},
		{"source.component", self->config.component},
		{"metadata.namespace", namespace ? namespace : "default"},
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		json_set_text(&event, members[i].path, members[i].value);
	return event;
}

/* Creates the Event or updates its count. */
static int write_entry(struct entry *entry, struct err *err)
{
	struct kube_events *self = entry->owner;
	CLEANUP(json_putp) struct json_object *patch = json_object_new_object();
	bool is_first = entry->written_count == 0;
	struct json_object **body = is_first ? &entry->event : &patch;
	struct kube_request request = {.verb = is_first ? KUBE_CREATE : KUBE_MERGE_PATCH,
				       .resource = events,
				       .namespace = entry->namespace,
				       .done = written,
				       .context = entry};
	char time[TIME_TEXT_BYTES];

	if (is_first && set_name(entry))
		return err_set(err, -ENOMEM, "out of memory");
	time_render(entry->last_ms - entry->last_ms % TIME_SECOND_MS, time);
	json_set(body, "count", json_object_new_int64(entry->count));
	json_set_text(body, "lastTimestamp", time);
	json_set_text(body, "firstTimestamp", is_first ? time : NULL);
	if (!*body)
		return err_set(err, -ENOMEM, "out of memory");
	request.name = is_first ? NULL : entry->name;
	request.body = *body;
	entry->is_creating = is_first;
	entry->written_count = entry->count;
	entry->next_ms = time_monotonic_ms() + self->config.interval_ms;
	return kube_client_submit(self->client, &request, &entry->call, err);
}

static void write_due(void *context)
{
	struct kube_events *self = context;
	int64_t now_ms = time_monotonic_ms();

	for (size_t i = 0; i < ENTRIES; i++) {
		struct entry *entry = &self->entries[i];
		struct err err = ERR_INIT;

		if (!entry->event || entry->call || entry->count == entry->written_count || entry->next_ms > now_ms)
			continue;
		if (write_entry(entry, &err)) {
			report_failure(self, &err);
			entry_clear(entry);
		}
	}
	set_timer(self);
}

/* The entry of this event, a free entry, or the one that was recorded least recently, cleared. */
static struct entry *find_entry(struct kube_events *self, uint64_t key)
{
	struct entry *best = &self->entries[0];

	for (size_t i = 0; i < ENTRIES; i++) {
		struct entry *entry = &self->entries[i];

		if (entry->event && entry->key == key)
			return entry;
		if (best->event && (!entry->event || entry->used < best->used))
			best = entry;
	}
	if (best->event)
		entry_clear(best);
	return best;
}

int kube_events_record(struct kube_events *self, const struct kube_event_object *object, bool is_warning,
		       const char *reason, const char *message, struct err *err)
{
	const char *namespace = object->namespace && *object->namespace ? object->namespace : "default";
	const char *const parts[] = {namespace, object->kind, object->name, object->uid, reason};
	uint64_t key = HASH_STABLE_INIT + is_warning;
	size_t n = strlen(message);
	char note[LIMIT_KUBE_NOTE_BYTES + 1];
	struct entry *entry;

	/* cut at the start of a UTF-8 character */
	for (n = MIN(n, LIMIT_KUBE_NOTE_BYTES); n > 0 && ((unsigned char)message[n] & 0xc0) == 0x80; n--)
		;
	snprintf(note, sizeof(note), "%.*s", (int)n, message);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		key = hash_stable_text(key, parts[i]);
	key = hash_stable(key, note, strlen(note));
	entry = find_entry(self, key);
	if (!entry->event) {
		entry->event = make_event(self, object, is_warning, reason, note);
		entry->namespace = strdup(namespace);
		if (!entry->event || !entry->namespace) {
			entry_clear(entry);
			return err_set(err, -ENOMEM, "out of memory");
		}
		entry->key = key;
	}
	entry->count++;
	entry->used = ++self->serial;
	entry->last_ms = kube_client_now_ms(self->client);
	set_timer(self);
	return 0;
}

int kube_events_new(struct kube_client *client, const struct kube_events_config *config, struct kube_events **ret,
		    struct err *err)
{
	struct kube_events *self = calloc(1, sizeof(*self));

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->client = client;
	self->config = *config;
	self->arena = (struct arena)ARENA_INIT(4 * KIB);
	self->timer = (struct kube_timer){.fire = write_due, .context = self};
	if (!self->config.interval_ms)
		self->config.interval_ms = INTERVAL_MS;
	for (size_t i = 0; i < ENTRIES; i++)
		self->entries[i].owner = self;
	self->config.component = arena_strdup(&self->arena, config->component);
	self->config.instance = arena_strdup(&self->arena, config->instance);
	if (!self->config.component || !self->config.instance) {
		kube_events_free(self);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = self;
	return 0;
}

void kube_events_free(struct kube_events *self)
{
	if (!self)
		return;
	kube_timer_stop(self->client, &self->timer);
	for (size_t i = 0; i < ENTRIES; i++)
		entry_clear(&self->entries[i]);
	arena_release(&self->arena);
	free(self);
}
