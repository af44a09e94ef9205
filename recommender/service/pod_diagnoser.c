/* SPDX-License-Identifier: Apache-2.0 */
#include "service/pod_diagnoser.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "kube/kube_client.h"
#include "postmortem/diagnose_pod.h"
#include "triage/rules.h"

#include <errno.h>

#define RECENT_MS (1 * TIME_HOUR_MS)

#define END_BAD (END_OOM_KILLED | END_OOM_RESTARTED | END_ERROR | END_ERROR_RESTARTED)

/* ---- what is known of runs ---- */

static struct dead_run *find_run(struct pod_diagnoser *self, uint64_t run)
{
	for (size_t i = 0; i < self->n_runs && i < LIMIT_DIAGNOSE_RUNS; i++)
		if (self->runs[i].run == run)
			return &self->runs[i];
	return NULL;
}

static struct dead_run *know_run(struct pod_diagnoser *self, uint64_t run)
{
	struct dead_run *known = find_run(self, run);

	if (known)
		return known;
	known = &self->runs[self->n_runs++ % LIMIT_DIAGNOSE_RUNS];
	*known = (struct dead_run){.run = run};
	return known;
}

/* The result is final, whatever it is. */
static void finish(struct dead_run *run)
{
	run->read_ms = run->end_ms;
}

static void count_try(struct dead_run *run, int64_t end_ms, int64_t now_ms)
{
	if (run->end_ms != end_ms) {
		run->end_ms = end_ms;
		run->n_tries = 0;
		run->has_part = false;
	}
	run->next_ms = now_ms + (DIAGNOSE_REST_MS << run->n_tries++);
	if (run->n_tries == LIMIT_DIAGNOSE_TRIES)
		finish(run);
}

/* ---- deaths ---- */

struct search {
	struct pod_diagnoser *self;
	int64_t now_ms;
	bool is_found;
	int64_t changed_seq; /* of the pod that was found */
	struct dead_pod *ret;
};

static void take(struct search *self, const struct sighting *pod, int64_t end_ms)
{
	self->is_found = true;
	self->changed_seq = pod->changed_seq;
	self->ret->run = pod->run_hash;
	self->ret->end_ms = end_ms;
	str_copy(self->ret->namespace, sizeof(self->ret->namespace), pod->namespace_name);
	str_copy(self->ret->name, sizeof(self->ret->name), pod->name);
	str_copy(self->ret->uid, sizeof(self->ret->uid), pod->uid);
}

/* Whether a death of something that started at `from_ms` may be read now. */
static bool is_open(const struct search *self, const struct sighting *pod, int64_t from_ms, int64_t end_ms)
{
	const struct dead_run *run;

	if (end_ms < self->now_ms - RECENT_MS || (pod->deleted_ms && pod->deleted_ms <= end_ms))
		return false;
	run = find_run(self->self, pod->run_hash);
	return !run || (from_ms > run->read_ms && self->now_ms >= run->next_ms);
}

static bool has_accelerators(const struct sighting *pod)
{
	for (size_t i = 0; i < pod->containers.n; i++)
		if (pod->containers.items[i].accelerators_milli)
			return true;
	return false;
}

/* Helpers may restart again and again beside a training that goes on. */
static bool is_death(const struct sighting *pod, const struct sighting_container *container)
{
	return container->ends & END_BAD && (container->accelerators_milli || !has_accelerators(pod));
}

typedef void consider_fn(struct search *self, const struct sighting *pod, int64_t end_ms);

static void visit_deaths(struct search *self, const struct sighting *pod, consider_fn *consider)
{
	if (pod->is_gone || !pod->is_root_known || pod->ends & (END_SUCCEEDED | END_PREEMPTED | END_DELETED))
		return;
	if (pod->ends & (END_FAILED | END_EVICTED) && pod->end_ms && is_open(self, pod, pod->created_ms, pod->end_ms))
		consider(self, pod, pod->end_ms);
	for (size_t i = 0; i < pod->containers.n; i++) {
		const struct sighting_container *container = &pod->containers.items[i];
		int64_t from_ms = MAX(container->failed_from_ms, pod->created_ms);

		if (is_death(pod, container) && is_open(self, pod, from_ms, container->failed_ms))
			consider(self, pod, container->failed_ms);
	}
}

static void take_newest(struct search *self, const struct sighting *pod, int64_t end_ms)
{
	if (pod->changed_seq <= self->self->written_seq && (!self->is_found || end_ms > self->ret->end_ms))
		take(self, pod, end_ms);
}

static bool search_run(void *context, const struct sighting *pod)
{
	visit_deaths(context, pod, take_newest);
	return true;
}

static void take_first(struct search *self, const struct sighting *pod, int64_t end_ms)
{
	if (end_ms < self->ret->end_ms)
		take(self, pod, end_ms);
}

static bool search_first(void *context, const struct sighting *pod)
{
	struct search *self = context;

	if (pod->run_hash == self->ret->run)
		visit_deaths(self, pod, take_first);
	return true;
}

static int next_run(void *context, int64_t now_ms, struct evidence_batch *batch)
{
	struct pod_diagnoser *self = context;
	struct search search = {.self = self, .now_ms = now_ms, .ret = &self->dead};

	if (!pods_is_synced(self->pods))
		return 1;
	pods_visit(self->pods, search_run, &search);
	if (search.is_found)
		pods_visit(self->pods, search_first, &search);
	/* The first death may be newer to us than the others: then the next cycle writes it. */
	if (!search.is_found || search.changed_seq > self->written_seq)
		return 1;
	count_try(know_run(self, self->dead.run), self->dead.end_ms, now_ms);
	return pods_batch_run(self->pods, now_ms, self->dead.run, batch);
}

/* ---- reading ---- */

/* Evictions are in the status of a pod, which its watch shows. */
static bool is_for_memory(const char *kind)
{
	static const enum kind kinds[] = {KIND_TRUE_OOM,	   KIND_FRAGMENTATION, KIND_CO_TENANT,
					  KIND_CONTAINER_LIMIT,	   KIND_POD_LIMIT,     KIND_NODE_OOM,
					  KIND_ALLOCATION_REFUSED, KIND_SHM_TOO_SMALL};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (streq(kind, triage_kinds[kinds[i]].name))
			return true;
	return false;
}

static void tell_pods(struct pod_diagnoser *self, struct dead_run *run, const char *kind)
{
	run->found = (struct pods_found_end){.end_ms = self->dead.end_ms};
	str_copy(run->found.uid, sizeof(run->found.uid), self->dead.uid);
	str_copy(run->found.kind, sizeof(run->found.kind), is_for_memory(kind) ? kind : "");
	pods_note_end(self->pods, &run->found);
}

static int read_pod(void *context, struct diagnosed *ret)
{
	struct pod_diagnoser *self = context;
	struct dead_run *run = know_run(self, self->dead.run);
	const struct diagnose_request request = {.namespace = self->dead.namespace,
						 .pod = self->dead.name,
						 .uid = self->dead.uid,
						 .reads_logs = self->reads_logs,
						 .deadline_ms = time_monotonic_ms() + DIAGNOSE_MS};
	struct diagnose_result result = {.has_setting = false};
	struct err err = ERR_INIT;
	int r = diagnose_pod(self->client, &request, &result, &err);

	if (r == -ENOMEM)
		return r;
	if (r == KUBE_NOT_FOUND || r == KUBE_FORBIDDEN)
		finish(run);
	if (r)
		log_err(LOG_INFO, "why a run failed is not known", &err);
	if (r || (result.is_partial && run->has_part))
		return 1;
	self->is_partial = result.is_partial;
	tell_pods(self, run, result.diagnosis.kind);
	*ret = (struct diagnosed){
		.diagnosis = result.diagnosis, .has_setting = result.has_setting, .is_again = run->has_part};
	ret->diagnosis.time_ms = self->dead.end_ms;
	return 0;
}

static void mark_stored(void *context)
{
	struct pod_diagnoser *self = context;
	struct dead_run *run = know_run(self, self->dead.run);

	if (self->is_partial)
		run->has_part = true;
	else
		finish(run);
}

void pod_diagnoser_connect(struct pod_diagnoser *self, struct pods *pods, struct kube_client *client, bool reads_logs)
{
	self->pods = pods;
	self->client = client;
	self->reads_logs = reads_logs;
	for (size_t i = 0; i < self->n_runs && i < LIMIT_DIAGNOSE_RUNS; i++)
		if (*self->runs[i].found.uid)
			pods_note_end(pods, &self->runs[i].found);
}

struct diagnoser pod_diagnoser_interface(struct pod_diagnoser *self)
{
	return (struct diagnoser){.next = next_run, .read = read_pod, .stored = mark_stored, .context = self};
}
