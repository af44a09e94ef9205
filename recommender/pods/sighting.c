/* SPDX-License-Identifier: Apache-2.0 */
#include "pods/sighting_internal.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "model/identity.h"

#include <errno.h>
#include <string.h>

static char *const *texts_of(struct sighting *self, size_t i)
{
	char **const texts[] = {&self->namespace_name,
				&self->name,
				&self->uid,
				&self->node,
				&self->resource_version,
				&self->decision,
				&self->priority_class,
				&self->queue,
				&self->owner.api_version,
				&self->owner.kind,
				&self->owner.name,
				&self->owner.uid,
				&self->root.api_version,
				&self->root.kind,
				&self->root.name,
				&self->root.uid};

	return i < ARRAY_LEN(texts) ? texts[i] : NULL;
}

int sighting_text_set(char **text, const char *value)
{
	char *copy = strdup(value ? value : "");

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

int sighting_owner_set(struct sighting_owner *self, const char *api_version, const char *kind, const char *name,
		       const char *uid)
{
	int r = sighting_text_set(&self->api_version, api_version);

	r = r ? r : sighting_text_set(&self->kind, kind);
	r = r ? r : sighting_text_set(&self->name, name);
	return r ? r : sighting_text_set(&self->uid, uid);
}

void sighting_owner_release(struct sighting_owner *self)
{
	free(self->api_version);
	free(self->kind);
	free(self->name);
	free(self->uid);
	*self = (struct sighting_owner){.kind = NULL};
}

struct sighting *sighting_new(void)
{
	struct sighting *self = calloc(1, sizeof(*self));
	int r = self ? 0 : -ENOMEM;
	char *const *text;

	for (size_t i = 0; !r && (text = texts_of(self, i)); i++)
		r = sighting_text_set((char **)(uintptr_t)text, "");
	if (!r)
		return self;
	sighting_free(self);
	return NULL;
}

void sighting_free(struct sighting *self)
{
	char *const *text;

	if (!self)
		return;
	for (size_t i = 0; (text = texts_of(self, i)); i++)
		free(*text);
	for (size_t i = 0; i < self->labels.n; i++)
		free((char *)(uintptr_t)self->labels.items[i].value);
	vec_release(&self->labels);
	for (size_t i = 0; i < self->containers.n; i++) {
		free(self->containers.items[i].name);
		free(self->containers.items[i].image);
	}
	vec_release(&self->containers);
	free(self->text);
	free(self);
}

void sighting_freep(struct sighting **self)
{
	sighting_free(*self);
	*self = NULL;
}

const struct sighting_container *sighting_container(const struct sighting *self, const char *name)
{
	for (size_t i = 0; self && i < self->containers.n; i++)
		if (streq(self->containers.items[i].name, name))
			return &self->containers.items[i];
	return NULL;
}

bool sighting_restarts(const struct sighting_container *container)
{
	return container->restarts_killed || container->restarts > 0;
}

bool sighting_is_over(const struct sighting *self)
{
	return self->is_gone || self->ends & (END_SUCCEEDED | END_FAILED);
}

static bool is_container_news(const struct sighting_container *before, const struct sighting_container *now)
{
	return !before || before->ends != now->ends || before->restarts != now->restarts ||
	       before->last_oom_ms != now->last_oom_ms || before->n_killed_limits != now->n_killed_limits ||
	       before->limit_bytes != now->limit_bytes || before->request_bytes != now->request_bytes ||
	       before->live_limit_bytes != now->live_limit_bytes;
}

bool sighting_is_news(const struct sighting *before, const struct sighting *now)
{
	if (!before || before->ends != now->ends || before->is_gone != now->is_gone ||
	    before->start_ms != now->start_ms || before->end_ms != now->end_ms ||
	    before->containers.n != now->containers.n || before->is_root_known != now->is_root_known ||
	    !streq(before->decision, now->decision) || !streq(before->root.name, now->root.name) ||
	    !streq(before->root.kind, now->root.kind))
		return true;
	for (size_t i = 0; i < now->containers.n; i++)
		if (is_container_news(sighting_container(before, now->containers.items[i].name),
				      &now->containers.items[i]))
			return true;
	return false;
}

bool sighting_is_urgent(const struct sighting *before, const struct sighting *now)
{
	const unsigned int pod_ends = ~(unsigned int)END_UNSCHEDULABLE;

	if (before && !before->is_root_known && now->is_root_known)
		before = NULL; /* until now nothing of the pod was reported, as its run was incomplete */
	if (!before ? now->ends & pod_ends || *now->decision
		    : (now->ends & pod_ends) != (before->ends & pod_ends) || now->is_gone != before->is_gone ||
			      !streq(before->decision, now->decision))
		return true;
	for (size_t i = 0; i < now->containers.n; i++) {
		const struct sighting_container *container = &now->containers.items[i];
		const struct sighting_container *earlier = sighting_container(before, container->name);

		if (earlier ? earlier->ends != container->ends || earlier->last_oom_ms != container->last_oom_ms ||
				      earlier->restarts != container->restarts
			    : container->ends != 0)
			return true;
	}
	return false;
}

enum outcome sighting_outcome(const struct sighting *self)
{
	if (!sighting_is_over(self))
		return OUTCOME_RUNNING;
	if (self->ends & (END_EVICTED_MEMORY | END_EVICTED_EPHEMERAL))
		return self->ends & END_EVICTED_MEMORY ? OUTCOME_EVICTED_MEMORY : OUTCOME_EVICTED_EPHEMERAL;
	if (self->ends & END_PREEMPTED)
		return OUTCOME_PREEMPTED;
	if (self->ends & END_SUCCEEDED)
		return OUTCOME_COMPLETED;
	for (size_t i = 0; i < self->containers.n; i++)
		if (self->containers.items[i].ends & END_OOM_KILLED)
			return OUTCOME_OOM_KILLED;
	if (self->ends & END_DELETED)
		return OUTCOME_DELETED;
	return self->ends & END_FAILED ? OUTCOME_FAILED : OUTCOME_UNKNOWN;
}

void sighting_set_gone(struct sighting *self, int64_t now_ms)
{
	if (!sighting_is_over(self)) {
		self->ends |= END_DELETED;
		self->end_ms = MAX(self->deleted_ms ? MIN(self->deleted_ms, now_ms) : now_ms, self->start_ms);
	}
	if (!self->deleted_ms)
		self->deleted_ms = now_ms;
	for (size_t i = 0; i < self->containers.n; i++)
		self->containers.items[i].is_running = false;
	self->is_gone = true;
}

uint64_t sighting_run_hash(const char *namespace_name, const char *run_key)
{
	uint64_t hash = hash_stable_text(HASH_STABLE_INIT, namespace_name);

	return hash_stable(hash, run_key, strlen(run_key));
}

void sighting_identity(const struct sighting *self, struct identity *ret)
{
	bool has_root = !streq(self->root.uid, self->owner.uid);
	const struct k8s_labels labels = {
		.items = self->labels.items, .n = self->labels.n, .is_present = self->labels.n > 0};
	struct identity_facts facts = {
		.namespace_name = self->namespace_name, .pod_name = self->name, .labels = &labels, .container = ""};

	if (*self->owner.kind)
		facts.owners[facts.n_owners++] = (struct identity_owner){.kind = self->owner.kind,
									 .name = self->owner.name};
	if (*self->owner.kind && has_root)
		facts.owners[facts.n_owners++] = (struct identity_owner){.kind = self->root.kind,
									 .name = self->root.name};
	workload_identify(&facts, ret);
}

void sighting_identify(struct sighting *self)
{
	struct identity identity;

	sighting_identity(self, &identity);
	self->run_hash = sighting_run_hash(self->namespace_name, identity.run_key);
}

/* ---- as evidence ---- */

static int tell_names(const struct sighting *self, struct pod *pod)
{
	bool has_root = !streq(self->root.uid, self->owner.uid);
	int r = 0;

	pod->owner_kind = self->owner.kind;
	pod->owner_name = self->owner.name;
	pod->owner_uid = self->owner.uid;
	pod->root_kind = has_root ? self->root.kind : "";
	pod->root_name = has_root ? self->root.name : "";
	pod->decision = self->decision;
	pod->labels.n = 0;
	for (size_t i = 0; i < self->labels.n && !r; i++)
		r = vec_push(&pod->labels,
			     ((struct k8s_label){self->labels.items[i].key, self->labels.items[i].value}));
	return r;
}

static int tell_container(const struct sighting_container *self, struct evidence_batch *batch, struct pod *pod)
{
	struct pod_container *container = pod_container_put(&batch->pods, pod, self->name);

	if (!container)
		return -ENOMEM;
	container->image = self->image;
	container->limit_bytes = self->live_limit_bytes ? self->live_limit_bytes : self->limit_bytes;
	container->request_bytes = self->request_bytes;
	container->ephemeral_limit_bytes = self->ephemeral_limit_bytes;
	container->ephemeral_request_bytes = self->ephemeral_request_bytes;
	container->accelerators_milli = self->accelerators_milli;
	container->ends = self->ends;
	container->restarts = self->restarts;
	memcpy(container->killed_limits, self->killed_limits, sizeof(container->killed_limits));
	container->n_killed_limits = self->n_killed_limits;
	return 0;
}

static int64_t room_wait(const struct sighting *self, int64_t now_ms)
{
	int64_t end_ms = self->end_ms ? self->end_ms : now_ms;

	return self->room_waited_ms + (self->room_since_ms ? MAX(end_ms - self->room_since_ms, 0) : 0);
}

int sighting_tell(const struct sighting *self, int64_t now_ms, struct evidence_batch *batch)
{
	struct pod *pod = evidence_pod_put(batch, self->namespace_name, self->name, self->uid);
	int r = pod ? tell_names(self, pod) : -ENOMEM;

	if (r)
		return r;
	pod->start_ms = self->start_ms;
	pod->completion_ms = self->end_ms;
	pod->pending_ms = MAX((self->start_ms ? self->start_ms : now_ms) - self->created_ms, 0);
	pod->room_wait_ms = room_wait(self, now_ms);
	pod->ends = self->ends;
	pod->is_owner_known = pod->is_training = pod->is_watched = true;
	pod->is_alive = !sighting_is_over(self);
	/* Deleted long ago and still in the API: its node does not respond any more. */
	if (pod->is_alive && self->deleted_ms && now_ms - self->deleted_ms > SIGHTING_LOST_MS) {
		pod->is_alive = false;
		pod->completion_ms = MAX(self->deleted_ms, self->start_ms);
	}
	for (size_t i = 0; i < self->containers.n && !r; i++)
		r = tell_container(&self->containers.items[i], batch, pod);
	return r ? r : pod_set_own_texts(&batch->pods, pod);
}
