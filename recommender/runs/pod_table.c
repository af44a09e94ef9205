/* SPDX-License-Identifier: Apache-2.0 */
#include "runs/pod_table.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	/* A pod that began this shortly before the window may not have been scraped before. */
	START_GRACE_MS = 10 * 60 * 1000,
	DEFAULT_STEP_MS = 30 * 1000,
	STEP_VOTES = 512,
};

void pod_table_release(struct pod_table *self)
{
	pod_set_release(&self->pods);
	*self = (struct pod_table)POD_TABLE_INIT;
}

/* Kept pods move to a set of their own, so that the memory of the others is freed. */
int pod_table_filter(struct pod_table *self, const bool *keep)
{
	struct pod_set kept = POD_SET_INIT(LIMIT_POD_TABLE_BYTES);
	int r = 0;

	for (size_t i = 0; i < self->pods.n && !r; i++) {
		struct pod *from = self->pods.items[i];
		struct pod *to = keep[i] ? pod_set_add(&kept, from->namespace_name, from->name, from->uid) : NULL;

		if (to) {
			*to = *from;
			self->pods.items[i] = NULL;
		}
		r = !keep[i] ? 0 : to ? pod_set_own_texts(&kept, to) : -ENOMEM;
	}
	pod_set_release(&self->pods);
	self->pods = kept;
	return r;
}

int64_t pod_begin_ms(const struct pod *self)
{
	int64_t first_ms = self->start_ms;

	for (size_t i = 0; i < self->containers.n && !self->start_ms; i++) {
		int64_t ms = self->containers.items[i].first_ms;

		if (ms && (!first_ms || ms < first_ms))
			first_ms = ms;
	}
	return first_ms ? first_ms : self->seen_from_ms;
}

int64_t pod_last_ms(const struct pod *self)
{
	int64_t last_ms = pod_begin_ms(self);

	for (size_t i = 0; i < self->containers.n; i++)
		last_ms = MAX(last_ms, self->containers.items[i].last_ms);
	return last_ms;
}

static int compare_steps(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Measures the scrape interval as the median of estimates: one hour divided by the samples of the fullest hour of long
 * runs, or duration divided by samples of short runs. */
static int64_t measure_step(const struct evidence_batch *batch)
{
	int64_t votes[STEP_VOTES];
	size_t n = 0;

	for (size_t i = 0; i < batch->pods.n; i++) {
		const struct pod *pod = batch->pods.items[i];
		int64_t duration_ms = pod->completion_ms - pod->start_ms;
		bool is_within = pod->start_ms >= batch->window.start_ms && duration_ms > 0;

		for (size_t k = 0; k < pod->containers.n && n < STEP_VOTES; k++) {
			const struct evidence_usage *usage = pod->containers.items[k].usage.items;

			if (pod->containers.items[k].usage.n != 1)
				continue;
			if (usage->hour_samples > 0 && !usage->is_coarse)
				votes[n++] = TIME_HOUR_MS / usage->hour_samples;
			else if (is_within && usage->samples >= 3)
				votes[n++] = duration_ms / usage->samples;
		}
	}
	qsort(votes, n, sizeof(*votes), compare_steps);
	return n > 0 ? MAX(votes[n / 2], 1) : 0;
}

/* Adds a ladder of quantiles to a sketch. Each rung has the weight of half the distance to its neighbours. */
static int add_ladder(struct sketch *sketch, const struct evidence_usage *usage, int64_t weight_ms)
{
	int low = 0;

	for (int i = 0; i < EVIDENCE_LADDER; i++) {
		int rung = evidence_ladder_permille[i];
		int high = i + 1 < EVIDENCE_LADDER ? (rung + evidence_ladder_permille[i + 1]) / 2 : (rung + 1000) / 2;
		int r = sketch_add(sketch, usage->ladder_bytes[i], MAX(weight_ms * (high - low) / 1000, 1));

		if (r)
			return r;
		low = high;
	}
	return sketch_add(sketch, usage->peak_bytes, MAX(weight_ms * (1000 - low) / 1000, 1));
}

static int merge_usage(const struct pod_table *table, struct pod_container *container,
		       const struct evidence_usage *usage)
{
	int64_t step_ms = table->step_ms ? table->step_ms : DEFAULT_STEP_MS;

	container->peak_bytes = MAX(container->peak_bytes, usage->peak_bytes);
	container->peak_rss_bytes = MAX(container->peak_rss_bytes, usage->peak_rss_bytes);
	container->peak_active_file_bytes = MAX(container->peak_active_file_bytes, usage->peak_active_file_bytes);
	container->is_doubtful |= usage->is_doubtful;
	if (!usage->samples)
		return 0;
	if (!table->is_step_fixed && usage->hour_samples > 0 && !usage->is_coarse)
		container->step_ms = step_ms = TIME_HOUR_MS / usage->hour_samples;
	container->samples += usage->samples;
	container->covered_ms += usage->samples * step_ms;
	if (!container->first_ms || usage->first_ms < container->first_ms) {
		container->first_ms = usage->first_ms;
		container->is_first_coarse = usage->is_coarse;
	}
	if (usage->last_ms >= container->last_ms) {
		container->last_ms = usage->last_ms;
		container->is_last_coarse = usage->is_coarse;
	}
	if (usage->ladder_seen != (1u << EVIDENCE_LADDER) - 1)
		return 0;
	container->n_parts++;
	container->median_bytes = container->n_parts == 1 ? usage->ladder_bytes[EVIDENCE_LADDER_MEDIAN] : 0;
	container->p95_bytes = container->n_parts == 1 ? usage->ladder_bytes[EVIDENCE_LADDER_P95] : 0;
	return add_ladder(&container->sketch, usage, usage->samples * step_ms);
}

static int merge_container(struct pod_table *table, struct pod *pod, const struct pod_container *from)
{
	struct pod_container *to = pod_container_put(&table->pods, pod, from->name);
	const char *image = pod_set_text(&table->pods, from->image);
	int r = 0;

	if (!to || !image)
		return -ENOMEM;
	to->image = *image ? image : to->image;
	pod_numbers_merge(pod_container_numbers, POD_CONTAINER_NUMBERS, to, from);
	gpu_memory_raise(&to->gpu, &from->gpu);
	to->ends |= from->ends;
	to->restarts = MAX(to->restarts, from->restarts);
	for (int i = 0; i < from->n_killed_limits; i++)
		run_add_killed_limit(to->killed_limits, &to->n_killed_limits, from->killed_limits[i]);
	for (size_t i = 0; i < from->usage.n && !r; i++)
		r = merge_usage(table, to, &from->usage.items[i]);
	return r;
}

/* A text replaces the older one, unless it is "". Labels identify the workload. The first ones are kept, but labels
 * from the API server are complete and replace them. */
static int merge_texts(struct pod_table *table, struct pod *to, struct pod *from)
{
	int r = 0;

	for (size_t i = POD_TEXTS_OF_ID; i < POD_TEXTS; i++)
		if (**pod_text_of(from, i))
			*pod_text_of(to, i) = *pod_text_of(from, i);
	if (from->is_watched)
		to->labels.n = 0;
	for (size_t i = 0, n = to->labels.n ? 0 : from->labels.n; i < n && !r; i++)
		r = vec_push(&to->labels, from->labels.items[i]);
	return r ? r : pod_set_own_texts(&table->pods, to);
}

/* Sums over windows, as for samples of memory. */
static void merge_activity(struct pod *to, const struct pod *from)
{
	if (from->activity_sum < 0 || from->activity_samples <= 0)
		return;
	to->activity_sum += from->activity_sum;
	to->activity_samples += from->activity_samples;
}

static int merge_pod(struct pod_table *table, struct pod *to, struct pod *from, bool is_partial)
{
	int r = merge_texts(table, to, from);

	pod_numbers_merge(pod_numbers, POD_NUMBERS, to, from);
	merge_activity(to, from);
	to->ends |= from->ends;
	to->is_alive = from->is_alive;
	to->is_partial |= is_partial;
	to->is_watched |= from->is_watched;
	for (size_t i = 0; i < from->containers.n && !r; i++)
		r = merge_container(table, to, &from->containers.items[i]);
	return r;
}

static bool has_samples(const struct pod *pod)
{
	for (size_t i = 0; i < pod->containers.n; i++)
		for (size_t k = 0; k < pod->containers.items[i].usage.n; k++)
			if (pod->containers.items[i].usage.items[k].samples > 0)
				return true;
	return false;
}

static bool is_news(const struct pod *pod, const struct evidence_window *window)
{
	return has_samples(pod) || pod->is_watched ||
	       (pod->start_ms && pod->start_ms >= window->start_ms - START_GRACE_MS);
}

static int find_or_add(struct pod_table *self, const struct pod *from, const struct evidence_window *window,
		       struct pod **ret)
{
	char uid[9] = "";

	/* Only pods of the same name are told apart by it, so a hash is enough. */
	if (*from->uid)
		snprintf(uid, sizeof(uid), "%08x", (unsigned int)hash_stable_text(HASH_STABLE_INIT, from->uid));
	*ret = pod_set_find(&self->pods, from->namespace_name, from->name, uid);
	if (*ret || !is_news(from, window))
		return 0;
	*ret = pod_set_add(&self->pods, from->namespace_name, from->name, uid);
	if (!*ret)
		return -ENOMEM;
	/* a pod without a node begins with its creation */
	(*ret)->seen_from_ms = from->is_watched ? window->end_ms - from->pending_ms : window->start_ms;
	return 0;
}

int pod_table_merge(struct pod_table *self, const struct evidence_batch *batch, struct err *err)
{
	int64_t measured_ms = self->is_step_fixed ? 0 : measure_step(batch);
	int r = 0;

	if (measured_ms)
		self->step_ms = measured_ms;
	for (size_t i = 0; i < batch->pods.n && !r; i++) {
		struct pod *pod = NULL;

		if (!batch->pods.items[i]->is_training)
			continue;
		r = find_or_add(self, batch->pods.items[i], &batch->window, &pod);
		if (!r && pod)
			r = merge_pod(self, pod, batch->pods.items[i], batch->is_partial);
	}
	return r ? err_set(err, r, "no memory left for %zu pods", self->pods.n) : 0;
}
