/* SPDX-License-Identifier: Apache-2.0 */
#include "report/knowledge.h"

#include "base/str.h"
#include "report/plain.h"

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

static void say(const char *command, const char *what, const struct err *err)
{
	char text[768];

	fprintf(stderr, "%s: %s", command, what);
	plain_print(err_text(err, text, sizeof(text)), stderr);
	fputc('\n', stderr);
}

static int knowledge_fail(const char *command, const struct err *err, int code)
{
	say(command, "", err);
	return code;
}

/* What is being loaded, and from where. */
struct loading {
	const char *command;
	struct knowledge *knowledge;
	struct store_access access;
};

static void warn_bad(void *context, const struct err *why)
{
	struct loading *self = context;

	self->knowledge->n_bad++;
	say(self->command, "passed over: ", why);
}

/* Histories of the wanted ones only; the others are taken out of the list. */
static int load_wanted(struct loading *self, const struct knowledge_filter *filter, struct err *err)
{
	struct knowledge *knowledge = self->knowledge;
	const struct store_visitor visitor = {.context = knowledge, .history = knowledge_add_history};
	CLEANUP(freep) struct store_name *names = calloc(knowledge->items.n + 1, sizeof(*names));
	size_t n = 0;

	if (!names)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < knowledge->items.n; i++) {
		const struct profile *profile = knowledge->items.items[i].profile;

		if (filter->wants(filter->context, profile))
			names[n++] = (struct store_name){profile->namespace_name, profile->name};
	}
	return store_visit_named(self->access.store, &visitor, names, n, err);
}

static int load_store(struct loading *self, const struct knowledge_filter *filter, struct err *err)
{
	struct knowledge *knowledge = self->knowledge;
	bool is_filtered = filter && self->access.kube.client;
	const struct store_visitor visitor = {.context = knowledge,
					      .profile = knowledge_add_profile,
					      .history = is_filtered ? NULL : knowledge_add_history};
	int r = store_visit(self->access.store, &visitor, err);

	return !r && is_filtered ? load_wanted(self, filter, err) : r;
}

static int open_and_load(struct loading *self, const struct cli_args *args, const struct knowledge_filter *filter,
			 struct err *err)
{
	const char *namespace_name = cli_get(args, "namespace");
	int r = store_access_open_args(args, self->knowledge->config, false, "memtamer-recommender", &self->access,
				       err);

	if (r)
		return r == -EINVAL || r == -ENOENT ? EXIT_USAGE : EXIT_DEPENDENCY;
	store_set_bad(self->access.store, warn_bad, self);
	if (store_set_namespace(self->access.store, namespace_name))
		return err_set(err, -ENOMEM, "out of memory"), EXIT_DEPENDENCY;
	r = load_store(self, filter, err);
	if (r == -EACCES && self->access.kube.client && !namespace_name)
		err_wrap(err, "-n NAMESPACE may be what you are allowed to read");
	return r ? EXIT_DEPENDENCY : EXIT_CLEAN;
}

int knowledge_load(const char *command, const struct cli_args *args, const struct knowledge_filter *filter,
		   struct knowledge *ret)
{
	struct loading loading = {.command = command, .knowledge = ret, .access = STORE_ACCESS_INIT};
	const char *config_path = cli_get(args, "config"), *own_namespace;
	struct err err = ERR_INIT;
	int code;

	if (config_path && config_load(config_path, &ret->config, &err))
		return knowledge_fail(command, &err, EXIT_USAGE);
	if (!ret->config && !(ret->config = config_new_default()))
		return knowledge_fail(command, &(struct err){.msg = "out of memory"}, EXIT_DEPENDENCY);
	own_namespace = ret->config->policy.own_namespace;
	if (ret->own_namespace)
		ret->config->policy.own_namespace = ret->own_namespace;
	code = open_and_load(&loading, args, filter, &err);
	if (!loading.access.kube.client) /* a file is in no namespace */
		ret->config->policy.own_namespace = own_namespace;
	if (ret->keeps_store && !code)
		ret->access = loading.access;
	else
		store_access_release(&loading.access);
	if (code)
		return knowledge_fail(command, &err, code);
	if (ret->items.n)
		qsort(ret->items.items, ret->items.n, sizeof(*ret->items.items), known_compare);
	return EXIT_CLEAN;
}

void knowledge_release(struct knowledge *self)
{
	store_access_release(&self->access);
	for (size_t i = 0; i < self->items.n; i++) {
		profile_free(self->items.items[i].profile);
		history_free(self->items.items[i].history);
	}
	for (size_t i = 0; i < self->keys.n; i++)
		free(self->keys.items[i]);
	vec_release(&self->items);
	vec_release(&self->keys);
	strmap_release(&self->index);
	config_freep(&self->config);
}
