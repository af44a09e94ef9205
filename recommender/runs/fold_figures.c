/* SPDX-License-Identifier: Apache-2.0 */
/* fold_figures: how the figures of pods become those of a run, and to which part of a run they belong when the run is
 * found again. A new figure is a field of struct run, a row of its codec, and its lines here. */
#include "runs/fold_internal.h"

#include <stddef.h>
#include <string.h>

enum { ALL_PERMILLE = 1000 };

/* ---- of pods ---- */

/* The limit may have been raised since the kill, so recorded killed limits have precedence. */
static void add_killed_limits(struct run *run, const struct pod_container *container)
{
	int64_t limit = container->limit_bytes ? container->limit_bytes : -1;

	for (int i = 0; i < container->n_killed_limits; i++)
		run_add_killed_limit(run->killed_limits, &run->n_killed_limits, container->killed_limits[i]);
	if (!container->n_killed_limits && container->ends & (END_OOM_KILLED | END_OOM_RESTARTED))
		run_add_killed_limit(run->killed_limits, &run->n_killed_limits, limit);
}

/* The activity of accelerators is the mean over all samples, so that a long attempt counts for more than a short one,
 * and a pod with eight devices for more than one with two. */
static void add_activity(struct found_run *found, const struct pod *pod)
{
	int64_t samples;

	if (pod->activity_samples <= 0)
		return;
	found->activity_sum += pod->activity_sum;
	samples = found->activity_samples += pod->activity_samples;
	found->run.activity_permille = (int32_t)MIN((found->activity_sum + samples / 2) / samples, ALL_PERMILLE);
}

void fold_add_figures(struct found_run *found, const struct pod *pod, const struct pod_container *container)
{
	struct run *run = &found->run;

	run->peak_bytes = MAX(run->peak_bytes, container->peak_bytes);
	run->peak_rss_bytes = MAX(run->peak_rss_bytes, container->peak_rss_bytes);
	run->peak_active_file_bytes = MAX(run->peak_active_file_bytes, container->peak_active_file_bytes);
	run->peak_ephemeral_bytes = MAX(run->peak_ephemeral_bytes, pod->peak_ephemeral_bytes);
	/* The kubelet has measured more than the limit, even if no sample did. */
	if (pod->ends & END_DISK_LIMIT)
		run->peak_ephemeral_bytes = MAX(run->peak_ephemeral_bytes, container->ephemeral_limit_bytes);
	run->pending_ms = MAX(run->pending_ms, pod->pending_ms);
	gpu_memory_raise(&run->gpu, &container->gpu);
	run->samples += container->samples;
	add_killed_limits(run, container);
	add_activity(found, pod);
}

void fold_add_last_figures(struct run *run, const struct pod_container *container)
{
	run->limit_bytes = container->limit_bytes;
	run->request_bytes = container->request_bytes;
	run->accelerators_milli = container->accelerators_milli;
	if (run->ranks == 1 || container->peak_bytes < run->min_rank_peak_bytes)
		run->min_rank_peak_bytes = container->peak_bytes;
	run->is_cache_bound |= container_is_cache_bound(container);
	if (!container->n_parts)
		return;
	run->median_bytes = container->median_bytes;
	run->p95_bytes = container->p95_bytes;
}

/* ---- of findings ---- */

struct figure {
	enum run_part part;
	size_t offset, size;
};

#define FIGURE(part, member)                                                                                           \
	{                                                                                                              \
		part, offsetof(struct run, member), sizeof(((struct run *)NULL)->member)                               \
	}

/* Figures that are not listed are those of the newest finding, or are merged by engine/learn_merge.c. */
static const struct figure figures[] = {
	FIGURE(RUN_PART_MAXIMA, peak_bytes),
	FIGURE(RUN_PART_MAXIMA, peak_rss_bytes),
	FIGURE(RUN_PART_MAXIMA, peak_active_file_bytes),
	FIGURE(RUN_PART_MAXIMA, peak_ephemeral_bytes),
	FIGURE(RUN_PART_MAXIMA, pending_ms),
	FIGURE(RUN_PART_USE, median_bytes),
	FIGURE(RUN_PART_USE, p95_bytes),
	FIGURE(RUN_PART_USE, min_rank_peak_bytes),
	FIGURE(RUN_PART_USE, is_cache_bound),
	FIGURE(RUN_PART_USE, is_quantile_exact),
	FIGURE(RUN_PART_USE, samples),
	FIGURE(RUN_PART_USE, activity_permille),
	FIGURE(RUN_PART_CHOICE, request_bytes),
	FIGURE(RUN_PART_CHOICE, limit_bytes),
	FIGURE(RUN_PART_CHOICE, chosen_by),
	FIGURE(RUN_PART_CHOICE, mode),
	FIGURE(RUN_PART_CHOICE, revision),
	FIGURE(RUN_PART_CHOICE, own_request_bytes),
	FIGURE(RUN_PART_CHOICE, own_limit_bytes),
	FIGURE(RUN_PART_END, outcome),
	FIGURE(RUN_PART_END, duration_ms),
	FIGURE(RUN_PART_END, killed_limits),
	FIGURE(RUN_PART_END, n_killed_limits),
	FIGURE(RUN_PART_CURVE, shape),
	FIGURE(RUN_PART_CURVE, n_curve),
	FIGURE(RUN_PART_CURVE, curve_max),
	FIGURE(RUN_PART_CURVE, curve_mean),
};

static int64_t number_at(const struct run *run, const struct figure *figure)
{
	return *(const int64_t *)(const void *)((const char *)run + figure->offset);
}

void run_take_part(struct run *run, const struct run *other, enum run_part part)
{
	for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
		const struct figure *figure = &figures[i];

		if (figure->part == part &&
		    (part != RUN_PART_MAXIMA || number_at(other, figure) > number_at(run, figure)))
			memcpy((char *)run + figure->offset, (const char *)other + figure->offset, figure->size);
	}
}
