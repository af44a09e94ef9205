/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/endings.h"

#include "base/hash.h"
#include "base/timefmt.h"
#include "policy/size.h"

#include <errno.h>

/* Prometheus has the last use of a run only after the next scrape. */
#define SCRAPED_MS (1 * TIME_MINUTE_MS)

/* The container of an owner's run that is reported. */
struct chosen {
	uint64_t owner;
	const struct found_run *found;
	const struct learned *item;
	const struct run *run; /* of the item's history */
};

struct choice {
	struct chosen items[ENDINGS_MAX];
	size_t n;
};

/* From when on the run counts as ended. INT64_MAX: it runs, or its use was not measured. */
static int64_t ended_ms(const struct run *run)
{
	int64_t end_ms = run->start_ms + run->duration_ms;

	if (run->outcome == OUTCOME_RUNNING || (!run->peak_bytes && !run->n_killed_limits))
		return INT64_MAX;
	return end_ms + (run->outcome == OUTCOME_COMPLETED ? SCRAPED_MS : FOLD_RETRY_MS);
}

static bool is_better(const struct chosen *a, const struct chosen *b)
{
	bool is_killed = a->run->n_killed_limits > 0;

	if (is_killed != (b->run->n_killed_limits > 0))
		return is_killed;
	return run_unused_gib_hours(a->run) > run_unused_gib_hours(b->run);
}

static void choose(struct choice *self, const struct chosen *one)
{
	for (size_t i = 0; i < self->n; i++) {
		if (self->items[i].owner != one->owner)
			continue;
		if (is_better(one, &self->items[i]))
			self->items[i] = *one;
		return;
	}
	if (self->n < ENDINGS_MAX)
		self->items[self->n++] = *one;
}

static void choose_all(const struct learn *learn, int64_t from_ms, struct choice *ret)
{
	for (size_t i = 0; i < learn->n_runs; i++) {
		const struct found_run *found = learn->runs[i];
		const struct learned *item = learn_find(learn, found);
		struct chosen one = {.found = found, .item = item};
		int64_t time_ms;

		one.run = item && item->history ? learn_history_find(item->history, &found->run) : NULL;
		time_ms = one.run ? ended_ms(one.run) : INT64_MAX;
		if (time_ms < from_ms || time_ms >= learn->now_ms)
			continue;
		one.owner = hash_stable_text(HASH_STABLE_INIT, found->namespace_name);
		one.owner = hash_stable_text(one.owner, found->identity.run_key);
		choose(ret, &one);
	}
}

/* Remembers the report. @return false: the owner had one within the last hour. */
static bool remember(struct endings *self, uint64_t owner, int64_t now_ms)
{
	for (size_t i = 0; i < ENDINGS_KEPT && i < self->n_told; i++)
		if (self->told[i].owner == owner && now_ms - self->told[i].told_ms < TIME_HOUR_MS)
			return false;
	self->told[self->n_told++ % ENDINGS_KEPT] = (struct ending){owner, now_ms};
	return true;
}

/* The limit to ask for after this run. 0: not known. */
static int64_t next_limit(const struct learn *learn, const struct learned *item, const struct run *run)
{
	const struct profile *profile = item->profile ? item->profile : item->before;
	struct recommendation rec;
	enum size_by by[2];

	if (!profile)
		return 0;
	rec = profile->parent;
	size_apply(&learn->config->policy.sizing, profile->spec, &rec, by);
	return size_advised_limit(&rec, by, run->limit_bytes);
}

static int note(struct learn *learn, const struct chosen *one)
{
	const struct profile *profile = one->item->profile ? one->item->profile : one->item->before;
	char owner[RUN_NAME_BYTES];
	struct notice notice;

	identity_cut(one->found->identity.run_key, owner, sizeof(owner));
	notice_of_end(one->found->namespace_name, owner, one->found->container, one->run,
		      next_limit(learn, one->item, one->run), profile ? profile->diagnosis : NULL, &notice);
	return vec_push(&learn->notices, notice);
}

int endings_note(struct endings *self, struct learn *learn, bool is_cycle_end)
{
	int64_t from_ms = MAX(self->until_ms, learn->now_ms - TIME_HOUR_MS);
	struct choice choice = {.n = 0};
	int r = 0;

	if (self->until_ms)
		choose_all(learn, from_ms, &choice);
	for (size_t i = 0; i < choice.n && !r; i++)
		if (remember(self, choice.items[i].owner, learn->now_ms))
			r = note(learn, &choice.items[i]);
	if (is_cycle_end)
		self->until_ms = learn->now_ms;
	return r;
}
