/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resizer_job_internal: one job, shared by resizer_job.c (up to the patch), resizer_follow.c (the kubelet's result) and
 * resizer_step.c (what both need).
 * Threads: the client's. */
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
	int back_tries;			       /* failed attempts to revert the resize */
	int64_t begun_ms, patched_ms, poll_ms; /* monotonic; look_ms: interval until the next read */
	bool is_done, is_told_deferred;
	bool is_planning; /* until the patch is answered or the job must wait: no other job of the node may plan */
	bool is_sent;	  /* a patch of `plan` was sent; if it had no effect, the next plan replaces it */
	char why[400];
};

/* resizer_step.c */
/** Whether this kube_condition is a rejection that a retry would not change. */
bool resizer_is_refusal(int code);
/** Reports an intermediate result. `why` NULL: no reason. */
void resizer_job_tell(struct resizer_job *job, enum resize_result result, const char *why);
/** Reports the final result, once. */
void resizer_job_finish(struct resizer_job *job, enum resize_result result, const char *why);
/** Patches the pod as it was last read: sets the plan, or with `is_back` the values before it. */
void resizer_job_patch(struct resizer_job *job, bool is_back, kube_done_fn *done);
/** Reads the pod. */
void resizer_job_ask_pod(struct resizer_job *job, kube_done_fn *done);

/* resizer_follow.c */
/** After an interval, reads the pod to see the result of the patch, and repeats it until the job ends. */
void resizer_job_follow(struct resizer_job *job);
