/* SPDX-License-Identifier: Apache-2.0 */
#include "report/knowledge.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *known_namespace(const struct known *self)
{
	return self->profile ? self->profile->namespace_name : self->history->namespace_name;
}

const char *known_workload(const struct known *self)
{
	return self->profile ? self->profile->workload : self->history->workload;
}

const char *known_role(const struct known *self)
{
	return self->profile ? self->profile->role : self->history->role;
}

const char *known_container(const struct known *self)
{
	return self->profile ? self->profile->container : self->history->container;
}

static int known_compare(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	int r = strcmp(known_namespace(x), known_namespace(y));

	r = r ? r : strcmp(known_workload(x), known_workload(y));
	r = r ? r : strcmp(known_role(x), known_role(y));
	return r ? r : strcmp(known_container(x), known_container(y));
}

/* The entry for namespace/name, made when there is none. NULL when memory is out. */
static struct known *knowledge_entry(struct knowledge *self, const char *namespace_name, const char *name)
{
	char *key = NULL;
	void *found;

	if (asprintf(&key, "%s/%s", namespace_name, name) < 0)
		return NULL;
	found = strmap_get(&self->index, key);
	if (found) {
		free(key);
		return &self->items.items[(uintptr_t)found - 1];
	}
	if (vec_push(&self->keys, key)) {
		free(key);
		return NULL;
	}
	if (vec_push(&self->items, ((struct known){.profile = NULL})) ||
	    strmap_put(&self->index, key, (void *)(uintptr_t)self->items.n))
		return NULL;
	return &self->items.items[self->items.n - 1];
}

static int knowledge_add_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct known *entry = knowledge_entry(context, take_profile->namespace_name, take_profile->name);

	if (!entry) {
		profile_free(take_profile);
		return err_set(err, -ENOMEM, "out of memory");
	}
	profile_free(entry->profile);
	entry->profile = take_profile;
	return 0;
}

static int knowledge_add_history(void *context, struct history *take_history, struct err *err)
{
	struct known *entry = knowledge_entry(context, take_history->namespace_name, take_history->name);

	if (!entry) {
		history_free(take_history);
		return err_set(err, -ENOMEM, "out of memory");
	}
	history_free(entry->history);
	entry->history = take_history;
	return 0;
}

static int knowledge_add_shape(void *context, const struct node_shape *shape, struct err *err)
{
	struct knowledge *self = context;

	return vec_push(&self->shapes, *shape) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int knowledge_fail(const char *command, const struct err *err, int code)
{
	char text[768];

	fprintf(stderr, "%s: %s\n", command, err_text(err, text, sizeof(text)));
	return code;
}

int knowledge_load(const char *command, const struct cli_args *args, struct knowledge *ret)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_visitor visitor = {ret, knowledge_add_profile, knowledge_add_history, knowledge_add_shape};
	const char *config_path = cli_get(args, "config"), *path = cli_get(args, "store");
	struct err err = ERR_INIT;

	if (config_path && config_load(config_path, &ret->config, &err))
		return knowledge_fail(command, &err, EXIT_USAGE);
	if (!ret->config && !(ret->config = config_new_default()))
		return knowledge_fail(command, &(struct err){.msg = "out of memory"}, EXIT_DEPENDENCY);
	if (!path && ret->config->store.kind != STORE_FILE)
		return cli_usage_error(command, "store.kind: only \"file\" is read by this version; give --store PATH");
	if (!path)
		path = ret->config->store.path;
	if (store_open_file(path, false, &store, &err) || store_visit(store, &visitor, &err))
		return knowledge_fail(command, &err, EXIT_DEPENDENCY);
	if (ret->items.n)
		qsort(ret->items.items, ret->items.n, sizeof(*ret->items.items), known_compare);
	return EXIT_CLEAN;
}

void knowledge_release(struct knowledge *self)
{
	for (size_t i = 0; i < self->items.n; i++) {
		profile_free(self->items.items[i].profile);
		history_free(self->items.items[i].history);
	}
	for (size_t i = 0; i < self->keys.n; i++)
		free(self->keys.items[i]);
	vec_release(&self->items);
	vec_release(&self->keys);
	vec_release(&self->shapes);
	strmap_release(&self->index);
	config_freep(&self->config);
}
