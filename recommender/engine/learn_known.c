/* SPDX-License-Identifier: Apache-2.0 */
/* learn_known: finds the objects of a workload. They are those of the first profile with the same role and container
 * that has a key of the workload's runs as alias; else those whose name is derived from one of the keys; else there are
 * none yet. All profiles are read, since they are small. Histories are read by name only, so that memory and time do
 * not grow with everything that was ever learned. */
#include "engine/learn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- names ---- */

/* The first profile names the item; a second one is kept as its twin. */
static int name_by_aliases(struct learn *self, const struct profile *profile)
{
	struct learned *found = learn_find_key(self, profile->namespace_name, profile->workload, profile->role,
					       profile->container);

	for (size_t i = 0; i < profile->n_aliases && (!found || found->name); i++)
		found = learn_find_key(self, profile->namespace_name, profile->aliases[i], profile->role,
				       profile->container);
	if (found && found->name)
		found->twin = profile;
	return found && !found->name ? learn_give_name(self, found, profile->namespace_name, profile->name) : 0;
}

/* Names an item that no alias led to, by the names that its keys would give. A profile may lack aliases: the longest
 * ones are left out, and a profile created just before a crash has none. */
static int name_by_keys(struct learn *self, struct learned *item, const struct found_run *run)
{
	const struct identity *identity = &run->identity;
	const char *known = learn_known_name(self, run);
	char id[IDENTITY_ID_BYTES];

	/* The profile was deleted: its history still has this name. */
	if (known && !learn_find_name(self, run->namespace_name, known))
		return learn_give_name(self, item, run->namespace_name, known);
	for (size_t i = 0; i < identity->n_keys; i++) {
		identity_id(run->namespace_name, identity->keys[i].text, identity->role, run->container, id);
		if (learn_profile_of(self, run->namespace_name, id) && !learn_find_name(self, run->namespace_name, id))
			return learn_give_name(self, item, run->namespace_name, id);
	}
	identity_id(run->namespace_name, identity->keys[0].text, identity->role, run->container, id);
	return learn_give_name(self, item, run->namespace_name, id);
}

static int name_the_rest(struct learn *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_runs && !r; i++) {
		struct learned *item = learn_find(self, self->runs[i]);

		if (item && !item->name)
			r = name_by_keys(self, item, self->runs[i]);
	}
	return r;
}

/* ---- reading ---- */

static int on_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct learn *self = context;

	if (learn_index_profile(self, take_profile) || name_by_aliases(self, take_profile) ||
	    learn_remember_profile(self, take_profile) || learn_index_naming(self, take_profile))
		return learn_no_memory(err);
	return 0;
}

static int on_shape(void *context, const struct node_shape *shape, struct err *err)
{
	struct learn *self = context;

	return vec_push(&self->shapes, *shape) ? learn_no_memory(err) : 0;
}

/* Sizes a history without found runs. It is kept only if it or its size changed. */
static int size_quiet(struct learn *self, struct history *take_history, struct err *err)
{
	struct learned item = {.history = take_history,
			       .before = learn_profile_of(self, take_history->namespace_name, take_history->name)};
	bool has_changed = learn_history_settle(take_history, self->settle_before_ms, self->lost_before_ms);
	int r = 0;

	if (self->reading == LEARN_READ_ALL || (item.before && learn_is_spec_new(item.before)))
		r = learn_profile(self->config, item.history, item.before, item.before ? item.before->diagnosis : NULL,
				  self->now_ms, self, &item.profile, err);
	if (!r && (item.profile || has_changed)) {
		item.has_changed_history = has_changed;
		r = vec_push(&self->items, item) ? learn_no_memory(err) : 0;
		if (!r)
			return learn_give_name(self, &self->items.items[self->items.n - 1],
					       take_history->namespace_name, take_history->name)
				       ? learn_no_memory(err)
				       : 0;
	}
	profile_free(item.profile);
	history_free(take_history);
	return r;
}

/* Finds the item by an alias of the history; the history's name is then the name of its objects. */
static struct learned *find_by_aliases(const struct learn *self, const struct history *history)
{
	struct learned *found = NULL;

	for (size_t i = 0; i < history->n_aliases && (!found || found->history); i++)
		found = learn_find_key(self, history->namespace_name, history->aliases[i], history->role,
				       history->container);
	return found && !found->history ? found : NULL;
}

/* The profile was deleted or never written: the history's name counts for both, unless a person's profile has its
 * own. */
static int name_by_history(struct learn *self, struct learned *item, const char *name)
{
	const char *own = item->name;

	if (learn_give_name(self, item, item->namespace_name, name))
		return -ENOMEM;
	if (!item->is_adopted)
		return 0;
	item->moved_from = item->name;
	item->name = own;
	return 0;
}

static int on_history(void *context, struct history *take_history, struct err *err)
{
	struct learn *self = context;
	struct learned *found = learn_find_name(self, take_history->namespace_name, take_history->name);

	if (self->reading == LEARN_READ_ALL && learn_harm_look(self, take_history)) {
		history_free(take_history);
		return learn_no_memory(err);
	}
	if (!found) {
		found = find_by_aliases(self, take_history);
		if (found && name_by_history(self, found, take_history->name)) {
			history_free(take_history);
			return learn_no_memory(err);
		}
	}
	if (found)
		return learn_take_history(found, take_history) ? learn_no_memory(err) : 0;
	return size_quiet(self, take_history, err);
}

/* Names of all items, or of the stale ones. Heap; NULL: out of memory. */
static struct store_name *names_of(const struct learn *self, bool wants_stale, size_t *ret_n)
{
	struct store_name *names = calloc(2 * self->items.n + self->profiles.n + 1, sizeof(*names));

	*ret_n = 0;
	for (size_t i = 0; names && i < self->items.n; i++) {
		const struct learned *item = &self->items.items[i];

		if (!item->name || (wants_stale && !item->is_stale))
			continue;
		names[(*ret_n)++] = (struct store_name){item->namespace_name, item->name};
		if (item->moved_from)
			names[(*ret_n)++] = (struct store_name){item->namespace_name, item->moved_from};
	}
	/* A changed spec may change what follows from the same runs. */
	for (size_t i = 0; names && learn_has_all_profiles(self) && !wants_stale && i < self->profiles.n; i++) {
		const struct profile *profile = self->profiles.items[i];

		if (*profile->workload && learn_is_spec_new(profile) &&
		    !learn_find_name(self, profile->namespace_name, profile->name))
			names[(*ret_n)++] = (struct store_name){profile->namespace_name, profile->name};
	}
	return names;
}

enum { NAMED_MAX = 1000 }; /* reading all is faster than reading more than this by name */

static int add_name(struct learn *self, const char *namespace_name, const char *name, struct store_name *names,
		    size_t *n)
{
	const char *copy = arena_strdup(&self->arena, name);

	if (!copy)
		return -ENOMEM;
	names[(*n)++] = (struct store_name){namespace_name, copy};
	return 0;
}

/* Adds the names that the objects of a found run may have: those its keys led to before, else those derived from the
 * keys. */
static int add_candidates(struct learn *self, const struct found_run *run, struct store_name *names, size_t *n)
{
	const struct identity *identity = &run->identity;
	const char *known = learn_known_name(self, run);
	char id[IDENTITY_ID_BYTES];
	int r = 0;

	if (known)
		return add_name(self, run->namespace_name, known, names, n);
	for (size_t i = 0; i < identity->n_keys && !r; i++) {
		identity_id(run->namespace_name, identity->keys[i].text, identity->role, run->container, id);
		r = add_name(self, run->namespace_name, id, names, n);
	}
	return r;
}

/* Reads the profiles that the found runs may belong to, once each. */
static int read_candidates(struct learn *self, const struct store_visitor *visitor, struct err *err)
{
	CLEANUP(freep) struct store_name *names = calloc(self->n_runs * IDENTITY_KEYS + 1, sizeof(*names));
	CLEANUP(freep) bool *is_seen = calloc(self->items.n + 1, sizeof(*is_seen));
	size_t n = 0;
	int r = names && is_seen ? 0 : -ENOMEM;

	for (size_t i = 0; i < self->n_runs && !r; i++) {
		const struct learned *item = learn_find(self, self->runs[i]);

		if (!item || is_seen[item - self->items.items])
			continue;
		is_seen[item - self->items.items] = true;
		r = add_candidates(self, self->runs[i], names, &n);
	}
	return r ? learn_no_memory(err) : store_visit_named(self->store, visitor, names, n, err);
}

static int read_profiles(struct learn *self, const struct store_visitor *visitor, struct err *err)
{
	int r;

	if (self->reading == LEARN_READ_FOUND && self->names && self->names->is_whole && self->items.n <= NAMED_MAX)
		return read_candidates(self, visitor, err);
	self->reading = MAX(self->reading, LEARN_READ_PROFILES);
	if (self->names) {
		self->old_names = *self->names;
		*self->names = (struct learn_names){.slots = NULL};
	}
	r = store_visit(self->store, visitor, err);
	if (self->names)
		self->names->is_whole = r == 0;
	return r;
}

int learn_known(struct learn *self, struct err *err)
{
	const struct store_visitor profiles = {.context = self, .profile = on_profile, .shape = on_shape};
	const struct store_visitor histories = {.context = self, .history = on_history};
	CLEANUP(freep) struct store_name *names = NULL;
	size_t n;
	int r = read_profiles(self, &profiles, err);

	for (size_t i = 0; i < self->profiles.n; i++)
		self->n_workloads += learn_is_current(self, self->profiles.items[i]);
	if (!r && ((learn_has_all_profiles(self) && learn_adopt(self)) || name_the_rest(self)))
		r = learn_no_memory(err);
	if (r || self->reading == LEARN_READ_ALL)
		return r ? r : store_visit(self->store, &histories, err);
	names = names_of(self, false, &n);
	return names ? store_visit_named(self->store, &histories, names, n, err) : learn_no_memory(err);
}

static void forget(struct learn *self, struct learned *item)
{
	profile_free(item->profile);
	history_free(item->history);
	item->profile = NULL;
	item->history = NULL;
	item->n_runs = 0;
	item->is_new = item->has_changed_history = item->is_moving = item->is_copied = item->has_more = false;
	learn_index_no_profile(self, item->namespace_name, item->name);
}

int learn_known_again(struct learn *self, struct err *err)
{
	const struct store_visitor visitor = {.context = self, .profile = on_profile, .history = on_history};
	CLEANUP(freep) struct store_name *names = NULL;
	size_t n;
	int r;

	for (size_t i = 0; i < self->items.n; i++)
		if (self->items.items[i].is_stale)
			forget(self, &self->items.items[i]);
	names = names_of(self, true, &n);
	r = names ? store_visit_named(self->store, &visitor, names, n, err) : -ENOMEM;
	if (!r)
		r = learn_move_profiles(self);
	return r == -ENOMEM ? learn_no_memory(err) : r;
}
