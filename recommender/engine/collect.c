/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/collect.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "engine/collect_gaps.h"
#include "engine/collect_parts.h"
#include "engine/collect_read.h"
#include "engine/collect_warnings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void collect_release(struct collect *self)
{
	fold_release(&self->found);
	evidence_batch_release(&self->watched);
	pod_table_release(&self->table);
	collector_state_release(&self->state);
}

/* Roles and containers of one run follow each other and share its uid. */
static void count_runs(struct collect *self)
{
	const char *uid = "";

	self->n_open_runs = 0;
	for (size_t i = 0; i < self->found.runs.n; i++) {
		const struct found_run *found = &self->found.runs.items[i];

		if (!streq(uid, found->run.uid))
			*(found->is_final ? &self->n_final_runs : &self->n_open_runs) += 1;
		uid = found->run.uid;
	}
}

int collect_fold(struct collect *self, const struct pod_table *table, int64_t now_ms, struct err *err)
{
	const struct fold_options options = {.now_ms = now_ms,
					     .history_from_ms = self->state.history_from_ms,
					     .source = self->reader ? self->reader->source : "pods"};
	int r;

	fold_release(&self->found);
	r = fold_runs(table, &options, &self->found, err);
	if (!r)
		count_runs(self);
	return r;
}

static void report_progress(struct collect *self, int64_t day_ms)
{
	char text[TIME_TEXT_BYTES];

	if (!self->progress)
		return;
	time_render(day_ms, text);
	text[10] = '\0';
	self->done.day = text;
	self->done.n_queries = self->reader->n_queries;
	self->done.elapsed_ms = time_monotonic_ms() - self->begun_ms;
	self->progress(self->progress_context, &self->done);
	self->done.day = NULL;
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory left for the pods of open runs");
}

/* Sets the table to the pods at the watermark. @return 0; -EINVAL; -ENOMEM. */
static int load_table(struct collect *self)
{
	pod_table_release(&self->table);
	self->table.is_step_fixed = self->step_ms > 0;
	if (self->state.table.len) {
		int r = pod_table_decode(self->state.table.text, self->state.table.len, &self->table);

		if (r)
			return r;
	}
	if (self->step_ms)
		self->table.step_ms = self->step_ms;
	return 0;
}

/* Makes the table, which has all of the time up to `end_ms`, a part of the state. */
static int save_table(struct collect *self, int64_t end_ms, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	int r = pod_table_encode(&self->table, &bytes);

	if (r == -E2BIG)
		return err_set(err, r, "the pods of open runs take more than %zu MiB", LIMIT_COLLECTOR_BYTES / MIB);
	if (r)
		return no_memory(err);
	strbuf_release(&self->state.table);
	self->state.table = bytes;
	bytes = (struct strbuf)STRBUF_INIT(0);
	self->state.watermark_ms = self->state.open_from_ms = end_ms;
	for (size_t i = 0; i < self->table.pods.n; i++)
		self->state.open_from_ms = MIN(self->state.open_from_ms, pod_begin_ms(self->table.pods.items[i]));
	return 0;
}

/* Gets the watched pods as of `end_ms`. @return 0, also when they are not known; -ENOMEM. */
static int watch_pods(struct collect *self, int64_t end_ms, struct evidence_batch *ret, struct err *err)
{
	const struct evidence_window window = {.start_ms = self->state.watermark_ms, .end_ms = end_ms, .is_open = true};
	int r;

	evidence_batch_init(ret, &window);
	r = self->pods ? self->pods(self->pods_context, false, ret) : 1;
	self->has_told_pods = r == 0;
	return r < 0 ? err_set(err, -ENOMEM, "no memory left for watched pods") : 0;
}

/* Reading may have taken minutes, and quick cycles may have reported newer changes. The current state of pods is merged
 * last. */
static int merge_watched(struct collect *self, struct err *err)
{
	struct evidence_batch batch;
	int r = watch_pods(self, self->now_ms, &batch, err);

	self->has_told_all = self->has_told_pods && !batch.is_partial;
	batch.is_partial = false; /* concerns runs that are left out, not the figures read */
	r = r ? r : pod_table_merge(&self->table, &batch, err);
	evidence_batch_release(&batch);
	return r;
}

/* Removes the pods of namespaces that are left out, also of those that have been left out only since they were read. */
static int leave_out(struct collect *self, struct err *err)
{
	bool *keep = self->left_out ? calloc(self->table.pods.n + 1, sizeof(*keep)) : NULL;
	size_t n_kept = 0;
	int r = 0;

	if (!keep)
		return self->left_out ? no_memory(err) : 0;
	for (size_t i = 0; i < self->table.pods.n; i++) {
		keep[i] = !self->left_out(self->left_out_context, self->table.pods.items[i]->namespace_name);
		n_kept += keep[i];
	}
	if (n_kept < self->table.pods.n && pod_table_filter(&self->table, keep))
		r = no_memory(err);
	free(keep);
	return r;
}

/* Whether the watermark is in the future: the clock was ahead and closed days that were not over. They would never be
 * read. */
static bool is_ahead(const struct collect *self)
{
	if (self->state.watermark_ms <= self->now_ms + TIME_MINUTE_MS)
		return false;
	log_event(LOG_WARN, "the clock was ahead: days that had not begun were read, and are read again", NULL);
	return true;
}

/* The state has no pods of open runs, although there were some, or their form is not known: it was written by another
 * version, or they did not fit. The days are read again in which these runs were open. */
static void read_open_days_again(struct collect *self)
{
	char text[TIME_TEXT_BYTES];

	collector_state_read_again(&self->state, self->state.open_from_ms, self->oldest_ms);
	log_event(LOG_INFO, "the collector's state does not contain the open runs; their days are read again", "from",
		  time_render(self->state.watermark_ms, text), NULL);
}

static int begin(struct collect *self, struct err *err)
{
	struct collector_state *state = &self->state;
	int64_t from_ms = MAX(self->now_ms - self->history_ms, 0);
	int r = load_table(self);

	self->oldest_ms = from_ms - from_ms % TIME_DAY_MS;
	if (r == -EINVAL || (!r && !state->table.len && state->open_from_ms < state->watermark_ms))
		read_open_days_again(self);
	else if (r)
		return no_memory(err);
	/* Starts over, also if the collector did not run for longer than the history that it reads. */
	if (!state->watermark_ms || state->watermark_ms < self->oldest_ms || is_ahead(self)) {
		strbuf_clear(&state->table);
		state->watermark_ms = state->history_from_ms = state->open_from_ms = self->oldest_ms;
	}
	collect_begin_parts(self);
	collect_begin_warnings(self);
	collect_forget_gaps(self);
	self->read_until_ms = state->watermark_ms;
	return load_table(self) ? no_memory(err) : 0;
}

/* The closed days that are not read yet, and the open time. */
static size_t days_until(const struct collect *self)
{
	int64_t days = collect_closed_until_ms(self) / TIME_DAY_MS - self->state.watermark_ms / TIME_DAY_MS;

	return (size_t)MAX(days, 0) + 1;
}

int collect_begin(struct collect *self, struct err *err)
{
	int r = begin(self, err);

	self->begun_ms = time_monotonic_ms();
	if (r)
		return r;
	if (self->split)
		split_begin(self->split, self->now_ms);
	self->done.days_total = days_until(self);
	r = watch_pods(self, self->now_ms, &self->watched, err);
	self->has_told_pods = false;
	return r;
}

bool collect_has_closed_part(const struct collect *self)
{
	return !self->is_unsettled && self->state.watermark_ms < collect_closed_until_ms(self);
}

/* What is missing of closed time may be answered later. The window is read again in the next cycle, and this one goes
 * on with the time after it. Only a day that is over is waited for if some of it is too heavy. @return 0; `status`. */
static int wait_for_rest(struct collect *self, const struct evidence_window *window, int status)
{
	self->is_unsettled = true;
	self->read_until_ms = window->end_ms;
	if (status && window->end_ms <= self->now_ms - self->now_ms % TIME_DAY_MS)
		return status;
	self->unsettled_status = status;
	return 0;
}

int collect_part(struct collect *self, struct err *err)
{
	const struct evidence_window window = {.start_ms = self->state.watermark_ms,
					       .end_ms = collect_part_end_ms(self)};
	bool is_partial = false;
	int r;

	report_progress(self, window.start_ms);
	r = collect_read(self, &window, &is_partial, err);
	if (r)
		return r == EVIDENCE_TOO_HEAVY ? wait_for_rest(self, &window, r) : r;
	self->read_until_ms = window.end_ms;
	if (is_partial && self->now_ms - window.end_ms < COLLECT_PARTIAL_PATIENCE_MS &&
	    !collect_is_in_the_way(self, window.end_ms))
		return wait_for_rest(self, &window, 0);
	if (is_partial)
		collect_note_warned_day(self, window.start_ms);
	r = leave_out(self, err);
	return r ? r : collect_fold(self, &self->table, window.end_ms, err);
}

int collect_close_part(struct collect *self, struct err *err)
{
	if (pod_table_filter(&self->table, self->found.is_open))
		return no_memory(err);
	fold_release(&self->found);
	self->has_read = true;
	self->done.days_done += self->read_until_ms % TIME_DAY_MS == 0;
	return save_table(self, self->read_until_ms, err);
}

/* @return 0; EVIDENCE_TOO_HEAVY: what was read is learned; as collect_read. */
static int read_open(struct collect *self, struct err *err)
{
	struct evidence_window window = {.end_ms = self->read_until_ms};
	bool is_partial;
	int status = 0;

	while (!window.is_open) {
		int r;

		window.start_ms = window.end_ms;
		window.end_ms = collect_open_end_ms(self, window.start_ms);
		window.is_open = window.end_ms == self->now_ms;
		r = collect_read(self, &window, &is_partial, err);
		if (r && r != EVIDENCE_TOO_HEAVY)
			return r;
		status = r ? r : status;
	}
	return status;
}

int collect_open(struct collect *self, struct err *err)
{
	int status = 0, r = 0;

	report_progress(self, self->now_ms);
	if (self->now_ms > self->read_until_ms) {
		status = read_open(self, err);
		r = status == EVIDENCE_TOO_HEAVY ? 0 : status;
		r = r ? r : merge_watched(self, err);
		r = r ? r : leave_out(self, err);
		r = r ? r : collect_fold(self, &self->table, self->now_ms, err);
	}
	self->has_read |= r == 0;
	self->done.days_done += r == 0;
	return r ? r : status ? status : self->unsettled_status;
}

void collect_end(struct collect *self)
{
	collect_end_warnings(self);
	report_progress(self, self->now_ms);
}
