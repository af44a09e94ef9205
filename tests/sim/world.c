/* SPDX-License-Identifier: Apache-2.0 */
/* world: starts the runs of a scenario, kills what needs more than its limit, and learns from every pod that begins or
 * ends, in the order of time. Sizes are judged when a run is submitted. */
#include "sim.h"

#include "base/timefmt.h"
#include "engine/learn.h"
#include "pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIM_MOST_ACTIVE = 64,
	SIM_FIRST_RUNS = 30, /* have ample sizes of their own: the simulation is not about the first days */
	SIM_ATTEMPTS = 6,    /* a Job's backoffLimit */
	RETRY_MS = 30 * 1000,
	TURN_PERMILLE = 100,
};
#define SIM_BEGIN_MS ((int64_t)20000 * TIME_DAY_MS)

struct world {
	const struct scenario *scenario;
	struct sim_random random;
	struct sim_learner learner;
	struct sim_pods active[SIM_MOST_ACTIVE];
	size_t n_active;
	struct sim_result *result;
	int regime_begin;
	int n_complete, n_failed; /* runs of the regime that have ended */
	int64_t turned_bytes;	  /* the limit at its last change by more than a tenth */
	int direction;
	double needed, charged; /* GiB hours */
};

int64_t sim_between(struct sim_random *self, int64_t from, int64_t to)
{
	uint64_t z = self->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return from + (int64_t)(z % (uint64_t)(to - from + 1));
}

bool sim_happens(struct sim_random *self, int percent)
{
	return sim_between(self, 1, 100) <= percent;
}

/* ---- judging ---- */

static double gib_hours(int64_t bytes, int64_t ms)
{
	return (double)bytes / (double)GIB * (double)ms / (double)TIME_HOUR_MS;
}

static bool is_above(int64_t bytes, int64_t of_bytes, int permille)
{
	return (double)bytes * 1000 > (double)of_bytes * permille;
}

static void judge_turns(struct world *self, int64_t limit_bytes)
{
	int direction = 0;

	if (!self->turned_bytes)
		self->turned_bytes = limit_bytes;
	if (is_above(limit_bytes, self->turned_bytes, 1000 + TURN_PERMILLE))
		direction = 1;
	else if (is_above(self->turned_bytes, limit_bytes, 1000 + TURN_PERMILLE))
		direction = -1;
	if (!direction)
		return;
	self->result->turns += self->direction && direction != self->direction;
	self->direction = direction;
	self->turned_bytes = limit_bytes;
}

static void note_regime(struct world *self, int index, const struct sim_run *run)
{
	if (!run->begins_regime)
		return;
	self->regime_begin = index;
	self->n_complete = self->n_failed = 0;
}

static void note_end(struct world *self, const struct sim_pods *pods)
{
	if (pods->index < self->regime_begin)
		return;
	self->n_complete += pods->end == SIM_END_COMPLETED;
	self->n_failed += pods->end == SIM_END_FAILED;
}

/* Until the workload has enough runs for a recommendation, there is nothing to judge. */
static void judge_sizes(struct world *self, const struct sim_pods *pods)
{
	const struct sim_run *run = &pods->run;
	const struct recommendation *rec = sim_recommended(&self->learner, pods);
	int age = (self->n_complete ? self->n_complete : self->n_failed / HISTORY_EARLY_RUNS) + 1;

	if (!rec || rec->confidence < CONFIDENCE_MEDIUM)
		return;
	judge_turns(self, rec->limit_bytes);
	if (run->fate != SIM_FAILS && rec->limit_bytes < run->need_bytes)
		self->result->low_after = MAX(self->result->low_after, age);
	if (is_above(rec->limit_bytes, run->regime_need_bytes, SIM_HIGH_PERMILLE))
		self->result->high_after = MAX(self->result->high_after, age);
	if (is_above(rec->request_bytes, run->regime_usual_bytes, SIM_REQUEST_HIGH_PERMILLE) ||
	    !is_above(rec->request_bytes, run->regime_usual_bytes, SIM_REQUEST_LOW_PERMILLE))
		self->result->request_after = MAX(self->result->request_after, age);
}

/* Whether the present pod has a spike that no sample shows, and which its limit does not cover. */
static bool is_spike(const struct sim_pods *pods)
{
	return pods->n_attempts == 1 && pods->limit_bytes && pods->run.spike_bytes > pods->limit_bytes;
}

/* What fails early does so before it needs all. */
static bool is_short(const struct sim_pods *pods)
{
	return pods->limit_bytes && pods->run.need_bytes > pods->limit_bytes && pods->run.fate != SIM_FAILS;
}

/* A killed attempt costs its limit for the duration of the run. */
static void charge(struct world *self, const struct sim_pods *pods)
{
	const struct sim_run *run = &pods->run;
	int64_t bytes = pods->limit_bytes ? pods->limit_bytes : run->need_bytes;

	if (pods->end == SIM_END_FAILED)
		return;
	self->charged += gib_hours(bytes, run->duration_ms);
	if (pods->end == SIM_END_COMPLETED)
		self->needed += gib_hours(run->need_bytes, run->duration_ms);
	self->result->kills += is_short(pods) || is_spike(pods);
}

/* ---- the course of events ---- */

static enum sim_end end_of(const struct sim_pods *pods)
{
	static const enum sim_end short_ends[] = {SIM_END_KILLED, SIM_END_EXITED, SIM_END_LOST_CHILD};

	if (is_short(pods))
		return short_ends[pods->run.shortage];
	if (is_spike(pods) || (pods->run.fate == SIM_NODE_OOM && pods->n_attempts == 1))
		return SIM_END_UNSEEN;
	return pods->run.fate == SIM_FAILS ? SIM_END_FAILED : SIM_END_COMPLETED;
}

/* The greatest use that samples show. */
static int64_t peak_of(const struct sim_pods *pods, int64_t part_permille)
{
	if (is_spike(pods))
		return pods->run.usual_bytes;
	switch (pods->end) {
	case SIM_END_KILLED:
		return pods->limit_bytes;
	case SIM_END_EXITED:
		return pods->limit_bytes / 100 * 97;
	case SIM_END_LOST_CHILD:
		return pods->limit_bytes / 100 * 60;
	case SIM_END_COMPLETED:
		return pods->run.need_bytes;
	default:
		return pods->run.usual_bytes / 1000 * part_permille;
	}
}

/* Creates the next pod of a run. */
static int begin_attempt(struct world *self, struct sim_pods *pods, int64_t now_ms, struct err *err)
{
	int64_t part_permille = 1000;
	int r;

	pods->n_attempts++;
	pods->begin_ms = now_ms;
	r = sim_decide(&self->learner, pods, err);
	pods->end = SIM_END_NONE;
	r = r ? r : sim_learn(&self->learner, pods, now_ms, err);
	pods->end = end_of(pods);
	if (pods->end != SIM_END_COMPLETED)
		part_permille = sim_between(&self->random, 100, 800);
	pods->peak_bytes = peak_of(pods, part_permille);
	pods->end_ms = now_ms + pods->run.duration_ms / 1000 * part_permille;
	return r;
}

/* Whether the Job creates another pod after this end. */
static bool is_retried(const struct sim_pods *pods)
{
	return !pods->run.is_bare &&
	       (pods->end == SIM_END_UNSEEN || (is_short(pods) && pods->n_attempts < SIM_ATTEMPTS));
}

static void remove_active(struct world *self, size_t i)
{
	sim_pods_release(&self->active[i]);
	self->active[i] = self->active[--self->n_active];
}

static int end_attempt(struct world *self, size_t i, struct err *err)
{
	struct sim_pods *pods = &self->active[i];
	int r;

	charge(self, pods);
	note_end(self, pods);
	r = sim_learn(&self->learner, pods, pods->end_ms, err);
	if (!r && is_retried(pods))
		return begin_attempt(self, pods, pods->end_ms + RETRY_MS, err);
	remove_active(self, i);
	return r;
}

static int end_until(struct world *self, int64_t until_ms, struct err *err)
{
	for (;;) {
		size_t first = 0;
		int r;

		for (size_t i = 1; i < self->n_active; i++)
			if (self->active[i].end_ms < self->active[first].end_ms)
				first = i;
		if (!self->n_active || self->active[first].end_ms > until_ms)
			return 0;
		r = end_attempt(self, first, err);
		if (r)
			return r;
	}
}

static int submit(struct world *self, int index, const struct sim_run *run, int64_t now_ms, struct err *err)
{
	struct sim_pods *pods = &self->active[self->n_active];
	int r;

	if (self->n_active == SIM_MOST_ACTIVE)
		return err_set(err, -ENOMEM, "more than %d runs at once", SIM_MOST_ACTIVE);
	note_regime(self, index, run);
	sim_pods_init(pods, run, index);
	judge_sizes(self, pods);
	self->n_active++;
	r = begin_attempt(self, pods, now_ms, err);
	if (!r && run->fate == SIM_HANGS)
		remove_active(self, self->n_active - 1);
	return r;
}

int sim_simulate(const struct scenario *scenario, uint64_t seed, struct sim_result *ret, struct err *err)
{
	struct world *self = calloc(1, sizeof(*self));
	int64_t now_ms = SIM_BEGIN_MS;
	int r;

	*ret = (struct sim_result){.kills = 0};
	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->scenario = scenario;
	self->random.state = seed;
	self->result = ret;
	r = sim_learner_init(&self->learner, scenario->mode, err);
	for (int i = 0; i < SIM_RUNS && !r; i++) {
		struct sim_run run = {.need_bytes = 0};

		scenario->make(&self->random, i, &run);
		if (i < SIM_FIRST_RUNS)
			run.own_request_bytes = run.own_limit_bytes = 2 * run.regime_need_bytes;
		now_ms += run.wait_ms;
		r = end_until(self, now_ms, err);
		r = r ? r : submit(self, i, &run, now_ms, err);
	}
	r = r ? r : end_until(self, INT64_MAX, err);
	ret->waste_gibh = (int)(self->charged - self->needed + 0.5);
	if (self->needed > 0)
		ret->regret_percent = (int)((self->charged / self->needed - 1) * 100 + 0.5);
	while (self->n_active)
		remove_active(self, 0);
	sim_learner_release(&self->learner);
	free(self);
	return r;
}
