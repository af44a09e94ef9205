/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "pods/pods_internal.h"
#include "pods/sighting_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOTS_MS = 20 };

static void report_failure(const struct pods *self, const struct err *why)
{
	if (self->config.failed)
		self->config.failed(self->config.context, why);
}

static void report_change(const struct pods *self)
{
	if (self->config.changed)
		self->config.changed(self->config.context);
}

static bool has_name(const char *const *names, const char *name)
{
	for (size_t i = 0; names && names[i]; i++)
		if (streq(names[i], name))
			return true;
	return false;
}

static bool is_left_out(const struct pods_config *config, const char *namespace_name)
{
	if (streq(namespace_name, "kube-system") ||
	    (config->own_namespace && streq(namespace_name, config->own_namespace)))
		return true;
	return has_name(config->excluded_namespaces, namespace_name) ||
	       (config->namespaces && config->namespaces[0] && !has_name(config->namespaces, namespace_name));
}

/* ---- changes of sightings; the client's thread ---- */

/* Counts the ends that happened between two sightings of one pod. Ends from before the first list are not counted. With
 * the mutex. */
static void count_ends(struct pods *self, const struct sighting *before, const struct sighting *now)
{
	enum outcome outcome = sighting_outcome(now);

	for (size_t i = 0; i < now->containers.n && self->is_synced; i++) {
		const struct sighting_container *earlier = sighting_container(before, now->containers.items[i].name);

		self->figures.ends[OUTCOME_OOM_KILLED] += now->containers.items[i].last_oom_ms >
							  (earlier ? earlier->last_oom_ms : 0);
	}
	if (self->is_synced && outcome != OUTCOME_RUNNING && outcome != OUTCOME_OOM_KILLED &&
	    (!before || !sighting_is_over(before)))
		self->figures.ends[outcome]++;
}

/* Moves a pod that was in `live` to `gone`. With the mutex. */
static void set_gone(struct pods *self, struct sighting *take_sighting, int64_t now_ms)
{
	bool was_over = sighting_is_over(take_sighting);

	sighting_set_gone(take_sighting, now_ms);
	if (!was_over) {
		take_sighting->changed_seq = ++self->seq;
		if (self->is_synced)
			self->figures.ends[sighting_outcome(take_sighting)]++;
	}
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what it holds */
	if (vec_push(&self->gone, take_sighting))
		sighting_free(take_sighting); /* the store keeps what it has of the run */
}

/* Puts a sighting into `live`. With the mutex. 0 or -ENOMEM (not taken). */
static int keep(struct pods *self, struct sighting *take_now, const struct sighting *before, int64_t now_ms)
{
	bool is_same = before && streq(before->uid, take_now->uid);
	struct sighting *earlier;

	take_now->changed_seq = is_same && !sighting_is_news(before, take_now) ? before->changed_seq : ++self->seq;
	count_ends(self, is_same ? before : NULL, take_now);
	earlier = pod_list_take(&self->live, take_now->namespace_name, take_now->name);
	if (pod_list_add(&self->live, take_now))
		return -ENOMEM; /* not after an earlier one was removed */
	if (is_same)
		sighting_free(earlier);
	else if (earlier)
		set_gone(self, earlier, now_ms); /* another pod took its name before its deletion was reported */
	return 0;
}

/* ---- topmost owners ---- */

/* @return whether the topmost owner is known now. Without memory the next answer tries again. */
static bool find_root(struct pods *self, struct sighting *sighting)
{
	const struct sighting_owner *root = &sighting->owner;
	int r = pod_owners_root(&self->owners, sighting->namespace_name, &sighting->owner, &root);

	if (r == 1)
		return false;
	if (r || sighting_owner_set(&sighting->root, root->api_version, root->kind, root->name, root->uid))
		return false;
	sighting->is_root_known = true;
	sighting_identify(sighting);
	return true;
}

/* @return whether its root is known only now, and is something that a profile should know at once. */
static bool find_root_late(struct pods *self, struct sighting *sighting)
{
	if (sighting->is_root_known || !find_root(self, sighting))
		return false;
	sighting->changed_seq = ++self->seq;
	return self->is_synced && sighting_is_urgent(NULL, sighting);
}

static void find_roots(void *context)
{
	struct pods *self = context;
	bool is_urgent = false;

	pthread_mutex_lock(&self->mutex);
	for (struct sighting *one = pod_list_next(&self->live, NULL); one; one = pod_list_next(&self->live, one))
		is_urgent |= find_root_late(self, one);
	for (size_t i = 0; i < self->gone.n; i++)
		is_urgent |= find_root_late(self, self->gone.items[i]);
	pthread_mutex_unlock(&self->mutex);
	if (is_urgent)
		report_change(self);
}

/* Answers arrive in bursts: a timer makes all pods be checked once for a burst. */
static void owner_answered(void *context)
{
	struct pods *self = context;

	if (!self->roots_timer.is_set)
		kube_timer_set(self->client, &self->roots_timer, ROOTS_MS);
}

static void owner_failed(void *context, const struct err *why)
{
	report_failure(context, why);
}

/* ---- pods ---- */

static bool is_ignored(const struct pods *self, const char *namespace_name)
{
	return self->config.is_ignored && self->config.is_ignored(self->config.context, namespace_name);
}

static void drop(struct pods *self, struct pod_list *list, const struct kube_object *object)
{
	pthread_mutex_lock(&self->mutex);
	sighting_free(pod_list_take(list, object->namespace, object->name));
	pthread_mutex_unlock(&self->mutex);
}

static void put(void *context, const struct kube_object *object)
{
	struct pods *self = context;
	bool is_apart = is_ignored(self, object->namespace), is_urgent = false;
	struct pod_list *list = is_apart ? &self->apart : &self->live;
	struct sighting *now = NULL, *before = pod_list_get(list, object->namespace, object->name);
	const struct sighting_look look = {
		.before = before, .now_ms = kube_client_now_ms(self->client), .keeps_text = self->config.keeps_text};
	struct err err = ERR_INIT;
	int r = 0;

	if (!is_left_out(&self->config, object->namespace))
		r = sighting_read(object->text, object->n_text, &look, &self->scratch, &now, &err);
	if (!r && !now) {
		drop(self, list, object);
		return;
	}
	if (!r && !is_apart && !now->is_root_known)
		(void)find_root(self, now);
	if (!r) {
		is_urgent = !is_apart &&
			    sighting_is_urgent(before && streq(before->uid, now->uid) ? before : NULL, now);
		pthread_mutex_lock(&self->mutex);
		r = is_apart ? pods_keep_apart(self, now) : keep(self, now, before, look.now_ms);
		is_urgent &= self->is_synced;
		pthread_mutex_unlock(&self->mutex);
		if (r)
			sighting_free(now);
	}
	if (r)
		report_failure(self, &err);
	else if (is_urgent)
		report_change(self);
}

static void take_away(void *context, const struct kube_object *object)
{
	struct pods *self = context;
	struct sighting *sighting;
	bool is_urgent;

	if (object->text)
		put(self, object); /* the last state before the deletion */
	if (is_ignored(self, object->namespace)) {
		drop(self, &self->apart, object);
		return;
	}
	pthread_mutex_lock(&self->mutex);
	sighting = pod_list_take(&self->live, object->namespace, object->name);
	is_urgent = sighting && !sighting_is_over(sighting);
	if (sighting)
		set_gone(self, sighting, kube_client_now_ms(self->client));
	pthread_mutex_unlock(&self->mutex);
	if (is_urgent)
		report_change(self);
}

static void synced(void *context)
{
	struct pods *self = context;

	if (!atomic_exchange(&self->is_synced, true))
		report_change(self);
}

static void watch_failed(void *context, const struct err *why, int64_t retry_ms)
{
	(void)retry_ms;
	report_failure(context, why);
}

/* ---- start and stop ---- */

int pods_new(const struct pods_config *config, struct pods **ret, struct err *err)
{
	struct pods *self = calloc(1, sizeof(*self));

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->config = *config;
	self->scratch = (struct arena)ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	pthread_mutex_init(&self->mutex, NULL);
	*ret = self;
	return 0;
}

int pods_watch(struct pods *self, struct kube_client *client, struct err *err)
{
	const struct reflector_config config = {
		.selection = {.resource = {"", "v1", "pods"}, .field_selector = "metadata.namespace!=kube-system"},
		.added = put,
		.modified = put,
		.deleted = take_away,
		.synced = synced,
		.failed = watch_failed,
		.context = self,
		.wants_text = true,
	};

	self->client = client;
	self->owners = (struct pod_owners){
		.client = client, .answered = owner_answered, .failed = owner_failed, .context = self};
	self->roots_timer.fire = find_roots;
	self->roots_timer.context = self;
	return reflector_start(client, &config, &self->reflector, err);
}

void pods_unwatch(struct pods *self)
{
	reflector_free(TAKE_PTR(self->reflector));
	if (self->client) {
		kube_timer_stop(self->client, &self->roots_timer);
		pod_owners_release(&self->owners);
	}
	self->client = NULL;
	pthread_mutex_lock(&self->mutex);
	pod_list_release(&self->live);
	pod_list_release(&self->apart);
	for (size_t i = 0; i < self->gone.n; i++)
		sighting_free(self->gone.items[i]);
	vec_release(&self->gone);
	self->is_synced = false;
	pthread_mutex_unlock(&self->mutex);
}

void pods_free(struct pods *self)
{
	if (!self)
		return;
	pods_unwatch(self);
	arena_release(&self->scratch);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

/* ---- any thread ---- */

bool pods_is_synced(struct pods *self)
{
	return self->is_synced;
}

bool pods_has_changes(struct pods *self, int64_t since_seq)
{
	return self->is_synced && self->seq > since_seq;
}

bool pods_visit_all(struct pods *self, pods_visit_fn *visit, void *context)
{
	for (struct sighting *one = pod_list_next(&self->live, NULL); one; one = pod_list_next(&self->live, one))
		if (!visit(context, one))
			return false;
	for (size_t i = 0; i < self->gone.n; i++)
		if (!visit(context, self->gone.items[i]))
			return false;
	return true;
}

void pods_visit(struct pods *self, pods_visit_fn *visit, void *context)
{
	pthread_mutex_lock(&self->mutex);
	(void)pods_visit_all(self, visit, context);
	pthread_mutex_unlock(&self->mutex);
}

void pods_touch(struct pods *self, pods_visit_fn *is_news, void *context)
{
	bool is_any = false;

	pthread_mutex_lock(&self->mutex);
	for (struct sighting *sighting = self->is_synced ? pod_list_next(&self->live, NULL) : NULL; sighting;
	     sighting = pod_list_next(&self->live, sighting)) {
		if (!is_news(context, sighting))
			continue;
		sighting->changed_seq = ++self->seq;
		is_any = true;
	}
	pthread_mutex_unlock(&self->mutex);
	if (is_any)
		report_change(self);
}

/* ---- pods that are not scheduled ---- */

/* A time of asking that is in the future was noted before the clock was set back. */
static bool is_worth_asking(const struct sighting *self, int64_t now_ms, int64_t after_ms)
{
	return !self->scheduled_ms && !sighting_is_over(self) && !self->deleted_ms && !self->autoscaler_lacks &&
	       *self->decision && self->created_ms <= now_ms - after_ms &&
	       (self->events_asked_ms <= now_ms - after_ms || self->events_asked_ms > now_ms);
}

bool pods_next_waiting(struct pods *self, int64_t now_ms, int64_t after_ms, struct pods_waiting *ret)
{
	const struct sighting *found;

	pthread_mutex_lock(&self->mutex);
	found = self->is_synced ? pod_list_next(&self->live, NULL) : NULL;
	while (found && !is_worth_asking(found, now_ms, after_ms))
		found = pod_list_next(&self->live, found);
	if (found) {
		snprintf(ret->namespace_name, sizeof(ret->namespace_name), "%s", found->namespace_name);
		snprintf(ret->name, sizeof(ret->name), "%s", found->name);
		snprintf(ret->uid, sizeof(ret->uid), "%s", found->uid);
	}
	for (struct sighting *one = found ? pod_list_next(&self->live, NULL) : NULL; one;
	     one = pod_list_next(&self->live, one))
		if (one->run_hash == found->run_hash)
			one->events_asked_ms = now_ms;
	pthread_mutex_unlock(&self->mutex);
	return found;
}

void pods_note_lack(struct pods *self, const struct pods_waiting *pod, unsigned int lacks, int64_t since_ms)
{
	struct sighting *sighting;
	bool is_noted;

	pthread_mutex_lock(&self->mutex);
	sighting = pod_list_get(&self->live, pod->namespace_name, pod->name);
	is_noted = sighting && streq(sighting->uid, pod->uid) && !sighting->scheduled_ms;
	if (is_noted) {
		sighting->autoscaler_lacks |= lacks;
		sighting->ends |= lacks;
		if (!sighting->room_since_ms)
			sighting->room_since_ms = since_ms;
		sighting->changed_seq = ++self->seq;
	}
	pthread_mutex_unlock(&self->mutex);
	if (is_noted)
		report_change(self);
}

void pods_figures(struct pods *self, struct pods_figures *ret)
{
	pthread_mutex_lock(&self->mutex);
	*ret = self->figures;
	ret->watched = self->live.table.n;
	ret->gone = self->gone.n;
	pthread_mutex_unlock(&self->mutex);
}
