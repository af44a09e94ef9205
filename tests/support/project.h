/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* project: renders as JSON text what the reader of reviews keeps of a review, so that tests can check what is dropped
 * and compare with other parsers. */
#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/doc.h"

#include <errno.h>

#define PROJECTED_BYTES (1 * MIB)

static void project_add(struct strbuf *out, const struct doc *doc)
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
			project_add(out, item);
		}
		strbuf_addc(out, doc->type == DOC_ARRAY ? ']' : '}');
		return;
	default:
		strbuf_adds(out, doc->type == DOC_NULL ? "null" : doc->type == DOC_TRUE ? "true" : "false");
	}
}

/* Clears `ret` and writes the text into it, up to its cap. @return 0; -E2BIG; an error of doc_read(). */
static int project_review(const char *text, size_t n, struct strbuf *ret, struct err *err)
{
	/* A node takes more memory than its text. The bound follows from the number of values and the cap of the
	 * result. */
	CLEANUP(arena_release)
	struct arena arena = ARENA_INIT(ret->max + LIMIT_PROJECTED_TOKENS * 2 * sizeof(struct doc));
	struct doc review;
	int r;

	strbuf_clear(ret);
	r = doc_read(text, n, &allow_review, &arena, &review, err);
	if (r)
		return r;
	project_add(ret, &review);
	if (ret->status)
		return err_set(err, ret->status, "the result does not fit %zu bytes", ret->max);
	return 0;
}
