/* SPDX-License-Identifier: Apache-2.0 */
/* learn_index: what is known of workloads, profiles and namings, by key and by name. */
#include "engine/learn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOINED_BYTES = 2 * LIMIT_NAME_BYTES + IDENTITY_KEY_BYTES + 64 + 4 };

int learn_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory left for profiles");
}

bool learn_has_all_profiles(const struct learn *self)
{
	return self->reading >= LEARN_READ_PROFILES;
}

/* Joins texts by a byte that none of them contains. It does not allocate: a failed allocation must not look like an
 * absent key. */
static void join(char ret[JOINED_BYTES], const char *namespace_name, const char *key, const char *role,
		 const char *container)
{
	snprintf(ret, JOINED_BYTES, "%s\n%s\n%s\n%s", namespace_name, key, role, container);
}

static void join_name(char ret[JOINED_BYTES], const char *namespace_name, const char *name)
{
	snprintf(ret, JOINED_BYTES, "%s/%s", namespace_name, name);
}

/* NULL: nothing is known of objects of this name. */
static struct learn_object *find_object(const struct learn *self, const char *namespace_name, const char *name)
{
	char text[JOINED_BYTES];

	join_name(text, namespace_name, name);
	return strmap_get(&self->objects, text);
}

/* NULL: out of memory. */
static struct learn_object *put_object(struct learn *self, const char *namespace_name, const char *name)
{
	struct learn_object *object = find_object(self, namespace_name, name);
	char text[JOINED_BYTES];
	const char *key;

	if (object)
		return object;
	join_name(text, namespace_name, name);
	key = arena_strdup(&self->arena, text);
	object = arena_alloc(&self->arena, sizeof(*object));
	return key && object && strmap_put(&self->objects, key, object) == 0 ? object : NULL;
}

struct learned *learn_find_key(const struct learn *self, const char *namespace_name, const char *key, const char *role,
			       const char *container)
{
	char text[JOINED_BYTES];
	void *found;

	join(text, namespace_name, key, role, container);
	found = strmap_get(&self->key_index, text);
	return found ? &self->items.items[(uintptr_t)found - 1] : NULL;
}

int learn_index_keys(struct learn *self, const struct found_run *run, size_t item)
{
	int r = 0;

	for (size_t i = 0; i < run->identity.n_keys && !r; i++) {
		const char *key = run->identity.keys[i].text;
		char text[JOINED_BYTES];
		const char *copy;

		if (learn_find_key(self, run->namespace_name, key, run->identity.role, run->container))
			continue;
		join(text, run->namespace_name, key, run->identity.role, run->container);
		copy = arena_strdup(&self->arena, text);
		r = copy ? strmap_put(&self->key_index, copy, (void *)(uintptr_t)(item + 1)) : -ENOMEM;
	}
	return r;
}

struct learned *learn_find(const struct learn *self, const struct found_run *run)
{
	struct learned *found = NULL;

	for (size_t i = 0; i < run->identity.n_keys && !found; i++)
		found = learn_find_key(self, run->namespace_name, run->identity.keys[i].text, run->identity.role,
				       run->container);
	return found;
}

struct learned *learn_find_name(const struct learn *self, const char *namespace_name, const char *name)
{
	const struct learn_object *object = find_object(self, namespace_name, name);

	return object && object->item ? &self->items.items[object->item - 1] : NULL;
}

struct profile *learn_profile_of(const struct learn *self, const char *namespace_name, const char *name)
{
	const struct learn_object *object = find_object(self, namespace_name, name);

	return object ? object->profile : NULL;
}

bool learn_is_current(const struct learn *self, const struct profile *profile)
{
	return learn_profile_of(self, profile->namespace_name, profile->name) == profile;
}

int learn_give_name(struct learn *self, struct learned *item, const char *namespace_name, const char *name)
{
	struct learn_object *object = put_object(self, namespace_name, name);

	item->namespace_name = arena_strdup(&self->arena, namespace_name);
	item->name = arena_strdup(&self->arena, name);
	if (!object || !item->namespace_name || !item->name)
		return -ENOMEM;
	object->item = (size_t)(item - self->items.items) + 1;
	return 0;
}

/* Remembers the name for later cycles. */
int learn_remember_profile(struct learn *self, const struct profile *profile)
{
	char text[JOINED_BYTES];
	int r;

	if (!self->names || !*profile->workload)
		return 0;
	join(text, profile->namespace_name, profile->workload, profile->role, profile->container);
	r = learn_names_put(self->names, text, profile->name);
	for (size_t i = 0; i < profile->n_aliases && !r; i++) {
		join(text, profile->namespace_name, profile->aliases[i], profile->role, profile->container);
		r = learn_names_put(self->names, text, profile->name);
	}
	return r;
}

int learn_remember(struct learn *self)
{
	char text[JOINED_BYTES];
	int r = 0;

	for (size_t i = 0; i < self->n_runs && !r; i++) {
		const struct learned *item = learn_find(self, self->runs[i]);
		const struct identity *identity = &self->runs[i]->identity;

		for (size_t k = 0; item && item->name && k < identity->n_keys && !r; k++) {
			join(text, self->runs[i]->namespace_name, identity->keys[k].text, identity->role,
			     self->runs[i]->container);
			r = learn_names_put(self->names, text, item->name);
		}
	}
	return r;
}

const char *learn_known_name(const struct learn *self, const struct found_run *run)
{
	const struct learn_names *names = learn_has_all_profiles(self) ? &self->old_names : self->names;
	const struct identity *identity = &run->identity;
	const char *name = NULL;
	char text[JOINED_BYTES];

	for (size_t i = 0; names && i < identity->n_keys && !name; i++) {
		join(text, run->namespace_name, identity->keys[i].text, identity->role, run->container);
		name = learn_names_get(names, text);
	}
	return name;
}

struct learn_naming *learn_get_naming(const struct learn *self, const struct profile *profile)
{
	const struct learn_object *object = find_object(self, profile->namespace_name, profile->name);

	return profile->spec->ref.key && object && object->naming ? &self->namings.items[object->naming - 1] : NULL;
}

int learn_index_naming(struct learn *self, struct profile *profile)
{
	struct learn_object *object;

	if (!profile->spec->ref.key || self->naming)
		return 0;
	object = put_object(self, profile->namespace_name, profile->name);
	if (!self->naming_builder)
		self->naming_builder = snapshot_builder_new(NULL);
	if (!self->naming_builder || !object || snapshot_builder_put(self->naming_builder, profile_ref(profile)) ||
	    vec_push(&self->namings, ((struct learn_naming){.profile = profile})))
		return -ENOMEM;
	object->naming = self->namings.n;
	return 0;
}

int learn_index_profile(struct learn *self, struct profile *take_profile)
{
	struct learn_object *object = put_object(self, take_profile->namespace_name, take_profile->name);

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what it holds */
	if (!object || vec_push(&self->profiles, take_profile)) {
		profile_free(take_profile);
		return -ENOMEM;
	}
	object->profile = take_profile;
	return 0;
}

void learn_index_no_profile(struct learn *self, const char *namespace_name, const char *name)
{
	struct learn_object *object = find_object(self, namespace_name, name);

	if (object)
		object->profile = NULL;
}
