/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <errno.h>
#include <string.h>

/* Runs of which something was found; the runs are borrowed from a struct collect. */
struct asked {
	VEC(struct found_run) runs;
	VEC(struct diagnosed) results;
};

/* Of each role the main container: what died of it is the run's end. */
static bool may_ask(const struct found_run *found)
{
	return found->is_main && found->is_watched && found->run.outcome != OUTCOME_COMPLETED;
}

static int ask(const struct diagnoser *diagnoser, const struct found_run *found, struct asked *ret)
{
	struct diagnosed diagnosed = {.has_setting = false};
	int r = diagnoser->read(diagnoser->context, found, &diagnosed);

	if (r)
		return MIN(r, 0);
	memcpy(diagnosed.diagnosis.run, found->run.name, sizeof(diagnosed.diagnosis.run));
	return vec_push(&ret->runs, *found) || vec_push(&ret->results, diagnosed) ? -ENOMEM : 0;
}

static int learn_them(struct engine *self, int64_t now_ms, const struct asked *asked, struct engine_result *ret,
		      struct err *err)
{
	struct learn learn = engine_begin_learn(self, now_ms);
	int r = learn_diagnoses(&learn, asked->runs.items, asked->results.items, asked->runs.n, err);

	if (!r)
		r = engine_commit(self, &learn, NULL, ret, err);
	learn_release(&learn);
	return r;
}

int engine_diagnose(struct engine *self, const struct collect *collect, struct engine_result *ret, struct err *err)
{
	const struct diagnoser *diagnoser = &self->diagnoser;
	struct asked asked = {.runs = VEC_INIT, .results = VEC_INIT};
	int r = 0;

	if (!diagnoser->begin || !diagnoser->begin(diagnoser->context, collect->now_ms))
		return 0;
	for (size_t i = 0; i < collect->found.runs.n && !r; i++)
		if (may_ask(&collect->found.runs.items[i]))
			r = ask(diagnoser, &collect->found.runs.items[i], &asked);
	if (r)
		r = err_set(err, r, "no memory left for the ends of runs");
	else if (asked.runs.n)
		r = learn_them(self, collect->now_ms, &asked, ret, err);
	vec_release(&asked.runs);
	vec_release(&asked.results);
	return r;
}
