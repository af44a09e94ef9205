/* SPDX-License-Identifier: Apache-2.0 */
#include "runs/pod_table.h"

#include "base/limits.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>

enum {
	/* A pod that began so shortly before the window was perhaps not scraped before. */
	START_GRACE_MS = 10 * 60 * 1000,
	DEFAULT_STEP_MS = 30 * 1000,
	STEP_VOTES = 512,
};

int pod_text_set(char **text, const char *value)
{
	char *copy;

	if (*text && streq(*text, value))
		return 0;
	copy = strdup(value ? value : "");
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static void clear_labels(struct pod *self)
{
	for (size_t i = 0; i < self->labels.n; i++) {
		freep(&(char *){(char *)(uintptr_t)self->labels.items[i].key});
		freep(&(char *){(char *)(uintptr_t)self->labels.items[i].value});
	}
	self->labels.n = 0;
}

void pod_free(struct pod *self)
{
	if (!self)
		return;
	for (size_t i = 0; i < self->containers.n; i++) {
		free(self->containers.items[i].name);
		free(self->containers.items[i].image);
		sketch_release(&self->containers.items[i].usage);
	}
	vec_release(&self->containers);
	clear_labels(self);
	vec_release(&self->labels);
	free(self->namespace_name);
	free(self->name);
	free(self->uid);
	free(self->owner_kind);
	free(self->owner_name);
	free(self->root_kind);
	free(self->root_name);
	free(self->decision);
	free(self);
}

struct pod *pod_new(const char *namespace_name, const char *name, const char *uid)
{
	struct pod *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return NULL;
	r = pod_text_set(&self->namespace_name, namespace_name);
	r = r ? r : pod_text_set(&self->name, name);
	r = r ? r : pod_text_set(&self->uid, uid);
	r = r ? r : pod_text_set(&self->owner_kind, "");
	r = r ? r : pod_text_set(&self->owner_name, "");
	r = r ? r : pod_text_set(&self->root_kind, "");
	r = r ? r : pod_text_set(&self->root_name, "");
	r = r ? r : pod_text_set(&self->decision, "");
	if (!r)
		return self;
	pod_free(self);
	return NULL;
}

int pod_label_add(struct pod *self, const char *key, const char *value)
{
	struct k8s_label label = {strdup(key), strdup(value)};

	if (label.key && label.value && vec_push(&self->labels, label) == 0)
		return 0;
	freep(&(char *){(char *)(uintptr_t)label.key});
	freep(&(char *){(char *)(uintptr_t)label.value});
	return -ENOMEM;
}

void pod_table_release(struct pod_table *self)
{
	for (size_t i = 0; i < self->pods.n; i++)
		pod_free(self->pods.items[i]);
	for (size_t i = 0; i < self->keys.n; i++)
		free(self->keys.items[i]);
	vec_release(&self->pods);
	vec_release(&self->keys);
	strmap_release(&self->by_id);
	*self = (struct pod_table)POD_TABLE_INIT;
}

static char *key_of(const char *namespace_name, const char *name, const char *uid)
{
	struct strbuf key = STRBUF_INIT((size_t)4 * LIMIT_NAME_BYTES);

	strbuf_addf(&key, "%s/%s/%s", namespace_name, name, uid);
	return strbuf_detach(&key);
}

int pod_table_add(struct pod_table *self, struct pod *take_pod)
{
	char *key = key_of(take_pod->namespace_name, take_pod->name, take_pod->uid);

	if (!key || vec_push(&self->keys, key)) {
		free(key);
		pod_free(take_pod);
		return -ENOMEM;
	}
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what it holds */
	if (vec_push(&self->pods, take_pod)) {
		pod_free(take_pod);
		return -ENOMEM;
	}
	return strmap_put(&self->by_id, key, take_pod);
}

int pod_table_filter(struct pod_table *self, const bool *keep)
{
	struct pod_table kept = {.step_ms = self->step_ms, .is_step_fixed = self->is_step_fixed};
	int r = 0;

	for (size_t i = 0; i < self->pods.n && !r; i++)
		if (keep[i])
			r = pod_table_add(&kept, TAKE_PTR(self->pods.items[i]));
	pod_table_release(self);
	*self = kept;
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

/* The scrape interval by the middle vote: the fullest hour of long runs, duration by samples of short ones. */
static int64_t measure_step(const struct evidence_batch *batch)
{
	int64_t votes[STEP_VOTES];
	size_t n = 0;

	for (size_t i = 0; i < batch->pods.n; i++) {
		const struct evidence_pod *pod = batch->pods.items[i];
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

/* A ladder of quantiles as weights between them: each rung stands for half of the way to its neighbours. */
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
	container->median_bytes = usage->ladder_bytes[EVIDENCE_LADDER_MEDIAN];
	container->p95_bytes = usage->ladder_bytes[EVIDENCE_LADDER_P95];
	container->n_parts++;
	return add_ladder(&container->usage, usage, usage->samples * step_ms);
}

static int container_put(struct pod *pod, const char *name, struct pod_container **ret)
{
	struct pod_container container = {.name = NULL};

	for (size_t i = 0; i < pod->containers.n; i++)
		if (streq(pod->containers.items[i].name, name)) {
			*ret = &pod->containers.items[i];
			return 0;
		}
	if (pod_text_set(&container.name, name) || pod_text_set(&container.image, "") ||
	    vec_push(&pod->containers, container)) {
		free(container.name);
		free(container.image);
		return -ENOMEM;
	}
	*ret = &pod->containers.items[pod->containers.n - 1];
	return 0;
}

/* What the newer window says wins where it says anything. */
static void merge_figure(int64_t *figure, int64_t newer)
{
	if (newer)
		*figure = newer;
}

static int merge_container(const struct pod_table *table, struct pod *pod, const struct evidence_container *from)
{
	struct pod_container *to;
	int r = container_put(pod, from->name, &to);

	if (!r && *from->image)
		r = pod_text_set(&to->image, from->image);
	if (r)
		return r;
	merge_figure(&to->limit_bytes, from->limit_bytes);
	merge_figure(&to->request_bytes, from->request_bytes);
	merge_figure(&to->ephemeral_limit_bytes, from->ephemeral_limit_bytes);
	merge_figure(&to->ephemeral_request_bytes, from->ephemeral_request_bytes);
	merge_figure(&to->accelerators_milli, from->accelerators_milli);
	to->ends |= from->ends;
	to->restarts = MAX(to->restarts, from->restarts);
	for (int i = 0; i < from->n_killed_limits; i++)
		run_add_killed_limit(to->killed_limits, &to->n_killed_limits, from->killed_limits[i]);
	for (size_t i = 0; i < from->usage.n && !r; i++)
		r = merge_usage(table, to, &from->usage.items[i]);
	return r;
}

/* Labels tell what workload a pod is of. Those that were told first stay, but what the API server itself tells is all
 * that there are. */
static int merge_labels(struct pod *to, const struct evidence_pod *from)
{
	int r = 0;

	if (from->is_watched)
		clear_labels(to);
	if (to->labels.n)
		return 0;
	for (size_t i = 0; i < from->labels.n && !r; i++)
		r = pod_label_add(to, from->labels.items[i].key, from->labels.items[i].value);
	return r;
}

static int merge_names(struct pod *to, const struct evidence_pod *from)
{
	int r = 0;

	if (*from->owner_kind) {
		r = pod_text_set(&to->owner_kind, from->owner_kind);
		r = r ? r : pod_text_set(&to->owner_name, from->owner_name);
	}
	if (!r && *from->root_kind) {
		r = pod_text_set(&to->root_kind, from->root_kind);
		r = r ? r : pod_text_set(&to->root_name, from->root_name);
	}
	if (!r && *from->decision)
		r = pod_text_set(&to->decision, from->decision);
	return r ? r : merge_labels(to, from);
}

/* Adds up over windows, as samples of memory do. */
static void merge_activity(struct pod *to, const struct evidence_pod *from)
{
	if (from->activity_sum < 0 || from->activity_samples <= 0)
		return;
	to->activity_sum += from->activity_sum;
	to->activity_samples += from->activity_samples;
}

static int merge_pod(const struct pod_table *table, struct pod *to, const struct evidence_pod *from, bool is_partial)
{
	int r = merge_names(to, from);

	merge_figure(&to->start_ms, from->start_ms);
	merge_figure(&to->completion_ms, from->completion_ms);
	merge_figure(&to->pending_ms, from->pending_ms);
	merge_figure(&to->memory_wait_ms, from->memory_wait_ms);
	to->peak_ephemeral_bytes = MAX(to->peak_ephemeral_bytes, from->peak_ephemeral_bytes);
	merge_activity(to, from);
	to->ends |= from->ends;
	to->is_alive = from->is_alive;
	to->is_partial |= is_partial;
	to->is_watched |= from->is_watched;
	for (size_t i = 0; i < from->containers.n && !r; i++)
		r = merge_container(table, to, &from->containers.items[i]);
	return r;
}

static bool has_samples(const struct evidence_pod *pod)
{
	for (size_t i = 0; i < pod->containers.n; i++)
		for (size_t k = 0; k < pod->containers.items[i].usage.n; k++)
			if (pod->containers.items[i].usage.items[k].samples > 0)
				return true;
	return false;
}

static bool is_news(const struct evidence_pod *pod, const struct evidence_window *window)
{
	return has_samples(pod) || pod->is_watched ||
	       (pod->start_ms && pod->start_ms >= window->start_ms - START_GRACE_MS);
}

static int find_or_add(struct pod_table *self, const struct evidence_pod *from, const struct evidence_window *window,
		       struct pod **ret)
{
	CLEANUP(freep) char *key = key_of(from->namespace_name, from->name, from->uid);
	struct pod *pod;

	*ret = key ? strmap_get(&self->by_id, key) : NULL;
	if (*ret || (key && !is_news(from, window)))
		return 0;
	pod = key ? pod_new(from->namespace_name, from->name, from->uid) : NULL;
	if (!pod)
		return -ENOMEM;
	/* One that waits for a node begins when it was made. */
	pod->seen_from_ms = from->is_watched ? window->end_ms - from->pending_ms : window->start_ms;
	*ret = pod;
	return pod_table_add(self, pod);
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
