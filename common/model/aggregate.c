/* SPDX-License-Identifier: Apache-2.0 */
/* aggregate: history.h describes the rule of forgetting and its reason. */
#include "base/attr.h"
#include "model/history.h"

#include <string.h>

static bool is_near(int64_t value, int64_t maximum)
{
	return (__int128)value * 1000 >= (__int128)maximum * HISTORY_NEAR_PERMILLE;
}

/* A run near the maximum ended. */
static void set_near(struct history_maximum *self, int64_t now_ms)
{
	self->gap_runs = MAX(self->gap_runs, self->later_runs);
	self->near_ms = now_ms;
	self->later_bytes = 0;
	self->later_runs = 0;
}

/* A forgotten maximum is reached again, or exceeded. */
static void recall(struct history_maximum *self, int64_t value)
{
	for (size_t i = 0; i < HISTORY_FORGOTTEN; i++) {
		struct history_forgotten *forgotten = &self->forgotten[i];

		if (!forgotten->bytes || !is_near(value, forgotten->bytes))
			continue;
		if (is_near(forgotten->bytes, value))
			self->gap_runs = MAX(self->gap_runs, forgotten->later_runs);
		*forgotten = (struct history_forgotten){.bytes = 0};
	}
}

static void remember(struct history_maximum *self)
{
	struct history_forgotten *least = &self->forgotten[0];

	for (size_t i = 1; i < HISTORY_FORGOTTEN; i++)
		if (self->forgotten[i].bytes < least->bytes)
			least = &self->forgotten[i];
	if (self->bytes > least->bytes)
		*least = (struct history_forgotten){self->bytes, self->near_ms, self->later_runs};
}

/* Leaves only what was forgotten. */
static void reset(struct history_maximum *self, int64_t bytes, int32_t near_runs, int64_t now_ms)
{
	struct history_maximum before = *self;

	*self = (struct history_maximum){.bytes = bytes, .near_ms = now_ms, .near_runs = near_runs};
	memcpy(self->forgotten, before.forgotten, sizeof(self->forgotten));
}

/* A run needed at least `value`. */
static void maximum_add(struct history_maximum *self, int64_t value, int64_t now_ms)
{
	if (!is_near(self->bytes, value)) /* far more than ever before: nothing is known of its recurrence */
		reset(self, 0, 0, now_ms);
	recall(self, value);
	if (is_near(value, self->bytes))
		set_near(self, now_ms);
	else
		self->later_bytes = MAX(self->later_bytes, value);
	self->bytes = MAX(self->bytes, value);
}

static bool is_time_to_forget(const struct history_maximum *self, int64_t now_ms)
{
	return self->later_runs >= HISTORY_FORGET_RUNS &&
	       (self->later_runs >= 2 * (int64_t)self->gap_runs || now_ms - self->near_ms >= 2 * HISTORY_RECUR_MS);
}

/* A whole run needed no more than `value`. Runs may end before one that was added earlier, and an object may have any
 * times. */
static void maximum_doubt(struct history_maximum *self, int64_t value, int64_t now_ms)
{
	for (size_t i = 0; i < HISTORY_FORGOTTEN; i++) {
		struct history_forgotten *forgotten = &self->forgotten[i];

		forgotten->later_runs += forgotten->later_runs < INT32_MAX;
		forgotten->near_ms = MIN(forgotten->near_ms, now_ms);
		if (now_ms - forgotten->near_ms > HISTORY_RECUR_MS)
			*forgotten = (struct history_forgotten){.bytes = 0};
	}
	self->near_ms = MIN(self->near_ms, now_ms);
	if (!self->bytes)
		return;
	if (is_near(value, self->bytes)) {
		self->near_runs += self->near_runs < INT32_MAX;
		set_near(self, now_ms);
		return;
	}
	self->later_runs += self->later_runs < INT32_MAX;
	if (!is_time_to_forget(self, now_ms))
		return;
	remember(self);
	reset(self, self->later_bytes, self->later_runs, now_ms);
}

static bool maximum_raise(struct history_maximum *self, int64_t value, int64_t now_ms)
{
	if (value <= self->bytes)
		return false;
	maximum_add(self, value, now_ms);
	return true;
}

static int64_t end_of(const struct run *run)
{
	return run->start_ms + run->duration_ms;
}

bool history_aggregate_raise(struct history_aggregate *self, const struct run *run)
{
	bool has_changed = !run_is_killed_by_node(run) &&
			   maximum_raise(&self->killed, run_killed_limit_max(run), end_of(run));

	if (!run->is_whole)
		return has_changed;
	has_changed |= maximum_raise(&self->peak, run_need_bytes(run), end_of(run));
	has_changed |= maximum_raise(&self->ephemeral, run->peak_ephemeral_bytes, end_of(run));
	return has_changed;
}

/* Whether the kill counts. Where a node is blamed again, the container may have spikes between two samples. From less
 * than an eighth of the limit that is unlikely, but a workload must not be killed for ever. */
static bool is_proof(const struct history_aggregate *self, const struct run *run, bool is_by_node)
{
	bool is_near = run->peak_bytes >= run_killed_limit_max(run) / 8;

	return !is_by_node || self->node_blame >= (is_near ? HISTORY_BLAME_PROOF : HISTORY_BLAME_MOST);
}

static void add_kill(struct history_aggregate *self, const struct run *run, int64_t killed, bool is_by_node)
{
	if (killed >= self->killed.bytes)
		self->is_kill_unseen = is_by_node;
	maximum_add(&self->killed, killed, end_of(run));
}

/* Of the smaller limit that remains after the greatest one is forgotten, the use is not known to be unseen. */
static void doubt_kill(struct history_aggregate *self, int64_t need, int64_t now_ms)
{
	int64_t before = self->killed.bytes;

	maximum_doubt(&self->killed, need, now_ms);
	self->is_kill_unseen &= self->killed.bytes == before;
}

/* Whether the run ended early by itself or was stopped, but not before its use was seen for some time. */
static bool is_long(const struct run *run)
{
	enum { LONG_MS = 10 * TIME_MINUTE_MS, LONG_SAMPLES = 10 };

	return !run->n_killed_limits && run->duration_ms >= LONG_MS &&
	       run->samples / MAX(run->ranks, 1) >= LONG_SAMPLES &&
	       (run->outcome == OUTCOME_FAILED || run->outcome == OUTCOME_DELETED || run->outcome == OUTCOME_PREEMPTED);
}

/* Long runs that ended early contradict a kill. They contradict a peak only where whole runs do not come. */
static void doubt_early(struct history_aggregate *self, const struct run *run, int64_t need)
{
	if (!is_long(run))
		return;
	self->early_runs += self->early_runs < INT32_MAX;
	if (self->early_runs % HISTORY_EARLY_RUNS)
		return;
	doubt_kill(self, need, end_of(run));
	if (self->whole_runs && self->early_runs <= HISTORY_EARLY_ALONE)
		return;
	maximum_doubt(&self->peak, need, end_of(run));
	if (run->peak_ephemeral_bytes)
		maximum_doubt(&self->ephemeral, run->peak_ephemeral_bytes, end_of(run));
}

static void doubt_whole(struct history_aggregate *self, const struct run *run, int64_t need)
{
	bool fits = !run->n_killed_limits && run->limit_bytes > 0 && run->limit_bytes <= self->killed.bytes;

	self->whole_runs++;
	self->early_runs = 0;
	doubt_kill(self, fits ? 0 : need, end_of(run));
	maximum_doubt(&self->peak, need, end_of(run));
	if (run->peak_ephemeral_bytes)
		maximum_doubt(&self->ephemeral, run->peak_ephemeral_bytes, end_of(run));
}

static void blame_node(struct history_aggregate *self, const struct run *run, bool is_by_node)
{
	if (is_by_node)
		self->node_blame = MIN(self->node_blame, HISTORY_BLAME_MOST - HISTORY_BLAME_KILL) + HISTORY_BLAME_KILL;
	else if (run->is_whole && self->node_blame > 0)
		self->node_blame--;
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
		add_kill(self, run, killed, is_by_node);
	if (run->is_whole || !killed) /* the peak of a killed run is its limit */
		maximum_add(&self->peak, need, end_of(run));
	maximum_add(&self->ephemeral, run->peak_ephemeral_bytes, end_of(run));
	if (need && run->is_whole)
		doubt_whole(self, run, need);
	else if (need)
		doubt_early(self, run, need);
	/* runs that ended early may have been counted as whole ones */
	self->peak.near_runs = (int32_t)MIN(self->peak.near_runs, self->whole_runs);
}
