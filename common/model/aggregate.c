/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of decay is in history.h with its reason. */
#include "base/attr.h"
#include "model/history.h"

static int64_t permille_of(int64_t value, int permille)
{
	return (int64_t)((__int128)value * permille / 1000);
}

/* A run confirms the maximum: what spoke against it no longer counts. */
static void window_confirm(struct history_window *window)
{
	*window = (struct history_window){0};
}

/* A run speaks against the maximum: it got along with `value`. */
static void window_doubt(struct history_window *window, int64_t *maximum, int64_t value)
{
	if (window->runs < INT32_MAX)
		window->runs++;
	window->max_bytes = MAX(window->max_bytes, value);
	if (window->runs <= HISTORY_DECAY_AFTER_RUNS)
		return;
	*maximum = MAX(window->max_bytes, permille_of(*maximum, 1000 - HISTORY_DECAY_STEP_PERMILLE));
	if (*maximum == window->max_bytes)
		window_confirm(window);
}

static bool is_near(int64_t value, int64_t maximum)
{
	return value >= permille_of(maximum, HISTORY_DECAY_NEAR_PERMILLE);
}

/* A whole run's value beside the maximum of those before it. */
static void maximum_add(int64_t *maximum, struct history_window *window, int64_t value)
{
	if (value >= *maximum) {
		*maximum = value;
		window_confirm(window);
	} else if (window->runs < HISTORY_DECAY_AFTER_RUNS && is_near(value, *maximum)) {
		window_confirm(window);
	} else {
		window_doubt(window, maximum, value);
	}
}

static void killed_limit_add(struct history_aggregate *self, const struct run *run)
{
	int64_t killed = run_killed_limit_max(run);

	if (killed) {
		if (is_near(killed, self->killed_limit_bytes))
			window_confirm(&self->killed_window);
		self->killed_limit_bytes = MAX(self->killed_limit_bytes, killed);
	} else if (run->is_whole && run->limit_bytes > 0 && run->limit_bytes < self->killed_limit_bytes) {
		window_doubt(&self->killed_window, &self->killed_limit_bytes, run->limit_bytes);
	}
}

static bool maximum_raise(int64_t *maximum, struct history_window *window, int64_t value)
{
	if (value <= *maximum)
		return false;
	*maximum = value;
	window_confirm(window);
	return true;
}

bool history_aggregate_raise(struct history_aggregate *self, const struct run *run)
{
	bool has_changed = maximum_raise(&self->killed_limit_bytes, &self->killed_window, run_killed_limit_max(run));

	if (!run->is_whole)
		return has_changed;
	has_changed |= maximum_raise(&self->peak_bytes, &self->peak_window, run_need_bytes(run));
	has_changed |= maximum_raise(&self->ephemeral_peak_bytes, &self->ephemeral_window, run->peak_ephemeral_bytes);
	return has_changed;
}

void history_aggregate_add(struct history_aggregate *self, const struct run *run)
{
	int64_t need = run_need_bytes(run);
	double delta = (double)need - self->peak_mean_bytes;

	self->runs++;
	if (run->n_killed_limits || run->outcome == OUTCOME_OOM_KILLED)
		self->oom_runs++;
	killed_limit_add(self, run);
	if (!run->is_whole || !need)
		return;
	self->whole_runs++;
	self->peak_mean_bytes += delta / (double)self->whole_runs;
	self->peak_m2 += delta * ((double)need - self->peak_mean_bytes);
	maximum_add(&self->peak_bytes, &self->peak_window, need);
	if (run->peak_ephemeral_bytes)
		maximum_add(&self->ephemeral_peak_bytes, &self->ephemeral_window, run->peak_ephemeral_bytes);
}
