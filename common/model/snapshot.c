/* SPDX-License-Identifier: Apache-2.0 */
/* 256 shards, each a refcounted pair of hash tables that nobody changes once a snapshot holds it. A builder starts with
 * the shards of its base and copies one when it first writes to it; profiles are refcounted and never copied. An update
 * of one profile among 100,000 copies two shards of 400 entries: about 15 KB.
 * Namespaces and node shapes are few and live in one refcounted set each that is copied as a whole, owners in several
 * (snapshot_facts.h, snapshot_around.c). */
#include "model/snapshot_internal.h"

#define SHARD_ROOM 8 /* entries that a copied shard can take before it grows */

static bool drop_reference(atomic_int *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

static void add_reference(atomic_int *refs)
{
	atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* ---- shards ---- */

static void shard_unref(struct shard *self)
{
	if (!self || !drop_reference(&self->refs))
		return;
	snapshot_table_release(&self->names);
	snapshot_table_release(&self->keys);
	free(self);
}

static struct shard *shard_copy(const struct shard *from)
{
	struct shard *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	atomic_init(&self->refs, 1);
	if (from && (snapshot_table_copy(&from->names, SHARD_ROOM, &self->names) ||
		     snapshot_table_copy(&from->keys, SHARD_ROOM, &self->keys))) {
		shard_unref(self);
		return NULL;
	}
	return self;
}

/* ---- reading ---- */

struct snapshot *snapshot_ref(struct snapshot *self)
{
	add_reference(&self->refs);
	return self;
}

struct snapshot *snapshot_unref(struct snapshot *self)
{
	if (!self || !drop_reference(&self->refs))
		return NULL;
	for (size_t i = 0; i < SHARDS; i++)
		shard_unref(self->shards[i]);
	around_release(&self->around);
	free(self);
	return NULL;
}

static size_t shard_of(const struct snapshot_probe *probe)
{
	return probe->hash % SHARDS;
}

const struct profile *snapshot_profile(const struct snapshot *self, const char *namespace_name, const char *key,
				       const char *role, const char *container)
{
	struct snapshot_probe probe = snapshot_probe_key(namespace_name, key, role, container);
	const struct shard *shard = self->shards[shard_of(&probe)];

	return shard ? snapshot_table_find(&shard->keys, &probe) : NULL;
}

const struct profile *snapshot_profile_by_name(const struct snapshot *self, const char *namespace_name,
					       const char *name)
{
	struct snapshot_probe probe = snapshot_probe_name(namespace_name, name);
	const struct shard *shard = self->shards[shard_of(&probe)];

	return shard ? snapshot_table_find(&shard->names, &probe) : NULL;
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
	for (size_t i = 0; i < SHARDS; i++) {
		self->shards[i] = base->shards[i];
		if (self->shards[i])
			add_reference(&self->shards[i]->refs);
	}
	around_share(&base->around, &self->around);
	self->n_profiles = base->n_profiles;
	return self;
}

void snapshot_builder_free(struct snapshot_builder *self)
{
	if (!self)
		return;
	for (size_t i = 0; i < SHARDS; i++)
		shard_unref(self->shards[i]);
	around_release(&self->around);
	free(self);
}

/* The shard of a probe, made the builder's own. NULL when memory is out. */
static struct shard *own_shard(struct snapshot_builder *self, const struct snapshot_probe *probe)
{
	size_t i = shard_of(probe);
	struct shard *copy;

	if (self->is_own_shard[i])
		return self->shards[i];
	copy = shard_copy(self->shards[i]);
	if (!copy)
		return NULL;
	shard_unref(self->shards[i]);
	self->shards[i] = copy;
	self->is_own_shard[i] = true;
	return copy;
}

/* The entries a profile has: which of its texts are keys of their own. */
static bool has_entry(const struct profile *profile, unsigned int which)
{
	const char *key;

	if (which == SNAPSHOT_BY_NAME)
		return true;
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
	struct shard *shard = own_shard(self, &probe);

	if (!shard)
		return -ENOMEM;
	return snapshot_table_add(probe.is_name ? &shard->names : &shard->keys, &probe, profile, which);
}

static int remove_entry(struct snapshot_builder *self, struct profile *profile, unsigned int which)
{
	struct snapshot_probe probe = snapshot_probe_of(profile, which);
	struct shard *shard = own_shard(self, &probe);

	if (!shard)
		return -ENOMEM;
	snapshot_table_remove(probe.is_name ? &shard->names : &shard->keys, &probe, profile);
	return 0;
}

int snapshot_builder_remove(struct snapshot_builder *self, const char *namespace_name, const char *name)
{
	struct snapshot_probe probe = snapshot_probe_name(namespace_name, name);
	const struct shard *shard = self->shards[shard_of(&probe)];
	CLEANUP(profile_freep) struct profile *profile = shard ? snapshot_table_find(&shard->names, &probe) : NULL;
	int r = 0;

	if (!profile)
		return 0;
	/* Its entries hold the references that this function removes. */
	profile_ref(profile);
	for (unsigned int which = entries_end(profile); which-- > 0 && !r;)
		if (has_entry(profile, which))
			r = remove_entry(self, profile, which);
	if (!r)
		self->n_profiles--;
	return r;
}

int snapshot_builder_keep(struct snapshot_builder *self,
			  bool (*keeps)(void *context, const char *namespace_name, const char *name), void *context)
{
	VEC(struct profile *) gone = VEC_INIT;
	int r = 0;

	for (size_t i = 0; i < SHARDS; i++) {
		const struct snapshot_table *names = self->shards[i] ? &self->shards[i]->names : NULL;

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
		const struct snapshot_table *names = self->shards[i] ? &self->shards[i]->names : NULL;

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
	if (!r)
		self->n_profiles++;
	return r;
}

void snapshot_builder_share(struct snapshot_builder *self, const struct snapshot *old)
{
	self->old = old;
}

static struct profile *find_same(const struct snapshot *old, const struct profile *draft)
{
	struct snapshot_probe probe = snapshot_probe_name(draft->namespace_name, draft->name);
	const struct shard *shard = old->shards[shard_of(&probe)];
	struct profile *profile = shard ? snapshot_table_find(&shard->names, &probe) : NULL;

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
		for (size_t i = 0; i < SHARDS; i++) {
			if (take_self->is_own_shard[i]) {
				snapshot_table_shrink(&take_self->shards[i]->names);
				snapshot_table_shrink(&take_self->shards[i]->keys);
			}
			snapshot->shards[i] = TAKE_PTR(take_self->shards[i]);
		}
		snapshot->around = take_self->around;
		take_self->around = (struct around){.shapes = NULL};
		snapshot->n_profiles = take_self->n_profiles;
		snapshot->built_ms = now_ms;
	}
	snapshot_builder_free(take_self);
	return snapshot;
}
