/* SPDX-License-Identifier: Apache-2.0 */
#include "service/pod_diagnoser.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "kube/kube_client.h"
#include "pods/pods.h"
#include "postmortem/diagnose_pod.h"

#include <errno.h>
#include <stdio.h>

#define RECENT_MS    (1 * TIME_HOUR_MS)
#define PODS_READ_MS (10 * TIME_SECOND_MS)

#define END_KILLED (END_OOM_KILLED | END_OOM_RESTARTED)
#define END_BAD	   (END_KILLED | END_ERROR | END_ERROR_RESTARTED)

/* ---- which pods ---- */

static int64_t death_of_container(const struct sighting *pod, const struct sighting_container *container)
{
	if (container->ends & END_KILLED && container->last_oom_ms)
		return container->last_oom_ms;
	if (!(container->ends & END_BAD))
		return INT64_MAX;
	return pod->end_ms ? pod->end_ms : pod->seen_ms;
}

/* When the first container of the pod failed. INT64_MAX: none has. */
static int64_t death_of(const struct sighting *pod)
{
	int64_t death_ms = pod->ends & (END_FAILED | END_EVICTED) && pod->end_ms ? pod->end_ms : INT64_MAX;

	if (pod->ends & (END_SUCCEEDED | END_PREEMPTED | END_DELETED))
		return INT64_MAX;
	for (size_t i = 0; i < pod->containers.n; i++)
		death_ms = MIN(death_ms, death_of_container(pod, &pod->containers.items[i]));
	return pod->deleted_ms && pod->deleted_ms <= death_ms ? INT64_MAX : death_ms;
}

/* Whether the pod belongs to an attempt of which another pod was read. */
static bool is_read(const struct pod_diagnoser *self, const struct sighting *pod)
{
	for (size_t i = 0; i < self->n_read && i < RUNS_READ_KEPT; i++)
		if (self->read[i].run == pod->run_hash && pod->created_ms <= self->read[i].end_ms)
			return true;
	return false;
}

static struct dead_pod *find_dead(struct pod_diagnoser *self, uint64_t run)
{
	for (size_t i = 0; i < self->n_dead; i++)
		if (self->dead[i].run == run)
			return &self->dead[i];
	return NULL;
}

static void take(struct dead_pod *ret, const struct sighting *pod, int64_t end_ms)
{
	*ret = (struct dead_pod){.run = pod->run_hash, .end_ms = end_ms, .result = DEAD_NEW};
	snprintf(ret->namespace, sizeof(ret->namespace), "%s", pod->namespace_name);
	snprintf(ret->name, sizeof(ret->name), "%s", pod->name);
	snprintf(ret->uid, sizeof(ret->uid), "%s", pod->uid);
}

static bool gather(void *context, const struct sighting *pod)
{
	struct pod_diagnoser *self = context;
	int64_t end_ms = pod->is_gone || !pod->is_root_known ? INT64_MAX : death_of(pod);
	struct dead_pod *known;

	if (end_ms == INT64_MAX || end_ms < self->now_ms - RECENT_MS || is_read(self, pod))
		return true;
	known = find_dead(self, pod->run_hash);
	if (known && end_ms < known->end_ms)
		take(known, pod, end_ms);
	else if (!known && self->n_dead < PODS_DEAD_MAX)
		take(&self->dead[self->n_dead++], pod, end_ms);
	return true;
}

static bool begin(void *context, int64_t now_ms)
{
	struct pod_diagnoser *self = context;

	self->n_dead = self->n_tried = self->n_results = 0;
	self->now_ms = now_ms;
	pods_visit(self->pods, gather, self);
	self->deadline_ms = time_monotonic_ms() + PODS_READ_MS;
	return self->n_dead > 0;
}

/* ---- reading ---- */

static void remember(struct pod_diagnoser *self, const struct dead_pod *dead)
{
	size_t i = self->n_read++ % RUNS_READ_KEPT;

	self->read[i].run = dead->run;
	self->read[i].end_ms = dead->end_ms;
}

/* Whether the answer will be the same next time. */
static bool is_final(int code)
{
	return code == 0 || code == KUBE_NOT_FOUND || code == KUBE_FORBIDDEN;
}

static int read_pod(struct pod_diagnoser *self, struct dead_pod *dead)
{
	const struct diagnose_request request = {.namespace = dead->namespace,
						 .pod = dead->name,
						 .uid = dead->uid,
						 .reads_logs = self->reads_logs,
						 .deadline_ms = self->deadline_ms};
	struct diagnosed *result = &self->results[self->n_results];
	struct err err = ERR_INIT;
	int r = diagnose_pod(self->client, &request, &result->diagnosis, &result->has_setting, &err);

	self->n_tried++;
	if (is_final(r))
		remember(self, dead);
	if (r == -ENOMEM)
		return r;
	if (r) {
		log_err(LOG_INFO, "why a run failed is not known", &err);
		dead->result = DEAD_UNKNOWN;
		return 0;
	}
	result->diagnosis.time_ms = dead->end_ms;
	dead->result = (int)self->n_results++;
	return 0;
}

static int read_run(void *context, const struct found_run *found, struct diagnosed *ret)
{
	struct pod_diagnoser *self = context;
	struct dead_pod *dead = find_dead(self, sighting_run_hash(found->namespace_name, found->identity.run_key));
	int r = 0;

	if (!dead)
		return 1;
	if (dead->result == DEAD_NEW && self->n_tried < LIMIT_DIAGNOSE_PODS)
		r = read_pod(self, dead);
	if (r || dead->result < 0)
		return r ? r : 1;
	*ret = self->results[dead->result];
	return 0;
}

void pod_diagnoser_connect(struct pod_diagnoser *self, struct pods *pods, struct kube_client *client, bool reads_logs)
{
	self->pods = pods;
	self->client = client;
	self->reads_logs = reads_logs;
}

struct diagnoser pod_diagnoser_interface(struct pod_diagnoser *self)
{
	return (struct diagnoser){.begin = begin, .read = read_run, .context = self};
}
