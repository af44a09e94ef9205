/* SPDX-License-Identifier: Apache-2.0 */
/* resizer_follow: follows the kubelet's result of a resize by reading the pod at intervals, and reverts an infeasible
 * resize. */
#include "resize/resizer_job_internal.h"

#include <stdio.h>
#include <string.h>

#define POLL_MAX_MS (15 * TIME_SECOND_MS)

static void read_pod(void *context);

/* While the kubelet reports that a resize is infeasible it writes the pod's status, and each write causes a conflict:
 * the pod is read and judged again. */
static bool may_take_back_again(struct resizer_job *job, int code)
{
	return code != KUBE_NOT_FOUND && !resizer_is_refusal(code) && ++job->back_tries < RESIZER_TRIES;
}

static void taken_back(void *context, const struct kube_result *result)
{
	struct resizer_job *job = context;

	job->call = NULL;
	if (result->code && may_take_back_again(job, result->code)) {
		if (result->code == KUBE_CONFLICT)
			read_pod(job);
		else
			resizer_job_follow(job);
		return;
	}
	if (result->code)
		snprintf(job->why + strlen(job->why), sizeof(job->why) - strlen(job->why),
			 "; it could not be taken back: %.120s", result->err.msg);
	resizer_job_finish(job, RESIZE_INFEASIBLE, job->why);
}

static void take_back(struct resizer_job *job, const struct resize_pod *pod)
{
	snprintf(job->why, sizeof(job->why), "%.240s", pod->pending_why);
	resizer_job_patch(job, true, taken_back);
}

static void finish_late(struct resizer_job *job, const struct resize_pod *pod)
{
	snprintf(job->why, sizeof(job->why), "the kubelet has not set it yet%s%.200s", *pod->pending_why ? ": " : "",
		 pod->pending_why);
	resizer_job_finish(job, RESIZE_UNANSWERED, job->why);
}

static void wait_for_kubelet(struct resizer_job *job, const struct resize_pod *pod)
{
	if (pod->pending == RESIZE_PENDING_DEFERRED && !job->is_told_deferred) {
		job->is_told_deferred = true;
		resizer_job_tell(job, RESIZE_DEFERRED, pod->pending_why);
	}
	resizer_job_follow(job);
}

static void judge(struct resizer_job *job, const struct resize_pod *pod, const struct resize_container *container)
{
	bool is_late = time_monotonic_ms() - job->patched_ms >
		       (job->owner->config.follow_ms ? job->owner->config.follow_ms : RESIZER_FOLLOW_MS);

	if (job->back_tries && container->limit_bytes == job->plan.from_bytes)
		/* the pod was reverted, but the answer was lost */
		resizer_job_finish(job, RESIZE_INFEASIBLE, job->why);
	else if (container->limit_bytes != job->plan.to_bytes)
		resizer_job_finish(job, RESIZE_GONE, "somebody else has resized it meanwhile");
	else if (pod->pending == RESIZE_PENDING_INFEASIBLE)
		take_back(job, pod);
	else if (pod->pending == RESIZE_PENDING_NONE && container->live_limit_bytes == job->plan.to_bytes)
		resizer_job_finish(job, RESIZE_APPLIED, job->plan.why);
	else if (is_late)
		finish_late(job, pod);
	else
		wait_for_kubelet(job, pod);
}

/* The pod could not be read. The patch stays; try again. */
static void retry_read(struct resizer_job *job, const char *why)
{
	if (++job->tries < RESIZER_TRIES) {
		resizer_job_follow(job);
		return;
	}
	snprintf(job->why, sizeof(job->why), "the pod cannot be read: %.300s", why);
	resizer_job_finish(job, RESIZE_UNANSWERED, job->why);
}

static void on_pod(void *context, const struct kube_result *result)
{
	struct resizer_job *job = context;
	struct resize_container container;
	struct err err = result->err;
	struct resize_pod pod;
	int r = result->code;

	job->call = NULL;
	if (!r)
		r = resize_pod_read(result->object, &pod, &err);
	if (r && r != KUBE_NOT_FOUND) {
		retry_read(job, err.msg);
		return;
	}
	job->tries = 0;
	if (r || !streq(pod.uid, job->ask.uid) || pod.is_ended || pod.is_deleted ||
	    !resize_container_read(result->object, job->ask.container, &container)) {
		resizer_job_finish(job, RESIZE_GONE, "the pod has ended");
		return;
	}
	json_object_put(job->gather.input.pod); /* the pod that a revert would patch */
	job->gather.input.pod = json_object_get(result->object);
	judge(job, &pod, &container);
}

static void read_pod(void *context)
{
	resizer_job_ask_pod(context, on_pod);
}

void resizer_job_follow(struct resizer_job *job)
{
	job->timer.fire = read_pod;
	kube_timer_set(job->owner->config.client, &job->timer, job->poll_ms);
	job->poll_ms = MIN(job->poll_ms * 3 / 2, POLL_MAX_MS);
}
