/* SPDX-License-Identifier: Apache-2.0 */
/* Each new run changes its profile, so a profile that was not updated for `keep_ms` had no new run. But a run may last
 * longer, and the history may be newer than the profile, so the history is read before anything is deleted. */
#include "engine/keep.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>

struct candidate {
	const struct profile *profile;
	bool is_alive;
};

struct keep {
	struct candidate *candidates;
	size_t n;
	int64_t since_ms;
};

static bool is_candidate(const struct profile *profile, int64_t since_ms)
{
	return profile->updated_ms > 0 && profile->updated_ms < since_ms && store_may_remove(profile);
}

static int64_t last_seen_ms(const struct history *history)
{
	int64_t last_ms = history->dropped_until_ms;

	for (size_t i = 0; i < history->runs.n; i++) {
		const struct run *run = &history->runs.items[i];

		last_ms = MAX(last_ms, run->start_ms + run->duration_ms);
	}
	return last_ms;
}

static int look(void *context, struct history *take_history, struct err *err)
{
	struct keep *self = context;

	(void)err;
	for (size_t i = 0; i < self->n; i++) {
		struct candidate *candidate = &self->candidates[i];

		if (streq(candidate->profile->name, take_history->name) &&
		    streq(candidate->profile->namespace_name, take_history->namespace_name))
			candidate->is_alive = last_seen_ms(take_history) >= self->since_ms;
	}
	history_free(take_history);
	return 0;
}

static int collect(struct keep *self, struct store *store, struct store_name *names, size_t *ret_n, struct err *err)
{
	const struct store_visitor visitor = {.context = self, .history = look};
	size_t n_dead = 0;
	int r;

	for (size_t i = 0; i < self->n; i++)
		names[i] = (struct store_name){self->candidates[i].profile->namespace_name,
					       self->candidates[i].profile->name};
	r = store_visit_named(store, &visitor, names, self->n, err);
	for (size_t i = 0; i < self->n && !r; i++)
		if (!self->candidates[i].is_alive)
			names[n_dead++] = names[i];
	return r ? r : store_remove(store, names, n_dead, ret_n, err);
}

int keep_collect(struct store *store, struct profile *const *profiles, size_t n, int64_t now_ms, int64_t keep_ms,
		 size_t *ret_n, struct err *err)
{
	CLEANUP(freep) struct candidate *candidates = calloc(KEEP_AT_ONCE, sizeof(*candidates));
	CLEANUP(freep) struct store_name *names = calloc(KEEP_AT_ONCE, sizeof(*names));
	struct keep keep = {.candidates = candidates, .since_ms = now_ms - keep_ms};

	*ret_n = 0;
	if (!candidates || !names)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n && keep.n < KEEP_AT_ONCE; i++)
		if (is_candidate(profiles[i], keep.since_ms))
			candidates[keep.n++].profile = profiles[i];
	return keep.n ? collect(&keep, store, names, ret_n, err) : 0;
}

int keep_collect_shapes(struct store *store, const struct node_shape *shapes, size_t n, int64_t now_ms, int64_t keep_ms,
			size_t *ret_n, struct err *err)
{
	CLEANUP(freep) struct store_name *names = calloc(KEEP_AT_ONCE, sizeof(*names));
	int64_t since_ms = now_ms - MAX(keep_ms, 2 * TIME_DAY_MS);
	size_t n_dead = 0;

	*ret_n = 0;
	if (!names)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n && n_dead < KEEP_AT_ONCE; i++)
		if (!shapes[i].is_declared && shapes[i].last_seen_ms > 0 && shapes[i].last_seen_ms < since_ms)
			names[n_dead++] = (struct store_name){"", shapes[i].name};
	return n_dead ? store_remove(store, names, n_dead, ret_n, err) : 0;
}
