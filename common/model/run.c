/* SPDX-License-Identifier: Apache-2.0 */
#include "model/run.h"

#include "base/str.h"
#include "base/timefmt.h"

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

const char *const run_shape_names[RUN_SHAPE_COUNT_] = {
	[RUN_SHAPE_UNKNOWN] = "unknown",
	[RUN_SHAPE_BOUNDED] = "bounded",
	[RUN_SHAPE_GROWING] = "growing",
};

static double rank_hours(const struct run *run)
{
	return (double)run->duration_ms / (double)TIME_HOUR_MS * MAX(run->ranks, 1);
}

double run_accelerator_hours(const struct run *run)
{
	return (double)run->accelerators_milli / 1000.0 * rank_hours(run);
}

double run_unused_gib_hours(const struct run *run)
{
	int64_t claimed_bytes = run->limit_bytes ? run->limit_bytes : run->request_bytes;
	int64_t spare_bytes = claimed_bytes - run_need_bytes(run);

	if (!claimed_bytes || !run->peak_bytes || spare_bytes <= 0)
		return 0;
	return (double)spare_bytes / (double)GIB * rank_hours(run);
}

enum {
	PARTS = 8,
	GROWTH_PERMILLE = 50, /* each quarter grows by at least this share of the peak, an eighth by half of it */
};

static bool is_growth(int64_t growth, int64_t top, int permille)
{
	return growth > 0 && (__int128)growth * 1000 >= (__int128)top * permille;
}

/* With quarters alone, a run of four phases, each flat and higher than the one before, would look like a leak. */
static bool grows_evenly(const int64_t tops[PARTS])
{
	int64_t least = INT64_MAX, most = 0, top = tops[PARTS - 1];
	int n_flat = 0;

	for (int i = 1; i < PARTS; i++)
		n_flat += !is_growth(tops[i] - tops[i - 1], top, GROWTH_PERMILLE / 2);
	for (int i = 3; i < PARTS; i += 2) {
		least = MIN(least, tops[i] - tops[i - 2]);
		most = MAX(most, tops[i] - tops[i - 2]);
	}
	return n_flat <= 1 && is_growth(least, top, GROWTH_PERMILLE) && most <= 2 * least;
}

/* Whether memory rises evenly until the end, without a plateau. Only a run that came to its end can be distinguished
 * from one that loads a data set. */
void run_judge_shape(struct run *run)
{
	int64_t tops[PARTS] = {0};

	if (run->n_curve < LIMIT_CURVE_POINTS_MIN)
		return;
	for (int i = 0; i < run->n_curve; i++) {
		int64_t *top = &tops[i * PARTS / run->n_curve];

		*top = MAX(*top, run->curve_mean[i]);
	}
	for (int i = 1; i < PARTS; i++)
		tops[i] = MAX(tops[i], tops[i - 1]);
	run->shape = grows_evenly(tops) ? RUN_SHAPE_GROWING : RUN_SHAPE_BOUNDED;
}

int64_t run_need_bytes(const struct run *run)
{
	int64_t uncached;

	if (!run->is_cache_bound)
		return run->peak_bytes;
	/* The working set is anonymous memory + active file + shm and kernel memory. The difference of the peaks
	 * includes shm, which rss does not. It may be too small, as the two peaks may be of different times. */
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

/* The last sample of a container can be more than a minute old when it is killed: the kubelet measures every 10 to 20
 * s, and most installations scrape every 30 or 60 s. Of a shorter run, too little was observed. */
bool run_is_far_below(int64_t samples, int64_t observed_ms, int64_t peak_bytes, int64_t limit_bytes)
{
	enum { OBSERVED_SAMPLES = 3, OBSERVED_MS = 3 * TIME_MINUTE_MS };

	return samples >= OBSERVED_SAMPLES && observed_ms >= OBSERVED_MS && peak_bytes < limit_bytes / 2;
}

/* Whether the last attempt may have been a good one: it completed, somebody stopped it, or its end is not known. */
static bool may_last_be_good(const struct run *run)
{
	switch (run->outcome) {
	case OUTCOME_RUNNING:
	case OUTCOME_UNKNOWN:
	case OUTCOME_COMPLETED:
	case OUTCOME_PREEMPTED:
	case OUTCOME_DELETED:
		return true;
	default:
		return false;
	}
}

bool run_is_killed_by_node(const struct run *run)
{
	return run->n_killed_limits == 1 && run->attempts - may_last_be_good(run) <= 1 && run->peak_bytes > 0 &&
	       run_is_far_below(run->samples / MAX(run->ranks, 1), run->duration_ms, run->peak_bytes,
				run_killed_limit_max(run));
}
