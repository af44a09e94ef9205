/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* review_internal: shared by the files of review. Texts of findings and subjects are in the review's arena and have no
 * control characters, as they may come from untrusted manifests and are printed to a terminal. */
#include "base/strmap.h"
#include "base/vec.h"
#include "policy/decide.h"
#include "review/manifests.h"
#include "yaml/yaml_tree.h"

#include <stdio.h>

/** One finding, with everything that the output formats need. */
struct review_finding {
	const char *file;
	size_t line, column;
	const char *kind, *name, *namespace_name, *role, *container; /* role, container: "" if there is none */
	enum check_id check;
	enum check_action action;
	const char *message;
	const struct size_change *sizes; /* of that container, or of the pod; only with ACTION_PATCH */
	size_t n_sizes;
	size_t object; /* number of the object: findings of one object are adjacent */
};

/** The result for a pod, pod template, document, file or folder. */
enum review_status {
	REVIEW_EXAMINED,
	REVIEW_PARTIAL,	     /* a runtime: its TrainJobs set the resources */
	REVIEW_NOT_TRAINING, /* why: serving, interactive ... */
	REVIEW_EXEMPT,	     /* why: a namespace or label */
	REVIEW_NO_RUNTIME,   /* a TrainJob that sets no resources, and whose runtime is not among the manifests */
	REVIEW_NO_TEMPLATE,  /* an object of a kind without pods, or whose pods are not known */
	REVIEW_NO_OBJECT,    /* a document that is not a Kubernetes object */
	REVIEW_TEMPLATED,    /* a document that must be rendered first */
	REVIEW_UNREADABLE,   /* a file or object that cannot be read */
	REVIEW_HIDDEN,
	REVIEW_EXCLUDED,
	REVIEW_LINKED, /* a link to a folder below a folder */
	REVIEW_EMPTY,  /* an operand without any object */
	REVIEW_STATUS_COUNT_
};

struct review_subject {
	enum review_status status;
	const char *file;
	size_t line, column;				 /* 0: the whole file */
	const char *kind, *name, *namespace_name, *role; /* "" if there is none */
	const char *why;				 /* details of the status; "" */
	bool is_pod;					 /* a pod, not a template; only with REVIEW_EXAMINED */
	size_t n_findings;
};

/** Of each status: its id in JSON, its text, and its name in counts ("pod not training", "pods ..."). */
struct review_status_row {
	const char *id, *words, *one, *many;
};
extern const struct review_status_row review_statuses[REVIEW_STATUS_COUNT_];

/** An input error, for which the exit code is 2. */
struct review_error {
	const char *file; /* with :line:column if known */
	const char *message;
};

struct review {
	/* Settings. */
	struct policy policy;
	struct snapshot *snapshot;
	const char *default_namespace;
	const char *const *excludes;
	int64_t now_ms;
	bool wants_yaml; /* print manifests instead of findings */
	bool is_single;	 /* there is only one operand */
	bool is_strict;	 /* inputs in folders that cannot be read are errors too */

	/* Standard input, which can be read only once. */
	struct strbuf input;
	bool has_input;

	struct strmap runtimes; /* among the manifests, as docs (runtimes.h) */
	struct strmap vpas;	/* "namespace/name" -> struct k8s_vpa, from manifests and cluster */

	/* Results. */
	struct arena arena;
	VEC(struct review_finding) findings;
	VEC(struct review_subject) subjects;
	VEC(struct review_error) errors;
	size_t n_files, n_objects;
	const char *history_note; /* NULL: there is history; otherwise why there is none */

	/* -o yaml: the last byte that was written; 0: nothing was. */
	char last;
};

/** A document or an item of a List, while it is reviewed. */
struct review_document {
	struct review *review;
	const struct manifest *manifest;
	const char *file; /* the file's name, cleaned */
	const struct yaml_node *root;
	struct json_object *object; /* NULL until its kind is known to be relevant */
	bool is_changed;
	struct arena *arena; /* of the current object */
	struct err *err;
};

#define REVIEW_TREE_BYTES (1 * GIB) /* trees of LIMIT_YAML_NODES nodes and their text */

/** review_file.c: reviews one file; errors in it are reported and counted. @return 0 or -ENOMEM. */
int review_file(struct review *self, const struct manifest *manifest) ATTR_NODISCARD;

/** review_input.c: reads a file into `ret`, which must be empty. Standard input ("-") may be read several times.
 * @return as io_read_file. */
int review_read(struct review *self, const char *path, struct strbuf *ret, struct err *err) ATTR_NODISCARD;
/** The file's name in findings and errors. NULL: out of memory. */
const char *review_file_name(struct review *self, const struct manifest *manifest);
/** Calls `visit` for each object of one file, and for each item of a List. Files for which `may_matter` returns false
 * are not parsed. A file that cannot be read or parsed is skipped. @return 0; -ENOMEM; the first value of `visit`
 * that is not 0. */
typedef int review_visit_fn(void *context, const char *file, const struct yaml_node *object);
int review_each_object(struct review *self, const struct manifest *manifest,
		       bool (*may_matter)(const struct strbuf *text), review_visit_fn *visit,
		       void *context) ATTR_NODISCARD;

/** review_object.c: reviews one object, whose JSON is in d->object. @return 0; -errno with err filled. */
int review_object(struct review_document *d) ATTR_NODISCARD;

/** review_subject.c: records a result; texts are copied and cleaned, NULL becomes "". @return 0 or -ENOMEM. */
int review_note(struct review *self, const struct review_subject *subject) ATTR_NODISCARD;
/** The same for the object of a document, with its kind and name. */
int review_note_object(const struct review_document *d, enum review_status status, const char *why) ATTR_NODISCARD;
/** Reports an input that cannot be read: as an error if it was named on the command line or is_strict is set, otherwise
 * only as a note. Prints it to standard error in both cases. @return 0 or -ENOMEM. */
int review_report(struct review *self, const struct manifest *manifest, const struct err *err) ATTR_NODISCARD;
/** A copy of a text without control characters. NULL: out of memory. */
char *review_clean(struct arena *arena, const char *text);
/** Appends 'Kind/name role container "c": '. Each part may be ""; without a kind nothing is appended. */
void review_add_label(struct strbuf *buf, const char *kind, const char *name, const char *role, const char *container);
#define REVIEW_POINTER_BYTES (sizeof(((struct err *)NULL)->where) + 2)
/** The field path of an error, "spec.limits[0].max", as a JSON Pointer. A key with a dot in it becomes two. */
const char *review_pointer(const struct err *err, char ret[REVIEW_POINTER_BYTES]);
/** The text for people of a reason in decision.skip. */
const char *review_reason_words(const char *why);
/** "not a training pod (serving)": the status as text, in the review's arena. NULL: out of memory. */
const char *review_words(struct arena *arena, const struct review_subject *subject);

/** review_template.c: reads a file's text into documents, as yaml_tree_parse_lenient(). Documents that are templates
 * and cannot be read are replaced by blanks in `text`, and noted if `manifest` is not NULL. Cost: linear.
 * @return 0; REVIEW_HAS_TEMPLATES, which is a success too; -errno of the parser. */
int review_parse(struct review *self, const struct manifest *manifest, const char *file, struct strbuf *text,
		 struct arena *arena, struct yaml_documents *ret, struct err *err) ATTR_NODISCARD;
enum { REVIEW_HAS_TEMPLATES = 1 };
/** The first node of a readable document that is an action outside of strings, which YAML reads as a mapping whose key
 * is a mapping. NULL: none. Cost: linear in the nodes. */
const struct yaml_node *review_find_braces(const char *text, const struct yaml_node *root);
/** Notes a template at the file, line and column of `place`; `text` is the document. One that was found in a folder is
 * counted; one in a file that was named on the command line is an input that cannot be read. @return 0 or -ENOMEM. */
int review_note_template(struct review *self, const struct manifest *manifest, const struct review_subject *place,
			 const char *text, size_t n) ATTR_NODISCARD;

/** Write the output. @return the sticky status of `buf`. */
int render_text(const struct review *self, bool has_colour, bool is_verbose, struct strbuf *buf);
int render_json(const struct review *self, struct strbuf *buf);
int render_sarif(const struct review *self, struct strbuf *buf);
