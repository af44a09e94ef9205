/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* manifests: the files that an operand of `review` means. A folder means the *.yaml, *.yml and *.json files below it,
 * sorted by path in byte order. Hidden and excluded files and folders are skipped, and links to folders, as they may
 * form loops. One thread. */
#include "base/arena.h"
#include "base/err.h"

struct manifest {
	const char *path;  /* "-": standard input */
	bool is_from_walk; /* found in a folder, not named on the command line */
};

enum manifest_passed { MANIFEST_HIDDEN, MANIFEST_EXCLUDED, MANIFEST_LINKED };

struct manifest_visitor {
	void *context;
	/* NULL-terminated patterns of what is skipped below a folder, or NULL. A pattern without a slash matches the
	 * name of a file or folder at any depth, one with a slash its path below the operand; `*` does not match a
	 * slash. */
	const char *const *excludes;
	/** Called for each file. Any value but 0 ends the walk and is returned. */
	int (*file)(void *context, const struct manifest *manifest);
	/** Called for a hidden or excluded folder or manifest, and a link to a folder. Return value as of `file`. May
	 * be NULL. */
	int (*passed)(void *context, const char *path, enum manifest_passed why);
	/** Called for a folder or file that cannot be opened. Return value as of `file`; after 0 the walk continues.
	 * May be NULL. */
	int (*error)(void *context, const struct manifest *manifest, const struct err *err);
};

/** Visits all files of one operand. "-" is standard input. @return 0; -ENOMEM; the first value of a callback that is
 * not 0. */
int manifests_visit(const char *operand, const struct manifest_visitor *visitor);
