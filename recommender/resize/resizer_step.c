/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a job share: reports, requests for its pod, and the start of the reads that follow the kubelet. */
#include "resize/resizer_job_internal.h"

#include <stdio.h>

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
		.remedy = job->plan.remedy,
	};

	job->owner->config.report(job->owner->config.context, &report);
}

void resizer_job_finish(struct resizer_job *job, enum resize_result result, const char *why)
{
	if (job->is_done)
		return;
	job->is_done = true;
	job->is_planning = false;
	resizer_job_tell(job, result, why);
}

void resizer_job_patch(struct resizer_job *job, bool is_back, kube_done_fn *done)
{
	CLEANUP(json_putp) struct json_object *patch = resizer_patch(&job->plan, job->gather.input.pod, is_back);
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

bool resizer_is_refusal(int code)
{
	return code == KUBE_UNAUTHORIZED || code == KUBE_FORBIDDEN || code == KUBE_INVALID || code == KUBE_REFUSED;
}
