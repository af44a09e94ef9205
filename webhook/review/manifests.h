/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* manifests: which files an operand stands for. A folder stands for the *.yaml, *.yml and *.json files below it, sorted
 * by path; hidden files and folders are passed over and links to folders are not followed (they may be loops). */
#include "base/arena.h"
#include "base/err.h"

struct manifest {
	const char *path;  /* "-": standard input */
	bool is_from_walk; /* found in a folder, not named: what holds no object there is no error */
};

struct manifest_visitor {
	void *context;
	/** Non-zero stops the walk and is returned. */
	int (*file)(void *context, const struct manifest *manifest);
	/** A folder or file that cannot be looked at; the walk goes on. */
	void (*error)(void *context, const struct err *err);
};

int manifests_visit(const char *operand, const struct manifest_visitor *visitor);
