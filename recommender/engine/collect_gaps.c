/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/collect_gaps.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"

#include <stdio.h>
#include <string.h>

enum { RETRIES = 4 }; /* gaps that one cycle asks for again */

struct collect_namespaces collect_namespaces_of(const struct collect *self, const struct collect_namespaces *namespaces)
{
	return namespaces->n ? *namespaces
			     : (struct collect_namespaces){self->reader->namespaces, self->reader->n_namespaces};
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

/* Reads a window and discards the answer. */
static int try_read(struct collect *self, int64_t start_ms, const char *namespace_name, struct err *err)
{
	const struct evidence_window window = {.start_ms = start_ms, .end_ms = start_ms + COLLECT_SPLIT_UNTIL_MS};
	const char *const names[] = {namespace_name};
	struct evidence_batch batch;
	int r;

	evidence_batch_init(&batch, &window);
	r = self->reader->read(self->reader, *namespace_name ? names : NULL, *namespace_name ? 1 : 0, &batch, err);
	evidence_batch_release(&batch);
	return r;
}

/* Two namespaces are tried, as one of them may be too large for any query. */
bool collect_is_answered(struct collect *self)
{
	const struct evidence_reader *reader = self->reader;
	const char *first = reader->n_namespaces ? reader->namespaces[0] : "";
	const char *last = reader->n_namespaces ? reader->namespaces[reader->n_namespaces - 1] : "";
	int64_t start_ms = self->now_ms - COLLECT_SPLIT_UNTIL_MS;

	return try_read(self, start_ms, first, NULL) == 0 ||
	       (!streq(first, last) && try_read(self, start_ms, last, NULL) == 0);
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
static bool is_outdated(const struct collect *self, const struct gap *gap, int64_t oldest_ms)
{
	int64_t newest_ms = self->now_ms + TIME_MINUTE_MS;

	return gap->end_ms <= oldest_ms || gap->end_ms > newest_ms || gap->tried_ms > newest_ms;
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

void collect_retry_gaps(struct collect *self, int64_t oldest_ms)
{
	struct gaps *gaps = &self->state.gaps;
	int left = RETRIES;

	for (size_t i = gaps->n; i > 0; i--) {
		struct gap *gap = &gaps->items[i - 1];
		bool is_over = is_outdated(self, gap, oldest_ms);

		if (!is_over && left > 0 && is_due(self, gap)) {
			left--;
			is_over = try_read(self, gap->start_ms, gap->namespace_name, NULL) == 0;
			gap->tried_ms = self->now_ms;
			self->has_changed_state = true;
			if (is_over)
				log_answered(gap);
			if (is_over && gap->start_ms < self->state.watermark_ms)
				collector_state_read_again(&self->state, gap->open_from_ms, oldest_ms);
		}
		if (is_over) {
			gaps_remove(gaps, i - 1);
			self->has_changed_state = true;
		}
	}
}
