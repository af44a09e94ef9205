/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "engine/learn.h"
#include "engine/shapes.h"

#include <errno.h>
#include <stdio.h>

static void note(struct engine_result *ret, const char *why)
{
	ret->is_partial = true;
	if (!ret->why[0])
		snprintf(ret->why, sizeof(ret->why), "%s", why);
}

static int load_state(struct engine *self, struct collector_state *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	int r = store_state_load(self->store, &text, err);

	if (r < 0)
		return r;
	r = collector_state_decode(strbuf_text(&text), text.len, ret, err);
	if (r)
		err_wrap(err, "collector state %s.state (remove it to read all history again)",
			 self->config->store.path);
	return r;
}

static int save_state(struct engine *self, const struct collector_state *state, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);

	if (collector_state_encode(state, &text))
		return err_set(err, text.status, "the state of open runs is larger than %zu MiB",
			       LIMIT_COLLECTOR_BYTES / MIB);
	return store_state_save(self->store, strbuf_text(&text), text.len, err);
}

/* What nothing works without. */
static bool has_what_it_needs(const struct evidence_reader *reader, const char **ret_missing)
{
	for (size_t i = 0; i < reader->n_findings; i++)
		if (!reader->findings[i].is_present && !reader->findings[i].without) {
			*ret_missing = reader->findings[i].metric;
			return false;
		}
	return true;
}

static int find_shapes(struct engine *self, const struct learn *learn, int64_t now_ms, struct shapes *ret,
		       struct engine_result *result)
{
	const struct evidence_window window = {.start_ms = now_ms - TIME_DAY_MS, .end_ms = now_ms, .is_open = true};
	struct evidence_nodes nodes = {.arena = ARENA_INIT(LIMIT_EVIDENCE_BYTES)};
	struct err err = ERR_INIT;
	int r = self->reader->nodes(self->reader, &window, &nodes, &err);

	if (!r)
		r = shapes_of_nodes(&nodes, learn->shapes.items, learn->shapes.n, now_ms, ret);
	else
		note(result, err.msg);
	evidence_nodes_release(&nodes);
	return r == -ENOMEM ? r : 0;
}

static int learn_and_commit(struct engine *self, struct collect *collect, struct engine_result *ret, struct err *err)
{
	struct learn learn = {.config = self->config,
			      .store = self->store,
			      .now_ms = collect->now_ms,
			      .is_sizing_all = !self->has_sized_all};
	struct shapes shapes = {.items = VEC_INIT};
	int r = learn_runs(&learn, collect->runs.items, collect->runs.n, err);

	if (!r && find_shapes(self, &learn, collect->now_ms, &shapes, ret))
		r = err_set(err, -ENOMEM, "no memory left");
	if (!r)
		r = learn_commit(&learn, shapes.items.items, shapes.items.n, err);
	if (!r) {
		self->has_sized_all = true;
		ret->n_workloads = learn.n_workloads;
		ret->n_profiles_changed = learn.n_profiles_changed;
		if (collect->has_changed_state)
			r = save_state(self, &collect->state, err);
	}
	vec_release(&shapes.items);
	learn_release(&learn);
	return r;
}

/* Roles and containers of one run have its uid; a run that was read in a closed day and again counts once. */
static size_t count_runs(const struct collect *collect)
{
	struct strmap uids = STRMAP_INIT;
	size_t n;

	for (size_t i = 0; i < collect->runs.n; i++)
		if (strmap_put(&uids, collect->runs.items[i].summary.run.uid, NULL))
			break;
	n = uids.n;
	strmap_release(&uids);
	return n;
}

static void count(const struct engine *self, const struct collect *collect, struct engine_result *ret)
{
	ret->n_runs = count_runs(collect);
	ret->n_queries = self->reader->n_queries;
	ret->n_series = collect->done.n_series;
	ret->n_samples = collect->done.n_samples;
	ret->days_done = collect->done.days_done;
	ret->days_total = collect->done.days_total;
}

/* Reading ended early: what was read whole is still good. */
static int end_of_reading(int status, struct collect *collect, struct engine_result *ret, const struct err *why)
{
	if (collect->is_partial)
		note(ret, collect->warning);
	if (status == 0)
		return 0;
	note(ret, why->msg);
	if ((status == EVIDENCE_UNREACHABLE || status == -EPROTO) && collect->done.days_done == 0)
		return EVIDENCE_UNREACHABLE;
	return status < 0 && status != -EPROTO ? status : 0;
}

static int cycle(struct engine *self, struct collect *collect, struct engine_result *ret, struct err *err)
{
	const char *missing;
	int r = load_state(self, &collect->state, err), status;

	if (!r)
		r = self->reader->detect(self->reader, collect->now_ms - collect->history_ms, collect->now_ms, err);
	if (r)
		return r;
	if (!has_what_it_needs(self->reader, &missing)) {
		char why[160];

		snprintf(why, sizeof(why), "Prometheus has no %s: nothing can be learned without it", missing);
		note(ret, why);
		return 0;
	}
	status = collect_run(collect, err);
	count(self, collect, ret);
	r = end_of_reading(status, collect, ret, err);
	return r ? r : learn_and_commit(self, collect, ret, err);
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
		.state = COLLECTOR_STATE_INIT,
	};
	int64_t begun_ms = time_monotonic_ms();
	int r;

	*ret = (struct engine_result){.n_runs = 0};
	self->reader->n_queries = 0;
	r = cycle(self, &collect, ret, err);
	ret->duration_ms = time_monotonic_ms() - begun_ms;
	collect_release(&collect);
	return r;
}
