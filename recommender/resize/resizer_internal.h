/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resizer_internal: shared by resizer.c (which jobs run), resizer_queue.c (requests and measurements), resizer_job.c
 * (one job) and resizer_patch.c (the patch). Only resizer.c and resizer_queue.c use the fields behind the mutex. */
#include "base/vec.h"
#include "resize/resize_plan.h"
#include "resize/resizer.h"

#include <pthread.h>

#define RESIZER_JOBS 64 /* most of them only read the pod at intervals */

/* A pod for which a resize was requested. */
struct resizer_riser {
	char namespace_name[64], pod[256];
	int64_t asked_ms; /* monotonic, of the last request */
};

struct resizer {
	struct resizer_config config;
	struct resizer_job *jobs[RESIZER_JOBS]; /* NULL: free */
	int64_t unsupported_until_ms;		/* monotonic */
	pthread_mutex_t mutex;			/* protects all fields below */
	VEC(struct resize_ask) asks;
	VEC(struct resizer_riser) risers;
	struct resize_used *used;
	int64_t used_ms;
	size_t n_jobs;
};

/* resizer_queue.c */
/** Whether both requests are for the same container of the same pod. */
bool resizer_is_same(const struct resize_ask *a, const struct resize_ask *b);
/** The working set of a pod as measured in the last three minutes, in bytes; -1: not known. */
int64_t resizer_used_bytes(struct resizer *self, const char *namespace_name, const char *pod);
/** Whether a resize of this pod is queued or in progress, or was requested in the last five minutes, whatever its
 * result. Cost: linear in the requests. */
bool resizer_rises(struct resizer *self, const char *namespace_name, const char *pod);
/** Whether a job is being planned or patched on this node. No list of pods contains its result yet. */
bool resizer_plans_on(const struct resizer *self, const char *node);

/* resizer_job.c */
/** Copies `ask`. NULL: out of memory. */
struct resizer_job *resizer_job_new(struct resizer *owner, const struct resize_ask *ask) ATTR_NODISCARD;
/** Starts the job, once. Its results are reported to config.report. */
void resizer_job_begin(struct resizer_job *self);
/** Cancels the job without reporting it, and frees it. Must not be called from a callback of the job. */
void resizer_job_free(struct resizer_job *self);

/* resizer_patch.c */
/** The JSON Patch of the subresource `resize` that sets the plan in `pod`, or with `is_back` the values before it.
 * Owned by the caller. NULL: out of memory. */
struct json_object *resizer_patch(const struct resize_plan *plan, struct json_object *pod, bool is_back) ATTR_NODISCARD;
