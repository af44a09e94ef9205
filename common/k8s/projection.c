/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/projection.h"

#include "base/limits.h"
#include "k8s/doc.h"

static void add_doc(struct strbuf *out, const struct doc *doc)
{
	switch (doc->type) {
	case DOC_STRING:
		strbuf_add_json_string(out, doc->text);
		return;
	case DOC_NUMBER:
		strbuf_add(out, doc->text, doc->n_text);
		return;
	case DOC_ARRAY:
	case DOC_OBJECT:
		strbuf_addc(out, doc->type == DOC_ARRAY ? '[' : '{');
		for (const struct doc *item = doc->first; item; item = item->next) {
			if (item != doc->first)
				strbuf_addc(out, ',');
			if (item->key) {
				strbuf_add_json_string(out, item->key);
				strbuf_addc(out, ':');
			}
			add_doc(out, item);
		}
		strbuf_addc(out, doc->type == DOC_ARRAY ? ']' : '}');
		return;
	default:
		strbuf_adds(out, doc->type == DOC_NULL ? "null" : doc->type == DOC_TRUE ? "true" : "false");
	}
}

int projection_review(const char *text, size_t n, struct strbuf *ret, struct err *err)
{
	/* A node takes more than its text: bounded by the number of values, and by what the result may hold. */
	CLEANUP(arena_release)
	struct arena arena = ARENA_INIT(ret->max + LIMIT_PROJECTED_TOKENS * 2 * sizeof(struct doc));
	struct doc review;
	int r;

	strbuf_clear(ret);
	r = doc_read(text, n, &allow_review, &arena, &review, err);
	if (r)
		return r;
	add_doc(ret, &review);
	if (ret->status)
		return err_set(err, ret->status, "the result does not fit %zu bytes", ret->max);
	return 0;
}
