/* SPDX-License-Identifier: Apache-2.0 */
/* history: the aggregate is never changed in place, but computed from the dropped runs and the list. So a run may be
 * replaced any number of times (it continues, or a cycle is replayed after a crash) and counts once. */
#include "model/history.h"

#include "base/str.h"
#include "base/timefmt.h"
#include "model/history_internal.h"

#include <errno.h>
#include <stdlib.h>

struct history *history_new(const char *namespace_name, const char *name)
{
	CLEANUP(history_freep) struct history *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	self->namespace_name = strdup(namespace_name);
	self->name = strdup(name);
	self->workload = strdup("");
	self->role = strdup("");
	self->container = strdup("");
	if (!self->namespace_name || !self->name || !self->workload || !self->role || !self->container)
		return NULL;
	return TAKE_PTR(self);
}

void history_free(struct history *self)
{
	if (!self)
		return;
	free(self->namespace_name);
	free(self->name);
	free(self->workload);
	free(self->role);
	free(self->container);
	for (size_t i = 0; i < self->n_aliases; i++)
		free(self->aliases[i]);
	vec_release(&self->runs);
	vec_release(&self->days);
	vec_release(&self->decisions);
	free(self);
}

void history_freep(struct history **self)
{
	history_free(*self);
	*self = NULL;
}

bool history_decision_is_same(const struct history_decision *a, const struct history_decision *b)
{
	return streq(a->owner, b->owner) && a->request_from_bytes == b->request_from_bytes &&
	       a->request_to_bytes == b->request_to_bytes && a->limit_from_bytes == b->limit_from_bytes &&
	       a->limit_to_bytes == b->limit_to_bytes &&
	       a->ephemeral_request_to_bytes == b->ephemeral_request_to_bytes &&
	       a->ephemeral_limit_to_bytes == b->ephemeral_limit_to_bytes;
}

static int64_t end_of(const struct run *run)
{
	return run->start_ms + run->duration_ms;
}

void history_aggregate_list(const struct history *self, const char *variant, struct history_aggregate *ret)
{
	const struct run *by_end[LIMIT_HISTORY_RUNS];
	size_t n = 0;

	for (size_t i = 0; i < self->runs.n && n < ARRAY_LEN(by_end); i++) {
		const struct run *run = &self->runs.items[i];
		size_t at = n;

		if (variant && !streq(run->variant, variant))
			continue;
		for (; at > 0 && end_of(by_end[at - 1]) > end_of(run); at--)
			by_end[at] = by_end[at - 1];
		by_end[at] = run;
		n++;
	}
	for (size_t i = 0; i < n; i++)
		history_aggregate_add(ret, by_end[i]);
}

static bool is_active(const struct run *run)
{
	return run->outcome == OUTCOME_RUNNING;
}

static void aggregate_again(struct history *self)
{
	self->aggregate = self->dropped;
	history_aggregate_list(self, NULL, &self->aggregate);
}

/* ---- counters by day: dropped runs stay counted ---- */

static int32_t day_of(const struct run *run)
{
	return (int32_t)(run->start_ms / TIME_DAY_MS);
}

static size_t day_at(const struct history *self, int32_t day)
{
	size_t at = 0;

	while (at < self->days.n && self->days.items[at].day < day)
		at++;
	return at;
}

static struct history_day *day_find(struct history *self, int32_t day)
{
	size_t at = day_at(self, day);

	return at < self->days.n && self->days.items[at].day == day ? &self->days.items[at] : NULL;
}

static void day_remove(struct history *self, size_t at)
{
	memmove(&self->days.items[at], &self->days.items[at + 1], (self->days.n - at - 1) * sizeof(*self->days.items));
	self->days.n--;
}

static void day_count(struct history_day *self, const struct run *run, int by)
{
	bool is_killed = run->n_killed_limits > 0 || run->outcome == OUTCOME_OOM_KILLED;
	bool is_evicted = run->outcome == OUTCOME_EVICTED_MEMORY || run->outcome == OUTCOME_EVICTED_EPHEMERAL;

	self->runs = MAX(self->runs + by, 0);
	self->oom_kills = MAX(self->oom_kills + by * is_killed, 0);
	self->evictions = MAX(self->evictions + by * is_evicted, 0);
	self->harms = MAX(self->harms + by * (run->harm != 0), 0);
}

/* There must be room for one more day. */
static void day_add(struct history *self, const struct run *run)
{
	size_t at = day_at(self, day_of(run));

	if (!day_find(self, day_of(run))) {
		memmove(&self->days.items[at + 1], &self->days.items[at],
			(self->days.n - at) * sizeof(*self->days.items));
		self->days.items[at] = (struct history_day){.day = day_of(run), .mode = -1};
		self->days.n++;
	}
	day_count(&self->days.items[at], run, 1);
	while (self->days.n > LIMIT_HISTORY_DAYS)
		day_remove(self, 0);
}

/* The run is about to be replaced by a better version. */
static void day_take_back(struct history *self, const struct run *run)
{
	struct history_day *day = day_find(self, day_of(run));

	if (!day)
		return;
	day_count(day, run, -1);
	if (!day->runs)
		day_remove(self, (size_t)(day - self->days.items));
}

/* ---- runs ---- */

static void remove_at(struct history *self, size_t i)
{
	memmove(&self->runs.items[i], &self->runs.items[i + 1], (self->runs.n - i - 1) * sizeof(*self->runs.items));
	self->runs.n--;
}

/* By start; equal starts (a sweep submitted at once) by uid, so that the order does not depend on arrival. */
static bool comes_before(const struct run *a, const struct run *b)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): items below n are set */
	return a->start_ms < b->start_ms || (a->start_ms == b->start_ms && strcmp(a->uid, b->uid) < 0);
}

/* Keeps the list sorted. */
static void insert_sorted(struct history *self, const struct run *run)
{
	size_t i = self->runs.n;

	while (i > 0) {
		const struct run *before = &self->runs.items[i - 1];

		if (!comes_before(run, before))
			break;
		i--;
	}
	memmove(&self->runs.items[i + 1], &self->runs.items[i], (self->runs.n - i) * sizeof(*self->runs.items));
	self->runs.items[i] = *run;
	self->runs.n++;
}

/* Index of the oldest run that has ended, which is the next to drop. The length of the list if there is none. */
static size_t oldest_ended(const struct history *self)
{
	size_t i = 0;

	while (i < self->runs.n && is_active(&self->runs.items[i]))
		i++;
	return i;
}

bool history_has_dropped(const struct history *self, const struct run *run)
{
	if (!self->dropped_until_ms || run->start_ms != self->dropped_until_ms)
		return run->start_ms < self->dropped_until_ms;
	return strcmp(run->uid, self->dropped_uid) <= 0;
}

/* Whether the run has not ended, and as many such runs are listed as may be. */
static bool is_active_in_vain(const struct history *self, const struct run *run)
{
	bool is_killed = run->n_killed_limits > 0;
	size_t n = 0;

	for (size_t i = 0; i < self->runs.n; i++)
		n += is_active(&self->runs.items[i]) && (!is_killed || self->runs.items[i].n_killed_limits > 0);
	return is_active(run) && n >= (size_t)(is_killed ? 2 * HISTORY_ACTIVE_RUNS : HISTORY_ACTIVE_RUNS);
}

bool history_leaves_out(const struct history *self, const struct run *run)
{
	return history_has_dropped(self, run) || is_active_in_vain(self, run);
}

void history_mark_dropped(struct history *self, const struct run *run)
{
	if (history_has_dropped(self, run))
		return;
	self->dropped_until_ms = run->start_ms;
	memcpy(self->dropped_uid, run->uid, sizeof(self->dropped_uid));
}

/* A run that ended before all listed runs began had ended when it was dropped, so it was counted completely then.
 * Raising again would undo that it was forgotten since. */
bool history_raise_left_out(struct history *self, const struct run *run)
{
	struct history_day *day = day_find(self, day_of(run));

	if (self->runs.n > 0 && end_of(run) < self->runs.items[0].start_ms)
		return false;
	if (!history_aggregate_raise(&self->dropped, run))
		return false;
	if (day && history_has_dropped(self, run)) { /* the run was counted as running */
		day_count(day, run, 1);
		day->runs--;
	}
	aggregate_again(self);
	return true;
}

static void drop(struct history *self, const struct run *run)
{
	history_aggregate_add(&self->dropped, run);
	history_mark_dropped(self, run);
}

/* Takes the newest active run out of the list, if more are active than may be: killed runs whose next attempts run. */
static bool leave_out_active(struct history *self)
{
	size_t n = 0, newest = 0;

	for (size_t i = 0; i < self->runs.n; i++) {
		n += is_active(&self->runs.items[i]);
		newest = is_active(&self->runs.items[i]) ? i : newest;
	}
	if (n <= 3 * HISTORY_ACTIVE_RUNS)
		return false;
	(void)history_aggregate_raise(&self->dropped, &self->runs.items[newest]);
	day_take_back(self, &self->runs.items[newest]);
	remove_at(self, newest);
	return true;
}

/* Makes room in a full list. false: the new run itself was dropped. */
static bool make_room(struct history *self, const struct run *run)
{
	size_t i = oldest_ended(self);

	if (leave_out_active(self))
		return true;
	if (i < self->runs.n && !is_active(run) && comes_before(run, &self->runs.items[i])) {
		drop(self, run);
		return false;
	}
	i = i == self->runs.n ? 0 : i;
	drop(self, &self->runs.items[i]);
	remove_at(self, i);
	return true;
}

static size_t find_run(const struct history *self, const char *uid)
{
	size_t i = 0;

	while (i < self->runs.n && !streq(self->runs.items[i].uid, uid))
		i++;
	return i;
}

int history_put_run(struct history *self, const struct run *run)
{
	size_t at = find_run(self, run->uid);
	bool is_new = at == self->runs.n;

	if (is_new && self->runs.n < LIMIT_HISTORY_RUNS && vec_reserve(&self->runs, self->runs.n + 1))
		return -ENOMEM;
	if (vec_reserve(&self->days, self->days.n + 1))
		return -ENOMEM;
	if (!is_new) {
		day_take_back(self, &self->runs.items[at]);
		remove_at(self, at);
	}
	day_add(self, run);
	if (self->runs.n < LIMIT_HISTORY_RUNS || make_room(self, run))
		insert_sorted(self, run);
	aggregate_again(self);
	return 0;
}

int history_add_run(struct history *self, const struct run *run)
{
	if (find_run(self, run->uid) == self->runs.n && history_leaves_out(self, run))
		return 0;
	return history_put_run(self, run);
}

int history_add_alias(struct history *self, const char *key)
{
	char *copy;

	for (size_t i = 0; i < self->n_aliases; i++)
		if (streq(self->aliases[i], key))
			return 0;
	if (self->n_aliases == LIMIT_PROFILE_ALIASES)
		return 0;
	copy = strdup(key);
	if (!copy)
		return -ENOMEM;
	self->aliases[self->n_aliases++] = copy;
	return 0;
}
