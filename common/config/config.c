/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_internal.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define CONFIG_ARENA_BYTES (4 * MIB)

void config_free(struct config *self)
{
	struct config_own *own = (struct config_own *)self;

	if (!own)
		return;
	arena_release(&own->arena);
	free(own);
}

void config_freep(struct config **self)
{
	config_free(*self);
	*self = NULL;
}

static struct config_loader loader_of(struct config_own *own, const char *name, const char *folder, struct err *err)
{
	return (struct config_loader){
		.own = own,
		.name = name,
		.folder = folder,
		.err = err,
		.table = &config_table,
		.prefix = "",
		.base = &own->public,
		.lines = own->key_lines,
	};
}

/* Sets all defaults from the table, so that they are as documented. */
static struct config_own *own_new(const char *name, const char *folder, struct err *err)
{
	CLEANUP(config_freep) struct config *config = NULL;
	struct config_own *own = calloc(1, sizeof(*own));
	struct config_loader loader;

	if (!own) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	loader = loader_of(own, "(defaults)", folder, err);
	config = &own->public;
	own->arena = (struct arena)ARENA_INIT(CONFIG_ARENA_BYTES);
	config->file = arena_strdup(&own->arena, name);
	policy_default(&config->policy);
	for (size_t i = 0; i < config_table.n; i++) {
		int r = config_decode_text(&loader, &config_table.keys[i], config_table.keys[i].fallback);

		assert(r == 0 || r == -ENOMEM); /* the table contains a default that its own row refuses */
		if (r)
			return NULL;
	}
	if (!config->file) {
		config_fail_memory(&loader);
		return NULL;
	}
	config = NULL;
	return own;
}

struct config *config_new_default(void)
{
	struct config_own *own = own_new("(defaults)", NULL, NULL);

	return own ? &own->public : NULL;
}

static size_t line_of(const struct config_own *own, const char *path)
{
	for (size_t i = 0; i < config_table.n; i++)
		if (streq(config_table.keys[i].path, path))
			return own->key_lines[i];
	return 0;
}

static int fail_pair(const struct config_loader *loader, const char *path, const char *message)
{
	return err_set_at(loader->err, -EINVAL, loader->name, line_of(loader->own, path), 0, "%s: %s", path, message);
}

static int check_pairs(const struct config_loader *loader)
{
	const struct config *c = &loader->own->public;
	const struct sizing_policy *sizing = &c->policy.sizing;
	const struct {
		const char *path, *value, *other_path, *other;
	} pairs[] = {
		{"webhook.tls.certFile", c->webhook.cert_file, "webhook.tls.keyFile", c->webhook.key_file},
		{"prometheus.tls.certFile", c->prometheus.cert_file, "prometheus.tls.keyFile", c->prometheus.key_file},
		{"prometheus.basicAuth.username", c->prometheus.basic_user, "prometheus.basicAuth.passwordFile",
		 c->prometheus.basic_password_file},
	};
	char message[128];

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		if (!pairs[i].value == !pairs[i].other)
			continue;
		snprintf(message, sizeof(message), "needs %s as well",
			 pairs[i].value ? pairs[i].other_path : pairs[i].path);
		return fail_pair(loader, pairs[i].value ? pairs[i].path : pairs[i].other_path, message);
	}
	if (c->prometheus.basic_user && c->prometheus.bearer_token_file)
		return fail_pair(loader, "prometheus.bearerTokenFile", "cannot be together with basicAuth");
	if (c->webhook.client_name && !c->webhook.client_ca_file)
		return fail_pair(loader, "webhook.tls.clientName", "needs webhook.tls.clientCAFile as well");
	if (c->store.kind == STORE_FILE && !c->store.path)
		return fail_pair(loader, "store.path", "must not be empty for kind file");
	if (sizing->ceiling_bytes &&
	    sizing->ceiling_bytes < MAX(sizing->floor_limit_bytes, sizing->floor_request_bytes))
		return fail_pair(loader, "sizing.ceiling", "is below sizing.floors");
	return 0;
}

static int load_tree(const struct config_loader *loader, const struct yaml_documents *documents)
{
	const struct yaml_node nowhere = {.line = 1, .column = 1};
	const struct yaml_node *root = documents->n ? &documents->items[0].root : &nowhere;
	int r;

	if (documents->n > 1)
		return err_set_at(loader->err, -EINVAL, loader->name, documents->items[1].root.line,
				  documents->items[1].root.column, "a second document; a configuration is one");
	if (documents->n && root->type != YAML_TREE_MAPPING)
		return err_set_at(loader->err, -EINVAL, loader->name, root->line, root->column,
				  "a configuration is a mapping of keys");
	if (!yaml_tree_get(root, "apiVersion"))
		return config_fail(loader, root, "apiVersion", "missing; write apiVersion: %s", CONFIG_API_VERSION);
	r = config_decode_mapping(loader, "", root);
	return r ? r : check_pairs(loader);
}

int config_parse(const char *text, size_t n, const char *name, const char *folder, struct config **ret, struct err *err)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(16 * MIB);
	CLEANUP(config_freep) struct config *config = NULL;
	struct config_loader loader;
	struct config_own *own;
	struct yaml_documents documents;
	int r;

	if (n > LIMIT_CONFIG_BYTES)
		return err_set_at(err, -E2BIG, name, 0, 0, "larger than %zu KiB", LIMIT_CONFIG_BYTES / KIB);
	r = yaml_tree_parse(text, n, name, &scratch, &documents, err);
	if (r)
		return r;
	own = own_new(name, folder, err);
	if (!own)
		return -ENOMEM;
	config = &own->public;
	loader = loader_of(own, name, folder, err);
	r = load_tree(&loader, &documents);
	if (!r)
		*ret = TAKE_PTR(config);
	return r;
}

/* Finds the absolute folder of a file, so that a printed configuration names the same files everywhere. */
static char *folder_of(const char *path)
{
	char copy[PATH_MAX];

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return realpath(dirname(copy), NULL);
}

int config_load(const char *path, struct config **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CONFIG_BYTES);
	CLEANUP(freep) char *folder = NULL;
	int r;

	if (!path) {
		*ret = config_new_default();
		return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	r = io_read_file(path, &text, err);
	if (r)
		return r;
	folder = folder_of(path);
	if (!folder)
		return err_set_at(err, -errno, path, 0, 0, "cannot find its folder: %s", strerror(errno));
	return config_parse(strbuf_text(&text), text.len, path, folder, ret, err);
}
