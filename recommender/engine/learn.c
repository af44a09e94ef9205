/* SPDX-License-Identifier: Apache-2.0 */
/* Which history a run belongs to: the first key of the run that a history of the store has as alias, with the same role
 * and container. Only histories that are touched are kept in memory; profiles are small and all are. */
#include "engine/learn.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void learn_release(struct learn *self)
{
	for (size_t i = 0; i < self->items.n; i++) {
		profile_free(self->items.items[i].profile);
		history_free(self->items.items[i].history);
	}
	for (size_t i = 0; i < self->profiles.n; i++)
		profile_free(self->profiles.items[i]);
	for (size_t i = 0; i < self->texts.n; i++)
		free(self->texts.items[i]);
	vec_release(&self->items);
	vec_release(&self->profiles);
	vec_release(&self->shapes);
	vec_release(&self->texts);
	strmap_release(&self->profile_index);
	strmap_release(&self->key_index);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory left for profiles");
}

/* A copy that lives as long as `self`; NULL: no memory. */
static const char *keep_text(struct learn *self, const char *text)
{
	char *copy = strdup(text);

	if (copy && vec_push(&self->texts, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

enum { JOINED_BYTES = 2 * LIMIT_NAME_BYTES + IDENTITY_KEY_BYTES + 64 + 4 };

/* Texts are joined by a byte that none of them holds. No allocation: a failed one must not look like an absent key. */
static void join(char ret[JOINED_BYTES], const char *namespace_name, const char *key, const char *role,
		 const char *container)
{
	snprintf(ret, JOINED_BYTES, "%s\n%s\n%s\n%s", namespace_name, key, role, container);
}

static struct learned *find_by_key(const struct learn *self, const char *namespace_name, const char *key,
				   const char *role, const char *container)
{
	char text[JOINED_BYTES];
	void *found;

	join(text, namespace_name, key, role, container);
	found = strmap_get(&self->key_index, text);
	return found ? &self->items.items[(uintptr_t)found - 1] : NULL;
}

/* All keys of a run lead to this item from now on, unless they lead to another one. */
static int index_keys(struct learn *self, const struct found_run *run, size_t item)
{
	for (size_t i = 0; i < run->summary.identity.n_keys; i++) {
		const char *key = run->summary.identity.keys[i].text, *copy;
		char text[JOINED_BYTES];

		if (find_by_key(self, run->namespace_name, key, run->summary.identity.role, run->container))
			continue;
		join(text, run->namespace_name, key, run->summary.identity.role, run->container);
		copy = keep_text(self, text);
		if (!copy || strmap_put(&self->key_index, copy, (void *)(uintptr_t)(item + 1)))
			return -ENOMEM;
	}
	return 0;
}

static struct learned *find_for(const struct learn *self, const struct found_run *run)
{
	struct learned *found = NULL;

	for (size_t i = 0; i < run->summary.identity.n_keys && !found; i++)
		found = find_by_key(self, run->namespace_name, run->summary.identity.keys[i].text,
				    run->summary.identity.role, run->container);
	return found;
}

/* First pass: one item, without a history yet, for each workload that runs were found of. */
static int gather(struct learn *self, const struct found_run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct learned *known = find_for(self, &runs[i]);
		size_t item = known ? (size_t)(known - self->items.items) : self->items.n;

		if (!runs[i].summary.identity.n_keys)
			continue;
		if ((!known && vec_push(&self->items, ((struct learned){.history = NULL}))) ||
		    index_keys(self, &runs[i], item))
			return -ENOMEM;
	}
	return 0;
}

static int on_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct learn *self = context;
	char text[JOINED_BYTES];
	const char *key;

	snprintf(text, sizeof(text), "%s/%s", take_profile->namespace_name, take_profile->name);
	key = keep_text(self, text);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what it holds */
	if (!key || vec_push(&self->profiles, take_profile)) {
		profile_free(take_profile);
		return no_memory(err);
	}
	return strmap_put(&self->profile_index, key, take_profile) ? no_memory(err) : 0;
}

static struct profile *profile_of(const struct learn *self, const struct history *history)
{
	char text[JOINED_BYTES];

	snprintf(text, sizeof(text), "%s/%s", history->namespace_name, history->name);
	return strmap_get(&self->profile_index, text);
}

/* A history that no run was found of: kept only when its size is another one now. */
static int size_quiet(struct learn *self, struct history *take_history, struct err *err)
{
	struct learned item = {.history = take_history, .before = profile_of(self, take_history)};
	int r = learn_profile(self->config, item.history, item.before, self->now_ms, &item.profile, err);

	if (!r && item.profile) {
		item.has_changed_history = true; /* a decision was noted */
		r = vec_push(&self->items, item);
		if (!r)
			return 0;
		no_memory(err);
	}
	profile_free(item.profile);
	history_free(take_history);
	return r;
}

static int on_history(void *context, struct history *take_history, struct err *err)
{
	struct learn *self = context;
	struct learned *found = NULL;

	self->n_workloads++;
	for (size_t i = 0; i < take_history->n_aliases && (!found || found->history); i++)
		found = find_by_key(self, take_history->namespace_name, take_history->aliases[i], take_history->role,
				    take_history->container);
	if (found && !found->history) {
		found->history = take_history;
		return 0;
	}
	if (self->is_sizing_all)
		return size_quiet(self, take_history, err);
	history_free(take_history);
	return 0;
}

static int on_shape(void *context, const struct node_shape *shape, struct err *err)
{
	struct learn *self = context;

	return vec_push(&self->shapes, *shape) ? no_memory(err) : 0;
}

static int history_for(struct learn *self, const struct found_run *run, struct history **ret, struct err *err)
{
	const struct identity *identity = &run->summary.identity;
	char id[IDENTITY_ID_BYTES];
	struct history *history;

	identity_id(run->namespace_name, identity->keys[0].text, identity->role, run->container, id);
	history = history_new(run->namespace_name, id);
	if (!history)
		return no_memory(err);
	free(history->workload);
	free(history->role);
	free(history->container);
	history->workload = strdup(identity->keys[0].text);
	history->role = strdup(identity->role);
	history->container = strdup(run->container);
	if (!history->workload || !history->role || !history->container) {
		history_free(history);
		return no_memory(err);
	}
	self->n_workloads++;
	*ret = history;
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct found_run *const *x = a, *const *y = b;
	int64_t left = (*x)->summary.run.start_ms, right = (*y)->summary.run.start_ms;

	/* The same run found twice: the later finding is the better one, so order must be kept. */
	return left != right ? (left < right ? -1 : 1) : (*x < *y ? -1 : 1);
}

static int add_run(struct learn *self, const struct found_run *run, struct err *err)
{
	struct learned *item = find_for(self, run);
	int r = 0;

	if (!item)
		return 0;
	if (!item->history) {
		r = history_for(self, run, &item->history, err);
		item->is_new = true;
	}
	item->n_runs++;
	return r ? r : learn_history_run(item->history, &run->summary, &item->has_changed_history, err);
}

static int size_item(struct learn *self, struct learned *item, struct err *err)
{
	if (!item->history || item->profile)
		return 0;
	if (item->has_changed_history && learn_history_days(item->history))
		return no_memory(err);
	item->before = profile_of(self, item->history);
	if (!item->has_changed_history && !self->is_sizing_all && item->before)
		return 0;
	return learn_profile(self->config, item->history, item->before, self->now_ms, &item->profile, err);
}

int learn_runs(struct learn *self, const struct found_run *runs, size_t n, struct err *err)
{
	const struct store_visitor visitor = {self, on_profile, on_history, on_shape};
	const struct found_run **sorted = calloc(n + 1, sizeof(struct found_run *));
	int r;

	if (!sorted)
		return no_memory(err);
	r = gather(self, runs, n) ? no_memory(err) : store_visit(self->store, &visitor, err);
	for (size_t i = 0; i < n && !r; i++)
		sorted[i] = &runs[i];
	if (!r)
		qsort(sorted, n, sizeof(struct found_run *), compare_starts);
	for (size_t i = 0; i < n && !r; i++)
		r = add_run(self, sorted[i], err);
	for (size_t i = 0; i < self->items.n && !r; i++)
		r = size_item(self, &self->items.items[i], err);
	free(sorted);
	return r;
}

int learn_commit(struct learn *self, const struct node_shape *shapes, size_t n_shapes, struct err *err)
{
	const struct profile **profiles = calloc(self->items.n + 1, sizeof(struct profile *));
	struct history **histories = calloc(self->items.n + 1, sizeof(struct history *));
	struct store_change change = {
		.profiles = profiles, .histories = histories, .shapes = shapes, .n_shapes = n_shapes};
	int r = 0;

	if (!profiles || !histories) {
		free(profiles);
		free(histories);
		return no_memory(err);
	}
	for (size_t i = 0; i < self->items.n; i++) {
		if (self->items.items[i].profile)
			profiles[change.n_profiles++] = self->items.items[i].profile;
		if (self->items.items[i].has_changed_history || self->items.items[i].profile)
			histories[change.n_histories++] = self->items.items[i].history;
	}
	self->n_profiles_changed = change.n_profiles;
	if (change.n_profiles || change.n_histories || change.n_shapes)
		r = store_commit(self->store, &change, err);
	free(profiles);
	free(histories);
	return r;
}
