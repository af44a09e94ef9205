/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <errno.h>
#include <string.h>

/* Runs that a result is about; borrowed from a struct collect. */
struct asked {
	VEC(struct found_run) runs;
};

/* Of each role the main container: what died of it is the run's end. */
static bool may_ask(const struct found_run *found)
{
	return found->is_main && found->is_watched && found->run.outcome != OUTCOME_COMPLETED;
}

static int gather(const struct collect *found, struct asked *ret)
{
	int r = 0;

	for (size_t i = 0; i < found->found.runs.n && !r; i++)
		if (may_ask(&found->found.runs.items[i]))
			r = vec_push(&ret->runs, found->found.runs.items[i]);
	return r;
}

/* A workload without a history is not in the store yet, and nothing is written about it. */
static bool are_known(const struct learn *learn)
{
	for (size_t i = 0; i < learn->items.n; i++)
		if (!learn->items.items[i].history)
			return false;
	return learn->items.n > 0;
}

/* @return 0; 1: a workload is not in the store; -errno. */
static int learn_it(struct engine *self, int64_t now_ms, const struct asked *asked, const struct diagnosed *diagnosed,
		    struct engine_result *ret, struct err *err)
{
	struct learn learn = engine_begin_learn(self, now_ms);
	int r = learn_diagnosed(&learn, asked->runs.items, asked->runs.n, diagnosed, err);

	if (!r)
		r = engine_commit(self, &learn, NULL, ret, err);
	r = r ? r : !are_known(&learn);
	learn_release(&learn);
	return r;
}

/* The roles of a run have the same name. */
static int ask(struct engine *self, const struct collect *found, struct asked *asked, struct engine_result *ret,
	       struct err *err)
{
	const struct diagnoser *diagnoser = &self->diagnoser;
	struct diagnosed diagnosed = {.has_setting = false};
	int r = gather(found, asked);

	if (r || !asked->runs.n)
		return r;
	r = diagnoser->read(diagnoser->context, &diagnosed);
	if (r)
		return MIN(r, 0);
	memcpy(diagnosed.diagnosis.run, asked->runs.items[0].run.name, sizeof(diagnosed.diagnosis.run));
	r = learn_it(self, found->now_ms, asked, &diagnosed, ret, err);
	if (!r)
		diagnoser->stored(diagnoser->context);
	return r;
}

static int diagnose(struct engine *self, struct collect *found, struct engine_result *ret, struct err *err)
{
	const struct evidence_window window = {.end_ms = found->now_ms, .is_open = true};
	struct asked asked = {.runs = VEC_INIT};
	struct evidence_batch batch;
	int r;

	evidence_batch_init(&batch, &window);
	r = self->diagnoser.next(self->diagnoser.context, found->now_ms, &batch);
	r = r ? r : engine_fold_news(found, &batch, err);
	evidence_batch_release(&batch);
	r = r ? r : ask(self, found, &asked, ret, err);
	vec_release(&asked.runs);
	return r == -ENOMEM ? err_set(err, r, "no memory left for the end of a run") : r;
}

int engine_diagnose(struct engine *self, int64_t now_ms, struct engine_result *ret, struct err *err)
{
	struct collect found = {.now_ms = now_ms, .state = COLLECTOR_STATE_INIT};
	int r;

	*ret = (struct engine_result){.n_runs = 0};
	r = self->diagnoser.next ? diagnose(self, &found, ret, err) : 1;
	collect_release(&found);
	return r;
}
