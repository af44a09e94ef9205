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

static int review_document(struct review_document *d, const char *text, const struct yaml_document *document)
{
	const char *api_version = yaml_tree_text(d->root, "apiVersion"), *kind = yaml_tree_text(d->root, "kind");
	const struct err *problem = document->problem;
	const struct yaml_node *braces = problem ? review_find_braces(text, d->root) : NULL;

	if (braces) {
		const struct review_subject place = {.file = d->file, .line = braces->line, .column = braces->column};

		return review_note_template(d->review, d->manifest, &place, text + document->begin,
					    document->end - document->begin);
	}
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
		const struct yaml_document *document = &documents->items[i];
		struct review_document d = {
			.review = self,
			.manifest = manifest,
			.file = file,
			.root = &document->root,
			.err = err,
		};

		r = review_document(&d, text, document);
		if (!r && self->wants_yaml)
			r = write_document(&d, text, document);
		json_object_put(d.object);
	}
	return r;
}

int review_file(struct review *self, const struct manifest *manifest)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(REVIEW_TREE_BYTES);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_MANIFEST_BYTES);
	struct yaml_documents documents = {0};
	struct err err = ERR_INIT;
	const char *file = review_file_name(self, manifest);
	int r = review_read(self, manifest->path, &text, &err);

	if (!file)
		return -ENOMEM;
	self->n_files++;
	if (!r)
		r = review_parse(self, manifest, file, &text, &arena, &documents, &err);
	/* What is printed must not look complete without the templates, which are errors then. */
	if (r == REVIEW_HAS_TEMPLATES && self->wants_yaml)
		return 0;
	if (r >= 0)
		r = review_documents(self, manifest, file, strbuf_text(&text), &documents, &err);
	return r && r != -ENOMEM ? review_report(self, manifest, &err) : r;
}
