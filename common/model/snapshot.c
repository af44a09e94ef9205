/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: profiles are in 256 tables by name and 256 lists by key, each with a reference count, which nobody changes
 * once a snapshot holds it. A builder starts with those of its base and makes another one where something changes;
 * profiles have a reference count and are never copied. Updating one profile among 100,000 copies a table of 400 names,
 * and for each of its keys a list of 800: about 30 KB. Namespaces and node shapes are few and kept in one set each,
 * which is copied as a whole; owners are kept in several sets (snapshot_facts.h, snapshot_around.c). */
#include "model/snapshot_internal.h"

#define NAMES_ROOM 8 /* entries that a copied table can take before it grows */

static unsigned int set_of(const struct snapshot_name *name)
{
	return SET_NAMES + (unsigned int)(name->hash % SHARDS);
}

static struct profile *find_name(const struct sets *sets, const struct snapshot_name *name)
{
	return snapshot_names_find(sets->items[set_of(name)], name);
}

static const struct profile *find_key(const struct snapshot *self, const struct snapshot_probe *probe)
{
	return snapshot_keys_find(self->sets.items[SET_KEYS + probe->hash % SHARDS], probe);
}

/* ---- reading ---- */

struct snapshot *snapshot_ref(struct snapshot *self)
{
	atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
	return self;
}

struct snapshot *snapshot_unref(struct snapshot *self)
{
	if (!self || atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
		return NULL;
	sets_release(&self->sets);
	free(self);
	return NULL;
}

const struct profile *snapshot_profile(const struct snapshot *self, const char *namespace_name, const char *key,
				       const char *role, const char *container)
{
	struct snapshot_probe probe = snapshot_probe_key(SNAPSHOT_KEYS, namespace_name, key, role, container);

	return find_key(self, &probe);
}

/* Nothing was learned into it, and it names no workload. */
static bool is_blank(const struct profile *profile)
{
	return !*profile->workload && !profile->spec->ref.key;
}

static const struct profile *find_ref(const struct snapshot *self, enum snapshot_space space,
				      const struct snapshot_container *of, const char *key)
{
	const char *const roles[] = {*of->role ? of->role : NULL, SNAPSHOT_ANY};
	const char *const containers[] = {of->container, of->is_main ? SNAPSHOT_ANY : NULL};
	const struct profile *found = NULL;

	for (size_t i = 0; i < 4 && !found; i++) {
		struct snapshot_probe probe;

		if (!roles[i % 2] || !containers[i / 2])
			continue;
		probe = snapshot_probe_key(space, of->namespace_name, key, roles[i % 2], containers[i / 2]);
		found = find_key(self, &probe);
	}
	return found;
}

/* Whether an object of this name created the run ("Job/nightly-2-29384756" by nightly-2, but not by nightly). */
static bool is_made_by(const char *run_key, const char *name)
{
	const char *slash = strchr(run_key, '/'), *made = slash ? slash + 1 : run_key;
	size_t n = strlen(name);

	return strncmp(made, name, n) == 0 && (!made[n] || (made[n] == '-' && !strchr(made + n + 1, '-')));
}

const struct profile *snapshot_profile_of_ref(const struct snapshot *self, const struct snapshot_container *of,
					      const char *key)
{
	const struct profile *found = NULL;

	if (!self->n_refs)
		return NULL;
	found = find_ref(self, SNAPSHOT_REFS, of, key);
	if (found || !of->run_key)
		return found;
	found = find_ref(self, SNAPSHOT_REFS_MADE, of, key);
	return found && is_made_by(of->run_key, found->spec->ref.name) ? found : NULL;
}

bool snapshot_is_own_spec(const struct profile *learned)
{
	const char *named = learned->spec->ref.key;

	if (!named || streq(named, learned->workload))
		return true;
	for (size_t i = 0; i < learned->n_aliases; i++)
		if (streq(named, learned->aliases[i]))
			return true;
	return false;
}

/* A profile with the workload's id as name (identity_id), into which its first run will be learned. */
static const struct profile *find_blank(const struct snapshot *self, const char *namespace_name, const char *key,
					const char *role, const char *container)
{
	const struct profile *profile;
	char id[IDENTITY_ID_BYTES];

	identity_id(namespace_name, key, role, container, id);
	profile = snapshot_profile_by_name(self, namespace_name, id);
	return profile && is_blank(profile) ? profile : NULL;
}

struct snapshot_found snapshot_find(const struct snapshot *self, const char *namespace_name,
				    const struct identity *identity, const char *container, bool is_main)
{
	const struct snapshot_container of = {namespace_name, identity->role, container, identity->run_key, is_main};
	struct snapshot_found found = {NULL, NULL};

	for (size_t i = 0; i < identity->n_keys && !found.learned; i++)
		found.learned = snapshot_profile(self, namespace_name, identity->keys[i].text, identity->role,
						 container);
	for (size_t i = 0; i < identity->n_keys && !found.decided; i++)
		found.decided = snapshot_profile_of_ref(self, &of, identity->keys[i].text);
	if (!found.decided && found.learned && snapshot_is_own_spec(found.learned))
		found.decided = found.learned;
	for (size_t i = 0; self->n_blank && i < identity->n_keys && !found.learned && !found.decided; i++)
		found.decided = find_blank(self, namespace_name, identity->keys[i].text, identity->role, container);
	return found;
}

const struct profile *snapshot_profile_by_name(const struct snapshot *self, const char *namespace_name,
					       const char *name)
{
	struct snapshot_name key = snapshot_name_of(namespace_name, name);

	return find_name(&self->sets, &key);
}

size_t snapshot_profile_count(const struct snapshot *self)
{
	return self->n_profiles;
}

int64_t snapshot_built_ms(const struct snapshot *self)
{
	return self->built_ms;
}

/* ---- building ---- */

struct snapshot_builder *snapshot_builder_new(const struct snapshot *base)
{
	struct snapshot_builder *self = calloc(1, sizeof(*self));

	if (!self || !base)
		return self;
	sets_share(&base->sets, &self->sets);
	self->n_profiles = base->n_profiles;
	self->n_refs = base->n_refs;
	self->n_blank = base->n_blank;
	return self;
}

void snapshot_builder_free(struct snapshot_builder *self)
{
	if (!self)
		return;
	sets_release(&self->sets);
	for (size_t i = 0; i < SHARDS; i++)
		key_changes_release(&self->changes[i]);
	free(self);
}

/* The table of this name, made the builder's own. NULL: out of memory. */
static struct fact *own_names(struct snapshot_builder *self, const struct snapshot_name *name)
{
	unsigned int set = set_of(name);

	if (!self->is_own_set[set]) {
		struct fact *copy = snapshot_names_copy(self->sets.items[set], NAMES_ROOM);

		if (!copy)
			return NULL;
		snapshot_replace_set(self, set, copy);
	}
	return self->sets.items[set];
}

static int merge_keys(struct snapshot_builder *self, size_t i)
{
	struct fact *list = snapshot_keys_merge(self->sets.items[SET_KEYS + i], &self->changes[i]);

	if (!list)
		return -ENOMEM;
	snapshot_replace_set(self, SET_KEYS + (unsigned int)i, list);
	return 0;
}

/* `sign` 1 adds the keys of a profile, -1 removes them. */
static int change_keys(struct snapshot_builder *self, struct profile *profile, int32_t sign)
{
	int r = 0;

	for (unsigned int which = 0; which < snapshot_keys_end(profile) && r >= 0; which++) {
		uint64_t hash;
		size_t i;

		if (!snapshot_has_key(profile, which))
			continue;
		hash = snapshot_key_hash(profile, which);
		i = hash % SHARDS;
		r = key_changes_note(&self->changes[i], self->sets.items[SET_KEYS + i], profile, which, hash, sign);
		if (r > 0)
			r = merge_keys(self, i);
	}
	return r;
}

/* What a snapshot counts of its profiles. */
static void count(struct snapshot_builder *self, const struct profile *profile, int sign)
{
	self->n_profiles += (size_t)sign;
	self->n_refs += profile->spec->ref.key ? (size_t)sign : 0;
	self->n_blank += is_blank(profile) ? (size_t)sign : 0;
}

int snapshot_builder_remove(struct snapshot_builder *self, const char *namespace_name, const char *name)
{
	const struct snapshot_name key = snapshot_name_of(namespace_name, name);
	struct profile *profile = find_name(&self->sets, &key);
	struct fact *names = profile ? own_names(self, &key) : NULL;
	int r;

	if (!profile || !names)
		return profile ? -ENOMEM : 0;
	r = change_keys(self, profile, -1);
	if (r)
		return r;
	count(self, profile, -1);
	snapshot_names_remove(names, &key);
	return 0;
}

/* The profiles of a table. NULL: none. */
static const struct snapshot_names *names_of(const struct snapshot_builder *self, size_t i)
{
	return (const struct snapshot_names *)self->sets.items[SET_NAMES + i];
}

int snapshot_builder_keep(struct snapshot_builder *self,
			  bool (*keeps)(void *context, const char *namespace_name, const char *name), void *context)
{
	VEC(struct profile *) gone = VEC_INIT;
	int r = 0;

	for (size_t i = 0; i < SHARDS; i++) {
		const struct snapshot_names *names = names_of(self, i);

		for (uint32_t k = 0; names && k < names->capacity && !r; k++)
			if (names->profiles[k] &&
			    !keeps(context, names->profiles[k]->namespace_name, names->profiles[k]->name))
				r = vec_push(&gone, names->profiles[k]);
	}
	for (size_t i = 0; i < gone.n && !r; i++)
		r = snapshot_builder_remove(self, gone.items[i]->namespace_name, gone.items[i]->name);
	vec_release(&gone);
	return r;
}

int snapshot_builder_forget_previous(struct snapshot_builder *self, int64_t now_ms)
{
	VEC(const struct profile *) old = VEC_INIT;
	int r = 0;

	for (size_t i = 0; i < SHARDS; i++) {
		const struct snapshot_names *names = names_of(self, i);

		for (uint32_t k = 0; names && k < names->capacity && !r; k++)
			if (names->profiles[k] && names->profiles[k]->n_previous &&
			    !profile_previous_matters(names->profiles[k], now_ms))
				r = vec_push(&old, names->profiles[k]);
	}
	for (size_t i = 0; i < old.n && !r; i++) {
		struct profile draft = *old.items[i];

		draft.n_previous = 0;
		r = snapshot_builder_put_copy(self, &draft);
	}
	vec_release(&old);
	return r;
}

int snapshot_builder_put(struct snapshot_builder *self, struct profile *take_profile)
{
	CLEANUP(profile_freep) struct profile *profile = take_profile;
	const struct snapshot_name key = snapshot_name_of(profile->namespace_name, profile->name);
	int r = snapshot_builder_remove(self, profile->namespace_name, profile->name);
	struct fact *names = r ? NULL : own_names(self, &key);

	if (!names || snapshot_names_add(names, &key, profile) || change_keys(self, profile, 1))
		return -ENOMEM;
	count(self, profile, 1);
	return 0;
}

void snapshot_builder_share(struct snapshot_builder *self, const struct snapshot *old)
{
	self->old = old;
}

static struct profile *find_same(const struct snapshot *old, const struct profile *draft)
{
	const struct snapshot_name key = snapshot_name_of(draft->namespace_name, draft->name);
	struct profile *profile = find_name(&old->sets, &key);

	return profile && profile_same(profile, draft) ? profile : NULL;
}

int snapshot_builder_put_copy(struct snapshot_builder *self, const struct profile *draft)
{
	struct profile *profile = self->old ? find_same(self->old, draft) : NULL;

	profile = profile ? profile_ref(profile) : profile_dup(draft);
	return profile ? snapshot_builder_put(self, profile) : -ENOMEM;
}

/* Completes the sets that the builder has changed. */
static int finish_sets(struct snapshot_builder *self)
{
	int r = 0;

	snapshot_finish_namespaces(self);
	for (size_t i = 0; i < SHARDS && !r; i++) {
		if (self->is_own_set[SET_NAMES + i])
			snapshot_names_shrink(self->sets.items[SET_NAMES + i]);
		if (self->changes[i].n)
			r = merge_keys(self, i);
	}
	return r;
}

struct snapshot *snapshot_builder_finish(struct snapshot_builder *take_self, int64_t now_ms)
{
	struct snapshot *snapshot = finish_sets(take_self) ? NULL : calloc(1, sizeof(*snapshot));

	if (snapshot) {
		atomic_init(&snapshot->refs, 1);
		snapshot->sets = take_self->sets;
		take_self->sets = (struct sets){.items = {NULL}};
		snapshot->n_profiles = take_self->n_profiles;
		snapshot->n_refs = take_self->n_refs;
		snapshot->n_blank = take_self->n_blank;
		snapshot->built_ms = now_ms;
	}
	snapshot_builder_free(take_self);
	return snapshot;
}
