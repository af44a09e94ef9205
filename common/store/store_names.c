/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *store_key(char ret[STORE_KEY_BYTES], const char *namespace_name, const char *name)
{
	snprintf(ret, STORE_KEY_BYTES, "%s/%s", namespace_name, name);
	return ret;
}

/* A key, its NUL, and a byte that says whether it is kept: the value of the map points there. */
static int put(struct store_names *self, const struct store_name *name)
{
	char key[STORE_KEY_BYTES];
	size_t n = strlen(store_key(key, name->namespace_name, name->name));
	char *copy = calloc(1, n + 2);

	if (copy)
		memcpy(copy, key, n);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what it holds */
	if (!copy || vec_push(&self->keys, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return strmap_put(&self->map, copy, copy + n + 1);
}

int store_names_put_all(struct store_names *self, const struct store_name *names, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = put(self, &names[i]);
	return r;
}

bool store_names_has(const struct store_names *self, const char *namespace_name, const char *name)
{
	char key[STORE_KEY_BYTES];

	return self->map.n && strmap_has(&self->map, store_key(key, namespace_name, name));
}

void store_names_keep(struct store_names *self, const char *namespace_name, const char *name)
{
	char key[STORE_KEY_BYTES], *is_kept = strmap_get(&self->map, store_key(key, namespace_name, name));

	if (is_kept)
		*is_kept = 1;
}

bool store_names_is_kept(const struct store_names *self, const char *namespace_name, const char *name)
{
	char key[STORE_KEY_BYTES];
	const char *is_kept = strmap_get(&self->map, store_key(key, namespace_name, name));

	return is_kept && *is_kept;
}

void store_names_release(struct store_names *self)
{
	for (size_t i = 0; i < self->keys.n; i++)
		free(self->keys.items[i]);
	vec_release(&self->keys);
	strmap_release(&self->map);
}

bool store_may_remove(const struct profile *profile)
{
	const struct profile_spec *spec = profile->spec;

	return !streq(profile->name, PROFILE_OF_NAMESPACE) && !spec->pin_request_bytes && !spec->pin_limit_bytes &&
	       spec->quantile_permille == -1 && spec->buffer_permille == -1 && !spec->floor_bytes &&
	       !spec->ceiling_bytes && !*spec->size_class && !*spec->mode_cap;
}
