/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/caps_count.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/timefmt.h"

#include <errno.h>

/* A run that was counted. */
struct counted {
	char uid[RUN_UID_BYTES];
	bool is_harmed;
};

struct counting {
	struct caps_count *items;
	size_t n;
	struct arena arena; /* of the counted runs */
};

static int count_run(struct caps_count *self, const struct run *run, struct arena *arena)
{
	struct counted *counted = strmap_get(&self->runs, run->uid);

	if (run->start_ms + run->duration_ms < self->from_ms || run->start_ms < self->since_ms)
		return 0;
	if (!counted) {
		counted = arena_alloc(arena, sizeof(*counted));
		if (!counted)
			return -ENOMEM;
		memcpy(counted->uid, run->uid, sizeof(counted->uid));
		if (strmap_put(&self->runs, counted->uid, counted))
			return -ENOMEM;
		self->n++;
	}
	self->harmed += run->harm && !counted->is_harmed;
	counted->is_harmed |= run->harm != 0;
	return 0;
}

static int32_t day_of(int64_t time_ms)
{
	return (int32_t)(time_ms / TIME_DAY_MS);
}

/* The number of runs that dropped out of the history's list, which is bounded: the counters by day minus the runs in
 * the list. */
static int64_t dropped_of(const struct caps_count *self, const struct history *history)
{
	int32_t from_day = day_of(self->from_ms);
	int64_t n = 0;

	if (history->dropped_until_ms < MAX(self->from_ms, self->since_ms))
		return 0;
	for (size_t i = 0; i < history->days.n; i++)
		n += history->days.items[i].day >= from_day ? history->days.items[i].runs : 0;
	for (size_t i = 0; i < history->runs.n; i++)
		n -= day_of(history->runs.items[i].start_ms) >= from_day;
	return MAX(n, 0);
}

/* The same for harmed runs. Only days after the first one count, as the first day is not covered completely. */
static int64_t harmed_dropped_of(const struct caps_count *self, const struct history *history)
{
	int64_t first_ms = MAX(self->from_ms, self->since_ms), n = 0;

	for (size_t i = 0; i < history->days.n; i++)
		n += history->days.items[i].day > day_of(first_ms) ? history->days.items[i].harms : 0;
	for (size_t i = 0; i < history->runs.n; i++)
		n -= history->runs.items[i].harm && day_of(history->runs.items[i].start_ms) > day_of(first_ms);
	return MAX(n, 0);
}

static int count_history(struct caps_count *self, const struct history *history, struct arena *arena)
{
	int r = 0;

	for (size_t i = 0; i < history->runs.n && !r; i++)
		r = count_run(self, &history->runs.items[i], arena);
	if (r)
		return r;
	self->n_dropped += dropped_of(self, history);
	self->harmed_dropped = MAX(self->harmed_dropped, harmed_dropped_of(self, history));
	return 0;
}

static int on_history(void *context, struct history *take_history, struct err *err)
{
	struct counting *self = context;
	int r = 0;

	for (size_t i = 0; i < self->n && !r; i++)
		if (streq(take_history->namespace_name, self->items[i].namespace_name))
			r = count_history(&self->items[i], take_history, &self->arena);
	history_free(take_history);
	return r ? err_set(err, r, "no memory left for runs") : 0;
}

int caps_count(struct store *store, struct caps_count *items, size_t n, struct err *err)
{
	struct counting counting = {items, n, ARENA_INIT(LIMIT_STORE_BYTES)};
	const struct store_visitor visitor = {.context = &counting, .history = on_history};
	int r = n ? store_visit(store, &visitor, err) : 0;

	for (size_t i = 0; i < n; i++)
		strmap_release(&items[i].runs);
	arena_release(&counting.arena);
	return r;
}
