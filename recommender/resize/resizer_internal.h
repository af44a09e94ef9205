/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resizer_internal: what resizer.c (the queue) and resizer_job.c (one job's way through the API server) share, and
 * the patch (resizer_patch.c). What stands behind the mutex is for resizer.c alone. */
#include "base/vec.h"
#include "resize/resize_plan.h"
#include "resize/resizer.h"

#include <pthread.h>

#define RESIZER_JOBS 64 /* most of them only look at the kubelet now and then */

/* A pod that a resize was asked for. */
struct resizer_riser {
	char namespace_name[64], pod[256];
	int64_t asked_ms; /* monotonic, the last time */
};

struct resizer {
	struct resizer_config config;
	struct resizer_job *jobs[RESIZER_JOBS]; /* NULL: free */
	int64_t unsupported_until_ms;		/* monotonic */
	pthread_mutex_t mutex;			/* for what follows */
	VEC(struct resize_ask) asks;
	VEC(struct resizer_riser) risers;
	struct resize_used *used;
	int64_t used_ms;
	size_t n_jobs;
};

/* resizer.c */
/** The working set of a pod as it was measured in the last minutes; -1: not known. */
int64_t resizer_used_bytes(struct resizer *self, const char *namespace_name, const char *pod);
/** Does a resize of this pod wait, is one under way, or was one asked for in the last minutes, whatever came of it? */
bool resizer_rises(struct resizer *self, const char *namespace_name, const char *pod);
/** Is a job being planned or patched on this node? What it comes to is in no list of pods yet. */
bool resizer_plans_on(const struct resizer *self, const char *node);

/* resizer_job.c */
/** `ask` is copied. NULL: out of memory. */
struct resizer_job *resizer_job_new(struct resizer *owner, const struct resize_ask *ask) ATTR_NODISCARD;
/** Once. What became of it is told by config.told. */
void resizer_job_begin(struct resizer_job *self);
/** Its end was told: it waits to be freed, outside of all callbacks. */
bool resizer_job_is_done(const struct resizer_job *self);
/** It is being planned or patched. */
bool resizer_job_is_planning(const struct resizer_job *self);
const struct resize_ask *resizer_job_ask(const struct resizer_job *self);
/** Tells nothing any more. */
void resizer_job_free(struct resizer_job *self);

/* resizer_patch.c */
/** JSON Patch of the subresource `resize` that sets the plan in `pod`, or (`is_back`) what was before it. The caller's;
 *  NULL: out of memory. */
struct json_object *resizer_patch(const struct resize_plan *plan, struct json_object *pod, bool is_back) ATTR_NODISCARD;
