/* SPDX-License-Identifier: Apache-2.0 */
/* resizer_patch: all that is ever written to a pod, in both directions: limit and request of one container. */
#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/quantity.h"
#include "resize/resizer_internal.h"

#include <stdio.h>

static void add_operation(struct strbuf *patch, const char *path, const char *value)
{
	strbuf_addf(patch, "%s{\"op\":\"replace\",\"path\":\"%s\",\"value\":", patch->len ? "," : "[", path);
	strbuf_add_json_string(patch, value);
	strbuf_addc(patch, '}');
}

static void add_size(struct strbuf *patch, const struct resize_plan *plan, const char *field, int64_t bytes)
{
	char path[96], text[QUANTITY_TEXT_BYTES];

	snprintf(path, sizeof(path), "/spec/%s/%zu/resources/%s/memory",
		 plan->is_init ? "initContainers" : "containers", plan->index, field);
	add_operation(patch, path, quantity_render_bytes(bytes, text));
}

/* Contains the resourceVersion that the plan was made from, so that the server reports a conflict instead of retrying
 * by itself. */
struct json_object *resizer_patch(const struct resize_plan *plan, struct json_object *pod, bool is_back)
{
	CLEANUP(strbuf_release) struct strbuf patch = STRBUF_INIT(4 * KIB);
	struct json_object *version = json_member(json_member(pod, "metadata"), "resourceVersion"), *ret = NULL;

	add_operation(&patch, "/metadata/resourceVersion", version ? json_object_get_string(version) : "");
	add_size(&patch, plan, "limits", is_back ? plan->from_bytes : plan->to_bytes);
	if (plan->has_request)
		add_size(&patch, plan, "requests", is_back ? plan->request_from_bytes : plan->request_to_bytes);
	if (!version || strbuf_addc(&patch, ']') || json_parse(patch.text, patch.len, 4, &ret, NULL))
		return NULL;
	return ret;
}
