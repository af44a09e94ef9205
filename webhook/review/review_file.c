/* SPDX-License-Identifier: Apache-2.0 */
/* review_file: splits a file into documents; a document is a Kubernetes object or is ignored. */
#include "review/review_internal.h"

#include "base/limits.h"
#include "base/str.h"
#include "k8s/kinds.h"
#include "yaml/yaml_edit.h"

#include <errno.h>

/* --- One document --- */

static int review_known(struct review_document *d)
{
	struct err err = ERR_INIT;
	int r = yaml_tree_to_json(d->root, &d->object, &err);

	if (r == -EINVAL) {
		struct err at = ERR_INIT;

		/* The error has line:col; the file is put before it. */
		err_set_at(&at, r, d->file, d->root->line, d->root->column, "%s", err.msg);
		return review_report(d->review, d->manifest, &at);
	}
	return r ? err_set(d->err, r, "out of memory") : review_object(d);
}

static int review_document(struct review_document *d, const struct err *problem)
{
	const char *api_version = yaml_tree_text(d->root, "apiVersion"), *kind = yaml_tree_text(d->root, "kind");

	if (!*api_version || !*kind)
		return review_note_object(d, REVIEW_NO_OBJECT, "");
	if (!kind_find_api_version(api_version, kind))
		return review_note_object(d, REVIEW_NO_TEMPLATE, "");
	/* The parser reports some problems only for objects of known kinds. */
	return problem ? review_report(d->review, d->manifest, problem) : review_known(d);
}

/* --- -o yaml --- */

/* Writes a document as it is, or with its sizes changed. Files are joined to one text of YAML: what the file before
 * lacks at its end is added first. The documents of a single file stay joined as they are, so that a stream of JSON,
 * which kubectl does not read as YAML, stays one. */
static int write_document(struct review_document *d, const char *text, const struct yaml_document *document)
{
	CLEANUP(strbuf_release) struct strbuf changed = STRBUF_INIT(2 * LIMIT_MANIFEST_BYTES);
	struct review *review = d->review;
	struct str output = {text + document->begin, document->end - document->begin};
	struct err err = ERR_INIT;
	int r = d->is_changed ? yaml_edit(text, document, d->file, d->object, &changed, &err) : 0;

	if (!r && d->is_changed)
		output = (struct str){strbuf_text(&changed), changed.len};
	else if (r && r != -ENOMEM)
		r = review_report(review, d->manifest, &err);
	if (r)
		return r;
	if (review->last && !(review->is_single && !d->manifest->is_from_walk)) {
		fprintf(stdout, "%s%s", review->last == '\n' ? "" : "\n", document->has_marker ? "" : "---\n");
		if (str_starts(output, YAML_BYTE_ORDER_MARK))
			output = (struct str){output.p + YAML_BYTE_ORDER_MARK.n, output.n - YAML_BYTE_ORDER_MARK.n};
	}
	fwrite(output.p, 1, output.n, stdout);
	review->last = output.p[output.n - 1];
	return 0;
}

/* --- One file --- */

static int review_documents(struct review *self, const struct manifest *manifest, const char *file, const char *text,
			    const struct yaml_documents *documents, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < documents->n; i++) {
		struct review_document d = {
			.review = self,
			.manifest = manifest,
			.file = file,
			.root = &documents->items[i].root,
			.err = err,
		};

		r = review_document(&d, documents->items[i].problem);
		if (!r && self->wants_yaml)
			r = write_document(&d, text, &documents->items[i]);
		json_object_put(d.object);
	}
	return r;
}

static bool has_problem(const struct yaml_documents *documents)
{
	for (size_t i = 0; i < documents->n; i++)
		if (documents->items[i].problem)
			return true;
	return false;
}

/* A template, read as YAML, has many errors that do not help. One that was found in a folder is counted; one that was
 * named on the command line is an input that cannot be read. */
static int note_template_file(struct review *self, const struct manifest *manifest, const char *file, const char *words)
{
	const struct review_subject subject = {.status = REVIEW_TEMPLATED, .file = file, .why = words};
	struct err err = ERR_INIT;

	if (manifest->is_from_walk && !self->is_strict)
		return review_note(self, &subject);
	err_set_at(&err, -EINVAL, file, 0, 0, "%s", words);
	return review_report(self, manifest, &err);
}

int review_file(struct review *self, const struct manifest *manifest)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(REVIEW_TREE_BYTES);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_MANIFEST_BYTES);
	struct yaml_documents documents = {0};
	struct err err = ERR_INIT;
	const char *file = review_file_name(self, manifest), *template_ = NULL;
	int r = review_read(self, manifest->path, &text, &err);

	if (!file)
		return -ENOMEM;
	self->n_files++;
	if (!r)
		r = yaml_tree_parse_lenient(strbuf_text(&text), text.len, file, &arena, &documents, &err);
	if (r != -ENOMEM)
		template_ = review_template_words(strbuf_text(&text), text.len, !r && !has_problem(&documents));
	if (template_)
		return note_template_file(self, manifest, file, template_);
	if (!r)
		r = review_documents(self, manifest, file, strbuf_text(&text), &documents, &err);
	return r && r != -ENOMEM ? review_report(self, manifest, &err) : r;
}
