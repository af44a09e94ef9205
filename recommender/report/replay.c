/* SPDX-License-Identifier: Apache-2.0 */
/* replay: decides about runs in the order of their starts, and adds them to the evidence in the order of their ends. */
#include "report/replay_internal.h"

#include "base/timefmt.h"
#include "engine/learn.h"

#include <errno.h>
#include <stdlib.h>

#define REPLAY_ARENA_BYTES (16 * MIB)

const char *const replay_reason_names[REPLAY_REASON_COUNT_] = {
	[REPLAY_TOO_FEW_RUNS] = "too-few-runs",
	[REPLAY_SIZE_UNKNOWN] = "own-size-unknown",
	[REPLAY_CAPPED] = "capped",
	[REPLAY_EXCLUDED] = "excluded",
};
const char *const replay_reason_words[REPLAY_REASON_COUNT_] = {
	[REPLAY_TOO_FEW_RUNS] = "too few complete runs before them",
	[REPLAY_SIZE_UNKNOWN] = "their own values are not known",
	[REPLAY_CAPPED] = "spec.modeCap of the workload or namespace",
	[REPLAY_EXCLUDED] = "the configuration excludes the namespace",
};

/* ---- what all runs share ---- */

static int put_all(struct snapshot_builder *builder, const struct replay_scope *scope)
{
	int r = 0;

	for (size_t i = 0; i < scope->knowledge->shapes.n && !r; i++)
		r = snapshot_builder_put_shape(builder, &scope->knowledge->shapes.items[i]);
	for (size_t i = 0; i < scope->config->n_node_shapes && !r; i++)
		r = snapshot_builder_put_shape(builder, &scope->config->node_shapes[i]);
	for (size_t i = 0; i < scope->knowledge->caps.n && !r; i++)
		r = snapshot_builder_put_copy(builder, scope->knowledge->caps.items[i]);
	return r;
}

int replay_open(const struct replay_scope *scope, struct replay_world **ret, struct err *err)
{
	struct replay_world *self = calloc(1, sizeof(*self));
	struct snapshot_builder *builder = self ? snapshot_builder_new(NULL) : NULL;

	if (!builder) {
		free(self);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*self = (struct replay_world){
		.scope = *scope, .policy = scope->config->policy, .arena = ARENA_INIT(REPLAY_ARENA_BYTES)};
	self->policy.mode = MODE_ENFORCE;
	if (put_all(builder, scope))
		snapshot_builder_free(builder);
	else
		self->base = snapshot_builder_finish(builder, scope->now_ms);
	if (!self->base) {
		replay_free(self);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = self;
	return 0;
}

void replay_free(struct replay_world *self)
{
	if (!self)
		return;
	snapshot_unref(self->base);
	arena_release(&self->arena);
	free(self);
}

/* ---- one history ---- */

struct replaying {
	struct replay_world *world;
	const struct history *source;
	struct history known;	 /* as it was at that time */
	struct profile *profile; /* as it was at that time */
	const struct run **by_end;
	size_t n_ended; /* so many runs of by_end are in `known` */
	struct replay *ret;
};

static int64_t end_of(const struct run *run)
{
	return run->outcome == OUTCOME_RUNNING ? INT64_MAX : run->start_ms + run->duration_ms;
}

static int compare_ends(const void *a, const void *b)
{
	const struct run *const *x = a, *const *y = b;

	return (end_of(*x) > end_of(*y)) - (end_of(*x) < end_of(*y));
}

/* An empty history with the names of `source`, which are borrowed, and only what is kept of runs that dropped out of
 * the list. It does not copy the bound on the start of dropped runs: the list may contain older runs (a long run
 * outlasts younger ones), which would then be rejected as dropped. */
static struct history history_before(const struct history *source)
{
	return (struct history){.namespace_name = source->namespace_name,
				.name = source->name,
				.workload = source->workload,
				.role = source->role,
				.container = source->container,
				.aggregate = source->dropped,
				.dropped = source->dropped};
}

/* Decisions of people apply from the first run on. */
static struct profile *profile_before(const struct knowledge *knowledge, const struct known *known)
{
	const struct profile *decided = known_decided(knowledge, known);
	struct profile_spec spec = decided ? *decided->spec : profile_spec_none;
	const struct profile draft = {.namespace_name = known_namespace(known),
				      .name = known->history->name,
				      .workload = known_workload(known),
				      .role = known_role(known),
				      .container = known_container(known),
				      .spec = &spec};

	spec.ref = (struct profile_ref){.key = NULL}; /* the pod of a replayed run has another name */
	return profile_dup(&draft);
}

static int begin(struct replaying *self, const struct known *known)
{
	self->known = history_before(known->history);
	self->profile = profile_before(self->world->scope.knowledge, known);
	self->by_end = calloc(self->source->runs.n + 1, sizeof(struct run *));
	if (!self->profile || !self->by_end)
		return -ENOMEM;
	for (size_t i = 0; i < self->source->runs.n; i++)
		self->by_end[i] = &self->source->runs.items[i];
	qsort(self->by_end, self->source->runs.n, sizeof(struct run *), compare_ends);
	return 0;
}

static void end(struct replaying *self)
{
	vec_release(&self->known.runs);
	vec_release(&self->known.days);
	profile_free(self->profile);
	free(self->by_end);
}

/* Adds the runs that had ended by `time_ms` to the evidence, and computes the profile from it. */
static int learn_until(struct replaying *self, int64_t time_ms, struct err *err)
{
	const struct config *config = self->world->scope.config;
	struct profile *now = NULL;
	bool is_more = false;
	int r = 0;

	for (; self->n_ended < self->source->runs.n && !r; self->n_ended++) {
		if (end_of(self->by_end[self->n_ended]) > time_ms)
			break;
		r = history_add_run(&self->known, self->by_end[self->n_ended]);
		is_more = true;
	}
	if (r)
		return err_set(err, r, "out of memory");
	if (is_more || !self->profile->revision)
		r = learn_profile(config, &self->known, self->profile, NULL, time_ms, NULL, &now, err);
	if (now) {
		profile_free(self->profile);
		self->profile = now;
	}
	return r;
}

/* ---- kills ---- */

/* A pod with the run's own values, of the attempt that was killed at this limit. Its request is not recorded; it was at
 * most the limit. */
static struct run attempt_at(const struct run *run, int64_t limit_bytes)
{
	struct run attempt = *run;

	attempt.chosen_by = CHOSEN_BY_USER;
	attempt.limit_bytes = limit_bytes;
	attempt.request_bytes = MIN(replay_own_request(run), limit_bytes);
	return attempt;
}

/* The limit that would have been set instead of the killed one; 0: none. A run has the values of its last attempt. If a
 * user submitted it again with a larger limit after a kill, the user avoided the next kill; so the decision is made for
 * a pod with the killed limit. If memtamer chose a limit below the user's, we caused the kill, and it does not count as
 * avoided. */
static int limit_instead(struct replaying *self, const struct run *run, int64_t killed_bytes,
			 const struct replay_outcome *outcome, int64_t *ret, struct err *err)
{
	int64_t own_bytes = replay_own_limit(run);
	struct replay_outcome instead = *outcome;
	int r = 0;

	if (run->chosen_by == CHOSEN_BY_MEMTAMER) {
		*ret = own_bytes > killed_bytes ? 0 : outcome->limit_bytes;
		return 0;
	}
	if (own_bytes != killed_bytes) {
		const struct run attempt = attempt_at(run, killed_bytes);

		r = replay_decide(self->world, self->profile, &attempt, &instead, err);
	}
	if (!r)
		*ret = instead.limit_bytes;
	return r;
}

/* `outcome` NULL: nothing was decided. */
static int judge_kills(struct replaying *self, const struct run *run, const struct replay_outcome *outcome,
		       struct err *err)
{
	struct replay *ret = self->ret;
	int r = 0;

	for (int i = 0; i < run->n_killed_limits && !r; i++) {
		int64_t killed_bytes = run->killed_limits[i], limit_bytes = 0;

		ret->kills++;
		if (killed_bytes < 0) {
			ret->kills_without_limit++;
			continue;
		}
		if (outcome)
			r = limit_instead(self, run, killed_bytes, outcome, &limit_bytes, err);
		if (r || limit_bytes <= killed_bytes)
			continue;
		ret->avoided++;
		ret->avoided_proven += run->outcome == OUTCOME_COMPLETED && limit_bytes >= run_need_bytes(run);
	}
	return r;
}

/* ---- one run ---- */

/* Whether the run completed, but would not have with what we would have set. */
static bool is_too_small(const struct run *run, const struct replay_outcome *outcome)
{
	return run->outcome == OUTCOME_COMPLETED && !run->n_killed_limits && outcome->limit_bytes &&
	       (outcome->is_filled || outcome->is_lowered) && outcome->limit_bytes != replay_own_limit(run) &&
	       outcome->limit_bytes < run_need_bytes(run);
}

static int undecided(struct replaying *self, enum replay_reason reason, const struct run *run, struct err *err)
{
	self->ret->undecided[reason]++;
	return judge_kills(self, run, NULL, err);
}

static bool is_usable(const struct profile *profile)
{
	return profile->parent.confidence >= CONFIDENCE_MEDIUM && profile->parent.limit_bytes;
}

static int judge(struct replaying *self, const struct run *run, const struct replay_outcome *outcome, struct err *err)
{
	struct replay *ret = self->ret;

	if (outcome->skip || outcome->mode < MODE_ENFORCE) {
		bool is_excluded = outcome->skip && !streq(outcome->skip, "mode-off");

		return undecided(self, is_excluded ? REPLAY_EXCLUDED : REPLAY_CAPPED, run, err);
	}
	if (!is_usable(self->profile)) {
		ret->smallest += outcome->is_filled;
		return undecided(self, REPLAY_TOO_FEW_RUNS, run, err);
	}
	if (!self->world->scope.knows_limits)
		return undecided(self, REPLAY_SIZE_UNKNOWN, run, err);
	ret->fill += outcome->is_filled;
	ret->raise += outcome->is_raised;
	ret->lower += outcome->is_lowered;
	ret->unchanged += !outcome->is_filled && !outcome->is_raised && !outcome->is_lowered;
	ret->too_small += is_too_small(run, outcome);
	return judge_kills(self, run, outcome, err);
}

static int replay_run(struct replaying *self, const struct run *run, struct err *err)
{
	struct replay_outcome outcome;
	int r = learn_until(self, run->start_ms, err);

	if (!r)
		r = replay_decide(self->world, self->profile, run, &outcome, err);
	if (r)
		return r;
	self->ret->runs++;
	return judge(self, run, &outcome, err);
}

int replay_history(struct replay_world *self, const struct known *known, struct replay *ret, struct err *err)
{
	struct replaying replaying = {.world = self, .source = known->history, .ret = ret};
	int r = 0;

	if (!known->history || !known->history->runs.n)
		return 0;
	if (begin(&replaying, known))
		r = err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < known->history->runs.n && !r; i++) {
		const struct run *run = &known->history->runs.items[i];

		if (run->start_ms >= self->scope.from_ms && run->start_ms <= self->scope.now_ms)
			r = replay_run(&replaying, run, err);
	}
	end(&replaying);
	return r;
}
