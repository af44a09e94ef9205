/* SPDX-License-Identifier: Apache-2.0 */
/* Which objects a workload has: those of the first profile that has a key of its runs as alias, with the same role and
 * container; else those that its keys would be named after; else none yet. Profiles are small and all are read;
 * histories only by name, so that memory and reading do not grow with all that was ever learned. */
#include "engine/learn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int learn_no_memory(struct err *err)
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

static void join_name(char ret[JOINED_BYTES], const char *namespace_name, const char *name)
{
	snprintf(ret, JOINED_BYTES, "%s/%s", namespace_name, name);
}

static struct learned *item_of(const struct learn *self, const struct strmap *index, const char *text)
{
	void *found = strmap_get(index, text);

	return found ? &self->items.items[(uintptr_t)found - 1] : NULL;
}

static int index_item(struct learn *self, struct strmap *index, const char *text, size_t item)
{
	const char *copy = keep_text(self, text);

	return copy ? strmap_put(index, copy, (void *)(uintptr_t)(item + 1)) : -ENOMEM;
}

static struct learned *find_by_key(const struct learn *self, const char *namespace_name, const char *key,
				   const char *role, const char *container)
{
	char text[JOINED_BYTES];

	join(text, namespace_name, key, role, container);
	return item_of(self, &self->key_index, text);
}

int learn_index_keys(struct learn *self, const struct found_run *run, size_t item)
{
	int r = 0;

	for (size_t i = 0; i < run->summary.identity.n_keys && !r; i++) {
		const char *key = run->summary.identity.keys[i].text;
		char text[JOINED_BYTES];

		if (find_by_key(self, run->namespace_name, key, run->summary.identity.role, run->container))
			continue;
		join(text, run->namespace_name, key, run->summary.identity.role, run->container);
		r = index_item(self, &self->key_index, text, item);
	}
	return r;
}

struct learned *learn_find(const struct learn *self, const struct found_run *run)
{
	struct learned *found = NULL;

	for (size_t i = 0; i < run->summary.identity.n_keys && !found; i++)
		found = find_by_key(self, run->namespace_name, run->summary.identity.keys[i].text,
				    run->summary.identity.role, run->container);
	return found;
}

struct learned *learn_find_name(const struct learn *self, const char *namespace_name, const char *name)
{
	char text[JOINED_BYTES];

	join_name(text, namespace_name, name);
	return item_of(self, &self->name_index, text);
}

struct profile *learn_profile_of(const struct learn *self, const char *namespace_name, const char *name)
{
	char text[JOINED_BYTES];

	join_name(text, namespace_name, name);
	return strmap_get(&self->profile_index, text);
}

/* ---- names ---- */

static int give_name(struct learn *self, struct learned *item, const char *namespace_name, const char *name)
{
	char text[JOINED_BYTES];

	item->namespace_name = keep_text(self, namespace_name);
	item->name = keep_text(self, name);
	join_name(text, namespace_name, name);
	return item->namespace_name && item->name
		       ? index_item(self, &self->name_index, text, (size_t)(item - self->items.items))
		       : -ENOMEM;
}

/* For the next cycles. */
static int remember(struct learn *self, const struct profile *profile)
{
	char text[JOINED_BYTES];
	const char *name;
	int r = 0;

	if (!self->names)
		return 0;
	join(text, profile->namespace_name, profile->workload, profile->role, profile->container);
	name = learn_names_get(self->names, text);
	/* quick cycles read the same ones again and again */
	if (!name || !streq(name, profile->name))
		name = learn_names_keep(self->names, profile->name);
	r = name ? learn_names_put(self->names, text, name) : -ENOMEM;
	for (size_t i = 0; i < profile->n_aliases && !r; i++) {
		join(text, profile->namespace_name, profile->aliases[i], profile->role, profile->container);
		r = learn_names_put(self->names, text, name);
	}
	return r;
}

int learn_remember(struct learn *self)
{
	char text[JOINED_BYTES];
	int r = 0;

	for (size_t i = 0; i < self->n_runs && !r; i++) {
		const struct learned *item = learn_find(self, self->runs[i]);
		const struct identity *identity = &self->runs[i]->summary.identity;

		for (size_t k = 0; item && item->name && k < identity->n_keys && !r; k++) {
			const char *name;

			join(text, self->runs[i]->namespace_name, identity->keys[k].text, identity->role,
			     self->runs[i]->container);
			if (learn_names_get(self->names, text))
				continue;
			name = learn_names_keep(self->names, item->name);
			r = name ? learn_names_put(self->names, text, name) : -ENOMEM;
		}
	}
	return r;
}

static int name_by_aliases(struct learn *self, const struct profile *profile)
{
	struct learned *found = find_by_key(self, profile->namespace_name, profile->workload, profile->role,
					    profile->container);

	for (size_t i = 0; i < profile->n_aliases && (!found || found->name); i++)
		found = find_by_key(self, profile->namespace_name, profile->aliases[i], profile->role,
				    profile->container);
	return found && !found->name ? give_name(self, found, profile->namespace_name, profile->name) : 0;
}

/* What no alias led to. A profile says less than the history (the longest aliases are left out, and one that was made a
 * moment before a crash says nothing), so that names are tried too. */
static int name_by_keys(struct learn *self, struct learned *item, const struct found_run *run)
{
	const struct identity *identity = &run->summary.identity;
	char id[IDENTITY_ID_BYTES];

	for (size_t i = 0; i < identity->n_keys; i++) {
		identity_id(run->namespace_name, identity->keys[i].text, identity->role, run->container, id);
		if (learn_profile_of(self, run->namespace_name, id) && !learn_find_name(self, run->namespace_name, id))
			return give_name(self, item, run->namespace_name, id);
	}
	identity_id(run->namespace_name, identity->keys[0].text, identity->role, run->container, id);
	return give_name(self, item, run->namespace_name, id);
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
	char text[JOINED_BYTES];
	const char *key;

	join_name(text, take_profile->namespace_name, take_profile->name);
	key = keep_text(self, text);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what it holds */
	if (!key || vec_push(&self->profiles, take_profile)) {
		profile_free(take_profile);
		return learn_no_memory(err);
	}
	if (strmap_put(&self->profile_index, key, take_profile) || name_by_aliases(self, take_profile) ||
	    remember(self, take_profile))
		return learn_no_memory(err);
	return 0;
}

static int on_shape(void *context, const struct node_shape *shape, struct err *err)
{
	struct learn *self = context;

	return vec_push(&self->shapes, *shape) ? learn_no_memory(err) : 0;
}

/* A history that no run was found of: kept only when it or its size is another one now. */
static int size_quiet(struct learn *self, struct history *take_history, struct err *err)
{
	struct learned item = {.history = take_history,
			       .before = learn_profile_of(self, take_history->namespace_name, take_history->name)};
	bool has_changed = self->is_settling && learn_history_settle(take_history, self->now_ms);
	int r = 0;

	if (self->is_sizing_all || has_changed)
		r = learn_profile(self->config, item.history, item.before, self->now_ms, &item.profile, err);
	if (!r && (item.profile || has_changed)) {
		item.has_changed_history = has_changed;
		r = vec_push(&self->items, item) ? learn_no_memory(err) : 0;
		if (!r)
			return give_name(self, &self->items.items[self->items.n - 1], take_history->namespace_name,
					 take_history->name)
				       ? learn_no_memory(err)
				       : 0;
	}
	profile_free(item.profile);
	history_free(take_history);
	return r;
}

/* By any of its aliases: then these are its objects' names. */
static struct learned *find_by_aliases(const struct learn *self, const struct history *history)
{
	struct learned *found = NULL;

	for (size_t i = 0; i < history->n_aliases && (!found || found->history); i++)
		found = find_by_key(self, history->namespace_name, history->aliases[i], history->role,
				    history->container);
	return found && !found->history ? found : NULL;
}

static int on_history(void *context, struct history *take_history, struct err *err)
{
	struct learn *self = context;
	struct learned *found = learn_find_name(self, take_history->namespace_name, take_history->name);

	if ((self->is_sizing_all || self->is_settling) && learn_harm_look(self, take_history)) {
		history_free(take_history);
		return learn_no_memory(err);
	}
	if (found && found->history) {
		history_free(take_history); /* a store may give one twice */
		return 0;
	}
	if (!found) {
		found = find_by_aliases(self, take_history);
		if (found && give_name(self, found, take_history->namespace_name, take_history->name)) {
			history_free(take_history);
			return learn_no_memory(err);
		}
	}
	if (found) {
		found->history = take_history;
		return 0;
	}
	if (self->is_sizing_all || self->is_settling)
		return size_quiet(self, take_history, err);
	history_free(take_history);
	return 0;
}

/* Of all items, or of the stale ones. Heap; NULL: no memory. */
static struct store_name *names_of(const struct learn *self, bool wants_stale, size_t *ret_n)
{
	struct store_name *names = calloc(self->items.n + 1, sizeof(*names));

	*ret_n = 0;
	for (size_t i = 0; names && i < self->items.n; i++) {
		const struct learned *item = &self->items.items[i];

		if (item->name && (!wants_stale || item->is_stale))
			names[(*ret_n)++] = (struct store_name){item->namespace_name, item->name};
	}
	return names;
}

enum { NAMED_MAX = 1000 }; /* more than these are read faster as a whole */

static int add_name(struct learn *self, const char *namespace_name, const char *name, struct store_name *names,
		    size_t *n)
{
	const char *copy = keep_text(self, name);

	if (!copy)
		return -ENOMEM;
	names[(*n)++] = (struct store_name){namespace_name, copy};
	return 0;
}

/* Names that the objects of a found run may have: what its keys led to before, else what they would be named after. */
static int add_candidates(struct learn *self, const struct found_run *run, struct store_name *names, size_t *n)
{
	const struct identity *identity = &run->summary.identity;
	char text[JOINED_BYTES], id[IDENTITY_ID_BYTES];
	bool is_known = false;
	int r = 0;

	for (size_t i = 0; i < identity->n_keys && !is_known && !r; i++) {
		const char *name;

		join(text, run->namespace_name, identity->keys[i].text, identity->role, run->container);
		name = learn_names_get(self->names, text);
		is_known = name != NULL;
		if (name)
			r = add_name(self, run->namespace_name, name, names, n);
	}
	for (size_t i = 0; i < identity->n_keys && !is_known && !r; i++) {
		identity_id(run->namespace_name, identity->keys[i].text, identity->role, run->container, id);
		r = add_name(self, run->namespace_name, id, names, n);
	}
	return r;
}

/* Profiles that the found runs may belong to, once each. */
static int read_candidates(struct learn *self, const struct store_visitor *visitor, struct err *err)
{
	CLEANUP(freep) struct store_name *names = calloc(self->n_runs * IDENTITY_KEYS + 1, sizeof(*names));
	struct strmap seen = STRMAP_INIT;
	size_t n = 0;
	int r = names ? 0 : -ENOMEM;

	for (size_t i = 0; i < self->n_runs && !r; i++) {
		const struct learned *item = learn_find(self, self->runs[i]);
		char number[24];
		const char *key;

		snprintf(number, sizeof(number), "%td", item ? item - self->items.items : -1);
		if (!item || strmap_has(&seen, number))
			continue;
		key = keep_text(self, number);
		r = key ? strmap_put(&seen, key, NULL) : -ENOMEM;
		r = r ? r : add_candidates(self, self->runs[i], names, &n);
	}
	strmap_release(&seen);
	return r ? learn_no_memory(err) : store_visit_named(self->store, visitor, names, n, err);
}

static int read_profiles(struct learn *self, const struct store_visitor *visitor, struct err *err)
{
	int r;

	if (self->is_quick && self->names && self->names->is_whole && self->items.n <= NAMED_MAX)
		return read_candidates(self, visitor, err);
	if (self->names)
		learn_names_release(self->names);
	r = store_visit(self->store, visitor, err);
	self->has_read_all = r == 0;
	if (self->names)
		self->names->is_whole = self->has_read_all;
	return r;
}

int learn_known(struct learn *self, struct err *err)
{
	const struct store_visitor profiles = {.context = self, .profile = on_profile, .shape = on_shape};
	const struct store_visitor histories = {.context = self, .history = on_history};
	CLEANUP(freep) struct store_name *names = NULL;
	size_t n;
	int r = read_profiles(self, &profiles, err);

	self->n_workloads = self->profile_index.n;
	if (!r && name_the_rest(self))
		r = learn_no_memory(err);
	if (r || self->is_sizing_all || self->is_settling)
		return r ? r : store_visit(self->store, &histories, err);
	names = names_of(self, false, &n);
	return names ? store_visit_named(self->store, &histories, names, n, err) : learn_no_memory(err);
}

static int forget(struct learn *self, struct learned *item)
{
	char text[JOINED_BYTES];
	const char *key;

	profile_free(item->profile);
	history_free(item->history);
	item->profile = NULL;
	item->history = NULL;
	item->n_runs = 0;
	item->is_new = item->has_changed_history = false;
	join_name(text, item->namespace_name, item->name);
	key = keep_text(self, text);
	return key ? strmap_put(&self->profile_index, key, NULL) : -ENOMEM;
}

int learn_known_again(struct learn *self, struct err *err)
{
	const struct store_visitor visitor = {.context = self, .profile = on_profile, .history = on_history};
	CLEANUP(freep) struct store_name *names = NULL;
	size_t n;
	int r = 0;

	for (size_t i = 0; i < self->items.n && !r; i++)
		if (self->items.items[i].is_stale)
			r = forget(self, &self->items.items[i]);
	names = r ? NULL : names_of(self, true, &n);
	return names ? store_visit_named(self->store, &visitor, names, n, err) : learn_no_memory(err);
}
