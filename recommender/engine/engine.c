/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "engine/collect_gaps.h"
#include "engine/collect_warnings.h"
#include "engine/engine_internal.h"
#include "engine/keep.h"
#include "engine/learn.h"
#include "engine/shapes.h"

#include <errno.h>
#include <stdio.h>

const char *const engine_partial_names[ENGINE_PARTIAL_COUNT_] = {
	[ENGINE_PARTIAL_METRIC] = "missing-metric",
	[ENGINE_PARTIAL_ANSWER] = "partial-answer",
	[ENGINE_PARTIAL_READING] = "reading-ended",
	[ENGINE_PARTIAL_NODES] = "nodes",
	[ENGINE_PARTIAL_IGNORED] = "ignored-namespaces",
	[ENGINE_PARTIAL_DELETION] = "deletion",
	[ENGINE_PARTIAL_CAP] = "cap",
};

void engine_release(struct engine *self)
{
	learn_names_release(&self->names);
	curves_release(&self->curves);
	caps_release(&self->caps);
	vec_release(&self->notices);
	strbuf_release(&self->kept_table);
	self->has_new_caps = false;
}

/* Whether Prometheus has all metrics that memtamer cannot work without. */
static bool has_what_it_needs(const struct engine *self, const char **ret_missing)
{
	const struct evidence_reader *reader = self->reader;

	for (size_t i = 0; i < reader->n_findings; i++)
		if (!reader->findings[i].is_present && !reader->findings[i].without &&
		    !(self->pods && reader->findings[i].is_of_pods)) {
			*ret_missing = reader->findings[i].metric;
			return false;
		}
	return true;
}

static int read_nodes(struct engine *self, const struct learn *learn, int64_t now_ms, struct shapes *ret,
		      struct engine_result *result)
{
	const struct evidence_window window = {.start_ms = now_ms - TIME_DAY_MS, .end_ms = now_ms, .is_open = true};
	struct evidence_nodes nodes = {.arena = ARENA_INIT(LIMIT_EVIDENCE_BYTES)};
	struct err err = ERR_INIT;
	int r = self->reader->nodes(self->reader, &window, &nodes, &err);

	if (!r)
		r = shapes_of_nodes(&nodes, learn->shapes.items, learn->shapes.n, now_ms, ret);
	else
		engine_note(result, ENGINE_PARTIAL_NODES, err.msg);
	evidence_nodes_release(&nodes);
	return r == -ENOMEM ? r : 0;
}

static int find_shapes(struct engine *self, const struct learn *learn, int64_t now_ms, struct shapes *ret,
		       struct engine_result *result)
{
	struct shapes seen = {.items = VEC_INIT};
	int r;

	if (!self->nodes)
		return read_nodes(self, learn, now_ms, ret, result);
	r = self->nodes(self->nodes_context, &seen);
	if (!r)
		r = shapes_find_news(&seen, learn->shapes.items, learn->shapes.n, now_ms, ret);
	else if (r > 0)
		engine_note(result, ENGINE_PARTIAL_NODES, "nodes are not listed yet");
	vec_release(&seen.items);
	return MIN(r, 0);
}

/* A failed deletion only makes the cycle partial; the next cycle tries again. A file keeps its shapes: they are few. */
static void remove_dead(struct engine *self, const struct learn *learn, struct engine_result *ret)
{
	const struct config *config = self->config;
	int64_t keep_ms = config->recommender.keep_ms;
	struct err err = ERR_INIT;
	size_t n_shapes = 0;
	int r;

	r = keep_collect(self->store, learn->profiles.items, learn->profiles.n, learn->now_ms, keep_ms, &ret->n_removed,
			 &err);
	if (!r && config->store.kind == STORE_KUBE)
		r = keep_collect_shapes(self->store, learn->shapes.items, learn->shapes.n, learn->now_ms, keep_ms,
					&n_shapes, &err);
	ret->n_removed += n_shapes;
	if (r)
		engine_note(ret, ENGINE_PARTIAL_DELETION, err.msg);
}

/* After a partial reading the use of a run may be incomplete; the next cycle reports its end. */
static int note_endings(struct engine *self, struct learn *learn, const struct engine_result *result, bool is_cycle_end)
{
	unsigned int parts = 1U << ENGINE_PARTIAL_ANSWER | 1U << ENGINE_PARTIAL_READING;

	if (!self->config->recommender.run_events || result->partial & parts)
		return 0;
	return endings_note(&self->endings, learn, is_cycle_end);
}

/* Learns the runs of closed time with their curves. */
static int learn_part(struct engine *self, struct collect *collect, struct engine_result *ret, struct err *err)
{
	struct learn learn = engine_begin_learn(self, collect->now_ms);
	struct wanted_curves wanted = {.runs = VEC_INIT};
	int r = learn_runs(&learn, collect->found.runs.items, collect->found.runs.n, err);

	if (!r && note_endings(self, &learn, ret, false))
		r = err_set(err, -ENOMEM, "no memory left");
	if (!r)
		r = engine_commit(self, &learn, NULL, ret, err);
	if (!r && engine_want_curves(&learn, collect, &wanted))
		r = err_set(err, -ENOMEM, "no memory left");
	learn_release(&learn);
	if (!r)
		r = engine_learn_curves(self, collect, &wanted, ret, err);
	vec_release(&wanted.runs);
	return r;
}

/* Saves that the part was read after its runs and curves are in the store: after a crash the runs are found again, and
 * so are their curves. */
static int commit_part(struct engine *self, struct collect *collect, struct engine_result *ret, struct err *err)
{
	int r = collect->found.runs.n ? learn_part(self, collect, ret, err) : 0;

	r = r ? r : collect_close_part(collect, err);
	return r ? r : engine_save_state(self, collect, err);
}

/* Reads all windows that are due, and commits the closed ones.
 * @param ret_status  how reading ended: 0, an enum evidence_condition or -errno, with the reason in `why`.
 * @return 0; -errno: the store or memory. */
static int read_all(struct engine *self, struct collect *collect, struct engine_result *ret, int *ret_status,
		    struct err *why, struct err *err)
{
	int r = 0;

	*ret_status = collect_begin(collect, why);
	while (!r && !*ret_status && collect_has_closed_part(collect)) {
		*ret_status = collect_part(collect, why);
		if (!*ret_status && !collect->is_unsettled)
			r = commit_part(self, collect, ret, err);
	}
	if (!r && !*ret_status)
		*ret_status = collect_open(collect, why);
	collect_end(collect);
	return r;
}

/* Whether it is a day since all workloads were read; or the clock was ahead. */
static bool is_all_due(const struct engine *self, int64_t now_ms)
{
	return now_ms - self->sized_all_ms >= TIME_DAY_MS || now_ms < self->sized_all_ms;
}

static int learn_and_commit(struct engine *self, struct collect *collect, struct wanted_curves *wanted,
			    struct engine_result *ret, struct err *err)
{
	struct learn learn = engine_begin_learn(self, collect->now_ms);
	struct shapes shapes = {.items = VEC_INIT};
	const struct found_run *runs = collect->found.runs.items;
	bool is_all;
	int r;

	if (!ret->reading) /* up to now */
		learn.lost_before_ms = collect->now_ms - LEARN_LOST_MS;
	if (!self->has_settled && collect->has_told_all)
		learn.settle_before_ms = collect->now_ms;
	is_all = learn.settle_before_ms || is_all_due(self, collect->now_ms);
	r = is_all ? learn_all(&learn, runs, collect->found.runs.n, err)
		   : learn_runs(&learn, runs, collect->found.runs.n, err);
	if (!r && (find_shapes(self, &learn, collect->now_ms, &shapes, ret) || note_endings(self, &learn, ret, true)))
		r = err_set(err, -ENOMEM, "no memory left");
	if (!r)
		r = engine_commit(self, &learn, &shapes, ret, err);
	if (!r) {
		self->has_settled |= learn.settle_before_ms != 0;
		self->sized_all_ms = is_all ? collect->now_ms : self->sized_all_ms;
		ret->n_workloads = learn.n_workloads;
		if (engine_check_caps(self, &learn, ret))
			r = err_set(err, -ENOMEM, "no memory left");
	}
	if (!r && engine_want_curves(&learn, collect, wanted))
		r = err_set(err, -ENOMEM, "no memory left");
	if (!r && collect->has_told_pods && self->pods_done)
		self->pods_done(self->pods_context, collect->now_ms);
	if (!r && !ret->is_partial)
		remove_dead(self, &learn, ret);
	vec_release(&shapes.items);
	learn_release(&learn);
	return r;
}

static void count(const struct collect *collect, struct engine_result *ret)
{
	char since[TIME_TEXT_BYTES];

	ret->n_runs = collect->n_final_runs + collect->n_open_runs;
	ret->n_series = collect->done.n_series;
	ret->n_samples = collect->done.n_samples;
	ret->has_read = collect->has_read;
	ret->days_done = collect->done.days_done;
	ret->days_total = collect->done.days_total;
	ret->gaps = collect->state.gaps;
	if (collect_ignores_warnings(collect) && collect->warning[0])
		snprintf(ret->warning, sizeof(ret->warning), "since %s: %s",
			 time_render(collect->state.warned_since_ms, since), collect->warning);
}

/* Reading ended early. Windows that were read completely are used. */
static int end_of_reading(int status, struct collect *collect, struct engine_result *ret, const struct err *why)
{
	if (collect->is_partial)
		engine_note(ret, ENGINE_PARTIAL_ANSWER, collect->warning);
	if (status == 0)
		return 0;
	engine_note(ret, ENGINE_PARTIAL_READING, why->msg);
	if ((status == EVIDENCE_UNREACHABLE || status == -EPROTO) && !collect->has_read)
		return EVIDENCE_UNREACHABLE;
	return status < 0 && status != -EPROTO ? status : 0;
}

/* Writes node shapes. They do not come from Prometheus, so they are written even if Prometheus does not answer. */
static int commit_shapes(struct engine *self, struct collect *collect, struct engine_result *ret, struct err *err)
{
	int64_t now_ms = collect->now_ms;
	struct learn learn = engine_begin_learn(self, now_ms);
	struct shapes shapes = {.items = VEC_INIT};
	int r;

	if (!self->nodes)
		return 0;
	r = learn_runs(&learn, NULL, 0, err);
	if (!r && find_shapes(self, &learn, now_ms, &shapes, ret))
		r = err_set(err, -ENOMEM, "no memory left");
	if (!r)
		r = learn_commit(&learn, shapes.items.items, shapes.items.n, err);
	/* No runs were learned, so pending notices may still be missing in the store and are not reported here. */
	if (!r && engine_check_caps(self, &learn, ret))
		r = err_set(err, -ENOMEM, "no memory left");
	if (!r && self->has_new_caps)
		r = engine_save_state(self, collect, err);
	vec_release(&shapes.items);
	learn_release(&learn);
	return r;
}

/* Prometheus could not be asked. The status of reading is returned, whether writing shapes succeeds or not. */
static int end_unreachable(struct engine *self, int status, struct collect *collect, struct engine_result *ret)
{
	struct err ignored = ERR_INIT;

	if (status > 0)
		(void)!commit_shapes(self, collect, ret, &ignored);
	return status;
}

static int cycle(struct engine *self, struct collect *collect, struct engine_result *ret, struct err *err)
{
	struct wanted_curves wanted = {.runs = VEC_INIT};
	struct err why = ERR_INIT;
	const char *missing;
	int r = engine_load_state(self, &collect->state, err), status;

	if (r)
		return r;
	ret->gaps = collect->state.gaps;
	ret->reading = r = self->reader->detect(self->reader, collect->now_ms - collect->history_ms, collect->now_ms,
						err);
	if (r)
		return end_unreachable(self, r, collect, ret);
	if (self->left_out && self->left_out(self->left_out_context, "") == ENGINE_LEFT_OUT_UNKNOWN) {
		engine_note(ret, ENGINE_PARTIAL_IGNORED,
			    "nothing is learned: the namespaces with memtamer.io/ignore are not listed yet");
		return commit_shapes(self, collect, ret, err);
	}
	if (!has_what_it_needs(self, &missing)) {
		char text[160];

		snprintf(text, sizeof(text), "Prometheus has no %s: nothing can be learned without it", missing);
		engine_note(ret, ENGINE_PARTIAL_METRIC, text);
		return commit_shapes(self, collect, ret, err);
	}
	r = read_all(self, collect, ret, &status, &why, err);
	count(collect, ret);
	if (r)
		return r;
	ret->reading = status;
	r = end_of_reading(status, collect, ret, &why);
	if (r) {
		int saved = collect->has_changed_state ? engine_save_state(self, collect, err) : 0;

		if (!saved && err)
			*err = why;
		return saved ? saved : end_unreachable(self, r, collect, ret);
	}
	r = learn_and_commit(self, collect, &wanted, ret, err);
	if (!r && status != EVIDENCE_STOPPED)
		r = engine_learn_curves(self, collect, &wanted, ret, err);
	vec_release(&wanted.runs);
	if (!r && !status)
		collect_retry_gaps(collect);
	ret->gaps = collect->state.gaps;
	if (!r && (collect->has_changed_state || self->has_new_caps))
		r = engine_save_state(self, collect, err);
	return r;
}

static bool is_left_out(void *context, const char *namespace_name)
{
	const struct engine *self = context;

	return self->left_out(self->left_out_context, namespace_name) != ENGINE_LEARNED;
}

int engine_cycle(struct engine *self, int64_t now_ms, struct engine_result *ret, struct err *err)
{
	struct collect collect = {
		.reader = self->reader,
		.now_ms = now_ms,
		.history_ms = self->config->prometheus.history_ms,
		.step_ms = self->config->prometheus.step_ms,
		.progress = self->progress,
		.progress_context = self->progress_context,
		.left_out = self->left_out ? is_left_out : NULL,
		.left_out_context = self,
		.pods = self->pods,
		.pods_context = self->pods_context,
		.between = self->between,
		.between_context = self->between_context,
		.split = &self->split,
		.state = COLLECTOR_STATE_INIT,
	};
	int64_t begun_ms = time_monotonic_ms();
	int r;

	*ret = (struct engine_result){.n_runs = 0};
	self->reader->n_queries = 0;
	r = cycle(self, &collect, ret, err);
	/* Without pods in the last fold, runs whose pods are gone were not found either. */
	if (r >= 0 && !collect.has_told_pods)
		engine_settle(self, now_ms);
	ret->n_queries = self->reader->n_queries;
	ret->duration_ms = time_monotonic_ms() - begun_ms;
	collect_release(&collect);
	return r;
}
