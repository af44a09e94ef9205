/* SPDX-License-Identifier: Apache-2.0 */
#include "model/run.h"

#include "base/str.h"

const char *const outcome_names[OUTCOME_COUNT_] = {
	[OUTCOME_UNKNOWN] = "unknown",
	[OUTCOME_RUNNING] = "running",
	[OUTCOME_COMPLETED] = "completed",
	[OUTCOME_FAILED] = "failed",
	[OUTCOME_OOM_KILLED] = "oom-killed",
	[OUTCOME_SUSPECTED_OOM] = "suspected-oom",
	[OUTCOME_EVICTED_MEMORY] = "evicted-memory",
	[OUTCOME_EVICTED_EPHEMERAL] = "evicted-ephemeral-storage",
	[OUTCOME_PREEMPTED] = "preempted",
	[OUTCOME_DELETED] = "deleted",
};

const char *const harm_names[HARM_COUNT_] = {
	[HARM_OOM] = "oom",	[HARM_EVICTED] = "evicted", [HARM_PENDING] = "pending",
	[HARM_QUOTA] = "quota", [HARM_SLOWER] = "slower",
};

int64_t run_need_bytes(const struct run *run)
{
	int64_t uncached;

	if (!run->is_cache_bound)
		return run->peak_bytes;
	/* The working set is anonymous memory + active file + shm and kernel memory. Taking the peaks' difference keeps
	 * shm, which rss does not hold; rss is a floor because the two peaks may belong to different moments. */
	uncached = MAX(run->peak_rss_bytes, run->peak_bytes - run->peak_active_file_bytes);
	return MIN(MAX(uncached, 0), run->peak_bytes);
}

void run_add_killed_limit(int64_t limits[RUN_KILLED_LIMITS], int *n, int64_t limit)
{
	for (int i = 0; i < *n; i++)
		if (limits[i] == limit)
			return;
	if (*n < RUN_KILLED_LIMITS)
		limits[(*n)++] = limit;
	else
		limits[RUN_KILLED_LIMITS - 1] = MAX(limits[RUN_KILLED_LIMITS - 1], limit);
}

int64_t run_killed_limit_max(const struct run *run)
{
	int64_t greatest = 0;

	for (int i = 0; i < run->n_killed_limits; i++)
		greatest = MAX(greatest, run->killed_limits[i]);
	return greatest;
}
