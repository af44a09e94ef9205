/* SPDX-License-Identifier: Apache-2.0 */
/* resizer_job: the steps of one job. It reads what the plan needs, plans, patches the pod's subresource `resize`, and
 * follows the kubelet to the end (resizer_follow.c). The functions stand from the last step to the first: each ends in
 * a step above it, in a wait, or in resizer_job_finish(). */
#include "base/limits.h"
#include "base/timefmt.h"
#include "resize/resizer_job_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSUPPORTED_MS	 TIME_HOUR_MS
#define PLAN_ARENA_BYTES (64 * MIB)

/* ---- gathering ---- */

static int64_t pause_ms(const struct resizer_job *job)
{
	return job->owner->config.poll_ms ? job->owner->config.poll_ms : RESIZER_LOOK_MS;
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

/* Reads and plans again, after a conflict or a timeout of the API server. */
static void retry(struct resizer_job *job, int64_t delay_ms, enum resize_result otherwise, const char *why)
{
	if (++job->tries >= RESIZER_TRIES) {
		resizer_job_finish(job, otherwise, why);
		return;
	}
	job->timer.fire = gather_again;
	kube_timer_set(job->owner->config.client, &job->timer, delay_ms);
}

/* ---- the API server's answer ---- */

/* 404 may concern the pod, or a subresource that the cluster does not have. */
static void on_pod(void *context, const struct kube_result *result)
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
		resizer_job_ask_pod(job, on_pod);
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
	int r;

	job->gather.input.policy = job->owner->config.policy;
	job->gather.input.now_ms = time_now_ms();
	r = resize_plan(&job->gather.input, &arena, &job->plan, err);
	arena_release(&arena);
	return r;
}

/* A failed patch may have been applied: the connection broke after it, or the client sent it twice and got the conflict
 * of the second one. Then the pod has the planned limit under our field manager. */
static bool is_taken(const struct resizer_job *job)
{
	struct resize_container container;
	struct resize_pod pod;

	return job->is_sent && !resize_pod_read(job->gather.input.pod, &pod, NULL) && streq(pod.uid, job->ask.uid) &&
	       resize_container_read(job->gather.input.pod, job->ask.container, &container) &&
	       container.limit_bytes == job->plan.to_bytes && container.own_bytes == job->plan.own_bytes &&
	       container.own_kind == job->ask.kind;
}

/* If a container is resized while it waits to be restarted, it gets the new limit, but its pod's cgroup keeps the old
 * one (computePodResizeAction of the kubelet 1.34 skips containers that do not run), and it is killed at that limit
 * again. */
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

/* ---- start and end ---- */

struct resizer_job *resizer_job_new(struct resizer *owner, const struct resize_ask *ask)
{
	struct resizer_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->owner = owner;
	job->ask = *ask;
	job->timer.context = job;
	job->begun_ms = time_monotonic_ms();
	job->poll_ms = pause_ms(job);
	job->gather = (struct resize_gather){
		.client = owner->config.client, .ask = &job->ask, .owner = owner, .done = gathered, .context = job};
	return job;
}

void resizer_job_begin(struct resizer_job *self)
{
	if (time_monotonic_ms() < self->owner->unsupported_until_ms)
		resizer_job_finish(self, RESIZE_UNSUPPORTED, "the cluster has no pods/resize");
	else
		gather(self);
}

void resizer_job_free(struct resizer_job *self)
{
	kube_client_cancel(self->owner->config.client, self->call);
	kube_timer_stop(self->owner->config.client, &self->timer);
	resize_gather_release(&self->gather);
	free(self);
}
