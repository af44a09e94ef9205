/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_status: reads how a pod and its containers ended. A status contains only the current and the previous
 * termination of a container; earlier ones are copied from the previous sighting. */
#include "base/timefmt.h"
#include "pods/sighting_internal.h"

#include <stdio.h>
#include <string.h>

#define GRACE_MAX_S (365 * TIME_DAY_MS / TIME_SECOND_MS)

static const struct allow leaf = {.fields = NULL};
static const struct allow map_of_leaf = {.any = &leaf};

static const struct allow terminated = {ALLOW_ROWS(ALLOW_FIELD("exitCode", leaf), ALLOW_FIELD("reason", leaf),
						   ALLOW_FIELD("startedAt", leaf), ALLOW_FIELD("finishedAt", leaf))};
static const struct allow running = {ALLOW_ROWS(ALLOW_FIELD("startedAt", leaf))};
static const struct allow state = {ALLOW_ROWS(ALLOW_FIELD("running", running), ALLOW_FIELD("terminated", terminated))};
static const struct allow resources = {ALLOW_ROWS(ALLOW_FIELD("limits", map_of_leaf))};
static const struct allow container = {ALLOW_ROWS(
	ALLOW_FIELD("name", leaf), ALLOW_FIELD("restartCount", leaf), ALLOW_FIELD("state", state),
	ALLOW_FIELD("lastState", state), ALLOW_FIELD("resources", resources), ALLOW_FIELD("containerID", leaf))};
static const struct allow condition = {ALLOW_ROWS(ALLOW_FIELD("type", leaf), ALLOW_FIELD("status", leaf),
						  ALLOW_FIELD("reason", leaf), ALLOW_FIELD("message", leaf),
						  ALLOW_FIELD("lastTransitionTime", leaf))};
static const struct allow status = {
	ALLOW_ROWS(ALLOW_FIELD("phase", leaf), ALLOW_FIELD("reason", leaf), ALLOW_FIELD("message", leaf),
		   ALLOW_FIELD("startTime", leaf), ALLOW_FIELD("conditions", condition),
		   ALLOW_FIELD("containerStatuses", container), ALLOW_FIELD("initContainerStatuses", container))};
static const struct allow metadata = {
	ALLOW_ROWS(ALLOW_FIELD("resourceVersion", leaf), ALLOW_FIELD("creationTimestamp", leaf),
		   ALLOW_FIELD("deletionTimestamp", leaf), ALLOW_FIELD("deletionGracePeriodSeconds", leaf))};
static const struct allow spec = {ALLOW_ROWS(ALLOW_FIELD("nodeName", leaf))};
const struct allow sighting_allow = {
	ALLOW_ROWS(ALLOW_FIELD("metadata", metadata), ALLOW_FIELD("spec", spec), ALLOW_FIELD("status", status))};

/* ---- fields ---- */

static int64_t time_of(const struct doc *object, const char *key)
{
	const char *text = doc_member_text(object, key);
	int64_t ms;

	return *text && time_parse(text, strlen(text), &ms) == 0 && ms > 0 ? ms : 0;
}

static int64_t number_of(const struct doc *object, const char *key)
{
	const struct doc *value = doc_member(object, key);

	return value && value->type == DOC_NUMBER ? strtoll(value->text, NULL, 10) : 0;
}

static int64_t bytes_of(const struct doc *object, const char *key)
{
	const char *text = doc_member_text(object, key);
	struct quantity quantity;

	if (!*text || quantity_parse(text, strlen(text), &quantity, NULL) != 0)
		return 0;
	return MAX(quantity_value(&quantity), 0);
}

/* ---- containers ---- */

enum kind_of_end { NO_END, ENDED_WELL, ENDED_BADLY, KILLED };

static enum kind_of_end end_of(const struct doc *ended)
{
	if (!ended || ended->type != DOC_OBJECT)
		return NO_END;
	if (streq(doc_member_text(ended, "reason"), "OOMKilled"))
		return KILLED;
	if (streq(doc_member_text(ended, "reason"), K8S_REASON_RESTARTED_WITH_POD))
		return NO_END;
	return number_of(ended, "exitCode") == 0 ? ENDED_WELL : ENDED_BADLY;
}

/* The limit that was in force at a kill. A container that was not restarted still shows it. If the container was
 * restarted, the limit may have been raised since: the previous sighting has it. If there is no previous sighting, as
 * after our restart, and a resize happened after the kill, the limit before the resize is used: the container was
 * killed at no less. */
static int64_t limit_at_kill(const struct sighting_container *now, const struct sighting_container *before,
			     bool is_restarted, int64_t time_ms)
{
	int64_t live = before && is_restarted ? before->live_limit_bytes : now->live_limit_bytes;
	int64_t limit = before ? before->limit_bytes : now->limit_bytes;

	if (!before && now->resized_from_bytes && time_ms <= now->resized_ms)
		return now->resized_from_bytes;
	return live ? live : limit ? limit : -1;
}

static void note_kill(struct sighting_container *self, const struct sighting_container *before, const struct doc *ended,
		      bool is_restarted, int64_t now_ms)
{
	int64_t time_ms = time_of(ended, "finishedAt");

	if (!time_ms)
		time_ms = self->last_oom_ms ? self->last_oom_ms : now_ms;
	if (time_ms <= self->last_oom_ms)
		return; /* already noted */
	self->last_oom_ms = time_ms;
	run_add_killed_limit(self->killed_limits, &self->n_killed_limits,
			     limit_at_kill(self, before, is_restarted, time_ms));
}

static void note_failure(struct sighting_container *self, enum kind_of_end end, const struct doc *ended, int64_t now_ms)
{
	int64_t time_ms = time_of(ended, "finishedAt");

	if (!time_ms)
		time_ms = self->failed_ms ? self->failed_ms : now_ms;
	if ((end != KILLED && end != ENDED_BADLY) || time_ms <= self->failed_ms)
		return;
	self->failed_ms = time_ms;
	self->failed_from_ms = time_of(ended, "startedAt");
}

/* Copies what earlier sightings found about previous starts of the container. */
static void take_over(struct sighting_container *self, const struct sighting_container *before)
{
	if (!before)
		return;
	self->ends |= before->ends & (END_OOM_RESTARTED | END_ERROR_RESTARTED);
	if (self->restarts > before->restarts) {
		self->ends |= before->ends & END_OOM_KILLED ? END_OOM_RESTARTED : 0U;
		self->ends |= before->ends & END_ERROR ? END_ERROR_RESTARTED : 0U;
	}
	self->restarts = MAX(self->restarts, before->restarts);
	memcpy(self->killed_limits, before->killed_limits, sizeof(self->killed_limits));
	self->n_killed_limits = before->n_killed_limits;
	self->last_oom_ms = before->last_oom_ms;
	self->failed_ms = before->failed_ms;
	self->failed_from_ms = before->failed_from_ms;
}

/* The id behind the scheme: "containerd://0b5e..." */
static void read_id(struct sighting_container *self, const struct doc *doc)
{
	const char *text = doc_member_text(doc, "containerID"), *scheme_end = strstr(text, "://");
	const char *id = scheme_end ? scheme_end + 3 : "";

	if (strlen(id) < sizeof(self->id))
		snprintf(self->id, sizeof(self->id), "%s", id);
}

static void read_container(struct sighting_container *self, const struct doc *doc,
			   const struct sighting_container *before, int64_t now_ms)
{
	const struct doc *now = doc_member(doc, "state"), *earlier = doc_member(doc, "lastState");
	const struct doc *ended = doc_member(now, "terminated"), *ended_before = doc_member(earlier, "terminated");
	enum kind_of_end end = end_of(ended), end_before = end_of(ended_before);
	int64_t restarts = number_of(doc, "restartCount");

	self->restarts = (int)MIN(MAX(restarts, 0), INT32_MAX);
	self->is_running = doc_member(now, "running") != NULL;
	self->started_ms = time_of(doc_member(now, "running"), "startedAt");
	read_id(self, doc);
	self->live_limit_bytes = bytes_of(doc_member(doc_member(doc, "resources"), "limits"), "memory");
	take_over(self, before);
	/* In order of time, so that each kill is recorded with its own limit. */
	if (end_before == KILLED)
		note_kill(self, before, ended_before, true, now_ms);
	if (end == KILLED)
		note_kill(self, before, ended, false, now_ms);
	note_failure(self, end_before, ended_before, now_ms);
	note_failure(self, end, ended, now_ms);
	self->ends |= end_before == KILLED ? END_OOM_RESTARTED : end_before == ENDED_BADLY ? END_ERROR_RESTARTED : 0U;
	self->ends |= end == KILLED	   ? END_OOM_KILLED
		      : end == ENDED_BADLY ? END_ERROR
		      : end == ENDED_WELL  ? END_COMPLETED
					   : 0U;
}

static struct sighting_container *find(struct sighting *self, const char *name)
{
	for (size_t i = 0; i < self->containers.n; i++)
		if (streq(self->containers.items[i].name, name))
			return &self->containers.items[i];
	return NULL;
}

/* Reads the statuses of the containers in `list`. @return the latest end among them; 0: none ended. */
static int64_t read_containers(struct sighting *self, const struct doc *list, const struct sighting *before,
			       int64_t now_ms)
{
	int64_t end_ms = 0;

	if (!list || list->type != DOC_ARRAY)
		return 0;
	for (const struct doc *doc = list->first; doc; doc = doc->next) {
		struct sighting_container *found = find(self, doc_member_text(doc, "name"));

		if (!found)
			continue;
		read_container(found, doc, sighting_container(before, found->name), now_ms);
		end_ms = MAX(end_ms, time_of(doc_member(doc_member(doc, "state"), "terminated"), "finishedAt"));
	}
	return end_ms;
}

/* ---- the pod ---- */

static bool has_text(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static bool has_memory_volume(const struct k8s_pod *pod)
{
	for (size_t i = 0; i < pod->n_volumes; i++)
		if (pod->volumes[i].is_memory)
			return true;
	return false;
}

/* The kubelet names the resource of an eviction only in its message (pkg/kubelet/eviction/helpers.go and
 * eviction_manager.go). Evictions for other resources (inodes, process ids) have causes on the node, not in the pod. */
static unsigned int eviction(const struct k8s_pod *pod, const char *message)
{
	if (has_text(message, "low on resource: memory"))
		return END_EVICTED | END_EVICTED_MEMORY;
	if (has_text(message, "low on resource: ephemeral-storage"))
		return END_EVICTED | END_EVICTED_EPHEMERAL;
	if (has_text(message, "exceeded its local ephemeral storage limit") ||
	    has_text(message, "ephemeral local storage usage exceeds"))
		return END_EVICTED | END_EVICTED_EPHEMERAL | END_DISK_LIMIT;
	/* A memory-backed volume over its sizeLimit has the same message; then the disk was not exhausted. */
	if (has_text(message, "EmptyDir volume"))
		return has_memory_volume(pod) ? END_FAILED : END_EVICTED | END_EVICTED_EPHEMERAL;
	return *message ? END_PREEMPTED : END_EVICTED;
}

static bool is_status(const struct doc *doc, const char *type, const char *wanted)
{
	return streq(doc_member_text(doc, "type"), type) && streq(doc_member_text(doc, "status"), wanted);
}

/* Since when the pod waits for memory or storage. lastTransitionTime is when the condition became False, perhaps for
 * another reason such as a gate or accelerators. If we saw the pod without this message after that, the wait begins
 * now. */
static int64_t room_since(const struct doc *doc, const struct sighting *before, int64_t now_ms)
{
	int64_t turned_ms = time_of(doc, "lastTransitionTime");

	if (before && before->room_since_ms)
		return before->room_since_ms;
	return turned_ms && (!before || turned_ms >= before->seen_ms) ? turned_ms : now_ms;
}

/* How long the pod waited for memory or storage in waits that have ended, because it was scheduled or now waits for
 * something else. */
static int64_t room_waited(const struct sighting *self, const struct sighting *before, int64_t now_ms)
{
	int64_t end_ms = self->scheduled_ms ? self->scheduled_ms : now_ms;

	if (!before)
		return 0;
	if (!before->room_since_ms || self->room_since_ms)
		return before->room_waited_ms;
	return before->room_waited_ms + MAX(end_ms - before->room_since_ms, 0);
}

/* Reads the conditions: when the pod was scheduled, why it is not, and whether another component ended it (KEP-3329:
 * PreemptionByScheduler, DeletionByTaintManager, EvictionByEvictionAPI, DeletionByPodGC, TerminationByKubelet). */
static unsigned int read_conditions(struct sighting *self, const struct doc *list, const struct sighting *before,
				    int64_t now_ms)
{
	unsigned int ends = 0, lacks;

	if (!list || list->type != DOC_ARRAY)
		return 0;
	for (const struct doc *doc = list->first; doc; doc = doc->next) {
		if (is_status(doc, "PodScheduled", "True"))
			self->scheduled_ms = time_of(doc, "lastTransitionTime");
		lacks = is_status(doc, "PodScheduled", "False") ? sighting_lacks(doc_member_text(doc, "message")) : 0;
		if (lacks)
			self->room_since_ms = room_since(doc, before, now_ms);
		ends |= lacks;
		if (is_status(doc, "DisruptionTarget", "True"))
			ends |= END_PREEMPTED;
	}
	return ends;
}

/* When deletion was requested: deletionTimestamp is the end of the grace period, which may be any number. */
static int64_t deleted_at(const struct doc *meta)
{
	int64_t time_ms = time_of(meta, "deletionTimestamp");
	int64_t grace_s = number_of(meta, "deletionGracePeriodSeconds");

	return time_ms ? time_ms - MIN(MAX(grace_s, 0), GRACE_MAX_S) * TIME_SECOND_MS : 0;
}

static unsigned int phase_ends(const struct doc *doc)
{
	const char *phase = doc_member_text(doc, "phase");

	return streq(phase, "Succeeded") ? END_SUCCEEDED : streq(phase, "Failed") ? END_FAILED : 0U;
}

/* The end of a pod whose containers report no end, as on a lost node. With a previous sighting it is now. Otherwise it
 * is the last transition of a condition, at least the start, at most now. */
static int64_t end_unsaid(const struct sighting *self, const struct doc *conditions, const struct sighting *before,
			  int64_t now_ms)
{
	int64_t turned_ms = 0;

	if (before)
		return before->end_ms ? before->end_ms : now_ms;
	if (conditions && conditions->type == DOC_ARRAY)
		for (const struct doc *doc = conditions->first; doc; doc = doc->next)
			turned_ms = MAX(turned_ms, time_of(doc, "lastTransitionTime"));
	turned_ms = MAX(turned_ms, MAX(self->start_ms, self->created_ms));
	return turned_ms ? MIN(turned_ms, now_ms) : now_ms;
}

/* Copies what Events said, which no condition repeats. It holds until the pod is scheduled. */
static void keep_events(struct sighting *self, const struct sighting *before)
{
	if (!before)
		return;
	self->events_asked_ms = before->events_asked_ms;
	if (self->scheduled_ms)
		return;
	self->autoscaler_lacks = before->autoscaler_lacks;
	if (self->autoscaler_lacks && !self->room_since_ms)
		self->room_since_ms = before->room_since_ms;
}

void sighting_read_status(struct sighting *self, const struct k8s_pod *pod, const struct doc *doc,
			  const struct sighting *before, int64_t now_ms)
{
	const struct doc *meta = doc_member(doc, "metadata"), *told = doc_member(doc, "status");
	unsigned int others = read_conditions(self, doc_member(told, "conditions"), before, now_ms);
	const char *reason = doc_member_text(told, "reason");
	int64_t end_ms;

	self->created_ms = time_of(meta, "creationTimestamp");
	self->deleted_ms = deleted_at(meta);
	self->start_ms = time_of(told, "startTime");
	keep_events(self, before);
	self->room_waited_ms = room_waited(self, before, now_ms);
	self->ends |= phase_ends(told) | (others & END_UNSCHEDULABLE);
	/* A pod that had to wait for a node keeps the flag after it is scheduled. */
	self->ends |= before ? before->ends & END_UNSCHEDULABLE : 0U;
	end_ms = read_containers(self, doc_member(told, "containerStatuses"), before, now_ms);
	(void)read_containers(self, doc_member(told, "initContainerStatuses"), before, now_ms);
	if (streq(reason, "Evicted"))
		self->ends |= eviction(pod, doc_member_text(told, "message"));
	else if ((others & END_PREEMPTED || streq(reason, "Preempting")) && !(self->ends & END_SUCCEEDED))
		self->ends |= END_PREEMPTED;
	if (self->ends & (END_SUCCEEDED | END_FAILED))
		self->end_ms = end_ms ? end_ms : end_unsaid(self, doc_member(told, "conditions"), before, now_ms);
	/* A pod that ended after its deletion was requested counts as deleted, whatever its exit code. */
	if (self->deleted_ms && (!self->end_ms || self->end_ms >= self->deleted_ms))
		self->ends |= END_DELETED;
}
