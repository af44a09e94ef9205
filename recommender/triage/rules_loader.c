/* SPDX-License-Identifier: Apache-2.0 */
/* What the workers of a data loader need, beside the memory limit. */
#include "triage/rules.h"

#include <stdio.h>

#define PREFETCH_DEFAULT 2 /* PyTorch's, for each worker */

/* Of each worker its own memory, where the kernel has shown it; else of each batch that waits. */
void rules_say_loader(const struct facts *facts, struct verdict *ret)
{
	int64_t workers = facts_number(facts, "dataloader_num_workers"),
		prefetch = facts_number(facts, "prefetch_factor"), one = ret->figures.bytes[FIGURE_WORKER_RSS],
		limit = ret->figures.bytes[FIGURE_LIMIT], batches;
	size_t n = strlen(ret->why);

	if (workers <= 0)
		workers = facts_number(facts, "num_workers");
	if (workers <= 0 || workers > LIMIT_TRIAGE_TASKS || limit <= 0 || limit > FIGURE_MAX)
		return;
	if (one > 0 && one <= FIGURE_MAX / LIMIT_TRIAGE_TASKS) {
		snprintf(ret->why + n, sizeof(ret->why) - n,
			 " num_workers=%lld of this size need %s, and the limit is %s.", (long long)workers,
			 FIGURE_TEXT(workers * one), FIGURE_TEXT(limit));
		return;
	}
	batches = workers * (prefetch > 0 && prefetch <= LIMIT_TRIAGE_TASKS ? prefetch : PREFETCH_DEFAULT);
	snprintf(
		ret->why + n, sizeof(ret->why) - n,
		" num_workers=%lld and prefetch_factor=%lld keep up to %lld batches in memory: a limit of %s is %s for "
		"each.",
		(long long)workers, (long long)(batches / workers), (long long)batches, FIGURE_TEXT(limit),
		FIGURE_TEXT(limit / batches));
}
