/* SPDX-License-Identifier: Apache-2.0 */
/* rule_memtamer: keeps a MemoryHistory as the recommender does and sizes from it. The limits that the rule itself gave,
 * and the kills at them, are part of the history. Not in a trace, and so not in the history: page cache, the variant,
 * and curves, from which the shape is judged. minRuns is not applied. */
#include "backtest/rule.h"

#include "base/limits.h"
#include "policy/size.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct state {
	const struct sizing_policy *sizing;
	struct history *history;
	struct arena arena; /* of one recommendation */
};

static void destroy(void *state)
{
	struct state *self = state;

	if (!self)
		return;
	history_free(self->history);
	arena_release(&self->arena);
	free(self);
}

static void *create(const struct rule *rule, const struct sizing_policy *sizing)
{
	struct state *self = calloc(1, sizeof(*self));

	(void)rule;
	if (!self)
		return NULL;
	*self = (struct state){.sizing = sizing, .history = history_new("", ""), .arena = ARENA_INIT(MIB)};
	if (self->history)
		return self;
	destroy(self);
	return NULL;
}

static struct run run_of(const struct rule_run *from)
{
	const struct trace_run *run = from->run;
	struct run ret = {
		.attempts = from->n_kills + 1,
		.ranks = 1,
		.world_size = 1,
		.start_ms = run->start_ms,
		.duration_ms = run->duration_ms,
		.request_bytes = from->given.request_bytes,
		.limit_bytes = from->given.limit_bytes ? from->last_limit_bytes : 0,
		.chosen_by = CHOSEN_BY_MEMTAMER,
		.mode = MODE_ENFORCE,
		.peak_bytes = run->peak_bytes,
		.min_rank_peak_bytes = run->peak_bytes,
		.median_bytes = run->median_bytes,
		.p95_bytes = MIN(sketch_quantile(&run->use, 0.95), run->peak_bytes),
		.outcome = from->is_whole ? OUTCOME_COMPLETED : run->outcome,
		.is_whole = from->is_whole,
		.is_quantile_exact = true,
		.samples = run->n_samples,
		.activity_permille = -1,
		.source = "trace",
	};

	snprintf(ret.uid, sizeof(ret.uid), "%020zu", run->line);
	for (int i = from->n_kills; i > 0; i--)
		run_add_killed_limit(ret.killed_limits, &ret.n_killed_limits, from->last_limit_bytes >> i);
	return ret;
}

static int learn(void *state, const struct rule_run *from)
{
	struct state *self = state;
	struct run run = run_of(from);

	if (!history_has_dropped(self->history, &run))
		return history_add_run(self->history, &run);
	history_raise_left_out(self->history, &run);
	return 0;
}

static int size(void *state, const struct trace_run *run, struct rule_size *ret)
{
	struct state *self = state;
	struct recommendation recommendation;
	struct size_reasons reasons;
	enum size_by by[2];
	int r;

	(void)run;
	arena_reset(&self->arena);
	r = size_base(self->history, NULL, self->sizing, NULL, &self->arena, &recommendation, &reasons, NULL);
	if (r)
		return r;
	size_apply(self->sizing, &profile_spec_none, &recommendation, by);
	*ret = (struct rule_size){recommendation.request_bytes, recommendation.limit_bytes};
	return 0;
}

const struct rule rule_memtamer = {
	.name = "memtamer", .create = create, .destroy = destroy, .learn = learn, .size = size};
