/* SPDX-License-Identifier: Apache-2.0 */
#include "review/manifests.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool is_manifest_name(const char *name)
{
	static const char *const endings[] = {".yaml", ".yml", ".json"};

	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (str_ends(str_c(name), str_c(endings[i])))
			return true;
	return false;
}

static void report(const struct manifest_visitor *visitor, const char *path, int error)
{
	struct err err = ERR_INIT;

	err_set_at(&err, -error, path, 0, 0, "cannot open: %s", strerror(error));
	visitor->error(visitor->context, &err);
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Byte order, not the locale's: the same order everywhere. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int visit_folder(const char *folder, const struct manifest_visitor *visitor);

static int visit_entry(const char *folder, const char *name, const struct manifest_visitor *visitor)
{
	CLEANUP(freep) char *path = NULL;
	struct manifest manifest = {.is_from_walk = true};
	struct stat st;
	bool has_slash = str_ends(str_c(folder), STR("/"));

	if (asprintf(&path, "%s%s%s", folder, has_slash ? "" : "/", name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (lstat(path, &st)) {
		report(visitor, path, errno);
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return visit_folder(path, visitor);
	if (!is_manifest_name(name))
		return 0;
	if (S_ISLNK(st.st_mode) && stat(path, &st)) {
		report(visitor, path, errno);
		return 0;
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	manifest.path = path;
	return visitor->file(visitor->context, &manifest);
}

static int visit_folder(const char *folder, const struct manifest_visitor *visitor)
{
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, is_shown, by_name), r = 0;

	if (n < 0) {
		report(visitor, folder, errno);
		return 0;
	}
	for (int i = 0; i < n; i++) {
		if (!r)
			r = visit_entry(folder, entries[i]->d_name, visitor);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int manifests_visit(const char *operand, const struct manifest_visitor *visitor)
{
	struct manifest manifest = {.path = operand};
	struct stat st;

	if (streq(operand, "-"))
		return visitor->file(visitor->context, &manifest);
	if (stat(operand, &st)) {
		report(visitor, operand, errno);
		return 0;
	}
	return S_ISDIR(st.st_mode) ? visit_folder(operand, visitor) : visitor->file(visitor->context, &manifest);
}
