/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_internal.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/suggest.h"

#include <assert.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define CONFIG_ARENA_BYTES (4 * MIB)
#define PATH_BYTES	   128

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

/* All defaults, from the table: what the docs say is what happens. */
static struct config_own *own_new(const char *name, const char *folder, struct err *err)
{
	CLEANUP(config_freep) struct config *config = NULL;
	struct config_own *own = calloc(1, sizeof(*own));
	struct config_loader loader = {.own = own, .name = "(defaults)", .folder = folder, .err = err};
	const struct config_key *keys;
	size_t n;

	if (!own) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	config = &own->public;
	own->arena = (struct arena)ARENA_INIT(CONFIG_ARENA_BYTES);
	config->file = arena_strdup(&own->arena, name);
	policy_default(&config->policy);
	keys = config_keys(&n);
	for (size_t i = 0; i < n; i++) {
		int r = config_decode_text(&loader, &keys[i], keys[i].fallback);

		assert(r == 0 || r == -ENOMEM); /* a default of the table that the table refuses */
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

/* The key at exactly this path; *ret_is_section says whether keys lie below it. */
static size_t find_key(const char *path, bool *ret_is_section)
{
	size_t n, n_path = strlen(path), found = SIZE_MAX;
	const struct config_key *keys = config_keys(&n);

	*ret_is_section = false;
	for (size_t i = 0; i < n; i++) {
		if (streq(keys[i].path, path))
			found = i;
		else if (strstarts(keys[i].path, path) && keys[i].path[n_path] == '.')
			*ret_is_section = true;
	}
	return found;
}

/* Name the nearest of the keys that the section has. */
static int fail_unknown(const struct config_loader *loader, const char *section, const struct yaml_node *name)
{
	size_t n, n_section = strlen(section);
	const struct config_key *keys = config_keys(&n);
	struct suggest suggest = SUGGEST_INIT(name->text);
	char names[CONFIG_KEYS][PATH_BYTES];

	for (size_t i = 0; i < n; i++) {
		const char *rest = keys[i].path + n_section;

		if (!strstarts(keys[i].path, section))
			continue;
		snprintf(names[i], PATH_BYTES, "%.*s", (int)strcspn(rest, "."), rest);
		suggest_consider(&suggest, names[i]);
	}
	if (suggest_best(&suggest))
		return err_set_at(loader->err, -EINVAL, loader->name, name->line, name->column,
				  "unknown key %s%.60s; did you mean %s?", section, name->text, suggest_best(&suggest));
	return err_set_at(loader->err, -EINVAL, loader->name, name->line, name->column, "unknown key %s%.60s", section,
			  name->text);
}

/* `section` is "" or ends with a dot. Recursion is as deep as the table's paths. */
static int walk(const struct config_loader *loader, const char *section, const struct yaml_node *node)
{
	size_t n_keys;
	const struct config_key *keys = config_keys(&n_keys);

	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *name = &node->keys[i], *value = &node->items[i];
		char path[PATH_BYTES];
		bool is_section;
		size_t key;
		int n, r;

		n = snprintf(path, sizeof(path), "%s%s", section, name->text);
		if (n >= (int)sizeof(path) - 1 || strchr(name->text, '.'))
			return fail_unknown(loader, section, name);
		key = find_key(path, &is_section);
		if (key == SIZE_MAX && !is_section)
			return fail_unknown(loader, section, name);
		if (key != SIZE_MAX) {
			loader->own->key_lines[key] = name->line;
			r = config_decode(loader, &keys[key], value);
		} else if (value->type == YAML_TREE_NULL) {
			r = 0; /* a section of which everything is commented out */
		} else if (value->type != YAML_TREE_MAPPING) {
			return config_fail(loader, value, path, "must be a mapping");
		} else {
			path[n] = '.';
			path[n + 1] = '\0';
			r = walk(loader, path, value);
		}
		if (r)
			return r;
	}
	return 0;
}

static int load_tree(const struct config_loader *loader, const struct yaml_documents *documents)
{
	const struct yaml_node nowhere = {.line = 1, .column = 1};
	const struct yaml_node *root = documents->n ? &documents->items[0] : &nowhere;
	int r;

	if (documents->n > 1)
		return err_set_at(loader->err, -EINVAL, loader->name, documents->items[1].line,
				  documents->items[1].column, "a second document; a configuration is one");
	if (documents->n && root->type != YAML_TREE_MAPPING)
		return err_set_at(loader->err, -EINVAL, loader->name, root->line, root->column,
				  "a configuration is a mapping of keys");
	if (!yaml_tree_get(root, "apiVersion"))
		return config_fail(loader, root, "apiVersion", "missing; write apiVersion: %s", CONFIG_API_VERSION);
	r = walk(loader, "", root);
	return r ? r : config_check_pairs(loader);
}

int config_parse(const char *text, size_t n, const char *name, const char *folder, struct config **ret, struct err *err)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(16 * MIB);
	CLEANUP(config_freep) struct config *config = NULL;
	struct config_loader loader = {.name = name, .folder = folder, .err = err};
	struct yaml_documents documents;
	int r;

	if (n > LIMIT_CONFIG_BYTES)
		return err_set_at(err, -E2BIG, name, 0, 0, "larger than %zu KiB", LIMIT_CONFIG_BYTES / KIB);
	r = yaml_tree_parse(text, n, name, &scratch, &documents, err);
	if (r)
		return r;
	loader.own = own_new(name, folder, err);
	if (!loader.own)
		return -ENOMEM;
	config = &loader.own->public;
	r = load_tree(&loader, &documents);
	if (!r)
		*ret = TAKE_PTR(config);
	return r;
}

/* The folder of a file, absolute, so that a printed configuration means the same files anywhere. */
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
	int r = io_read_file(path, &text, err);

	if (r)
		return r;
	folder = folder_of(path);
	if (!folder)
		return err_set_at(err, -errno, path, 0, 0, "cannot find its folder: %s", strerror(errno));
	return config_parse(strbuf_text(&text), text.len, path, folder, ret, err);
}
