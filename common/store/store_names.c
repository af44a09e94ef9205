/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_internal.h"

#include <errno.h>
#include <stdio.h>

const char *store_key(char ret[STORE_KEY_BYTES], const char *namespace_name, const char *name)
{
	snprintf(ret, STORE_KEY_BYTES, "%s/%s", namespace_name, name);
	return ret;
}

int store_names_put_all(struct store_names *self, const struct store_name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *key = arena_printf(&self->keys, "%s/%s", names[i].namespace_name, names[i].name);

		if (!key || strmap_put(&self->map, key, key))
			return -ENOMEM;
	}
	return 0;
}

bool store_names_has(const struct store_names *self, const char *namespace_name, const char *name)
{
	char key[STORE_KEY_BYTES];

	return strmap_get(&self->map, store_key(key, namespace_name, name)) != NULL;
}

int store_names_drop(struct store_names *self, const char *namespace_name, const char *name)
{
	char key[STORE_KEY_BYTES], *copy = strmap_get(&self->map, store_key(key, namespace_name, name));

	return copy ? strmap_put(&self->map, copy, NULL) : 0; /* the map keeps the key, without a value */
}

void store_names_release(struct store_names *self)
{
	arena_release(&self->keys);
	strmap_release(&self->map);
}

bool store_may_remove(const struct profile *profile)
{
	return !streq(profile->name, PROFILE_OF_NAMESPACE) && !profile_has_spec(profile);
}
