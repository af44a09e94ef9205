/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resizer_job_internal: one job, as resizer_job.c (up to the patch) and resizer_follow.c (what the kubelet makes of it)
 * share it. Threads: the client's. */
#include "base/timefmt.h"
#include "resize/resize_gather.h"
#include "resize/resizer_internal.h"

#define RESIZER_TRIES	  5
#define RESIZER_LOOK_MS	  (1 * TIME_SECOND_MS)
#define RESIZER_FOLLOW_MS (10 * TIME_MINUTE_MS)

struct resizer_job {
	struct resizer *owner;
	struct resize_ask ask;
	struct resize_gather gather;
	struct resize_plan plan;
	struct kube_call *call;
	struct kube_timer timer;
	int tries;
	int back_tries;			       /* failed ones, to take it back */
	int64_t begun_ms, patched_ms, look_ms; /* monotonic; pause until the next look */
	bool is_done, is_told_deferred;
	bool is_planning; /* until the patch is answered, or it has to wait: no other one of its node may */
	bool is_sent;	  /* a patch by `plan` was; when nothing came of it, the next plan takes its place */
	char why[400];
};

/* resizer_job.c */
/** Does this kube_condition say no, and would say it again? */
bool resizer_is_refusal(int code);
/** Tells what came of it so far; `why` NULL: no words. */
void resizer_job_tell(struct resizer_job *job, enum resize_result result, const char *why);
/** Tells its end, once. */
void resizer_job_finish(struct resizer_job *job, enum resize_result result, const char *why);
/** Patch the pod as it was seen last: by the plan, or (`is_back`) what was before it. */
void resizer_job_patch(struct resizer_job *job, bool is_back, kube_done_fn *done);
/** Get the pod. */
void resizer_job_ask_pod(struct resizer_job *job, kube_done_fn *done);

/* resizer_follow.c */
/** After a pause, look what became of the patch, and so on to the job's end. */
void resizer_job_follow(struct resizer_job *job);
