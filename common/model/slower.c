/* SPDX-License-Identifier: Apache-2.0 */
#include "model/slower.h"

#include "base/str.h"
#include "base/timefmt.h"

#include <stdio.h>

enum { NEAR_LIMIT_PERMILLE = 900 };

/* Whether page cache filled a limit that we had lowered. Only then can the size have slowed the run: its data is read
 * again because less of it stays in memory. */
static bool is_pressed(const struct run *run)
{
	return run->limit_bytes > 0 && run->own_limit_bytes > run->limit_bytes && run->is_cache_bound &&
	       (__int128)run->peak_bytes * 1000 >= (__int128)run->limit_bytes * NEAR_LIMIT_PERMILLE;
}

/* Completed in one attempt: then its duration is that of the work. */
static bool is_timed(const struct run *run)
{
	return run->outcome == OUTCOME_COMPLETED && run->attempts <= 1 && run->duration_ms > 0;
}

static bool has_activity(const struct run *run)
{
	return run->is_whole && run->activity_permille >= 0;
}

/* An earlier run of the same work on as many accelerators. */
static bool is_measure(const struct run *other, const struct run *run)
{
	return other->start_ms < run->start_ms && is_timed(other) && !other->harm &&
	       streq(other->variant, run->variant) && other->world_size == run->world_size &&
	       other->accelerators_milli == run->accelerators_milli;
}

static void add_measure(struct slower *self, const struct run *other)
{
	if (!self->runs++ || other->duration_ms < self->fastest_ms)
		self->fastest_ms = other->duration_ms;
	self->slowest_ms = MAX(self->slowest_ms, other->duration_ms);
	if (!has_activity(other))
		return;
	if (!self->active_runs++ || other->activity_permille < self->least_permille)
		self->least_permille = other->activity_permille;
	self->most_permille = MAX(self->most_permille, other->activity_permille);
}

struct slower slower_compare(const struct history *history, const struct run *run)
{
	struct slower self = {.duration_ms = run->duration_ms, .activity_permille = -1, .least_permille = -1};

	if (!is_timed(run) || !is_pressed(run))
		return self;
	for (size_t i = 0; i < history->runs.n; i++)
		if (is_measure(&history->runs.items[i], run))
			add_measure(&self, &history->runs.items[i]);
	if (self.runs < SLOWER_RUNS)
		self.slowest_ms = 0;
	if (self.active_runs < SLOWER_RUNS || !has_activity(run))
		self.least_permille = -1;
	else
		self.activity_permille = run->activity_permille;
	return self;
}

/* Each is outside the range of the earlier runs by more than the width of that range. */
enum slower_by slower_by(const struct slower *self, int32_t by_permille)
{
	const __int128 duration_ms = self->duration_ms, slowest_ms = self->slowest_ms;
	const __int128 activity = self->activity_permille, least = self->least_permille;
	bool is_longer = slowest_ms > 0 && duration_ms * 1000 > slowest_ms * (1000 + by_permille) &&
			 duration_ms - slowest_ms > slowest_ms - self->fastest_ms;
	bool is_idler = least > 0 && activity * (1000 + by_permille) < least * 1000 &&
			least - activity > self->most_permille - least;

	if (is_longer && is_idler)
		return duration_ms * activity >= slowest_ms * least ? SLOWER_BY_DURATION : SLOWER_BY_ACTIVITY;
	return is_longer ? SLOWER_BY_DURATION : is_idler ? SLOWER_BY_ACTIVITY : SLOWER_BY_NOTHING;
}

/* Whole seconds, unless the duration is short. */
static const char *duration_text(int64_t ms, char ret[TIME_TEXT_BYTES])
{
	return duration_render(ms < 10 * TIME_SECOND_MS ? ms : ms - ms % TIME_SECOND_MS, ret);
}

const char *slower_render(const struct slower *self, enum slower_by by, char ret[SLOWER_TEXT_BYTES])
{
	char took[TIME_TEXT_BYTES], slowest[TIME_TEXT_BYTES];

	ret[0] = '\0';
	if (by == SLOWER_BY_DURATION)
		snprintf(ret, SLOWER_TEXT_BYTES, "took %s, at most %s in %d runs before it",
			 duration_text(self->duration_ms, took), duration_text(self->slowest_ms, slowest), self->runs);
	else if (by == SLOWER_BY_ACTIVITY)
		snprintf(ret, SLOWER_TEXT_BYTES, "accelerators %d.%d %% active, at least %d.%d %% in %d runs before it",
			 self->activity_permille / 10, self->activity_permille % 10, self->least_permille / 10,
			 self->least_permille % 10, self->active_runs);
	return ret;
}

enum slower_by slower_tell(const struct history *history, const struct run *run, char ret[SLOWER_TEXT_BYTES])
{
	struct slower slower = slower_compare(history, run);
	enum slower_by by = slower_by(&slower, 0);

	slower_render(&slower, by, ret);
	return by;
}
