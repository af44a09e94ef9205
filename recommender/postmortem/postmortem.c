/* SPDX-License-Identifier: Apache-2.0 */
/* Which pods are read, and in which order. */
#include "postmortem/postmortem_internal.h"

#include "http_client/http_client.h"
#include "kube/kube_client.h"
#include "postmortem/object.h"
#include "postmortem/pod_facts.h"
#include "triage/groups.h"

#include <stdio.h>

#define PATH_BYTES (2 * KIB)

void postmortem_init(struct postmortem *self, struct triage *triage, const struct postmortem_source *source,
		     const char *namespace)
{
	*self = (struct postmortem){.triage = triage,
				    .source = source,
				    .namespace = namespace,
				    .arena = ARENA_INIT(MIB),
				    .reader_left_ms = PROMETHEUS_ALL_MS,
				    .log_bytes = LIMIT_TRIAGE_LOG_BYTES,
				    .log_lines = LIMIT_TRIAGE_LOG_LINES};
}

void postmortem_release(struct postmortem *self)
{
	for (size_t i = 0; i < self->pods.n; i++)
		ended_pod_release(&self->pods.items[i]);
	vec_release(&self->pods);
	json_putp(&self->profiles);
	arena_release(&self->arena);
}

/* ---- the pods ---- */

static int add_pod(struct postmortem *self, struct json_object *take_json, struct err *err)
{
	struct ended_pod pod;
	int r = ended_pod_read(take_json, &pod, err);

	if (r == -EINVAL) {
		triage_note(&self->triage->unseen, "A pod was left out: %s.", err->msg);
		ended_pod_release(&pod);
		return 0;
	}
	if (!r)
		r = vec_push(&self->pods, pod);
	if (r)
		ended_pod_release(&pod);
	return r;
}

/* Pods with a label of the owner. @return 0; a kube_condition; -errno. */
static int list_pods(struct postmortem *self, const struct owner *owner, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES), selector = path;
	CLEANUP(json_putp) struct json_object *list = NULL;
	struct json_object *items;
	int r = 0;

	strbuf_addf(&selector, "%s=%s", owner->label, owner->name);
	strbuf_addf(&path, "/api/v1/namespaces/%s/pods?limit=%d", self->namespace, LIMIT_TRIAGE_PODS);
	if (http_form_add(&path, "labelSelector", strbuf_text(&selector)))
		return err_set(err, -ENOMEM, "no memory left");
	r = postmortem_get(self, strbuf_text(&path), &list, err);
	if (r)
		return r;
	items = object_at(list, "items");
	for (size_t i = 0; i < object_count(items) && i < LIMIT_TRIAGE_PODS && !r; i++)
		r = add_pod(self, json_object_get(json_object_array_get_idx(items, i)), err);
	if (*object_text(list, "metadata.continue"))
		triage_note(&self->triage->unseen, "Only %d pods were listed; %lld more were not read.",
			    LIMIT_TRIAGE_PODS, (long long)object_int(list, "metadata.remainingItemCount", 1));
	return r;
}

static int compare_ends(const void *a, const void *b)
{
	const struct ended_pod *one = a, *other = b;

	if (one->ended_ms != other->ended_ms)
		return (one->ended_ms > other->ended_ms) - (one->ended_ms < other->ended_ms);
	return strcmp(one->name, other->name);
}

/* ---- attempts ---- */

static bool is_later_failure(const struct ended_pod *pod, const struct ended_pod *than)
{
	return pod->ended_ms != INT64_MAX && pod->created_ms > than->created_ms;
}

/* Whether another pod of the same rank has failed later: then `pod` is an earlier attempt. */
static bool is_earlier_attempt(const struct postmortem *self, const struct ended_pod *pod, bool is_one_rank)
{
	if (pod->ended_ms == INT64_MAX || (!is_one_rank && !pod->slot[0]))
		return false;
	for (size_t i = 0; i < self->pods.n; i++) {
		const struct ended_pod *other = &self->pods.items[i];

		if ((is_one_rank || streq(pod->slot, other->slot)) && is_later_failure(other, pod))
			return true;
	}
	return false;
}

/* Drops earlier attempts: the last one is asked for. */
static void drop_attempts(struct postmortem *self, bool is_one_rank)
{
	bool is_dropped[LIMIT_TRIAGE_PODS] = {false};
	size_t n = 0, n_dropped = 0;

	for (size_t i = 0; i < self->pods.n && i < LIMIT_TRIAGE_PODS; i++)
		n_dropped += is_dropped[i] = is_earlier_attempt(self, &self->pods.items[i], is_one_rank);
	for (size_t i = 0; i < self->pods.n; i++) {
		if (i < LIMIT_TRIAGE_PODS && is_dropped[i])
			ended_pod_release(&self->pods.items[i]);
		else
			self->pods.items[n++] = self->pods.items[i];
	}
	self->pods.n = n;
	if (n_dropped)
		triage_note(&self->triage->unseen,
			    "%zu pod%s of earlier attempts failed, too; only the last attempt was read.", n_dropped,
			    PLURAL(n_dropped));
}

/* ---- reading ---- */

/* What the pods that were read so far explain. */
struct explained {
	enum standing best;
	int64_t ended_ms; /* of the pod that explains the most */
};

static void weigh(struct postmortem *self, const struct ended_pod *pod, struct explained *explained)
{
	enum standing standing = groups_standing(&self->triage->facts, pod->group);

	if (standing < explained->best)
		*explained = (struct explained){standing, pod->ended_ms};
}

/* Whether the end of a further pod's log may say more: the others only lost their peers, or have an ordinary error and
 * ended in the same second. */
static bool is_worth_reading(const struct explained *explained, const struct ended_pod *pod)
{
	if (pod->ended_ms == INT64_MAX)
		return false;
	return explained->best > STANDING_ERROR ||
	       (explained->best == STANDING_ERROR && pod->ended_ms <= explained->ended_ms);
}

static int read_tail(struct postmortem *self, const struct ended_pod *pod)
{
	int lines = self->log_lines, r;

	self->log_lines = MIN(lines, LIMIT_TRIAGE_TAIL_LINES);
	self->is_tail = true;
	r = postmortem_read_pod(self, pod, POSTMORTEM_TAIL);
	self->is_tail = false;
	self->log_lines = lines;
	return r;
}

/* Pods behind the first ones. `ret_n`: whose logs' ends were read. */
static int read_further_pods(struct postmortem *self, struct explained *explained, size_t *ret_n)
{
	int r = 0;

	*ret_n = 0;
	for (size_t i = LIMIT_TRIAGE_LOGS_PODS; i < self->pods.n && !r; i++) {
		const struct ended_pod *pod = &self->pods.items[i];

		if (!is_worth_reading(explained, pod) || *ret_n >= LIMIT_TRIAGE_TAILS_PODS) {
			r = postmortem_read_pod(self, pod, POSTMORTEM_STATUS);
			continue;
		}
		++*ret_n;
		r = read_tail(self, pod);
		weigh(self, pod, explained);
	}
	return r;
}

static void note_unread(struct postmortem *self, size_t n_failed, size_t n_tails)
{
	size_t n = n_failed - LIMIT_TRIAGE_LOGS_PODS - n_tails;
	char others[128] = "";

	if (n)
		snprintf(others, sizeof(others), " those of %zu other%s were not.", n, PLURAL(n));
	if (n_tails)
		triage_note(&self->triage->unseen,
			    "Logs and events of the first %d pods that ended were read, and of %zu further "
			    "one%s the last %d lines of their logs;%s",
			    LIMIT_TRIAGE_LOGS_PODS, n_tails, PLURAL(n_tails), LIMIT_TRIAGE_TAIL_LINES,
			    n ? others : " no events of these.");
	else
		triage_note(&self->triage->unseen, "Logs and events of the first %d pods that ended were read;%s",
			    LIMIT_TRIAGE_LOGS_PODS, others);
}

static int read_pods(struct postmortem *self)
{
	struct explained explained = {.best = STANDING_NOTHING};
	size_t n_failed = 0, n_tails = 0;
	int r = 0;

	ended_pods_rank_workers(self->pods.items, self->pods.n);
	if (self->pods.n > 1)
		qsort(self->pods.items, self->pods.n, sizeof(self->pods.items[0]), compare_ends);
	for (size_t i = 0; i < self->pods.n; i++) {
		self->pods.items[i].group = i + 1;
		n_failed += self->pods.items[i].ended_ms != INT64_MAX;
	}
	for (size_t i = 0; i < self->pods.n && i < LIMIT_TRIAGE_LOGS_PODS && !r; i++) {
		r = postmortem_read_pod(self, &self->pods.items[i], POSTMORTEM_ALL);
		if (self->pods.n > LIMIT_TRIAGE_LOGS_PODS)
			weigh(self, &self->pods.items[i], &explained);
	}
	if (!r)
		r = read_further_pods(self, &explained, &n_tails);
	if (n_failed > LIMIT_TRIAGE_LOGS_PODS)
		note_unread(self, n_failed, n_tails);
	return r;
}

static int read_job(struct postmortem *self, const struct owner *owner, struct json_object **ret, struct err *err)
{
	const char *path = postmortem_name(self, "/apis/batch/v1/namespaces/%s/jobs/%s", self->namespace, owner->name);

	return postmortem_get(self, path, ret, err);
}

static int take_job(struct postmortem *self, const struct owner *owner, struct json_object *job)
{
	struct facts *facts = &self->triage->facts;

	facts->origin = (struct origin){.rank = RANK_NONE, .limit_bytes = FIGURE_NONE};
	if (facts_open(facts, postmortem_name(self, "job/%s status", owner->name)))
		return -ENOMEM;
	pod_facts_of_job(facts, job);
	return 0;
}

/* A Job with one pod at a time: each of its pods is an attempt. */
static bool is_one_at_a_time(struct json_object *job)
{
	return object_int(job, "spec.parallelism", 1) == 1 &&
	       !streq(object_text(job, "spec.completionMode"), "Indexed");
}

static int read_owner(struct postmortem *self, const struct owner *owner, struct err *err)
{
	CLEANUP(json_putp) struct json_object *job = NULL;
	bool is_job = streq(owner->kind, "Job") && streq(owner->group, "batch");
	char name[2 * LIMIT_NAME_BYTES];
	int r = list_pods(self, owner, err), n_events, code = 0;

	owner_render(owner, name, sizeof(name));
	if (r)
		return r;
	if (is_job)
		code = read_job(self, owner, &job, err);
	if (code && code != KUBE_NOT_FOUND)
		triage_note(&self->triage->unseen, "%s was not read: %s.", name, postmortem_reason(code, err));
	drop_attempts(self, job && is_one_at_a_time(job));
	self->siblings_of = *owner;
	r = read_pods(self);
	if (!r && job)
		r = take_job(self, owner, job);
	n_events = r ? r : postmortem_read_events(self, owner->kind, owner->name, NULL);
	if (n_events < 0)
		return n_events;
	if (self->pods.n)
		return 0;
	if (!n_events && !job)
		return err_set(
			err, POSTMORTEM_NOT_FOUND,
			"there is neither a pod nor an event of %s in namespace %s; pods that are deleted leave their "
			"logs where the cluster collects them: give them with --log",
			name, self->namespace);
	triage_note(
		&self->triage->unseen,
		"The pods of %s are deleted, and their logs with them. Next time: keep them (ttlSecondsAfterFinished, "
		"cleanPodPolicy: None), or collect the logs.",
		name);
	return 0;
}

/* Siblings say whether the rest of the gang still runs. */
static int add_siblings(struct postmortem *self, struct err *err)
{
	struct owner owner;
	size_t first = self->pods.n;
	int r;

	if (!owner_of_pod(self->pods.items[0].json, &owner))
		return 0;
	self->siblings_of = owner;
	r = list_pods(self, &owner, err);
	if (r == -ENOMEM)
		return r;
	if (r)
		triage_note(&self->triage->unseen, "Whether other pods of its %s still run is not known: %s.",
			    owner.kind, postmortem_reason(r, err));
	/* The pod itself comes a second time. */
	for (size_t i = first; i < self->pods.n; i++)
		if (streq(self->pods.items[i].name, self->pods.items[0].name)) {
			ended_pod_release(&self->pods.items[i]);
			self->pods.items[i] = self->pods.items[--self->pods.n];
			break;
		}
	return 0;
}

static int read_gone_pod(struct postmortem *self, const struct owner *owner, struct err *err)
{
	struct owner as_job = {.group = "batch", .kind = "Job"};
	int n_events;

	if (owner_parse(postmortem_name(self, "job/%s", owner->name), &as_job, err))
		return POSTMORTEM_NOT_FOUND;
	if (read_owner(self, &as_job, err) == 0) {
		triage_note(&self->triage->unseen, "There is no pod %s in namespace %s; this is job/%s.", owner->name,
			    self->namespace, owner->name);
		return 0;
	}
	n_events = postmortem_read_events(self, "Pod", owner->name, NULL);
	if (n_events < 0)
		return n_events;
	if (!n_events)
		return err_set(
			err, POSTMORTEM_NOT_FOUND,
			"there is no pod or job %s in namespace %s, and no event of it; pods that are deleted leave "
			"their logs where the cluster collects them: give them with --log",
			owner->name, self->namespace);
	triage_note(
		&self->triage->unseen,
		"Pod %s is deleted, and its status and logs with it; only its events were read, which the API server "
		"keeps for an hour.",
		owner->name);
	return 0;
}

static int read_one(struct postmortem *self, const struct owner *owner, struct err *err)
{
	const char *path = postmortem_name(self, "/api/v1/namespaces/%s/pods/%s", self->namespace, owner->name);
	struct json_object *json = NULL;
	int r = postmortem_get(self, path, &json, err);

	if (r == KUBE_NOT_FOUND)
		return read_gone_pod(self, owner, err);
	if (!r)
		r = add_pod(self, json, err);
	if (r || !self->pods.n)
		return r;
	self->pods.items[0].group = 1;
	r = postmortem_read_pod(self, &self->pods.items[0], POSTMORTEM_ALL);
	return r ? r : add_siblings(self, err);
}

int postmortem_read_single(struct postmortem *self, const char *pod, const char *uid, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES), selector = path;
	CLEANUP(json_putp) struct json_object *list = NULL;
	struct json_object *item;
	int r;

	strbuf_addf(&selector, "metadata.name=%s", pod);
	strbuf_addf(&path, "/api/v1/namespaces/%s/pods?limit=1", self->namespace);
	if (http_form_add(&path, "fieldSelector", strbuf_text(&selector)))
		return err_set(err, -ENOMEM, "no memory left");
	r = postmortem_get(self, strbuf_text(&path), &list, err);
	if (r)
		return r;
	item = object_count(object_at(list, "items")) ? json_object_array_get_idx(object_at(list, "items"), 0) : NULL;
	if (!item || !streq(object_text(item, "metadata.uid"), uid))
		return err_set(err, KUBE_NOT_FOUND, "pod %s of namespace %s does not exist any more", pod,
			       self->namespace);
	r = add_pod(self, json_object_get(item), err);
	if (r || !self->pods.n)
		return r;
	self->pods.items[0].group = 1;
	self->is_node_unseen = true; /* not asked for */
	return postmortem_read_pod(self, &self->pods.items[0], POSTMORTEM_ALL);
}

int postmortem_read(struct postmortem *self, const struct owner *owner, struct err *err)
{
	int r;

	self->owner = *owner;
	r = owner->label ? read_owner(self, owner, err) : read_one(self, owner, err);
	if (r == -ENOMEM)
		return err_set(err, r, "no memory left");
	return r;
}
