/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The parts of review that its files share. */
#include "base/vec.h"
#include "policy/decide.h"
#include "review/manifests.h"

#include <stdio.h>

/** One finding, with all that any output format says about it. Text is in the review's arena and free of control
 *  characters: it may come from a stranger's manifest and go to a terminal. */
struct review_finding {
	const char *file;
	size_t line, column;
	const char *kind, *name, *namespace_name, *role, *container; /* role, container: "" when there is none */
	enum check_id check;
	enum check_action action;
	const char *message;
	const struct size_change *sizes; /* of that container, or of the pod; only with ACTION_PATCH */
	size_t n_sizes;
	size_t object; /* running number of the object: findings of one object stand together */
};

/** An input that could not be read. */
struct review_error {
	const char *file; /* with :line:column where known */
	const char *message;
};

struct review {
	/* Settings. */
	struct policy policy;
	struct snapshot *snapshot;
	const char *default_namespace;
	int64_t now_ms;
	bool wants_yaml; /* print manifests instead of findings */

	/* Standard input, which can be read but once. */
	struct strbuf input;
	bool has_input;

	/* What was found. */
	struct arena arena;
	VEC(struct review_finding) findings;
	VEC(struct review_error) errors;
	size_t n_files, n_objects, n_pods, n_templates, n_skipped;
	const char *history_note; /* NULL: there is history; else why not */

	/* -o yaml: has anything been written, and did it end a line? */
	bool has_output;
};

/** Review one file; what goes wrong with it is reported and counted. @return 0 or -ENOMEM. */
int review_file(struct review *self, const struct manifest *manifest) ATTR_NODISCARD;
/** The text of a file into an empty `ret`; standard input ("-") as often as wanted. As io_read_file. */
int review_read(struct review *self, const char *path, struct strbuf *ret, struct err *err) ATTR_NODISCARD;
/** How the file is called in findings and errors; NULL when memory is out. */
const char *review_file_name(struct review *self, const struct manifest *manifest);
/** Print an error to standard error and keep it. */
void review_report(struct review *self, const struct err *err);

/** Print everything at the end. @return sticky status of buf. */
int render_text(const struct review *self, bool has_colour, struct strbuf *buf);
int render_json(const struct review *self, struct strbuf *buf);
int render_sarif(const struct review *self, struct strbuf *buf);
