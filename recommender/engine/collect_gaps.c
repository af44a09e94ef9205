/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/collect_gaps.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	RETRIES = 4,	  /* gaps that one cycle asks for again */
	RETRY_READS = 32, /* for one gap, and RETRY_READS_EACH for each of its namespaces */
	RETRY_READS_EACH = 2,
};

struct collect_namespaces collect_namespaces_of(const struct collect *self, const struct collect_namespaces *namespaces)
{
	return namespaces->n ? *namespaces
			     : (struct collect_namespaces){self->reader->namespaces, self->reader->n_namespaces};
}

int collect_result(int r, const struct evidence_batch *batch)
{
	return r == -E2BIG || (r == -ENOMEM && batch->pods.arena.is_full) ? EVIDENCE_TOO_HEAVY : r;
}

static bool concerns(const struct collect *self, const struct gap *gap, const struct collect_namespaces *namespaces)
{
	const struct collect_namespaces all = collect_namespaces_of(self, namespaces);

	for (size_t i = 0; i < all.n; i++)
		if (gap_has_namespace(gap, all.items[i]))
			return true;
	return !*gap->namespace_name;
}

const struct gap *collect_find_gap(const struct collect *self, const struct evidence_window *window,
				   const struct collect_namespaces *namespaces)
{
	for (size_t i = 0; i < self->state.gaps.n; i++) {
		const struct gap *gap = &self->state.gaps.items[i];

		if (gap_is_passed(gap) && gap->start_ms < window->end_ms && window->start_ms < gap->end_ms &&
		    concerns(self, gap, namespaces))
			return gap;
	}
	return NULL;
}

const struct gap *collect_find_failed(const struct collect *self, const struct evidence_window *window)
{
	for (size_t i = 0; i < self->state.gaps.n; i++) {
		const struct gap *gap = &self->state.gaps.items[i];

		if (!*gap->namespace_name && gap->tried_ms == self->now_ms && gap->start_ms < window->end_ms &&
		    window->start_ms < gap->end_ms)
			return gap;
	}
	return NULL;
}

/* Reads a window and discards the answer. */
static int try_read(struct collect *self, const struct evidence_window *window,
		    const struct collect_namespaces *namespaces, struct err *err)
{
	struct evidence_batch batch;
	int r;

	evidence_batch_init(&batch, window);
	r = self->reader->read(self->reader, namespaces->n ? namespaces->items : NULL, namespaces->n, &batch, err);
	r = collect_result(r, &batch);
	evidence_batch_release(&batch);
	if (self->between)
		self->between(self->between_context);
	return r;
}

/* Whether all of a window is answered, in as many parts as it takes and `left` reads. */
static bool is_readable(struct collect *self, const struct evidence_window *window,
			const struct collect_namespaces *namespaces, size_t *left)
{
	const struct collect_namespaces first = {namespaces->items, namespaces->n / 2};
	const struct collect_namespaces others = {namespaces->items + first.n, namespaces->n - first.n};
	struct evidence_window early = *window, late = *window;
	int r = EVIDENCE_TOO_HEAVY;

	if (*left == 0)
		return false;
	if (window->end_ms - window->start_ms <= TIME_DAY_MS) {
		--*left;
		r = try_read(self, window, namespaces, NULL);
	}
	if (r != EVIDENCE_TOO_HEAVY)
		return r == 0;
	if (namespaces->n > 1)
		return is_readable(self, window, &first, left) && is_readable(self, window, &others, left);
	if (window->end_ms - window->start_ms <= COLLECT_SPLIT_UNTIL_MS)
		return false;
	early.end_ms = late.start_ms = window->start_ms + (window->end_ms - window->start_ms) / 2;
	return is_readable(self, &early, namespaces, left) && is_readable(self, &late, namespaces, left);
}

/* Two namespaces are tried, as one of them may be too large for any query. */
int collect_check_answered(struct collect *self, struct err *err)
{
	const struct evidence_window window = {.start_ms = self->now_ms - COLLECT_SPLIT_UNTIL_MS,
					       .end_ms = self->now_ms};
	const struct collect_namespaces all = collect_namespaces_of(self, &(struct collect_namespaces){.n = 0});
	const struct collect_namespaces first = {all.items, MIN(all.n, 1)},
					last = {all.items + all.n - first.n, first.n};
	struct err why = ERR_INIT;
	int r = try_read(self, &window, &first, &why);

	if (r && r != EVIDENCE_STOPPED && all.n > 1)
		r = try_read(self, &window, &last, &why);
	if (r == EVIDENCE_STOPPED && err)
		*err = why;
	return r == 0 || r == EVIDENCE_STOPPED ? r : EVIDENCE_UNREACHABLE;
}

static void log_passed(const struct gap *gap)
{
	char from[TIME_TEXT_BYTES], to[TIME_TEXT_BYTES];

	log_event(LOG_WARN,
		  "Prometheus could not answer about a window in several cycles; learning continues without it, and it "
		  "is asked again later",
		  "from", time_render(gap->start_ms, from), "to", time_render(gap->end_ms, to), "namespace",
		  *gap->namespace_name ? gap->namespace_name : "(all)", "error", gap->why, NULL);
}

bool collect_note_gap(struct collect *self, const struct evidence_window *window,
		      const struct collect_namespaces *namespaces, const char *why)
{
	struct gap failed = {.start_ms = window->start_ms,
			     .end_ms = window->end_ms,
			     .open_from_ms = MIN(self->state.open_from_ms, window->start_ms),
			     .tried_ms = self->now_ms};
	const struct collect_namespaces all = collect_namespaces_of(self, namespaces);
	size_t before = gaps_passed(&self->state.gaps);
	const struct gap *gap;

	snprintf(failed.namespace_name, sizeof(failed.namespace_name), "%s", all.n == 1 ? all.items[0] : "");
	snprintf(failed.why, sizeof(failed.why), "%s", why);
	gap = gaps_note(&self->state.gaps, &failed);
	self->has_changed_state = true;
	if (gaps_passed(&self->state.gaps) > before)
		log_passed(gap);
	return gap_is_passed(gap);
}

/* Whether the pod existed in the gap. A pod whose end is not known may have ended in it. */
static bool was_in(const struct pod *pod, const struct gap *gap)
{
	int64_t end_ms = pod->completion_ms ? pod->completion_ms : pod_last_ms(pod) + COLLECT_SPLIT_UNTIL_MS;

	return pod_begin_ms(pod) < gap->end_ms && end_ms > gap->start_ms && gap_has_namespace(gap, pod->namespace_name);
}

static bool is_missing(const struct collect *self, const struct gap *gap)
{
	return gap_is_passed(gap) || gap->tried_ms == self->now_ms;
}

void collect_mark_gaps(struct collect *self)
{
	const struct gaps *gaps = &self->state.gaps;

	for (size_t i = 0; i < gaps->n; i++)
		for (size_t k = 0; k < self->table.pods.n && is_missing(self, &gaps->items[i]); k++)
			if (was_in(self->table.pods.items[k], &gaps->items[i]))
				self->table.pods.items[k]->is_partial = true;
}

/* Older than the history, or of a time when the clock was ahead. */
static bool is_outdated(const struct collect *self, const struct gap *gap)
{
	int64_t newest_ms = self->now_ms + TIME_MINUTE_MS;

	return gap->end_ms <= self->oldest_ms || gap->end_ms > newest_ms || gap->tried_ms > newest_ms;
}

static bool is_due(const struct collect *self, const struct gap *gap)
{
	int64_t after_ms = self->now_ms - gap->end_ms < TIME_DAY_MS ? TIME_HOUR_MS : TIME_DAY_MS;

	return gap_is_passed(gap) && self->now_ms - gap->tried_ms >= after_ms;
}

static void log_answered(const struct gap *gap)
{
	char text[TIME_TEXT_BYTES];

	log_event(LOG_INFO, "Prometheus answers again for a window that was skipped", "from",
		  time_render(gap->start_ms, text), "namespace", *gap->namespace_name ? gap->namespace_name : "(all)",
		  NULL);
}

/* Whether all of a gap is answered now. */
static bool is_over(struct collect *self, const struct gap *gap)
{
	const char *const name[] = {gap->namespace_name};
	const struct collect_namespaces own = {name, *gap->namespace_name ? 1 : 0},
					all = collect_namespaces_of(self, &own);
	size_t left = RETRY_READS + RETRY_READS_EACH * all.n;

	return is_readable(self, &(struct evidence_window){gap->start_ms, gap->end_ms, false}, &all, &left);
}

void collect_forget_gaps(struct collect *self)
{
	struct gaps *gaps = &self->state.gaps;

	for (size_t i = gaps->n; i > 0; i--) {
		struct gap *gap = &gaps->items[i - 1];

		if (is_outdated(self, gap)) {
			gaps_remove(gaps, i - 1);
			self->has_changed_state = true;
		} else {
			gap->start_ms = MAX(gap->start_ms, self->oldest_ms);
		}
	}
}

void collect_retry_gaps(struct collect *self)
{
	struct collector_state *state = &self->state;
	int left = RETRIES;

	for (size_t i = state->gaps.n; i > 0 && left > 0; i--) {
		struct gap *gap = &state->gaps.items[i - 1];

		if (!is_due(self, gap))
			continue;
		left--;
		gap->tried_ms = self->now_ms;
		self->has_changed_state = true;
		if (!is_over(self, gap))
			continue;
		log_answered(gap);
		if (gap->start_ms < state->watermark_ms)
			collector_state_read_again(state, gap->open_from_ms, self->oldest_ms);
		gaps_remove(&state->gaps, i - 1);
	}
}
