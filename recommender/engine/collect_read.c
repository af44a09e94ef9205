/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/collect_read.h"

#include "base/limits.h"
#include "base/log.h"
#include "engine/collect_gaps.h"
#include "engine/collect_parts.h"
#include "engine/collect_warnings.h"

#include <errno.h>

/* Each time that so many parts of one window have failed, the smallest part that is asked for is twice as long. After
 * MAX_FAILURES, what fails of the rest is not split any further. */
enum { FAILURES = 16, MAX_FAILURES = 8 * FAILURES };

/* A read in progress: where its results go. */
struct reading {
	struct collect *collect;
	bool is_partial;
	int n_failed, n_unread; /* parts that failed; those of them that are not passed yet */
	bool is_down;		/* Prometheus does not answer small queries either */
	struct err why;		/* the error of the first unread part */
};

static int read_part(struct reading *self, const struct evidence_window *window, const char *const *namespaces,
		     size_t n, struct err *err);

/* A part failed and is not split any further. If Prometheus answers other queries, reading goes on without it. */
static int pass_part(struct reading *self, const struct evidence_window *window,
		     const struct collect_namespaces *namespaces, struct err *err)
{
	int r = self->n_failed % FAILURES == 0 ? collect_check_answered(self->collect, err) : 0;

	self->is_down |= r == EVIDENCE_UNREACHABLE;
	if (r)
		return r;
	self->n_failed++;
	if (!collect_note_gap(self->collect, window, namespaces, err ? err->msg : "") && self->n_unread++ == 0 && err)
		self->why = *err;
	return 0;
}

static bool is_smallest(const struct reading *self, const struct evidence_window *window)
{
	return window->end_ms - window->start_ms <= COLLECT_SPLIT_UNTIL_MS << (self->n_failed / FAILURES);
}

/* Reads a window before, in (if wanted) and after a gap. */
static int read_beside(struct reading *self, const struct gap *gap, bool with_gap, const struct evidence_window *window,
		       const struct collect_namespaces *namespaces, struct err *err)
{
	const int64_t bounds_ms[] = {window->start_ms, MAX(gap->start_ms, window->start_ms),
				     MIN(gap->end_ms, window->end_ms), window->end_ms};
	int r = 0;

	for (size_t i = 0; i + 1 < ARRAY_LEN(bounds_ms) && !r; i++) {
		const struct evidence_window part = {.start_ms = bounds_ms[i],
						     .end_ms = bounds_ms[i + 1],
						     .is_open = window->is_open && bounds_ms[i + 1] == window->end_ms};

		if (part.start_ms < part.end_ms && (i != 1 || with_gap))
			r = read_part(self, &part, namespaces->items, namespaces->n, err);
	}
	return r;
}

static int read_halves(struct reading *self, const struct evidence_window *window, const char *const *namespaces,
		       size_t n, struct err *err)
{
	const struct collect_namespaces some = {namespaces, n}, all = collect_namespaces_of(self->collect, &some);
	const struct gap *failed = collect_find_failed(self->collect, window);
	struct evidence_window early = *window, late = *window;
	int r;

	if (failed && (failed->start_ms > window->start_ms || failed->end_ms < window->end_ms)) {
		const struct gap gap = *failed; /* reading may move the list */

		return read_beside(self, &gap, true, window, &some, err);
	}
	if (failed || self->n_failed >= MAX_FAILURES || (all.n <= 1 && is_smallest(self, window)))
		return pass_part(self, window, &some, err);
	if (all.n > 1) {
		r = read_part(self, window, all.items, all.n / 2, err);
		return r ? r : read_part(self, window, all.items + all.n / 2, all.n - all.n / 2, err);
	}
	early.end_ms = late.start_ms = window->start_ms + (window->end_ms - window->start_ms) / 2;
	early.is_open = false;
	r = read_part(self, &early, namespaces, n, err);
	return r ? r : read_part(self, &late, namespaces, n, err);
}

/* Reads the namespaces without that of the gap, and then that of the gap. */
static int read_apart(struct reading *self, const struct gap *gap, const struct evidence_window *window,
		      const struct collect_namespaces *all, struct err *err)
{
	const char *const own[] = {gap->namespace_name};
	VEC(const char *) others = VEC_INIT;
	int r = 0;

	for (size_t i = 0; i < all->n && !r; i++)
		if (!streq(all->items[i], gap->namespace_name))
			r = vec_push(&others, all->items[i]);
	r = r ? err_set(err, -ENOMEM, "no memory left for namespaces")
	      : read_part(self, window, (const char *const *)others.items, others.n, err);
	vec_release(&others);
	return r ? r : read_part(self, window, own, 1, err);
}

/* Reads what a passed gap leaves of a window. */
static int read_around(struct reading *self, const struct gap *found, const struct evidence_window *window,
		       const struct collect_namespaces *namespaces, struct err *err)
{
	const struct collect_namespaces all = collect_namespaces_of(self->collect, namespaces);
	const struct gap gap = *found; /* reading may move the list */

	if (*gap.namespace_name && all.n > 1)
		return read_apart(self, &gap, window, &all, err);
	return read_beside(self, &gap, false, window, namespaces, err);
}

/* Logs the first pod of which containers were left out. */
static void log_overfull(struct collect *self, const struct pod *pod)
{
	if (!pod || self->has_overfull)
		return;
	self->has_overfull = true;
	log_event(LOG_WARN, "a pod has too many containers; those beyond the limit are left out", "namespace",
		  pod->namespace_name, "pod", pod->name, "limit", log_i64(LIMIT_POD_CONTAINERS), NULL);
}

static struct split_part part_of(const struct reading *self, const struct evidence_window *window,
				 const char *const *namespaces, size_t n)
{
	const struct collect_namespaces all = collect_namespaces_of(self->collect,
								    &(struct collect_namespaces){namespaces, n});

	return (struct split_part){.start_ms = window->start_ms,
				   .length_ms = window->end_ms - window->start_ms,
				   .first = all.n ? all.items[0] : "",
				   .n = all.n};
}

/* Whether parts of this size were refused. The smallest parts are always asked for. */
static bool is_known_heavy(const struct reading *self, const struct evidence_window *window,
			   const struct split_part *part)
{
	return self->collect->split && self->n_failed < MAX_FAILURES && (part->n > 1 || !is_smallest(self, window)) &&
	       split_is_heavy(self->collect->split, part);
}

static void note_size(const struct reading *self, const struct split_part *part, int status)
{
	struct split *split = self->collect->split;

	if (split && status == 0)
		split_note_answer(split, part);
	if (split && status == EVIDENCE_TOO_HEAVY)
		split_note_refusal(split, part, self->collect->now_ms);
}

static int read_part(struct reading *self, const struct evidence_window *window, const char *const *namespaces,
		     size_t n, struct err *err)
{
	const struct collect_namespaces some = {namespaces, n};
	const struct split_part part = part_of(self, window, namespaces, n);
	struct collect *collect = self->collect;
	const struct gap *gap = collect_find_gap(collect, window, &some);
	struct evidence_batch batch;
	int r;

	if (gap)
		return read_around(self, gap, window, &some, err);
	if (is_known_heavy(self, window, &part))
		return read_halves(self, window, namespaces, n, err);
	evidence_batch_init(&batch, window);
	r = evidence_join(&batch, &collect->watched, namespaces, n);
	if (r)
		err_set(err, r, "no memory left for watched pods");
	r = r ? r : collect->reader->read(collect->reader, namespaces, n, &batch, err);
	r = collect_result(r, &batch);
	note_size(self, &part, r);
	if (!r) {
		collect_note_answer(collect, &batch);
		r = pod_table_merge(&collect->table, &batch, err);
		self->is_partial |= batch.is_partial;
		log_overfull(collect, batch.pods.overfull);
		collect->done.n_series += batch.n_series;
		collect->done.n_samples += batch.n_samples;
	}
	evidence_batch_release(&batch);
	if (collect->between)
		collect->between(collect->between_context);
	return r == EVIDENCE_TOO_HEAVY ? read_halves(self, window, namespaces, n, err) : r;
}

int collect_read(struct collect *self, const struct evidence_window *window, bool *ret_is_partial, struct err *err)
{
	struct reading reading = {.collect = self};
	int r = read_part(&reading, window, NULL, 0, err);

	self->is_partial |= reading.is_partial;
	if (r && !reading.is_down)
		collect_note_stuck(self, window, r, err ? err->msg : "");
	if (r)
		return r;
	collect_note_read(self, window);
	self->has_changed_state |= gaps_settle(&self->state.gaps, window->start_ms, window->end_ms, self->now_ms);
	collect_mark_gaps(self);
	*ret_is_partial = reading.is_partial;
	if (reading.n_unread && err)
		*err = reading.why;
	return reading.n_unread ? EVIDENCE_TOO_HEAVY : 0;
}
