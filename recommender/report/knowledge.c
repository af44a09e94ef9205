/* SPDX-License-Identifier: Apache-2.0 */
#include "report/knowledge.h"

#include "base/json_write.h"
#include "base/plain.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void known_release(struct known *self)
{
	free(self->key);
	profile_free(self->profile);
	history_free(self->history);
}

const char *known_namespace(const struct known *self)
{
	return self->profile ? self->profile->namespace_name : self->history->namespace_name;
}

const char *known_workload(const struct known *self)
{
	const struct profile *profile = self->profile;

	if (!profile)
		return self->history->workload;
	return !*profile->workload && profile->spec->ref.key ? profile->spec->ref.key : profile->workload;
}

const char *known_role(const struct known *self)
{
	const struct profile *profile = self->profile;

	if (!profile)
		return self->history->role;
	return !*profile->workload && profile->spec->ref.key ? profile->spec->ref.role : profile->role;
}

const char *known_container(const struct known *self)
{
	const struct profile *profile = self->profile;

	if (!profile)
		return self->history->container;
	return !*profile->workload && profile->spec->ref.key ? profile->spec->ref.container : profile->container;
}

void known_add_names(const struct known *self, struct table *table)
{
	table_add(table, known_namespace(self));
	table_add(table, known_workload(self));
	table_add(table, known_role(self));
	table_add(table, known_container(self));
}

void known_print(const struct known *self, FILE *out)
{
	fprintf(out, "%s  %s", known_namespace(self), PLAIN(known_workload(self)));
	if (known_role(self)[0])
		fprintf(out, "  role %s", PLAIN(known_role(self)));
	if (known_container(self)[0])
		fprintf(out, "  container %s", PLAIN(known_container(self)));
}

void known_write_names(const struct known *self, struct strbuf *buf)
{
	json_write_text(buf, "namespace", known_namespace(self));
	json_write_text(buf, "workload", known_workload(self));
	json_write_text(buf, "role", known_role(self));
	json_write_text(buf, "container", known_container(self));
}

void knowledge_write_head(const char *api_version, const char *kind, int64_t now_ms, struct strbuf *buf)
{
	json_write_open(buf, NULL, '{');
	json_write_line(buf, 2);
	json_write_text(buf, "apiVersion", api_version);
	json_write_text(buf, "kind", kind);
	json_write_time(buf, "generated", now_ms);
	json_write_line(buf, 2);
}

const struct profile *known_decided(const struct knowledge *self, const struct known *known)
{
	const struct profile *profile = known->profile, *found = NULL;
	const struct snapshot_container of = {.namespace_name = known_namespace(known),
					      .role = known_role(known),
					      .container = known_container(known),
					      .is_main = !pod_container_is_helper(known_container(known))};

	if (self->refs)
		found = snapshot_profile_of_ref(self->refs, &of, known_workload(known));
	for (size_t i = 0; self->refs && profile && i < profile->n_aliases && !found; i++)
		found = snapshot_profile_of_ref(self->refs, &of, profile->aliases[i]);
	return found || !profile || (*profile->workload && !snapshot_is_own_spec(profile)) ? found : profile;
}

/* Whether the name has the form that identity_id makes. Such a profile is found by its name before the first run. */
static bool is_generated(const char *name)
{
	const char *dash = strrchr(name, '-');

	return dash && strlen(dash) == 11 && strspn(dash + 1, "0123456789abcdef") == 10;
}

bool known_is_ignored(const struct knowledge *self, const struct known *known, char ret_why[KNOWN_WHY_BYTES])
{
	const struct profile *profile = known->profile, *decided;

	if (!profile || !profile_has_spec(profile))
		return false;
	decided = known_decided(self, known);
	if (profile->spec->invalid)
		snprintf(ret_why, KNOWN_WHY_BYTES, "%s", profile->spec->invalid);
	else if (decided && decided != profile && profile_has_more_than_cap(profile))
		snprintf(ret_why, KNOWN_WHY_BYTES, "that of %s counts, which names %s, too", decided->name,
			 known_workload(known));
	else if (!*profile->workload && !profile->spec->ref.key && !known->history && !is_generated(profile->name))
		snprintf(ret_why, KNOWN_WHY_BYTES, "it names no workload: spec.workloadRef would");
	else
		return false;
	return true;
}

struct recommendation known_sizes(const struct knowledge *self, const struct known *known,
				  const struct recommendation *rec, enum size_by ret_by[2])
{
	const struct profile *decided = known_decided(self, known);
	struct recommendation sizes = *rec;

	size_apply(&self->config->policy.sizing, decided ? decided->spec : &profile_spec_none, &sizes, ret_by);
	return sizes;
}

static int known_compare(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	int r = strcmp(known_namespace(x), known_namespace(y));

	r = r ? r : strcmp(known_workload(x), known_workload(y));
	r = r ? r : strcmp(known_role(x), known_role(y));
	return r ? r : strcmp(known_container(x), known_container(y));
}

/* Finds the entry of namespace/name or adds it. NULL: the namespace is not selected. @return 0; -ENOMEM. */
static int find_entry(struct knowledge *self, const char *namespace_name, const char *name, struct known **ret,
		      struct err *err)
{
	CLEANUP(freep) char *key = NULL;
	size_t n;
	int r = 0;

	*ret = NULL;
	if (self->namespace_name && !streq(self->namespace_name, namespace_name))
		return 0;
	if (asprintf(&key, "%s/%s", namespace_name, name) < 0) {
		key = NULL; /* undefined after a failure */
		return err_set(err, -ENOMEM, "out of memory");
	}
	n = (uintptr_t)strmap_get(&self->index, key);
	if (!n) {
		r = vec_push(&self->items, (struct known){.key = key});
		n = self->items.n;
		if (!r)
			r = strmap_put(&self->index, TAKE_PTR(key), (void *)(uintptr_t)n);
	}
	if (r)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = &self->items.items[n - 1];
	return 0;
}

static int knowledge_add_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct known *entry;
	int r = find_entry(context, take_profile->namespace_name, take_profile->name, &entry, err);

	if (entry) {
		profile_free(entry->profile);
		entry->profile = TAKE_PTR(take_profile);
	}
	profile_free(take_profile);
	return r;
}

static int knowledge_add_history(void *context, struct history *take_history, struct err *err)
{
	struct known *entry;
	int r = find_entry(context, take_history->namespace_name, take_history->name, &entry, err);

	if (entry) {
		history_free(entry->history);
		entry->history = TAKE_PTR(take_history);
	}
	history_free(take_history);
	return r;
}

/* The state of loading. */
struct loading {
	const struct cli_args *args;
	struct knowledge *knowledge;
	struct store_access access;
};

static void warn_bad(void *context, const struct err *why)
{
	struct knowledge *self = context;
	bool is_spec = why->code == STORE_SPEC_INVALID;

	self->n_bad += !is_spec;
	cli_complain(self->args, is_spec ? "spec not applied, only observed" : "skipped", why);
}

/* Reads the histories of the selected entries. */
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

/* 0 or -ENOMEM. */
static int choose_namespace(struct loading *self)
{
	struct knowledge *knowledge = self->knowledge;
	bool is_all = cli_has(self->args, "all-namespaces"), is_named = cli_has(self->args, "namespace");

	knowledge->namespace_name = is_all ? NULL : cli_get(self->args, "namespace");
	if (!is_all && !is_named && !knowledge->reads_all && self->access.kube.server.kubectl) {
		knowledge->context_namespace = strdup(self->access.kube.namespace);
		knowledge->namespace_name = knowledge->context_namespace;
		if (!knowledge->namespace_name)
			return -ENOMEM;
	}
	return store_set_namespace(self->access.store, knowledge->namespace_name);
}

static int open_and_load(struct loading *self, const struct knowledge_filter *filter, struct err *err)
{
	int r = store_access_open_args(self->args, self->knowledge->config, false, "memtamer-recommender",
				       &self->access, err);

	if (r)
		return r == -EINVAL || r == -ENOENT ? EXIT_USAGE : EXIT_DEPENDENCY;
	store_set_bad(self->access.store, warn_bad, self->knowledge);
	if (choose_namespace(self))
		return err_set(err, -ENOMEM, "out of memory"), EXIT_DEPENDENCY;
	r = load_store(self, filter, err);
	if (r == -EACCES && self->access.kube.client && !cli_has(self->args, "namespace"))
		err_wrap(err, "-n NAMESPACE may be what you are allowed to read");
	return r ? EXIT_DEPENDENCY : EXIT_CLEAN;
}

/* Moves the profiles of namespaces out of the entries. 0 or -ENOMEM. */
static int take_caps(struct knowledge *self, struct err *err)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < self->items.n; i++) {
		struct known *known = &self->items.items[i];
		bool is_cap = known->profile && streq(known->profile->name, PROFILE_OF_NAMESPACE);

		if (is_cap && !r)
			r = vec_push(&self->caps, known->profile);
		if (!is_cap || r) {
			self->items.items[n++] = *known;
			continue;
		}
		known->profile = NULL;
		known_release(known);
	}
	self->items.n = n;
	return r ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* Makes a snapshot of the profiles that name a workload. 0 or -ENOMEM. */
static int index_refs(struct knowledge *self, struct err *err)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	int r = builder ? 0 : -ENOMEM;

	for (size_t i = 0; i < self->items.n && !r; i++) {
		struct profile *profile = self->items.items[i].profile;

		if (profile && profile->spec->ref.key)
			r = snapshot_builder_put(builder, profile_ref(profile));
	}
	if (r)
		snapshot_builder_free(builder);
	else
		self->refs = snapshot_builder_finish(builder, 0);
	return self->refs ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int knowledge_load(const struct cli_args *args, const struct knowledge_filter *filter, struct knowledge *ret)
{
	struct loading loading = {.args = args, .knowledge = ret, .access = STORE_ACCESS_INIT};
	const char *own_namespace;
	struct err err = ERR_INIT;
	int code;

	ret->args = args;
	if (config_load(cli_get(args, "config"), &ret->config, &err))
		return cli_fail(args, &err, EXIT_USAGE);
	own_namespace = ret->config->policy.own_namespace;
	if (ret->own_namespace)
		ret->config->policy.own_namespace = ret->own_namespace;
	code = open_and_load(&loading, filter, &err);
	if (!loading.access.kube.client) /* a file has no namespace of its own */
		ret->config->policy.own_namespace = own_namespace;
	if (ret->keeps_store && !code)
		ret->access = loading.access;
	else
		store_access_release(&loading.access);
	if (!code && (take_caps(ret, &err) || index_refs(ret, &err)))
		code = EXIT_DEPENDENCY;
	if (code)
		return cli_fail(args, &err, code);
	if (ret->items.n)
		qsort(ret->items.items, ret->items.n, sizeof(*ret->items.items), known_compare);
	return EXIT_CLEAN;
}

const char *knowledge_where(const struct knowledge *self, char buf[KNOWN_WHERE_BYTES])
{
	buf[0] = '\0';
	if (self->namespace_name)
		snprintf(buf, KNOWN_WHERE_BYTES, " in namespace %s%s", self->namespace_name,
			 self->context_namespace ? " (that of kubectl's context; -A reads all namespaces)" : "");
	return buf;
}

bool knowledge_has_containers(const struct knowledge *self)
{
	for (size_t i = 1; i < self->items.n; i++) {
		const struct known *a = &self->items.items[i - 1], *b = &self->items.items[i];

		if (*known_workload(b) && streq(known_namespace(a), known_namespace(b)) &&
		    streq(known_workload(a), known_workload(b)) && streq(known_role(a), known_role(b)))
			return true;
	}
	return false;
}

static int take_shape(void *context, const struct node_shape *shape, struct err *err)
{
	struct knowledge *self = context;

	return vec_push(&self->shapes, *shape) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

void knowledge_read_shapes(struct knowledge *self)
{
	const struct store_visitor visitor = {.context = self, .shape = take_shape};
	struct err err = ERR_INIT;

	if (!self->access.kube.client) /* the whole file is read again, and what is bad in it was reported */
		store_set_bad(self->access.store, NULL, NULL);
	if (store_visit(self->access.store, &visitor, &err))
		self->shapes.n = 0;
}

void knowledge_release(struct knowledge *self)
{
	self->refs = snapshot_unref(self->refs);
	store_access_release(&self->access);
	for (size_t i = 0; i < self->items.n; i++)
		known_release(&self->items.items[i]);
	vec_release(&self->items);
	for (size_t i = 0; i < self->caps.n; i++)
		profile_free(self->caps.items[i]);
	vec_release(&self->caps);
	vec_release(&self->shapes);
	strmap_release(&self->index);
	config_freep(&self->config);
	free(self->context_namespace);
}
