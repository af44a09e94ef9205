/* SPDX-License-Identifier: Apache-2.0 */
/* learn_adopt: profiles that people write. A profile that names a workload (spec.workloadRef) becomes the profile of
 * that workload, so that there is one object for it and not two.
 *
 * People often create the profile together with the first Job, and a quick cycle may have learned from the Job before
 * all profiles were read. What was learned under another name then moves: history first, and the objects of the old
 * name are deleted after all is written. After a crash in between both exist, and the next complete cycle continues.
 *
 * Two profiles are not adopted; both objects stay and admission applies both (snapshot.h):
 * - a profile without a role, if the workload has roles: it is about all of them;
 * - a profile of a workload whose learned profile already has decisions of people in its spec. */
#include "engine/learn.h"

#include <errno.h>
#include <stdlib.h>

/* The profile that names the workload of this run, found as admission finds it. */
static const struct profile *find_naming(const struct learn *self, const struct found_run *run)
{
	const struct identity *identity = &run->identity;
	const struct snapshot_container of = {run->namespace_name, identity->role, run->container, identity->run_key,
					      run->is_main};
	const struct profile *found = NULL;

	for (size_t i = 0; i < identity->n_keys && !found; i++)
		found = snapshot_profile_of_ref(self->naming, &of, identity->keys[i].text);
	return found;
}

/* Whether the status of the profile may hold the results of this run. */
static bool may_hold(const struct profile *naming, const struct found_run *run)
{
	const struct identity *identity = &run->identity;

	if (*identity->role && !*naming->spec->ref.role)
		return false;
	return !*naming->workload || (streq(naming->role, identity->role) && streq(naming->container, run->container) &&
				      snapshot_is_own_spec(naming));
}

/* The name of the item so far. NULL: none, or it belongs to another item. */
static const char *old_name(const struct learn *self, const struct learned *item, const struct found_run *run)
{
	const char *known = item->name ? item->name : learn_known_name(self, run);

	return item->name || !known || !learn_find_name(self, run->namespace_name, known) ? known : NULL;
}

static bool may_move(const struct learn *self, const struct learned *item, const char *old, const struct profile *to)
{
	const struct profile *from = old ? learn_profile_of(self, to->namespace_name, old) : NULL;
	const struct learned *taken = learn_find_name(self, to->namespace_name, to->name);

	return (!taken || taken == item) && (!from || from == to || store_may_remove(from));
}

/* The name of objects that a crash between commit and deletion left over. NULL: none. */
static const char *left_behind(const struct learned *item, const struct profile *naming)
{
	const struct profile *twin = item->twin;

	return twin && twin != naming && streq(twin->workload, naming->workload) && store_may_remove(twin) ? twin->name
													   : NULL;
}

static int adopt(struct learn *self, struct learned *item, const char *old, const struct profile *naming)
{
	item->is_adopted = true;
	if (old && streq(old, naming->name) && left_behind(item, naming)) {
		item->moved_from = left_behind(item, naming);
		return learn_give_name(self, item, naming->namespace_name, item->moved_from) ||
				       learn_give_name(self, item, naming->namespace_name, naming->name)
			       ? -ENOMEM
			       : 0;
	}
	if (old && !streq(old, naming->name)) {
		/* still found by the old name */
		if (!item->name && learn_give_name(self, item, naming->namespace_name, old))
			return -ENOMEM;
		item->moved_from = item->name;
	}
	return learn_give_name(self, item, naming->namespace_name, naming->name);
}

int learn_adopt(struct learn *self)
{
	int r = 0;

	if (!self->naming_builder)
		return 0;
	self->naming = snapshot_builder_finish(TAKE_PTR(self->naming_builder), self->now_ms);
	if (!self->naming)
		return -ENOMEM;
	learn_judge_namings(self);
	for (size_t i = 0; i < self->n_runs && !r; i++) {
		const struct found_run *run = self->runs[i];
		struct learned *item = learn_find(self, run);
		const struct profile *naming = item && !item->is_adopted ? find_naming(self, run) : NULL;
		const char *old = naming ? old_name(self, item, run) : NULL;

		if (naming && may_hold(naming, run) && may_move(self, item, old, naming))
			r = adopt(self, item, old, naming);
	}
	return r ? r : learn_move_profiles(self);
}

/* The results under the old name replace those of the new profile, so that the move changes no size. */
int learn_move_profiles(struct learn *self)
{
	int r = 0;

	for (size_t i = 0; i < self->items.n && !r; i++) {
		struct learned *item = &self->items.items[i];
		const struct profile *from = item->moved_from
						     ? learn_profile_of(self, item->namespace_name, item->moved_from)
						     : NULL;
		const struct profile *to = from ? learn_profile_of(self, item->namespace_name, item->name) : NULL;
		struct profile draft, *moved;

		if (!to || *to->workload)
			continue;
		draft = *from;
		draft.name = to->name;
		draft.spec = to->spec;
		item->is_copied = true;
		moved = profile_dup(&draft);
		r = moved ? learn_index_profile(self, moved) : -ENOMEM;
	}
	return r;
}

/* ---- histories ---- */

static bool has_all(const struct history *self, const struct history *other)
{
	for (size_t i = 0; i < other->runs.n; i++)
		if (!learn_history_find(self, &other->runs.items[i]))
			return false;
	return true;
}

static int rename_history(struct history *history, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(history->name);
	history->name = copy;
	return 0;
}

int learn_take_history(struct learned *item, struct history *take_history)
{
	bool is_old = !streq(take_history->name, item->name);
	struct history *known = item->history;

	if (known && is_old == item->is_moving) {
		history_free(take_history); /* it is known already */
		return 0;
	}
	if (known) {
		/* Both histories exist: the one under the new name is continued. */
		struct history *old = is_old ? take_history : known, *own = is_old ? known : take_history;

		item->has_more = !has_all(own, old);
		item->history = own;
		item->is_moving = false;
		item->has_changed_history = false;
		history_free(old);
		return 0;
	}
	item->history = take_history;
	item->is_moving = item->has_changed_history = is_old;
	return is_old ? rename_history(take_history, item->name) : 0;
}

int learn_remove_moved(struct learn *self, struct err *err)
{
	CLEANUP(freep) struct store_name *names = calloc(self->items.n + 1, sizeof(*names));
	size_t n = 0;

	if (!names)
		return learn_no_memory(err);
	for (size_t i = 0; i < self->items.n; i++) {
		const struct learned *item = &self->items.items[i];

		if (item->moved_from && item->is_written && !item->has_more)
			names[n++] = (struct store_name){item->namespace_name, item->moved_from};
	}
	return store_remove(self->store, names, n, NULL, err);
}
