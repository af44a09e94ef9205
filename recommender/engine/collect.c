/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/collect.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { HALVE_UNTIL_MS = 10 * 60 * 1000 };

void collect_release(struct collect *self)
{
	for (size_t i = 0; i < self->runs.n; i++) {
		free(self->runs.items[i].namespace_name);
		free(self->runs.items[i].container);
		run_summary_release(&self->runs.items[i].summary);
	}
	vec_release(&self->runs);
	evidence_batch_release(&self->watched);
	collector_state_release(&self->state);
}

static int keep_summary(struct collect *self, struct run_summary *summary)
{
	struct found_run found = {strdup(summary->namespace_name), strdup(summary->container), *summary};
	int r;

	found.summary.namespace_name = found.namespace_name;
	found.summary.container = found.container;
	r = found.namespace_name && found.container ? vec_push(&self->runs, found) : -ENOMEM;
	if (r) {
		free(found.namespace_name);
		free(found.container);
		return r;
	}
	summary->usage = (struct sketch)SKETCH_INIT; /* moved, and so are */
	summary->decisions.items = NULL;
	summary->decisions.n = summary->decisions.capacity = 0;
	return 0;
}

/* Summaries of the time up to `now_ms`. Of a closed day only runs that are over are kept: the others come again. */
static int fold_table(struct collect *self, struct pod_table *table, int64_t now_ms, bool is_closed, struct err *err)
{
	const struct fold_options options = {.now_ms = now_ms,
					     .history_from_ms = self->state.history_from_ms,
					     .source = self->reader ? self->reader->source : "pods"};
	struct fold fold = {.is_open = NULL};
	int r = fold_runs(table, &options, &fold, err);

	for (size_t i = 0; i < fold.summaries.n && !r; i++)
		if (!is_closed || fold.summaries.items[i].is_final)
			r = keep_summary(self, &fold.summaries.items[i]);
	if (!r && is_closed)
		r = pod_table_filter(table, fold.is_open);
	fold_release(&fold);
	return r == -ENOMEM ? err_set(err, r, "no memory left for runs") : r;
}

int collect_fold(struct collect *self, struct pod_table *table, int64_t now_ms, struct err *err)
{
	return fold_table(self, table, now_ms, false, err);
}

/* What is being read: a window for some namespaces, and where it goes. */
struct reading {
	struct collect *collect;
	struct pod_table *table;
	bool is_partial;
};

static int read_part(struct reading *self, const struct evidence_window *window, const char *const *namespaces,
		     size_t n, struct err *err);

static int read_halves(struct reading *self, const struct evidence_window *window, const char *const *namespaces,
		       size_t n, struct err *err)
{
	struct evidence_window early = *window, late = *window;
	int r;

	if (n != 1) {
		const struct evidence_reader *reader = self->collect->reader;
		const char *const *all = n ? namespaces : reader->namespaces;
		size_t n_all = n ? n : reader->n_namespaces;

		if (n_all > 1) {
			r = read_part(self, window, all, n_all / 2, err);
			return r ? r : read_part(self, window, all + n_all / 2, n_all - n_all / 2, err);
		}
	}
	if (window->end_ms - window->start_ms <= HALVE_UNTIL_MS)
		return EVIDENCE_TOO_HEAVY;
	early.end_ms = late.start_ms = window->start_ms + (window->end_ms - window->start_ms) / 2;
	early.is_open = false;
	r = read_part(self, &early, namespaces, n, err);
	return r ? r : read_part(self, &late, namespaces, n, err);
}

static int read_part(struct reading *self, const struct evidence_window *window, const char *const *namespaces,
		     size_t n, struct err *err)
{
	struct collect *collect = self->collect;
	struct evidence_batch batch;
	int r;

	evidence_batch_init(&batch, window);
	r = evidence_join(&batch, &collect->watched, namespaces, n);
	if (r)
		err_set(err, r, "no memory left for watched pods");
	r = r ? r : collect->reader->read(collect->reader, namespaces, n, &batch, err);
	if (!r) {
		r = pod_table_merge(self->table, &batch, err);
		self->is_partial |= batch.is_partial;
		if (batch.is_partial && !collect->warning[0])
			snprintf(collect->warning, sizeof(collect->warning), "%s", batch.warning);
		collect->done.n_series += batch.n_series;
		collect->done.n_samples += batch.n_samples;
	}
	evidence_batch_release(&batch);
	if (collect->between)
		collect->between(collect->between_context);
	return r == EVIDENCE_TOO_HEAVY ? read_halves(self, window, namespaces, n, err) : r;
}

static void report_progress(struct collect *self, int64_t day_ms, int64_t begun_ms)
{
	char text[TIME_TEXT_BYTES];

	if (!self->progress)
		return;
	time_render(day_ms, text);
	text[10] = '\0';
	self->done.day = text;
	self->done.n_queries = self->reader->n_queries;
	self->done.elapsed_ms = time_monotonic_ms() - begun_ms;
	self->progress(self->progress_context, &self->done);
	self->done.day = NULL;
}

static int decode_state(struct collect *self, const struct strbuf *text, struct err *err)
{
	collector_state_release(&self->state);
	return collector_state_decode(strbuf_text(text), text->len, &self->state, err);
}

/* One closed day. On failure the state is as it was before. */
static int read_day(struct collect *self, int64_t start_ms, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	struct evidence_window window = {.start_ms = start_ms,
					 .end_ms = start_ms - start_ms % TIME_DAY_MS + TIME_DAY_MS};
	struct reading reading = {.collect = self, .table = &self->state.table};
	int r;

	if (collector_state_encode(&self->state, &before))
		return err_set(err, before.status, "the state of open runs is larger than %zu MiB",
			       LIMIT_COLLECTOR_BYTES / MIB);
	r = read_part(&reading, &window, NULL, 0, err);
	self->is_partial |= reading.is_partial;
	if (!r && reading.is_partial && self->now_ms - window.end_ms < COLLECT_PARTIAL_PATIENCE_MS)
		r = err_set(err, EVIDENCE_STOPPED, "a closed day was answered in part only: %s", self->warning);
	if (!r)
		r = fold_table(self, &self->state.table, window.end_ms, true, err);
	if (r) {
		struct err ignored = ERR_INIT;

		/* It was encoded a moment ago: only memory can be missing, and then r is -ENOMEM in the end. */
		return decode_state(self, &before, &ignored) ? -ENOMEM : r;
	}
	self->state.watermark_ms = window.end_ms;
	self->has_changed_state = true;
	return 0;
}

/* The pods that are watched, as they are at `end_ms`. @return 0, also when they are not known; -ENOMEM. */
static int watch_pods(struct collect *self, int64_t end_ms, struct evidence_batch *ret, struct err *err)
{
	const struct evidence_window window = {.start_ms = self->state.watermark_ms, .end_ms = end_ms, .is_open = true};
	int r;

	evidence_batch_init(ret, &window);
	r = self->pods ? self->pods(self->pods_context, false, ret) : 1;
	self->has_told_pods = r == 0;
	return r < 0 ? err_set(err, -ENOMEM, "no memory left for watched pods") : 0;
}

/* Reading may have taken minutes, and quick cycles have told of what happened since: what pods are now comes last. */
static int merge_watched(struct collect *self, struct pod_table *table, struct err *err)
{
	struct evidence_batch batch;
	int r = watch_pods(self, self->now_ms, &batch, err);

	self->has_told_all = self->has_told_pods && !batch.is_partial;
	batch.is_partial = false; /* runs that are not told yet, not figures */
	r = r ? r : pod_table_merge(table, &batch, err);
	evidence_batch_release(&batch);
	return r;
}

static int read_open(struct collect *self, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	struct evidence_window window = {.start_ms = self->state.watermark_ms, .end_ms = self->now_ms, .is_open = true};
	struct reading reading = {.collect = self, .table = &self->state.table};
	struct err ignored = ERR_INIT;
	int r;

	if (window.end_ms <= window.start_ms)
		return 0;
	if (collector_state_encode(&self->state, &before))
		return err_set(err, before.status, "the state of open runs is larger than %zu MiB",
			       LIMIT_COLLECTOR_BYTES / MIB);
	r = read_part(&reading, &window, NULL, 0, err);
	self->is_partial |= reading.is_partial;
	if (!r)
		r = merge_watched(self, &self->state.table, err);
	if (!r)
		r = fold_table(self, &self->state.table, window.end_ms, false, err);
	return decode_state(self, &before, &ignored) ? -ENOMEM : r;
}

/* Reading ended early. Runs that are under way at the watermark are told as such: a history lists only so many runs,
 * and one that begins before all that fell out of the list would not be believed later. */
static int keep_open_runs(struct collect *self, int status, struct err *err)
{
	struct err ignored = ERR_INIT;

	return fold_table(self, &self->state.table, self->state.watermark_ms, false, &ignored) == -ENOMEM
		       ? err_set(err, -ENOMEM, "no memory left for runs")
		       : status;
}

/* It was set by a clock that was ahead, which closed days that were not over: they would never be read. */
static bool is_ahead(const struct collect *self)
{
	if (self->state.watermark_ms <= self->now_ms + TIME_MINUTE_MS)
		return false;
	log_event(LOG_WARN, "days were read before they had begun: the clock was ahead; they are read again", NULL);
	return true;
}

static void begin(struct collect *self)
{
	int64_t from_ms = MAX(self->now_ms - self->history_ms, 0);

	from_ms -= from_ms % TIME_DAY_MS;
	/* Also when the collector stood still for longer than it looks back. */
	if (!self->state.watermark_ms || self->state.watermark_ms < from_ms || is_ahead(self)) {
		pod_table_release(&self->state.table);
		self->state.table = (struct pod_table)POD_TABLE_INIT;
		self->state.watermark_ms = self->state.history_from_ms = from_ms;
	}
	if (self->step_ms) {
		self->state.table.step_ms = self->step_ms;
		self->state.table.is_step_fixed = true;
	}
}

int collect_run(struct collect *self, struct err *err)
{
	int64_t begun_ms = time_monotonic_ms(), closed_ms = self->now_ms - COLLECT_SETTLE_MS;
	int r = 0;

	begin(self);
	r = watch_pods(self, self->now_ms, &self->watched, err);
	self->has_told_pods = false;
	closed_ms -= closed_ms % TIME_DAY_MS;
	self->done.days_total = (size_t)MAX((closed_ms - self->state.watermark_ms) / TIME_DAY_MS, 0) + 1;
	while (self->state.watermark_ms < closed_ms && !r) {
		report_progress(self, self->state.watermark_ms, begun_ms);
		r = read_day(self, self->state.watermark_ms, err);
		self->done.days_done += r == 0;
	}
	if (!r) {
		report_progress(self, self->now_ms, begun_ms);
		r = read_open(self, err);
		self->done.days_done += r == 0;
	}
	if (r && self->has_changed_state)
		r = keep_open_runs(self, r, err);
	report_progress(self, self->now_ms, begun_ms);
	return r;
}
