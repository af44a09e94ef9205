/* SPDX-License-Identifier: Apache-2.0 */
/* review_input: reads manifests, before and during the review. */
#include "review/review_internal.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/str.h"

#include <errno.h>

int review_read(struct review *self, const char *path, struct strbuf *ret, struct err *err)
{
	int r = 0;

	if (!streq(path, "-"))
		return io_read_file(path, ret, err);
	if (!self->has_input)
		r = io_read_file(path, &self->input, err);
	if (r)
		return r;
	self->has_input = true;
	r = strbuf_add(ret, strbuf_text(&self->input), self->input.len);
	return r ? err_set(err, r, "cannot keep standard input") : 0;
}

const char *review_file_name(struct review *self, const struct manifest *manifest)
{
	return review_clean(&self->arena, streq(manifest->path, "-") ? "stdin" : manifest->path);
}

static int visit_document(const char *file, const struct yaml_node *root, review_visit_fn *visit, void *context)
{
	const struct yaml_node *items = yaml_tree_get(root, "items");
	int r = 0;

	if (!streq(yaml_tree_text(root, "kind"), "List") || !items || items->type != YAML_TREE_SEQUENCE)
		return visit(context, file, root);
	for (size_t i = 0; !r && i < items->n; i++)
		r = visit(context, file, &items->items[i]);
	return r;
}

int review_each_object(struct review *self, const struct manifest *manifest,
		       bool (*may_matter)(const struct strbuf *text), review_visit_fn *visit, void *context)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(REVIEW_TREE_BYTES);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_MANIFEST_BYTES);
	struct yaml_documents documents = {0};
	const char *file;
	int r = review_read(self, manifest->path, &text, NULL);

	if (r || !may_matter(&text))
		return r == -ENOMEM ? r : 0;
	file = review_file_name(self, manifest);
	if (!file)
		return -ENOMEM;
	r = review_parse(self, NULL, file, &text, &arena, &documents, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = 0;
	for (size_t i = 0; !r && i < documents.n; i++)
		if (!documents.items[i].problem)
			r = visit_document(file, &documents.items[i].root, visit, context);
	return r;
}
