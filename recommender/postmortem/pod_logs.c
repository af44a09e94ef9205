/* SPDX-License-Identifier: Apache-2.0 */
/* One pod: its logs, events, node and series, then its status. */
#include "postmortem/postmortem_internal.h"

#include "http_client/http_client.h"
#include "kube/kube_client.h"
#include "postmortem/object.h"
#include "postmortem/pod_facts.h"

#define PATH_BYTES  (2 * KIB)
#define N_SLOW_MOST 2 /* each of them has taken as long as a request may */

/* ---- logs ---- */

/* What the kubelet answers with status 200 when the file is gone. */
static bool is_log_gone(const struct strbuf *log)
{
	return log->len < 2 * KIB && (strstarts(strbuf_text(log), "unable to retrieve container logs") ||
				      strstarts(strbuf_text(log), "failed to try resolving symlinks"));
}

static size_t count_lines(const struct strbuf *log)
{
	const char *at = strbuf_text(log), *end = at + log->len;
	size_t n = 0;

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		n++;
		at++;
	}
	return n;
}

static int fetch_log(struct postmortem *self, const struct ended_pod *pod, const struct ended_container *item,
		     struct strbuf *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);

	strbuf_addf(&path, "/api/v1/namespaces/%s/pods/%s/log?tailLines=%d&limitBytes=%zu%s", self->namespace,
		    pod->name, self->log_lines, LIMIT_TRIAGE_STREAM_BYTES,
		    item->is_previous && item->has_ended ? "&previous=true" : "");
	if (http_form_add(&path, "container", item->name))
		return err_set(err, -ENOMEM, "no memory left");
	return self->source->fetch(self->source->context, strbuf_text(&path), self->log_bytes, true, ret, err);
}

static void note_log(struct postmortem *self, const struct ended_pod *pod, const struct ended_container *item,
		     const char *why)
{
	triage_note(&self->triage->unseen,
		    "The log of pod/%s container %s was not read: %s. If the cluster collects logs, give it "
		    "with --log.",
		    pod->name, item->name, why);
}

static int take_log(struct postmortem *self, const struct ended_pod *pod, const struct ended_container *item,
		    const struct strbuf *log)
{
	struct facts *facts = &self->triage->facts;
	const char *name = postmortem_name(self, "log of pod/%s container %s", pod->name, item->name);

	/* Of further pods the ends are read on purpose, which is said once. */
	if (!self->is_tail && (count_lines(log) >= (size_t)self->log_lines || log->len >= self->log_bytes))
		triage_note(&self->triage->unseen, "Of the %s only the end was read (%zu lines).", name,
			    count_lines(log));
	facts->origin.limit_bytes = item->limit_bytes != FIGURE_NONE ? item->limit_bytes : pod->limit_bytes;
	return facts_read_bytes(facts, name, INPUT_LOG, strbuf_text(log), log->len);
}

static int read_log(struct postmortem *self, const struct ended_pod *pod, const struct ended_container *item)
{
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT(2 * self->log_bytes);
	struct err err = ERR_INIT;
	int r;

	if (self->n_slow >= N_SLOW_MOST) {
		self->n_missed++;
		note_log(self, pod, item, "kubelets did not answer");
		return 0;
	}
	r = fetch_log(self, pod, item, &log, &err);
	if (r == -ENOMEM)
		return r;
	self->n_slow += r < 0 || r == KUBE_TIMEOUT || r == KUBE_UNAVAILABLE;
	self->n_missed += postmortem_may_succeed(r);
	if (r)
		note_log(self, pod, item, postmortem_reason(r, &err));
	else if (is_log_gone(&log))
		note_log(self, pod, item, "the kubelet has it no more");
	else
		return take_log(self, pod, item, &log);
	return 0;
}

/* The end of its log, which the kubelet copies into the status where the container asks for it. */
static int take_message(struct postmortem *self, const struct ended_pod *pod, const struct ended_container *item)
{
	struct facts *facts = &self->triage->facts;

	if (!*item->message)
		return 0;
	facts->origin.limit_bytes = item->limit_bytes;
	return facts_read_bytes(
		facts, postmortem_name(self, "termination message of pod/%s container %s", pod->name, item->name),
		INPUT_LOG, item->message, strlen(item->message));
}

/* Of containers that failed; if none has, of all main containers that ran: a child of them may have been killed. */
static int read_logs(struct postmortem *self, const struct ended_pod *pod)
{
	bool wants_failed = ended_pod_has_failed(pod);
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < pod->containers.n && !r; i++) {
		const struct ended_container *item = &pod->containers.items[i];

		if (wants_failed ? !item->has_failed
				 : item->place != PLACE_MAIN || !(item->has_ended || item->is_running))
			continue;
		if (++n > LIMIT_TRIAGE_LOGS) {
			note_log(self, pod, item, "logs of other containers were read first");
			continue;
		}
		r = take_message(self, pod, item);
		if (!r && self->log_bytes)
			r = read_log(self, pod, item);
	}
	return r;
}

/* ---- events ---- */

static int get_events(struct postmortem *self, const char *namespace, const char *kind, const char *name,
		      struct json_object **ret)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES), selector = path;
	struct err err = ERR_INIT;
	int r;

	strbuf_addf(&selector, "involvedObject.kind=%s,involvedObject.name=%s", kind, name);
	strbuf_addf(&path, "/api/v1/namespaces/%s/events?limit=%d", namespace, LIMIT_TRIAGE_EVENTS);
	if (http_form_add(&path, "fieldSelector", strbuf_text(&selector)))
		return -ENOMEM;
	r = postmortem_get(self, strbuf_text(&path), ret, &err);
	self->n_missed += postmortem_may_succeed(r);
	if (r && r != -ENOMEM)
		triage_note(&self->triage->unseen, "Events of %s %s were not read: %s.", kind, name,
			    postmortem_reason(r, &err));
	return r;
}

/* Events of an earlier pod of this name do not count. */
static bool is_of_pod(struct json_object *event, const struct ended_pod *pod)
{
	const char *uid = object_text(event, "involvedObject.uid");

	return !pod || !*uid || !*pod->uid || streq(uid, pod->uid);
}

int postmortem_read_events(struct postmortem *self, const char *kind, const char *name, const struct ended_pod *pod)
{
	CLEANUP(json_putp) struct json_object *list = NULL;
	struct facts *facts = &self->triage->facts;
	struct json_object *items;
	int r = get_events(self, self->namespace, kind, name, &list), n = 0;

	if (r)
		return r == -ENOMEM ? r : 0;
	items = object_at(list, "items");
	facts->origin = postmortem_origin(pod);
	if (facts_open(facts, "event"))
		return -ENOMEM;
	for (size_t i = 0; i < object_count(items) && i < LIMIT_TRIAGE_EVENTS; i++) {
		struct json_object *event = json_object_array_get_idx(items, i);

		if (!is_of_pod(event, pod))
			continue;
		n++;
		pod_facts_of_event(facts, pod, event);
	}
	return n;
}

/* ---- the node ---- */

static int read_node_events(struct postmortem *self, const struct ended_pod *pod)
{
	CLEANUP(json_putp) struct json_object *list = NULL;
	struct facts *facts = &self->triage->facts;
	struct json_object *items;
	int r = get_events(self, "default", "Node", pod->node, &list);

	if (r)
		return r == -ENOMEM ? r : 0;
	items = object_at(list, "items");
	if (facts_open(facts, "event"))
		return -ENOMEM;
	for (size_t i = 0; i < object_count(items) && i < LIMIT_TRIAGE_EVENTS; i++)
		pod_facts_of_node_event(facts, pod, json_object_array_get_idx(items, i));
	return 0;
}

static int read_node(struct postmortem *self, const struct ended_pod *pod)
{
	CLEANUP(json_putp) struct json_object *node = NULL;
	struct err err = ERR_INIT;
	int r;

	if (!*pod->node || self->is_node_unseen)
		return 0;
	r = postmortem_get(self, postmortem_name(self, "/api/v1/nodes/%s", pod->node), &node, &err);
	if (r == -ENOMEM)
		return r;
	self->triage->facts.origin = postmortem_origin(pod);
	if (r) {
		self->is_node_unseen = r == KUBE_FORBIDDEN;
		triage_note(&self->triage->unseen, "Nothing is known of node %s: %s.", pod->node,
			    postmortem_reason(r, &err));
		return 0;
	}
	if (facts_open(&self->triage->facts, postmortem_name(self, "node/%s status", pod->node)))
		return -ENOMEM;
	pod_facts_of_node(&self->triage->facts, pod, node);
	return read_node_events(self, pod);
}

/* ---- all of it ---- */

int postmortem_read_pod(struct postmortem *self, const struct ended_pod *pod, enum postmortem_part part)
{
	struct facts *facts = &self->triage->facts;
	int r = 0;

	facts->origin = postmortem_origin(pod);
	pod_facts_of_life(facts, pod);
	if (part >= POSTMORTEM_TAIL)
		r = read_logs(self, pod);
	if (!r && part == POSTMORTEM_ALL)
		r = MIN(postmortem_read_events(self, "Pod", pod->name, pod), 0);
	if (!r && part == POSTMORTEM_ALL && pod->ended_ms != INT64_MAX)
		r = read_node(self, pod);
	if (!r && part == POSTMORTEM_ALL)
		r = postmortem_read_series(self, pod);
	if (r)
		return r;
	facts->origin = postmortem_origin(pod);
	if (facts_open(facts, postmortem_name(self, "pod/%s status", pod->name)))
		return -ENOMEM;
	pod_facts_of_status(facts, pod);
	pod_facts_of_spec(facts, pod);
	return facts->status;
}
