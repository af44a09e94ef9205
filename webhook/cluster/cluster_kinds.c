/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_kinds: discovers which kinds of the table k8s/kinds.c own pods and are served by the API server, and which
 * optional kinds (Kueue's queues, VerticalPodAutoscalers) are. It requests the groups and then the resources of
 * relevant groups, every quarter of an hour, and soon after a pod has an owner of a kind that is not watched yet. A
 * kind that is not installed causes no other cost. */
#include "cluster/cluster_internal.h"
#include "cluster/owner_object.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "k8s/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISCOVERY_MS (15 * TIME_MINUTE_MS)
#define FAILED_MS    (30 * TIME_SECOND_MS)
#define VERSIONS     8 /* maximum number of versions of a group that are requested */

static const struct optional_kind *const optional_kinds[] = {&local_queue_kind, &cluster_queue_kind, &vpa_kind};

/* The version and plural under which a kind is served. */
struct served {
	char plural[64], version[32];
};

struct owner_kind {
	const struct kind *kind;	      /* NULL: an optional kind */
	const struct optional_kind *optional; /* NULL: a kind that owns pods */
	struct watch *watch;		      /* NULL: not served */
	struct served served;
	/* in the current discovery */
	bool is_found;
	struct served other; /* the first version that is not the watched one; version "": none */
};

/* ---- objects ---- */

static uint64_t name_of(const struct watch *watch, const struct kube_object *object)
{
	/* two groups may have kinds of the same plural, so the watch is part of the key */
	char which[32];
	const char *const texts[] = {which, object->namespace, object->name};

	snprintf(which, sizeof(which), "%p", (const void *)watch);
	return hashtable_hash(texts, ARRAY_LEN(texts));
}

static int remove_owner(struct watch *watch, const struct kube_object *object)
{
	owners_remove(&watch->cluster->owners, name_of(watch, object));
	return 0;
}

/* The kind of a watch. A watch reports nothing before it is in the list. */
static const struct kind *kind_of(const struct watch *watch)
{
	const struct owner_kind *kind = watch->cluster->discovery.kinds;

	while (kind->watch != watch)
		kind++;
	return kind->kind;
}

static int put_owner(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct owner_object facts = {.source = watch};
	bool is_over = false;
	int r = owner_object_read(object, kind_of(watch), &watch->cluster->scratch, &facts, &is_over, err);

	if (r)
		return r;
	if (is_over)
		return remove_owner(watch, object);
	return owners_put(&watch->cluster->owners, name_of(watch, object), &facts) ? cluster_no_memory(err) : 0;
}

/* ---- discovery ---- */

static size_t n_kinds(void)
{
	size_t n;

	kind_table(&n);
	return n + ARRAY_LEN(optional_kinds);
}

static bool is_wanted(const struct owner_kind *self, const char *group)
{
	if (self->optional)
		return streq(self->optional->group, group);
	return streq(self->kind->group, group) && owner_object_is_watched(self->kind);
}

static void start_watch(struct cluster *cluster, struct owner_kind *kind)
{
	const struct optional_kind *optional = kind->optional;
	struct watch_kind row = {.id = CLUSTER_OWNERS, .wants_text = true, .put = put_owner, .remove = remove_owner};
	struct err err = ERR_INIT;

	if (optional)
		row = optional->watch;
	row.resource = (struct kube_resource){optional ? optional->group : kind->kind->group, kind->served.version,
					      kind->served.plural};

	if (watch_start(cluster, &row, NULL, &kind->watch, &err))
		log_err(LOG_ERROR, "cannot watch a kind", &err);
}

/* A kind that is not served any more has no objects. */
static void stop_watch(struct cluster *cluster, struct owner_kind *kind)
{
	const struct watch *watch = kind->watch;

	watch_free(TAKE_PTR(kind->watch));
	if (!kind->optional)
		owners_remove_source(&cluster->owners, watch);
	else if (kind->optional->forget(cluster))
		cluster->has_no_memory = true;
}

/* The watched version is not served any more, but another one may be. */
static void change_watch(struct cluster *cluster, struct owner_kind *kind)
{
	stop_watch(cluster, kind);
	if (!*kind->other.version)
		return;
	kind->served = kind->other;
	start_watch(cluster, kind);
}

static void schedule_discovery(struct cluster *cluster, int64_t delay_ms)
{
	kube_timer_set(cluster->client, &cluster->discovery.timer,
		       kube_client_random(cluster->client, delay_ms, delay_ms + delay_ms / 4));
}

/* All responses have arrived. After a failure, kinds that were served count as served. */
static void end_discovery(struct cluster *cluster)
{
	struct discovery *self = &cluster->discovery;

	for (size_t i = 0; i < n_kinds() && !self->has_failed; i++)
		if (self->kinds[i].watch && !self->kinds[i].is_found)
			change_watch(cluster, &self->kinds[i]);
	cluster_note_change(cluster);
	schedule_discovery(cluster, self->has_failed ? FAILED_MS : DISCOVERY_MS);
}

static bool can_watch(struct json_object *resource)
{
	struct json_object *verbs = json_member(resource, "verbs");
	bool has_watch = false, has_list = false;

	if (!json_object_is_type(verbs, json_type_array))
		return false;
	for (size_t i = 0; i < json_object_array_length(verbs); i++) {
		const char *verb = json_object_get_string(json_object_array_get_idx(verbs, i));

		has_watch |= streq(verb, "watch");
		has_list |= streq(verb, "list");
	}
	return has_watch && has_list;
}

static void take_served(struct cluster *cluster, struct owner_kind *kind, const struct served *served)
{
	bool is_watched = streq(kind->served.plural, served->plural) && streq(kind->served.version, served->version);

	if (!kind->watch) {
		kind->is_found = true; /* the preferred version is listed first and stays */
		kind->served = *served;
		start_watch(cluster, kind);
	} else if (is_watched) {
		kind->is_found = true;
	} else if (!*kind->other.version) {
		kind->other = *served;
	}
}

static void take_resource(struct cluster *cluster, const char *group, const char *version, struct json_object *resource)
{
	const char *plural = "", *name = "";
	struct discovery *self = &cluster->discovery;
	struct served served;

	if (json_get_string(resource, "", "name", &plural, NULL) ||
	    json_get_string(resource, "", "kind", &name, NULL) || strchr(plural, '/') ||
	    strlen(plural) >= sizeof(served.plural) || strlen(version) >= sizeof(served.version) ||
	    !can_watch(resource))
		return;
	snprintf(served.plural, sizeof(served.plural), "%s", plural);
	snprintf(served.version, sizeof(served.version), "%s", version);
	for (size_t i = 0; i < n_kinds(); i++) {
		struct owner_kind *kind = &self->kinds[i];
		const char *own = kind->optional ? kind->optional->name : kind->kind->name;

		if (!kind->is_found && is_wanted(kind, group) && streq(own, name))
			take_served(cluster, kind, &served);
	}
}

/* Reads an APIResourceList. */
static void take_resources(struct cluster *cluster, struct json_object *list)
{
	struct json_object *resources = json_member(list, "resources");
	const char *group_version = "", *slash;
	char group[128] = "";

	if (!json_object_is_type(resources, json_type_array) ||
	    json_get_string(list, "", "groupVersion", &group_version, NULL))
		return;
	slash = strchr(group_version, '/');
	if (!slash || (size_t)(slash - group_version) >= sizeof(group))
		return;
	memcpy(group, group_version, (size_t)(slash - group_version));
	for (size_t i = 0; i < json_object_array_length(resources); i++)
		take_resource(cluster, group, slash + 1, json_object_array_get_idx(resources, i));
}

static bool is_group_wanted(const struct cluster *cluster, const char *group)
{
	for (size_t i = 0; i < n_kinds(); i++)
		if (is_wanted(&cluster->discovery.kinds[i], group))
			return true;
	return false;
}

static void add_path(struct cluster *cluster, const char *group, const char *version)
{
	struct discovery *self = &cluster->discovery;
	const char *path = arena_printf(&self->arena, "/apis/%s/%s", group, version);

	if (!path || vec_push(&self->paths, path))
		self->has_failed = true;
}

static void take_group(struct cluster *cluster, struct json_object *group)
{
	struct json_object *versions = json_member(group, "versions");
	const char *name = "";

	if (json_get_string(group, "", "name", &name, NULL) || !is_group_wanted(cluster, name) ||
	    !json_object_is_type(versions, json_type_array))
		return;
	for (size_t i = 0; i < MIN(json_object_array_length(versions), VERSIONS); i++) {
		const char *version = "";

		if (!json_get_string(json_object_array_get_idx(versions, i), "", "version", &version, NULL))
			add_path(cluster, name, version);
	}
}

/* Reads the APIGroupList. */
static void take_groups(struct cluster *cluster, struct json_object *list)
{
	struct json_object *groups = json_member(list, "groups");

	for (size_t i = 0; json_object_is_type(groups, json_type_array) && i < json_object_array_length(groups); i++)
		take_group(cluster, json_object_array_get_idx(groups, i));
}

static void ask_next(struct cluster *cluster);

static void answer_is_here(void *context, const struct kube_result *result)
{
	struct cluster *cluster = context;
	struct discovery *self = &cluster->discovery;

	self->call = NULL;
	/* a group may be removed between two requests */
	if (result->code && result->code != KUBE_NOT_FOUND) {
		log_err(LOG_WARN, "cannot discover which kinds are served", &result->err);
		self->has_failed = true;
		self->at = self->paths.n;
	} else if (!result->code && self->at == 1) {
		take_groups(cluster, result->object);
	} else if (!result->code) {
		take_resources(cluster, result->object);
	}
	ask_next(cluster);
}

/* Requests are sent one after the other, to put little load on the API server. */
static void ask_next(struct cluster *cluster)
{
	struct discovery *self = &cluster->discovery;
	struct kube_request request = {.done = answer_is_here, .context = cluster};
	struct err err = ERR_INIT;

	if (self->at == self->paths.n) {
		end_discovery(cluster);
		return;
	}
	request.raw_path = self->paths.items[self->at++];
	if (!kube_client_submit(cluster->client, &request, &self->call, &err))
		return;
	log_err(LOG_WARN, "cannot discover which kinds are served", &err);
	self->has_failed = true;
	end_discovery(cluster);
}

static void start_discovery(void *context)
{
	struct cluster *cluster = context;
	struct discovery *self = &cluster->discovery;

	if (self->call)
		return;
	for (size_t i = 0; i < n_kinds(); i++) {
		self->kinds[i].is_found = false;
		self->kinds[i].other = (struct served){.version = ""};
	}
	arena_reset(&self->arena);
	self->paths.n = self->at = 0;
	self->has_failed = vec_push(&self->paths, "/apis") != 0;
	self->asked_ms = time_monotonic_ms();
	ask_next(cluster);
}

void kinds_start(struct cluster *cluster)
{
	struct discovery *self = &cluster->discovery;
	size_t n;
	const struct kind *kinds = kind_table(&n);

	if (!self->kinds)
		self->kinds = calloc(n_kinds(), sizeof(*self->kinds));
	if (!self->kinds) {
		cluster->has_no_memory = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		self->kinds[i].kind = &kinds[i];
	for (size_t i = 0; i < ARRAY_LEN(optional_kinds); i++)
		self->kinds[n + i].optional = optional_kinds[i];
	self->arena.max_bytes = 64 * KIB;
	self->timer.fire = start_discovery;
	self->timer.context = cluster;
	kube_timer_set(cluster->client, &self->timer, 0);
}

void kinds_stop(struct cluster *cluster)
{
	struct discovery *self = &cluster->discovery;

	kube_timer_stop(cluster->client, &self->timer);
	kube_client_cancel(cluster->client, TAKE_PTR(self->call));
	for (size_t i = 0; i < n_kinds() && self->kinds; i++)
		if (self->kinds[i].watch)
			stop_watch(cluster, &self->kinds[i]);
	free(TAKE_PTR(self->kinds));
	vec_release(&self->paths);
	arena_release(&self->arena);
}

void kinds_seen(struct cluster *cluster, const char *api_version, const char *name)
{
	struct discovery *self = &cluster->discovery;
	const struct kind *kind = kind_find_api_version(api_version, name);
	size_t n, i = kind ? (size_t)(kind - kind_table(&n)) : 0;

	if (kind && self->kinds && owner_object_is_watched(kind) && !self->kinds[i].watch)
		cluster_look_for_kinds(cluster);
}
