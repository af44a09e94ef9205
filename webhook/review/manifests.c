/* SPDX-License-Identifier: Apache-2.0 */
#include "review/manifests.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
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

static int report(const struct manifest_visitor *visitor, const struct manifest *manifest, int error)
{
	struct err err = ERR_INIT;

	if (!visitor->error)
		return 0;
	err_set_at(&err, -error, manifest->path, 0, 0, "cannot open: %s", strerror(error));
	return visitor->error(visitor->context, manifest, &err);
}

static int is_shown(const struct dirent *entry)
{
	return !streq(entry->d_name, ".") && !streq(entry->d_name, "..");
}

/* Byte order, not the locale's, so that the order is the same everywhere. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* A walk below one operand. */
struct walk {
	const struct manifest_visitor *visitor;
	size_t n_root; /* length of the operand in a path, with its slash */
};

/* `dir` and `dir/` are the same pattern. */
static bool matches(const char *pattern, const char *name, const char *path)
{
	size_t n = strlen(pattern);
	char trimmed[PATH_MAX];

	while (n && pattern[n - 1] == '/')
		n--;
	if (!n || n >= sizeof(trimmed))
		return false;
	memcpy(trimmed, pattern, n);
	trimmed[n] = '\0';
	return fnmatch(trimmed, strchr(trimmed, '/') ? path : name, FNM_PATHNAME) == 0;
}

static bool is_excluded(const struct walk *self, const char *name, const char *path)
{
	for (const char *const *pattern = self->visitor->excludes; pattern && *pattern; pattern++)
		if (matches(*pattern, name, path + self->n_root))
			return true;
	return false;
}

static int pass_over(const struct walk *self, const char *path, enum manifest_passed why)
{
	return self->visitor->passed ? self->visitor->passed(self->visitor->context, path, why) : 0;
}

static int visit_folder(const struct walk *self, const char *folder, bool is_operand);

static int visit_file(const struct walk *self, const struct manifest *manifest)
{
	struct stat st;

	if (stat(manifest->path, &st))
		return report(self->visitor, manifest, errno);
	return S_ISREG(st.st_mode) ? self->visitor->file(self->visitor->context, manifest) : 0;
}

static bool is_link_to_folder(const char *path, const struct stat *link)
{
	struct stat st;

	return S_ISLNK(link->st_mode) && !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int visit_entry(const struct walk *self, const char *folder, const char *name)
{
	CLEANUP(freep) char *path = NULL;
	bool has_slash = str_ends(str_c(folder), STR("/"));
	struct manifest manifest = {.is_from_walk = true};
	bool is_link;
	struct stat st;

	if (asprintf(&path, "%s%s%s", folder, has_slash ? "" : "/", name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	manifest.path = path;
	if (lstat(path, &st))
		return report(self->visitor, &manifest, errno);
	is_link = is_link_to_folder(path, &st);
	if (!S_ISDIR(st.st_mode) && !is_link && !is_manifest_name(name))
		return 0;
	if (name[0] == '.')
		return pass_over(self, path, MANIFEST_HIDDEN);
	if (is_excluded(self, name, path))
		return pass_over(self, path, MANIFEST_EXCLUDED);
	if (is_link)
		return pass_over(self, path, MANIFEST_LINKED);
	return S_ISDIR(st.st_mode) ? visit_folder(self, path, false) : visit_file(self, &manifest);
}

static int visit_folder(const struct walk *self, const char *folder, bool is_operand)
{
	const struct manifest manifest = {.path = folder, .is_from_walk = !is_operand};
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, is_shown, by_name), r = 0;

	if (n < 0)
		return report(self->visitor, &manifest, errno);
	for (int i = 0; i < n; i++) {
		if (!r)
			r = visit_entry(self, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int manifests_visit(const char *operand, const struct manifest_visitor *visitor)
{
	struct walk walk = {visitor, strlen(operand) + !str_ends(str_c(operand), STR("/"))};
	struct manifest manifest = {.path = operand};
	struct stat st;

	if (streq(operand, "-"))
		return visitor->file(visitor->context, &manifest);
	if (stat(operand, &st))
		return report(visitor, &manifest, errno);
	return S_ISDIR(st.st_mode) ? visit_folder(&walk, operand, true) : visitor->file(visitor->context, &manifest);
}
