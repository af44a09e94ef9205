/* SPDX-License-Identifier: Apache-2.0 */
/* resizer_job: one job's way. What is known is gathered, a plan is made of it, the pod's subresource `resize` is
 * patched, and the kubelet is followed to the end (resizer_follow.c). The steps stand from the last to the first: each
 * ends in one above it, in a pause, or in resizer_job_finish(). */
#include "base/limits.h"
#include "base/timefmt.h"
#include "resize/resizer_job_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSUPPORTED_MS	 TIME_HOUR_MS
#define PLAN_ARENA_BYTES (64 * MIB)

/* ---- the end of a job ---- */

void resizer_job_tell(struct resizer_job *job, enum resize_result result, const char *why)
{
	bool is_set = result == RESIZE_APPLIED || result == RESIZE_DEFERRED || result == RESIZE_INFEASIBLE ||
		      (result == RESIZE_UNANSWERED && job->patched_ms);
	const struct resize_report report = {
		.ask = &job->ask,
		.result = result,
		.from_bytes = job->plan.from_bytes,
		.to_bytes = is_set ? job->plan.to_bytes : job->plan.from_bytes,
		.why = why ? why : "",
	};

	job->owner->config.told(job->owner->config.context, &report);
}

void resizer_job_finish(struct resizer_job *job, enum resize_result result, const char *why)
{
	if (job->is_done)
		return;
	job->is_done = true;
	job->is_planning = false;
	resizer_job_tell(job, result, why);
}

/* ---- gathering ---- */

static int64_t pause_ms(const struct resizer_job *job)
{
	return job->owner->config.look_ms ? job->owner->config.look_ms : RESIZER_LOOK_MS;
}

static void gather(struct resizer_job *job)
{
	job->is_planning = true;
	resize_gather_begin(&job->gather);
}

static void gather_again(void *context)
{
	struct resizer_job *job = context;

	if (job->is_planning || !resizer_plans_on(job->owner, job->ask.node))
		gather(job);
	else
		kube_timer_set(job->owner->config.client, &job->timer, pause_ms(job));
}

/* Somebody was faster, or the server had no time: look again. */
static void retry(struct resizer_job *job, int64_t delay_ms, enum resize_result otherwise, const char *why)
{
	if (++job->tries >= RESIZER_TRIES) {
		resizer_job_finish(job, otherwise, why);
		return;
	}
	job->timer.fire = gather_again;
	kube_timer_set(job->owner->config.client, &job->timer, delay_ms);
}

static int64_t used_by(void *context, const char *namespace_name, const char *pod)
{
	struct resizer_job *job = context;

	return resizer_used_bytes(job->owner, namespace_name, pod);
}

static bool rises(void *context, const char *namespace_name, const char *pod)
{
	struct resizer_job *job = context;

	return resizer_rises(job->owner, namespace_name, pod);
}

/* ---- the patch ---- */

void resizer_job_patch(struct resizer_job *job, bool is_back, kube_done_fn *done)
{
	CLEANUP(json_putp) struct json_object *patch = resizer_patch(&job->plan, job->gather.pod, is_back);
	char manager[RESIZE_MANAGER_BYTES], query[RESIZE_MANAGER_BYTES + 16];
	struct kube_request request = {
		.verb = KUBE_JSON_PATCH,
		.resource = {"", "v1", "pods"},
		.namespace = job->ask.namespace_name,
		.name = job->ask.pod,
		.subresource = "resize",
		.query = query,
		.body = patch,
		.done = done,
		.context = job,
	};
	struct err err = ERR_INIT;

	resize_manager_name(job->ask.kind, job->plan.own_bytes, manager);
	snprintf(query, sizeof(query), "fieldManager=%s", manager);
	if (!patch)
		resizer_job_finish(job, RESIZE_UNANSWERED, "out of memory");
	else if (kube_client_submit(job->owner->config.client, &request, &job->call, &err))
		resizer_job_finish(job, RESIZE_UNANSWERED, err.msg);
}

void resizer_job_ask_pod(struct resizer_job *job, kube_done_fn *done)
{
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = {"", "v1", "pods"},
		.namespace = job->ask.namespace_name,
		.name = job->ask.pod,
		.done = done,
		.context = job,
	};
	struct err err = ERR_INIT;

	if (kube_client_submit(job->owner->config.client, &request, &job->call, &err))
		resizer_job_finish(job, RESIZE_UNANSWERED, err.msg);
}

/* ---- the API server's answer ---- */

bool resizer_is_refusal(int code)
{
	return code == KUBE_UNAUTHORIZED || code == KUBE_FORBIDDEN || code == KUBE_INVALID || code == KUBE_REFUSED;
}

/* 404: of the pod, or of a subresource that this cluster does not know? */
static void looked_for_pod(void *context, const struct kube_result *result)
{
	struct resizer_job *job = context;

	job->call = NULL;
	if (result->code == KUBE_NOT_FOUND) {
		resizer_job_finish(job, RESIZE_GONE, "the pod has ended");
	} else if (result->code) {
		resizer_job_finish(job, resizer_is_refusal(result->code) ? RESIZE_REFUSED : RESIZE_UNANSWERED,
				   result->err.msg);
	} else {
		job->owner->unsupported_until_ms = time_monotonic_ms() + UNSUPPORTED_MS;
		resizer_job_finish(job, RESIZE_UNSUPPORTED,
				   "the cluster has no pods/resize: it needs Kubernetes 1.33 or newer");
	}
}

static void begin_to_follow(struct resizer_job *job)
{
	job->patched_ms = time_monotonic_ms();
	job->is_planning = false;
	job->tries = 0;
	resizer_job_follow(job);
}

static void patched(void *context, const struct kube_result *result)
{
	struct resizer_job *job = context;
	char why[400];

	job->call = NULL;
	snprintf(why, sizeof(why), "%.390s", result->err.msg);
	switch (result->code) {
	case 0:
		begin_to_follow(job);
		return;
	case KUBE_CONFLICT:
		retry(job, 0, RESIZE_UNANSWERED, "the pod changes faster than it can be resized");
		return;
	case KUBE_NOT_FOUND:
		resizer_job_ask_pod(job, looked_for_pod);
		return;
	default:
		if (resizer_is_refusal(result->code))
			resizer_job_finish(job, RESIZE_REFUSED, why);
		else
			retry(job, 2 * pause_ms(job), RESIZE_UNANSWERED, why);
		return;
	}
}

/* ---- planning ---- */

static int plan_job(struct resizer_job *job, struct err *err)
{
	struct arena arena = ARENA_INIT(PLAN_ARENA_BYTES);
	struct resize_input input = {.ask = &job->ask, .policy = job->owner->config.policy, .now_ms = time_now_ms()};
	int r;

	resize_gather_input(&job->gather, &input);
	r = resize_plan(&input, &arena, &job->plan, err);
	arena_release(&arena);
	return r;
}

/* A patch that failed may have been taken: the connection broke behind it, or the client sent it twice and heard of the
 * second one's conflict. Then the limit that was planned stands under our name. */
static bool is_taken(const struct resizer_job *job)
{
	struct resize_container container;
	struct resize_pod pod;

	return job->is_sent && !resize_pod_read(job->gather.pod, &pod, NULL) && streq(pod.uid, job->ask.uid) &&
	       resize_container_read(job->gather.pod, job->ask.container, &container) &&
	       container.limit_bytes == job->plan.to_bytes && container.own_bytes == job->plan.own_bytes &&
	       container.own_kind == job->ask.kind;
}

/* A container that is resized while it waits to be restarted gets the new limit, but its pod's cgroup keeps the old one
 * (the kubelet's computePodResizeAction of 1.34 passes over what does not run), and it is killed at that again. */
static void wait_until_it_runs(struct resizer_job *job)
{
	int64_t most_ms = job->owner->config.follow_ms ? job->owner->config.follow_ms : RESIZER_FOLLOW_MS;

	if (time_monotonic_ms() - job->begun_ms > most_ms) {
		resizer_job_finish(job, RESIZE_UNANSWERED, "the container does not run");
		return;
	}
	job->is_planning = false;
	job->timer.fire = gather_again;
	kube_timer_set(job->owner->config.client, &job->timer, pause_ms(job));
}

static void plan_and_patch(struct resizer_job *job)
{
	struct err err = ERR_INIT;

	if (plan_job(job, &err)) {
		resizer_job_finish(job, RESIZE_UNANSWERED, err.msg);
	} else if (job->plan.verdict != RESIZE_APPLIED) {
		resizer_job_finish(job, job->plan.verdict, job->plan.why);
	} else if (!job->plan.is_running) {
		wait_until_it_runs(job);
	} else {
		job->is_sent = true;
		resizer_job_patch(job, false, patched);
	}
}

static void gathered(void *context, int code, const struct err *why)
{
	struct resizer_job *job = context;

	if (code == KUBE_NOT_FOUND)
		resizer_job_finish(job, RESIZE_GONE, "the pod has ended");
	else if (resizer_is_refusal(code))
		resizer_job_finish(job, RESIZE_REFUSED, why->msg);
	else if (code)
		retry(job, 2 * pause_ms(job), RESIZE_UNANSWERED, why->msg);
	else if (is_taken(job))
		begin_to_follow(job);
	else
		plan_and_patch(job);
}

/* ---- the job ---- */

struct resizer_job *resizer_job_new(struct resizer *owner, const struct resize_ask *ask)
{
	struct resizer_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->owner = owner;
	job->ask = *ask;
	job->timer.context = job;
	job->begun_ms = time_monotonic_ms();
	job->look_ms = pause_ms(job);
	job->gather = (struct resize_gather){.client = owner->config.client,
					     .ask = &job->ask,
					     .used = used_by,
					     .rises = rises,
					     .done = gathered,
					     .context = job};
	return job;
}

void resizer_job_begin(struct resizer_job *self)
{
	if (time_monotonic_ms() < self->owner->unsupported_until_ms)
		resizer_job_finish(self, RESIZE_UNSUPPORTED, "the cluster has no pods/resize");
	else
		gather(self);
}

bool resizer_job_is_done(const struct resizer_job *self)
{
	return self->is_done;
}

bool resizer_job_is_planning(const struct resizer_job *self)
{
	return self->is_planning;
}

const struct resize_ask *resizer_job_ask(const struct resizer_job *self)
{
	return &self->ask;
}

void resizer_job_free(struct resizer_job *self)
{
	kube_client_cancel(self->owner->config.client, self->call);
	kube_timer_stop(self->owner->config.client, &self->timer);
	resize_gather_release(&self->gather);
	free(self);
}
