/* SPDX-License-Identifier: Apache-2.0 */
/* learn: makes one item for each workload of found runs, adds to it what the store has, then its runs, then computes
 * its size. Only the histories of items are kept in memory; profiles are small and all of them are. */
#include "engine/learn.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>

enum { CONFLICT_TRIES = 5 };

void learn_release(struct learn *self)
{
	for (size_t i = 0; i < self->items.n; i++) {
		profile_free(self->items.items[i].profile);
		history_free(self->items.items[i].history);
	}
	for (size_t i = 0; i < self->profiles.n; i++)
		profile_free(self->profiles.items[i]);
	vec_release(&self->items);
	vec_release(&self->profiles);
	vec_release(&self->shapes);
	arena_release(&self->arena);
	vec_release(&self->notices);
	vec_release(&self->namings);
	snapshot_builder_free(self->naming_builder);
	snapshot_unref(self->naming);
	learn_names_release(&self->old_names);
	strmap_release(&self->objects);
	strmap_release(&self->key_index);
	free(self->runs);
	self->runs = NULL;
}

/* First pass: one item for each workload of the found runs, without a history yet. */
static int gather(struct learn *self, const struct found_run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct learned *known = learn_find(self, &runs[i]);
		size_t item = known ? (size_t)(known - self->items.items) : self->items.n;

		if (!runs[i].identity.n_keys)
			continue;
		if ((!known && vec_push(&self->items, ((struct learned){.history = NULL}))) ||
		    learn_index_keys(self, &runs[i], item))
			return -ENOMEM;
	}
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct found_run *const *x = a, *const *y = b;
	int64_t left = (*x)->run.start_ms, right = (*y)->run.start_ms;

	/* If a run was found twice, the later finding is better, so the order is kept. */
	return left != right ? (left < right ? -1 : 1) : (*x < *y ? -1 : 1);
}

static int sort_runs(struct learn *self, const struct found_run *runs, size_t n)
{
	self->runs = calloc(n + 1, sizeof(struct found_run *));
	if (!self->runs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		self->runs[i] = &runs[i];
	self->n_runs = n;
	qsort(self->runs, n, sizeof(struct found_run *), compare_starts);
	return 0;
}

static int new_history(const struct learned *item, const struct found_run *run, struct history **ret, struct err *err)
{
	const struct identity *identity = &run->identity;
	struct history *history = history_new(item->namespace_name, item->name);

	if (!history)
		return learn_no_memory(err);
	free(history->workload);
	free(history->role);
	free(history->container);
	history->workload = strdup(identity->keys[0].text);
	history->role = strdup(identity->role);
	history->container = strdup(run->container);
	if (!history->workload || !history->role || !history->container) {
		history_free(history);
		return learn_no_memory(err);
	}
	*ret = history;
	return 0;
}

static int add_run(struct learn *self, struct learned *item, const struct found_run *found, struct err *err)
{
	struct learned_news news = {0};
	int r = 0;

	if (found->run.outcome == OUTCOME_COMPLETED)
		item->completed = found; /* in the order of their starts */
	if (found->has_lost_child)
		item->lost = found;
	if (!item->history) {
		r = new_history(item, found, &item->history, err);
		item->is_new = true;
	}
	item->n_runs++;
	if (!r)
		r = learn_history_run(self->config, item->history, found, &item->has_changed_history, &news, err);
	if (!r && (learn_decisions(self, item->history, found, &item->has_changed_history) ||
		   learn_harm_note(self, found, &news)))
		r = learn_no_memory(err);
	return r;
}

static int add_curve(struct learn *self, struct learned *item, const struct found_run *found, struct err *err)
{
	(void)self;
	return item->history ? learn_history_curve(item->history, &found->run, &item->has_changed_history, err) : 0;
}

static int add_diagnosis(struct learn *self, struct learned *item, const struct found_run *found, struct err *err)
{
	(void)found, (void)err;
	item->diagnosed = self->diagnosed;
	return 0;
}

/* Also if the history did not change: an earlier commit may have written it without its profile. */
static int size_item(struct learn *self, struct learned *item, struct err *err)
{
	struct diagnosis diagnosis;
	int r;

	if (!item->history || item->profile)
		return 0;
	item->has_changed_history |= learn_history_settle(item->history, self->settle_before_ms, self->lost_before_ms);
	item->before = learn_profile_of(self, item->namespace_name, item->name);
	r = learn_profile(self->config, item->history, item->before, learn_diagnosis(item, &diagnosis), self->now_ms,
			  self, &item->profile, err);
	if (!r && !item->profile && item->is_copied && item->before)
		item->profile = profile_ref(item->before);
	return r;
}

/* Adds the runs to the items and computes their sizes: of all items, or only of stale ones. */
static int compute(struct learn *self, bool only_stale, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < self->n_runs && !r; i++) {
		struct learned *item = learn_find(self, self->runs[i]);

		if (item && (!only_stale || item->is_stale))
			r = self->add(self, item, self->runs[i], err);
	}
	for (size_t i = 0; i < self->items.n && !r; i++)
		if (!only_stale || self->items.items[i].is_stale)
			r = size_item(self, &self->items.items[i], err);
	for (size_t i = 0; i < self->items.n; i++) {
		self->n_workloads += !only_stale && self->items.items[i].is_new && !self->items.items[i].before;
		self->items.items[i].is_stale = false;
	}
	return r;
}

static int learn(struct learn *self, enum learn_reading reading, learn_add_fn *add, const struct found_run *runs,
		 size_t n, struct err *err)
{
	int r = sort_runs(self, runs, n);

	self->reading = reading;
	self->add = add;
	self->arena = (struct arena)ARENA_INIT(LIMIT_STORE_BYTES);
	if (r || gather(self, runs, n))
		return learn_no_memory(err);
	r = learn_known(self, err);
	r = r ? r : compute(self, false, err);
	return !r && learn_has_all_profiles(self) && learn_report_all(self) ? learn_no_memory(err) : r;
}

int learn_runs(struct learn *self, const struct found_run *runs, size_t n, struct err *err)
{
	return learn(self, LEARN_READ_PROFILES, add_run, runs, n, err);
}

int learn_all(struct learn *self, const struct found_run *runs, size_t n, struct err *err)
{
	return learn(self, LEARN_READ_ALL, add_run, runs, n, err);
}

/* A file is read as a whole anyway. */
static enum learn_reading least_reading(const struct learn *self)
{
	return self->config->store.kind == STORE_KUBE ? LEARN_READ_FOUND : LEARN_READ_PROFILES;
}

int learn_quick(struct learn *self, const struct found_run *runs, size_t n, struct err *err)
{
	return learn(self, least_reading(self), add_run, runs, n, err);
}

int learn_curves(struct learn *self, const struct found_run *runs, size_t n, struct err *err)
{
	return learn(self, least_reading(self), add_curve, runs, n, err);
}

int learn_diagnosed(struct learn *self, const struct found_run *runs, size_t n, const struct diagnosed *diagnosed,
		    struct err *err)
{
	self->diagnosed = diagnosed;
	return learn(self, least_reading(self), add_diagnosis, runs, n, err);
}

/* ---- writing ---- */

static void on_conflict(void *context, const struct store_name *name)
{
	struct learned *item = learn_find_name(context, name->namespace_name, name->name);

	if (item)
		item->is_stale = true;
}

static int commit(struct learn *self, struct store_change *change, const struct profile **profiles,
		  struct history **histories, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < self->items.n; i++) {
		const struct learned *item = &self->items.items[i];

		if (item->is_written)
			continue;
		if (item->profile)
			profiles[change->n_profiles++] = item->profile;
		if (item->history && (item->has_changed_history || item->profile))
			histories[change->n_histories++] = item->history;
	}
	change->profiles = profiles;
	change->histories = histories;
	if (change->n_profiles || change->n_histories || change->n_shapes)
		r = store_commit(self->store, change, err);
	self->n_profiles_changed += r ? 0 : change->n_profiles;
	for (size_t i = 0; i < self->items.n; i++)
		self->items.items[i].is_written = !self->items.items[i].is_stale;
	return r;
}

static int commit_once(struct learn *self, const struct node_shape *shapes, size_t n_shapes, struct err *err)
{
	const struct profile **profiles = calloc(self->items.n + 1, sizeof(struct profile *));
	struct history **histories = calloc(self->items.n + 1, sizeof(struct history *));
	struct store_change change = {.shapes = shapes, .n_shapes = n_shapes, .conflict = on_conflict, .context = self};
	int r = profiles && histories ? commit(self, &change, profiles, histories, err) : learn_no_memory(err);

	free(profiles);
	free(histories);
	return r;
}

int learn_commit(struct learn *self, const struct node_shape *shapes, size_t n_shapes, struct err *err)
{
	int r = commit_once(self, shapes, n_shapes, err);

	for (int i = 0; i < CONFLICT_TRIES && r == -EAGAIN; i++) {
		r = learn_known_again(self, err);
		if (!r)
			r = compute(self, true, err);
		if (!r)
			r = commit_once(self, NULL, 0, err);
	}
	if (!r && self->names && learn_remember(self))
		r = learn_no_memory(err);
	return r ? r : learn_remove_moved(self, err);
}
