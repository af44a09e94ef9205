/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/collect.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "engine/collect_gaps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* After so many small parts of one window failed, what fails of the rest is not split any further. */
enum { SMALL_FAILURES = 16 };

void collect_release(struct collect *self)
{
	for (size_t i = 0; i < self->runs.n; i++)
		found_run_release(&self->runs.items[i]);
	vec_release(&self->runs);
	evidence_batch_release(&self->watched);
	pod_table_release(&self->table);
	collector_state_release(&self->state);
}

int collect_fold(struct collect *self, struct pod_table *table, int64_t now_ms, bool is_closed, struct err *err)
{
	const struct fold_options options = {.now_ms = now_ms,
					     .history_from_ms = self->state.history_from_ms,
					     .source = self->reader ? self->reader->source : "pods"};
	struct fold fold = {.is_open = NULL};
	int r = fold_runs(table, &options, &fold, err);

	for (size_t i = 0; i < fold.runs.n && !r; i++)
		if (!is_closed || fold.runs.items[i].is_final) {
			r = vec_push(&self->runs, fold.runs.items[i]);
			if (!r)
				fold.runs.items[i] = (struct found_run){0}; /* moved */
		}
	if (!r && is_closed)
		r = pod_table_filter(table, fold.is_open);
	fold_release(&fold);
	return r == -ENOMEM ? err_set(err, r, "no memory left for runs") : r;
}

/* A read in progress: where its results go. */
struct reading {
	struct collect *collect;
	bool is_partial;
	int n_failed, n_unread; /* parts that failed; those of them that are not passed yet */
	struct err why;		/* the error of the first unread part */
};

static int read_part(struct reading *self, const struct evidence_window *window, const char *const *namespaces,
		     size_t n, struct err *err);

/* A part failed and is not split any further. If it is closed and Prometheus answers other queries, reading goes on
 * without it. */
static int pass_part(struct reading *self, const struct evidence_window *window,
		     const struct collect_namespaces *namespaces, struct err *err)
{
	if (window->is_open)
		return EVIDENCE_TOO_HEAVY;
	if (!collect_is_answered(self->collect))
		return EVIDENCE_UNREACHABLE;
	self->n_failed++;
	if (!collect_note_gap(self->collect, window, namespaces, err ? err->msg : "") && self->n_unread++ == 0 && err)
		self->why = *err;
	return 0;
}

static int read_halves(struct reading *self, const struct evidence_window *window, const char *const *namespaces,
		       size_t n, struct err *err)
{
	const struct evidence_reader *reader = self->collect->reader;
	const char *const *all = n ? namespaces : reader->namespaces;
	size_t n_all = n ? n : reader->n_namespaces;
	struct evidence_window early = *window, late = *window;
	int r;

	if (self->n_failed >= SMALL_FAILURES && !window->is_open)
		return pass_part(self, window, &(struct collect_namespaces){namespaces, n}, err);
	if (n_all > 1) {
		r = read_part(self, window, all, n_all / 2, err);
		return r ? r : read_part(self, window, all + n_all / 2, n_all - n_all / 2, err);
	}
	if (window->end_ms - window->start_ms <= COLLECT_SPLIT_UNTIL_MS)
		return pass_part(self, window, &(struct collect_namespaces){namespaces, n}, err);
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
	const struct evidence_reader *reader = self->collect->reader;
	const struct collect_namespaces all = namespaces->n ? *namespaces
							    : (struct collect_namespaces){reader->namespaces,
											  reader->n_namespaces};
	struct evidence_window early = *window, late = *window;
	const struct gap gap = *found; /* reading may move the list */
	int r = 0;

	if (*gap.namespace_name && all.n > 1)
		return read_apart(self, &gap, window, &all, err);
	early.end_ms = gap.start_ms;
	early.is_open = false;
	late.start_ms = gap.end_ms;
	if (early.start_ms < early.end_ms)
		r = read_part(self, &early, namespaces->items, namespaces->n, err);
	if (!r && late.start_ms < late.end_ms)
		r = read_part(self, &late, namespaces->items, namespaces->n, err);
	return r;
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
	const struct evidence_reader *reader = self->collect->reader;
	size_t n_all = n ? n : reader->n_namespaces;

	return (struct split_part){.start_ms = window->start_ms,
				   .length_ms = window->end_ms - window->start_ms,
				   .first = n_all ? (n ? namespaces : reader->namespaces)[0] : "",
				   .n = n_all};
}

/* Whether parts of this size were refused. The smallest parts are always asked for. */
static bool is_known_heavy(const struct reading *self, const struct split_part *part)
{
	return self->collect->split && self->n_failed < SMALL_FAILURES &&
	       (part->n > 1 || part->length_ms > COLLECT_SPLIT_UNTIL_MS) && split_is_heavy(self->collect->split, part);
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
	if (is_known_heavy(self, &part))
		return read_halves(self, window, namespaces, n, err);
	evidence_batch_init(&batch, window);
	r = evidence_join(&batch, &collect->watched, namespaces, n);
	if (r)
		err_set(err, r, "no memory left for watched pods");
	r = r ? r : collect->reader->read(collect->reader, namespaces, n, &batch, err);
	note_size(self, &part, r);
	if (!r) {
		r = pod_table_merge(&collect->table, &batch, err);
		self->is_partial |= batch.is_partial;
		if (batch.is_partial && !collect->warning[0])
			snprintf(collect->warning, sizeof(collect->warning), "%s", batch.warning);
		log_overfull(collect, batch.pods.overfull);
		collect->done.n_series += batch.n_series;
		collect->done.n_samples += batch.n_samples;
	}
	evidence_batch_release(&batch);
	if (collect->between)
		collect->between(collect->between_context);
	return r == EVIDENCE_TOO_HEAVY ? read_halves(self, window, namespaces, n, err) : r;
}

/* Reads all of a window. @return 0: what is missing is in passed gaps, and the pods of the table are marked;
 * EVIDENCE_TOO_HEAVY: parts failed that are not passed yet. */
static int read_all(struct reading *self, const struct evidence_window *window, struct err *err)
{
	struct collect *collect = self->collect;
	int r = read_part(self, window, NULL, 0, err);

	collect->is_partial |= self->is_partial;
	if (r)
		return r;
	collect->has_changed_gaps |= gaps_settle(&collect->state.gaps, window->start_ms, window->end_ms,
						 collect->now_ms);
	if (self->n_unread) {
		if (err)
			*err = self->why;
		return EVIDENCE_TOO_HEAVY;
	}
	collect_mark_gaps(collect);
	return 0;
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
	self->has_changed_state = true;
	return 0;
}

/* Reads one closed day. On failure the state is as before, and the table may have a part of the day. */
static int read_day(struct collect *self, int64_t start_ms, struct err *err)
{
	struct evidence_window window = {.start_ms = start_ms,
					 .end_ms = start_ms - start_ms % TIME_DAY_MS + TIME_DAY_MS};
	struct reading reading = {.collect = self};
	int r = read_all(&reading, &window, err);

	if (!r && reading.is_partial && self->now_ms - window.end_ms < COLLECT_PARTIAL_PATIENCE_MS)
		r = err_set(err, EVIDENCE_STOPPED, "a closed day was answered in part only: %s", self->warning);
	if (!r)
		r = collect_fold(self, &self->table, window.end_ms, true, err);
	return r ? r : save_table(self, window.end_ms, err);
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

static int read_open(struct collect *self, struct err *err)
{
	struct evidence_window window = {.start_ms = self->state.watermark_ms, .end_ms = self->now_ms, .is_open = true};
	struct reading reading = {.collect = self};
	int r;

	if (window.end_ms <= window.start_ms)
		return 0;
	r = read_all(&reading, &window, err);
	if (!r)
		r = merge_watched(self, err);
	return r ? r : collect_fold(self, &self->table, window.end_ms, false, err);
}

/* Reading ended early. Runs that are in progress at the watermark are added anyway: a history lists only a limited
 * number of runs, and rejects a run that began before all runs that dropped out of the list. */
static int keep_open_runs(struct collect *self, int status, struct err *err)
{
	struct err ignored = ERR_INIT;

	return load_table(self) || collect_fold(self, &self->table, self->state.watermark_ms, false, &ignored)
		       ? no_memory(err)
		       : status;
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
	int64_t from_ms = MIN(self->state.open_from_ms, self->state.watermark_ms);
	char text[TIME_TEXT_BYTES];

	from_ms -= from_ms % TIME_DAY_MS;
	strbuf_clear(&self->state.table);
	self->state.watermark_ms = self->state.open_from_ms = from_ms;
	log_event(LOG_INFO, "the collector's state does not contain the open runs; their days are read again", "from",
		  time_render(from_ms, text), NULL);
}

static int begin(struct collect *self, struct err *err)
{
	struct collector_state *state = &self->state;
	int64_t from_ms = MAX(self->now_ms - self->history_ms, 0);
	int r = load_table(self);

	if (r == -EINVAL || (!r && !state->table.len && state->open_from_ms < state->watermark_ms)) {
		read_open_days_again(self);
		r = load_table(self);
	}
	if (r)
		return no_memory(err);
	from_ms -= from_ms % TIME_DAY_MS;
	/* Starts over, also if the collector did not run for longer than the history that it reads. */
	if (!state->watermark_ms || state->watermark_ms < from_ms || is_ahead(self)) {
		strbuf_clear(&state->table);
		state->watermark_ms = state->history_from_ms = state->open_from_ms = from_ms;
		r = load_table(self);
	}
	if (!r) {
		collect_retry_gaps(self);
		r = load_table(self);
	}
	return r ? no_memory(err) : 0;
}

int collect_run(struct collect *self, struct err *err)
{
	int64_t begun_ms = time_monotonic_ms(), closed_ms = self->now_ms - COLLECT_SETTLE_MS;
	int r = 0;

	r = begin(self, err);
	if (r)
		return r;
	r = watch_pods(self, self->now_ms, &self->watched, err);
	self->has_told_pods = false;
	if (self->split)
		split_begin(self->split, self->now_ms);
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
