/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* diagnose: how the engine learns why runs failed. What reads pods and logs is not a part of the engine: the service
 * provides it. */
#include "base/attr.h"
#include "model/diagnosis.h"
#include "runs/fold.h"

/** What was found about the end of a run. */
struct diagnosed {
	struct diagnosis diagnosis; /* without `run` and `helped` */
	bool has_setting;	    /* the pod that died had the allocator setting, whoever had set it */
};

struct diagnoser {
	/** Looks for pods that died since the last call. @return false: there are none, and `read` is not called. */
	bool (*begin)(void *context, int64_t now_ms);
	/** Reads about the pod of this run that died first, if it was found by `begin` and the cycle may send more
	 * requests. @return 0; 1: nothing is known of it; -ENOMEM. */
	int (*read)(void *context, const struct found_run *found, struct diagnosed *ret);
	void *context;
};
