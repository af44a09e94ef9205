/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/probe.h"

#include "k8s/doc.h"
#include "k8s/review.h"

#include <errno.h>

/* Adds one annotation; adds `annotations` itself only if it is missing. */
static int add_annotation(const struct doc *object, const char *instance, struct strbuf *patch)
{
	const struct doc *annotations = doc_member(doc_member(object, "metadata"), "annotations");

	strbuf_adds(patch, "[");
	if (!annotations || annotations->type != DOC_OBJECT)
		strbuf_adds(patch, "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{}},");
	strbuf_adds(patch, "{\"op\":\"add\",\"path\":\"/metadata/annotations/memtamer.io~1probed-by\",\"value\":");
	strbuf_add_json_string(patch, instance);
	return strbuf_adds(patch, "}]");
}

int probe_answer(struct admission_scratch *scratch, const char *instance, const char *body, size_t n,
		 struct strbuf *ret_answer, struct err *err)
{
	struct review_response response = {.is_allowed = true};
	const struct doc *object = NULL;
	struct review review;
	bool is_changed;
	int r;

	admission_scratch_clear(scratch);
	r = review_read_workload(body, n, &scratch->arena, &review, &object, &is_changed, err);
	if (r < 0 && !review.uid[0])
		return r == -ENOMEM ? r : -EINVAL;
	if (!r && doc_member(object, "metadata") && streq(review.operation, "CREATE") &&
	    !add_annotation(object, instance, &scratch->patch))
		response.patch = strbuf_text(&scratch->patch);
	r = review_render(&review, &response, ret_answer);
	return r ? err_set(err, r, "the answer does not fit") : 0;
}
