/* SPDX-License-Identifier: Apache-2.0 */
/* aggregate: history.h describes the rule of forgetting and its reason. */
#include "base/attr.h"
#include "base/timefmt.h"
#include "model/history.h"

static bool is_near(int64_t value, int64_t maximum)
{
	return (__int128)value * 1000 >= (__int128)maximum * HISTORY_NEAR_PERMILLE;
}

/* How many whole runs in a row must stay far below the maximum before it is forgotten. */
static int32_t patience(const struct history_maximum *self)
{
	return MAX(HISTORY_FORGET_RUNS, 2 * MIN(self->gap_runs, HISTORY_RECUR_RUNS));
}

static void set_gap(struct history_maximum *self, int32_t runs)
{
	self->gap_runs = MAX(self->gap_runs, runs);
	self->later_bytes = 0;
	self->later_runs = 0;
}

/* A run needed at least `value`. */
static void maximum_add(struct history_maximum *self, int64_t value)
{
	if (!is_near(self->bytes, value)) /* far more than ever before: nothing is known of its recurrence */
		*self = (struct history_maximum){.forgotten_bytes = self->forgotten_bytes,
						 .forgotten_runs = self->forgotten_runs};
	if (self->forgotten_bytes && is_near(value, self->forgotten_bytes)) {
		if (is_near(self->forgotten_bytes, value))
			set_gap(self, self->forgotten_runs);
		self->forgotten_bytes = self->forgotten_runs = 0;
	}
	if (is_near(value, self->bytes))
		set_gap(self, self->later_runs);
	else
		self->later_bytes = MAX(self->later_bytes, value);
	self->bytes = MAX(self->bytes, value);
}

static void maximum_forget(struct history_maximum *self)
{
	struct history_maximum forgotten = *self;

	*self = (struct history_maximum){.bytes = forgotten.later_bytes,
					 .forgotten_bytes = forgotten.forgotten_bytes,
					 .forgotten_runs = forgotten.forgotten_runs};
	if (forgotten.bytes < forgotten.forgotten_bytes)
		return;
	self->forgotten_bytes = forgotten.bytes;
	self->forgotten_runs = patience(&forgotten);
}

/* A whole run needed no more than `value`. */
static void maximum_doubt(struct history_maximum *self, int64_t value)
{
	if (self->forgotten_runs >= HISTORY_RECUR_RUNS)
		self->forgotten_bytes = self->forgotten_runs = 0;
	else if (self->forgotten_bytes)
		self->forgotten_runs++;
	if (!self->bytes)
		return;
	if (is_near(value, self->bytes))
		set_gap(self, self->later_runs);
	else if (self->later_runs < patience(self) - 1)
		self->later_runs++;
	else
		maximum_forget(self);
}

static bool maximum_raise(struct history_maximum *self, int64_t value)
{
	if (value <= self->bytes)
		return false;
	maximum_add(self, value);
	return true;
}

bool history_aggregate_raise(struct history_aggregate *self, const struct run *run)
{
	bool has_changed = !run_is_killed_by_node(run) && maximum_raise(&self->killed, run_killed_limit_max(run));

	if (!run->is_whole)
		return has_changed;
	has_changed |= maximum_raise(&self->peak, run_need_bytes(run));
	has_changed |= maximum_raise(&self->ephemeral, run->peak_ephemeral_bytes);
	return has_changed;
}

/* Whether the kill counts. Where the node is blamed a second time, the container may have spikes between two samples.
 * But those must end somewhere: use of less than an eighth of the limit is always the node's. */
static bool is_proof(const struct history_aggregate *self, const struct run *run, bool is_by_node)
{
	return !is_by_node || (self->node_blamed_runs > 0 && run->peak_bytes >= run_killed_limit_max(run) / 8);
}

/* Whether the run ended early by itself or was stopped, but not before its use was seen for some time. */
static bool is_long(const struct run *run)
{
	enum { LONG_MS = 10 * TIME_MINUTE_MS, LONG_SAMPLES = 10 };

	return !run->n_killed_limits && run->duration_ms >= LONG_MS &&
	       run->samples / MAX(run->ranks, 1) >= LONG_SAMPLES &&
	       (run->outcome == OUTCOME_FAILED || run->outcome == OUTCOME_DELETED || run->outcome == OUTCOME_PREEMPTED);
}

/* The run, which was not killed, may contradict a kill. */
static void doubt_kill(struct history_aggregate *self, const struct run *run, int64_t need)
{
	bool fits = !run->n_killed_limits && run->limit_bytes > 0 && run->limit_bytes <= self->killed.bytes;

	if (run->is_whole) {
		maximum_doubt(&self->killed, fits ? 0 : need);
	} else if (is_long(run) && ++self->early_runs >= HISTORY_EARLY_RUNS) {
		self->early_runs = 0;
		maximum_doubt(&self->killed, need);
	}
}

static void blame_node(struct history_aggregate *self, const struct run *run, bool is_by_node)
{
	if (is_by_node)
		self->node_blamed_runs = HISTORY_BLAME_RUNS;
	else if (run->is_whole && self->node_blamed_runs > 0)
		self->node_blamed_runs--;
}

void history_aggregate_add(struct history_aggregate *self, const struct run *run)
{
	bool is_by_node = run_is_killed_by_node(run);
	int64_t need = run_need_bytes(run), killed = is_proof(self, run, is_by_node) ? run_killed_limit_max(run) : 0;

	self->runs++;
	blame_node(self, run, is_by_node);
	if (run->n_killed_limits || run->outcome == OUTCOME_OOM_KILLED)
		self->oom_runs++;
	if (killed)
		maximum_add(&self->killed, killed);
	if (run->is_whole || !killed) /* the peak of a killed run is its limit */
		maximum_add(&self->peak, need);
	maximum_add(&self->ephemeral, run->peak_ephemeral_bytes);
	if (need)
		doubt_kill(self, run, need);
	if (!run->is_whole || !need)
		return;
	self->whole_runs++;
	maximum_doubt(&self->peak, need);
	if (run->peak_ephemeral_bytes)
		maximum_doubt(&self->ephemeral, run->peak_ephemeral_bytes);
}
