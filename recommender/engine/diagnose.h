/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* diagnose: how the engine learns why runs failed. What reads pods and logs is not a part of the engine: the service
 * provides it. */
#include "base/attr.h"
#include "evidence/evidence.h"
#include "model/diagnosis.h"

/** What was found about the end of a run. */
struct diagnosed {
	struct diagnosis diagnosis; /* without `run` and `helped` */
	bool has_setting;	    /* the pod that died had the allocator setting, whoever had set it */
	bool is_again; /* it replaces an earlier result about the same death, of which less could be read */
};

struct diagnoser {
	/** Finds a run of which a pod died that was not read, and adds its pods to `batch`, which is initialised.
	 * @return 0; 1: there is none; -ENOMEM. */
	int (*next)(void *context, int64_t now_ms, struct evidence_batch *batch);
	/** Reads about the pod of that run that died first. @return 0; 1: nothing is known of it; -ENOMEM. */
	int (*read)(void *context, struct diagnosed *ret);
	/** What `read` returned is in the store. Without this call `next` finds the run again later. */
	void (*stored)(void *context);
	void *context;
};
