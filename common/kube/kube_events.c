/* SPDX-License-Identifier: Apache-2.0 */
/* A small table of what was told lately. When it is full, the entry that was told longest ago makes room: its event
 * stays in the cluster, only the next of its kind becomes a new one. */
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
	struct kube_call *call;	   /* under way */
	struct json_object *event; /* as created; NULL: free */
	char *name, *namespace;
	uint64_t key, used;	   /* `used` counts up: the lowest was told longest ago */
	int64_t count, told_count; /* told_count 0: not created yet */
	int64_t last_ms;	   /* wall clock, of the last one */
	int64_t next_ms;	   /* monotonic: not to be written before */
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

static void tell_failure(struct kube_events *self, const struct err *why)
{
	if (self->config.failed)
		self->config.failed(self->config.context, why);
}

/* When something is left to write, look again when it may be. */
static void set_timer(struct kube_events *self)
{
	int64_t next_ms = INT64_MAX;

	for (size_t i = 0; i < ENTRIES; i++) {
		const struct entry *entry = &self->entries[i];

		if (entry->event && !entry->call && entry->count > entry->told_count)
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
		/* the cluster forgets events after an hour: the next one is a new one */
		entry->told_count = 0;
		entry->count = 1;
	} else if (result->code) {
		tell_failure(self, &result->err);
		entry_clear(entry);
	}
	set_timer(self);
}

static int set_times(struct json_object *body, struct entry *entry, bool is_first)
{
	char text[TIME_TEXT_BYTES];
	int r;

	time_render(entry->last_ms - entry->last_ms % TIME_SECOND_MS, text);
	r = json_add(body, "count", json_object_new_int64(entry->count));
	if (!r)
		r = json_add(body, "lastTimestamp", json_object_new_string(text));
	if (!r && is_first)
		r = json_add(body, "firstTimestamp", json_object_new_string(text));
	return r;
}

/* "pod.1a2b3c": unique for this process and, by its start, for others. */
static int set_name(struct entry *entry)
{
	struct kube_events *self = entry->owner;
	struct json_object *metadata = json_member(entry->event, "metadata");
	uint64_t parts[3] = {(uint64_t)kube_client_now_ms(self->client), ++self->serial, entry->key};
	const char *about = NULL;
	char name[LIMIT_NAME_BYTES + 1];

	if (json_get_string(json_member(entry->event, "involvedObject"), "", "name", &about, NULL))
		return -EINVAL;
	snprintf(name, sizeof(name), "%.200s.%016llx", about, (unsigned long long)hash_seeded(parts, sizeof(parts)));
	free(entry->name);
	entry->name = strdup(name);
	return entry->name ? json_add(metadata, "name", json_object_new_string(name)) : -ENOMEM;
}

/* All that does not change. */
static struct json_object *make_event(const struct kube_events *self, const struct kube_event_object *object,
				      bool is_warning, const char *reason, const char *message)
{
	struct json_object *event = json_object_new_object(), *about = json_object_new_object();
	struct json_object *source = json_object_new_object(), *metadata = json_object_new_object();
	bool is_namespaced = object->namespace && *object->namespace;
	const struct {
		struct json_object *in;
		const char *key, *value;
	} members[] = {
		{about, "apiVersion", object->api_version},
		{about, "kind", object->kind},
		{about, "name", object->name},
		{about, "namespace", is_namespaced ? object->namespace : NULL},
		{about, "uid", object->uid},
		{source, "component", self->config.component},
		{metadata, "namespace", is_namespaced ? object->namespace : "default"},
		{event, "apiVersion", "v1"},
		{event, "kind", "Event"},
		{event, "type", is_warning ? "Warning" : "Normal"},
		{event, "reason", reason},
		{event, "message", message},
		{event, "reportingComponent", self->config.component},
		{event, "reportingInstance", self->config.instance},
	};
	int r = event && about && source && metadata ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_LEN(members) && !r; i++)
		if (members[i].value)
			r = json_add(members[i].in, members[i].key, json_object_new_string(members[i].value));
	if (!r)
		r = json_add(event, "involvedObject", TAKE_PTR(about));
	if (!r)
		r = json_add(event, "source", TAKE_PTR(source));
	if (!r)
		r = json_add(event, "metadata", TAKE_PTR(metadata));
	json_object_put(about);
	json_object_put(source);
	json_object_put(metadata);
	if (!r)
		return event;
	json_object_put(event);
	return NULL;
}

/* Create the event, or count it up. */
static int write_entry(struct entry *entry, struct err *err)
{
	struct kube_events *self = entry->owner;
	CLEANUP(json_putp) struct json_object *patch = json_object_new_object();
	struct kube_request request = {
		.resource = events, .namespace = entry->namespace, .done = written, .context = entry};
	int r = patch ? 0 : -ENOMEM;

	entry->is_creating = entry->told_count == 0;
	if (!r && entry->is_creating)
		r = set_name(entry);
	if (!r)
		r = set_times(entry->is_creating ? entry->event : patch, entry, entry->is_creating);
	if (r)
		return err_set(err, r, "out of memory");
	request.verb = entry->is_creating ? KUBE_CREATE : KUBE_MERGE_PATCH;
	request.name = entry->is_creating ? NULL : entry->name;
	request.body = entry->is_creating ? entry->event : patch;
	entry->told_count = entry->count;
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

		if (!entry->event || entry->call || entry->count == entry->told_count || entry->next_ms > now_ms)
			continue;
		if (write_entry(entry, &err)) {
			tell_failure(self, &err);
			entry_clear(entry);
		}
	}
	set_timer(self);
}

/* The entry of this event, or a free one, or the one that was told longest ago. */
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

	/* cut between characters */
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
