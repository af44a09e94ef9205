/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: 256 shards, each a pair of hash tables with a reference count, which nobody changes once a snapshot holds
 * it. A builder starts with the shards of its base and copies one when it first writes to it; profiles have a reference
 * count and are never copied. Updating one profile among 100,000 copies two shards of 400 entries: about 15 KB.
 * Namespaces and node shapes are few and kept in one set each, which is copied as a whole; owners are kept in several
 * sets (snapshot_facts.h, snapshot_around.c). */
#include "model/snapshot_internal.h"

#define SHARD_ROOM 8 /* entries that a copied shard can take before it grows */

/* ---- shards ---- */

static void shard_release(struct fact *fact)
{
	struct shard *self = (struct shard *)fact;

	snapshot_table_release(&self->names);
	snapshot_table_release(&self->keys);
}

static struct fact *shard_copy(const struct shard *from)
{
	struct fact *fact = fact_new(sizeof(struct shard), "", NULL, NULL);
	struct shard *self = (struct shard *)fact;

	if (!self)
		return NULL;
	fact->release = shard_release;
	if (from && (snapshot_table_copy(&from->names, SHARD_ROOM, &self->names) ||
		     snapshot_table_copy(&from->keys, SHARD_ROOM, &self->keys))) {
		fact_unref(fact);
		return NULL;
	}
	return fact;
}

static unsigned int set_of(const struct snapshot_probe *probe)
{
	return SET_PROFILES + (unsigned int)(probe->hash % SHARDS);
}

static struct profile *find_profile(const struct sets *sets, const struct snapshot_probe *probe)
{
	const struct shard *shard = (const struct shard *)sets->items[set_of(probe)];

	if (!shard)
		return NULL;
	return snapshot_table_find(probe->space == SNAPSHOT_NAMES ? &shard->names : &shard->keys, probe);
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

	return find_profile(&self->sets, &probe);
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
		found = find_profile(&self->sets, &probe);
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
	struct snapshot_probe probe = snapshot_probe_name(namespace_name, name);

	return find_profile(&self->sets, &probe);
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
	free(self);
}

/* The table of a probe, made the builder's own. NULL: out of memory. */
static struct snapshot_table *own_table(struct snapshot_builder *self, const struct snapshot_probe *probe)
{
	unsigned int set = set_of(probe);
	struct shard *shard;

	if (!self->is_own_set[set]) {
		struct fact *copy = shard_copy((const struct shard *)self->sets.items[set]);

		if (!copy)
			return NULL;
		snapshot_replace_set(self, set, copy);
	}
	shard = (struct shard *)self->sets.items[set];
	return probe->space == SNAPSHOT_NAMES ? &shard->names : &shard->keys;
}

/* Whether the profile has this entry: which of its texts are keys of their own. */
static bool has_entry(const struct profile *profile, unsigned int which)
{
	const char *key;

	if (which == SNAPSHOT_BY_NAME)
		return true;
	if (which == SNAPSHOT_BY_REF)
		return profile->spec->ref.key != NULL;
	if (which == SNAPSHOT_BY_REF_MADE)
		return profile->spec->ref.key && profile->spec->ref.made_key;
	if (which == SNAPSHOT_BY_WORKLOAD)
		return *profile->workload != '\0';
	key = profile->aliases[which - SNAPSHOT_BY_ALIAS];
	if (!*key || streq(key, profile->workload))
		return false;
	for (unsigned int i = SNAPSHOT_BY_ALIAS; i < which; i++)
		if (streq(key, profile->aliases[i - SNAPSHOT_BY_ALIAS]))
			return false;
	return true;
}

static unsigned int entries_end(const struct profile *profile)
{
	return SNAPSHOT_BY_ALIAS + (unsigned int)profile->n_aliases;
}

static int add_entry(struct snapshot_builder *self, struct profile *profile, unsigned int which)
{
	struct snapshot_probe probe = snapshot_probe_of(profile, which);
	struct snapshot_table *table = own_table(self, &probe);

	return table ? snapshot_table_add(table, &probe, profile, which) : -ENOMEM;
}

static int remove_entry(struct snapshot_builder *self, struct profile *profile, unsigned int which)
{
	struct snapshot_probe probe = snapshot_probe_of(profile, which);
	struct snapshot_table *table = own_table(self, &probe);

	if (!table)
		return -ENOMEM;
	snapshot_table_remove(table, &probe, profile);
	return 0;
}

int snapshot_builder_remove(struct snapshot_builder *self, const char *namespace_name, const char *name)
{
	struct snapshot_probe probe = snapshot_probe_name(namespace_name, name);
	CLEANUP(profile_freep) struct profile *profile = find_profile(&self->sets, &probe);
	int r = 0;

	if (!profile)
		return 0;
	/* The references that this function removes are those of its entries. */
	profile_ref(profile);
	for (unsigned int which = entries_end(profile); which-- > 0 && !r;)
		if (has_entry(profile, which))
			r = remove_entry(self, profile, which);
	if (!r) {
		self->n_profiles--;
		self->n_refs -= profile->spec->ref.key != NULL;
		self->n_blank -= is_blank(profile);
	}
	return r;
}

/* The profiles of a shard. NULL: none. */
static const struct snapshot_table *names_of(const struct snapshot_builder *self, size_t i)
{
	const struct shard *shard = (const struct shard *)self->sets.items[SET_PROFILES + i];

	return shard ? &shard->names : NULL;
}

int snapshot_builder_keep(struct snapshot_builder *self,
			  bool (*keeps)(void *context, const char *namespace_name, const char *name), void *context)
{
	VEC(struct profile *) gone = VEC_INIT;
	int r = 0;

	for (size_t i = 0; i < SHARDS; i++) {
		const struct snapshot_table *names = names_of(self, i);

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
		const struct snapshot_table *names = names_of(self, i);

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
	int r = snapshot_builder_remove(self, profile->namespace_name, profile->name);

	for (unsigned int which = 0; which < entries_end(profile) && !r; which++)
		if (has_entry(profile, which))
			r = add_entry(self, profile, which);
	if (!r) {
		self->n_profiles++;
		self->n_refs += profile->spec->ref.key != NULL;
		self->n_blank += is_blank(profile);
	}
	return r;
}

void snapshot_builder_share(struct snapshot_builder *self, const struct snapshot *old)
{
	self->old = old;
}

static struct profile *find_same(const struct snapshot *old, const struct profile *draft)
{
	struct snapshot_probe probe = snapshot_probe_name(draft->namespace_name, draft->name);
	struct profile *profile = find_profile(&old->sets, &probe);

	return profile && profile_same(profile, draft) ? profile : NULL;
}

int snapshot_builder_put_copy(struct snapshot_builder *self, const struct profile *draft)
{
	struct profile *profile = self->old ? find_same(self->old, draft) : NULL;

	profile = profile ? profile_ref(profile) : profile_dup(draft);
	return profile ? snapshot_builder_put(self, profile) : -ENOMEM;
}

struct snapshot *snapshot_builder_finish(struct snapshot_builder *take_self, int64_t now_ms)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (snapshot) {
		atomic_init(&snapshot->refs, 1);
		snapshot_finish_namespaces(take_self);
		for (size_t i = SET_PROFILES; i < SETS; i++) {
			struct shard *shard = (struct shard *)take_self->sets.items[i];

			if (shard && take_self->is_own_set[i]) {
				snapshot_table_shrink(&shard->names);
				snapshot_table_shrink(&shard->keys);
			}
		}
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
