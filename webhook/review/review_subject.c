/* SPDX-License-Identifier: Apache-2.0 */
/* review_subject: what was examined, and what was not and why, so that "no findings" is not mistaken for "not
 * examined". */
#include "review/review_internal.h"

#include "base/plain.h"
#include "base/str.h"

#include <errno.h>

const struct review_status_row review_statuses[REVIEW_STATUS_COUNT_] = {
	[REVIEW_EXAMINED] = {"examined", "no findings", "", ""},
	[REVIEW_PARTIAL] = {"partial", "only what the runtime sets itself was examined; TrainJobs set the resources",
			    "runtime template whose TrainJobs set its resources",
			    "runtime templates whose TrainJobs set their resources"},
	[REVIEW_NOT_TRAINING] = {"not-training", "not a training pod", "pod not training", "pods not training"},
	[REVIEW_EXEMPT] = {"exempt", "exempt", "pod exempt", "pods exempt"},
	[REVIEW_NO_RUNTIME] = {"no-runtime",
			       "the TrainJob sets no resources, and its runtime is not among the manifests",
			       "TrainJob without its runtime", "TrainJobs without their runtimes"},
	[REVIEW_NO_TEMPLATE] = {"no-template", "no known pod template", "object without a known pod template",
				"objects without known pod templates"},
	[REVIEW_NO_OBJECT] = {"no-object", "no Kubernetes object", "document that is no Kubernetes object",
			      "documents that are no Kubernetes objects"},
	[REVIEW_TEMPLATED] = {"template-file", "looks like a template", "template document", "template documents"},
	[REVIEW_UNREADABLE] = {"unreadable", "cannot be read", "unreadable file or object",
			       "unreadable files or objects"},
	[REVIEW_HIDDEN] = {"hidden", "hidden", "hidden file or folder", "hidden files or folders"},
	[REVIEW_EXCLUDED] = {"excluded", "excluded", "excluded file or folder", "excluded files or folders"},
	[REVIEW_LINKED] = {"linked", "a link to a folder, which is not followed", "link to a folder",
			   "links to folders"},
	[REVIEW_EMPTY] = {"empty", "no Kubernetes object in it", "path without objects", "paths without objects"},
};

char *review_clean(struct arena *arena, const char *text)
{
	char *copy = arena_strdup(arena, text ? text : "");

	if (copy)
		plain_clean(copy);
	return copy;
}

void review_add_label(struct strbuf *buf, const char *kind, const char *name, const char *role, const char *container)
{
	strbuf_adds(buf, kind);
	if (*name)
		strbuf_addf(buf, "/%s", name);
	if (*role)
		strbuf_addf(buf, " %s", role);
	if (*container)
		strbuf_addf(buf, " container \"%s\"", container);
	if (*kind)
		strbuf_adds(buf, ": ");
}

int review_note(struct review *self, const struct review_subject *subject)
{
	struct review_subject copy = *subject;

	copy.file = review_clean(&self->arena, subject->file);
	copy.kind = review_clean(&self->arena, subject->kind);
	copy.name = review_clean(&self->arena, subject->name);
	copy.namespace_name = review_clean(&self->arena, subject->namespace_name);
	copy.role = review_clean(&self->arena, subject->role);
	copy.why = review_clean(&self->arena, subject->why);
	return self->arena.has_failed || vec_push(&self->subjects, copy) ? -ENOMEM : 0;
}

int review_note_object(const struct review_document *d, enum review_status status, const char *why)
{
	const struct yaml_node *metadata = yaml_tree_get(d->root, "metadata");
	const struct review_subject subject = {
		.status = status,
		.file = d->file,
		.line = d->root->line,
		.column = d->root->column,
		.kind = yaml_tree_text(d->root, "kind"),
		.name = yaml_tree_text(metadata, "name"),
		.namespace_name = yaml_tree_text(metadata, "namespace"),
		.why = why,
	};

	return review_note(d->review, &subject);
}

int review_report(struct review *self, const struct manifest *manifest, const struct err *err)
{
	bool is_error = !manifest->is_from_walk || self->is_strict;
	char text[sizeof(err->where) + sizeof(err->msg) + 8];
	const struct review_subject subject = {.status = REVIEW_UNREADABLE, .file = err->where, .why = err->msg};
	const char *clean = review_clean(&self->arena, err_text(err, text, sizeof(text)));
	struct review_error error;

	if (!clean)
		return -ENOMEM;
	fprintf(stderr, "%s%s\n", is_error ? "" : "note: ", clean);
	if (!is_error)
		return review_note(self, &subject);
	error = (struct review_error){review_clean(&self->arena, err->where), review_clean(&self->arena, err->msg)};
	return self->arena.has_failed || vec_push(&self->errors, error) ? -ENOMEM : 0;
}

const char *review_pointer(const struct err *err, char ret[REVIEW_POINTER_BYTES])
{
	size_t n = 0;

	ret[n++] = '/';
	for (const char *p = err->where; *p; p++)
		if (*p != ']')
			ret[n++] = *p == '.' || *p == '[' ? '/' : *p;
	ret[n] = '\0';
	return ret;
}

/* The text of the reason why nothing was examined; the ids are metric labels. */
const char *review_reason_words(const char *why)
{
	static const char *const words[][2] = {
		{"no-sign", "no accelerator"},
		{"label", "label memtamer.io/training"},
		{"excluded-namespace", "excluded namespace"},
		{"own-namespace", "memtamer's namespace"},
		{"mode-off", "mode off"},
		{"no-containers", "no containers"},
		{"ignored", "label memtamer.io/ignore"},
		{"mirror", "mirror pod"},
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (streq(why, words[i][0]))
			return words[i][1];
	return why;
}

const char *review_words(struct arena *arena, const struct review_subject *subject)
{
	const char *words = review_statuses[subject->status].words, *why = review_reason_words(subject->why);

	if (subject->status == REVIEW_EXAMINED && subject->n_findings)
		return arena_printf(arena, "%zu finding%s", subject->n_findings, subject->n_findings == 1 ? "" : "s");
	if (!*why)
		return words;
	if (subject->status == REVIEW_TEMPLATED)
		return why;
	if (subject->status == REVIEW_NOT_TRAINING || subject->status == REVIEW_EXEMPT)
		return arena_printf(arena, "%s (%s)", words, why);
	return arena_printf(arena, "%s: %s", words, why);
}
