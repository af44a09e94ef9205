/* SPDX-License-Identifier: Apache-2.0 */
/* resizer_patch: all that is ever written to a pod, whichever way it goes: limit and request of one container. */
#include "k8s/quantity.h"
#include "resize/resizer_internal.h"

#include <errno.h>
#include <stdio.h>

static int add_operation(struct json_object *patch, const char *path, const char *value)
{
	struct json_object *operation = json_object_new_object();
	int r = operation ? json_add(operation, "op", json_object_new_string("replace")) : -ENOMEM;

	if (!r)
		r = json_add(operation, "path", json_object_new_string(path));
	if (!r)
		r = json_add(operation, "value", json_object_new_string(value));
	if (!r)
		return json_append(patch, operation);
	json_object_put(operation);
	return r;
}

static int add_size(struct json_object *patch, const struct resize_plan *plan, const char *field, int64_t bytes)
{
	char path[96], text[QUANTITY_TEXT_BYTES];

	snprintf(path, sizeof(path), "/spec/%s/%zu/resources/%s/memory",
		 plan->is_init ? "initContainers" : "containers", plan->index, field);
	return add_operation(patch, path, quantity_render_bytes(bytes, text));
}

/* With the resourceVersion that the plan was made from: the server then conflicts instead of trying again by itself. */
struct json_object *resizer_patch(const struct resize_plan *plan, struct json_object *pod, bool is_back)
{
	struct json_object *version = json_member(json_member(pod, "metadata"), "resourceVersion");
	struct json_object *patch = json_object_new_array();
	int r = patch && version ? add_operation(patch, "/metadata/resourceVersion", json_object_get_string(version))
				 : -ENOMEM;

	if (!r)
		r = add_size(patch, plan, "limits", is_back ? plan->from_bytes : plan->to_bytes);
	if (!r && plan->has_request)
		r = add_size(patch, plan, "requests", is_back ? plan->request_from_bytes : plan->request_to_bytes);
	if (!r)
		return patch;
	json_object_put(patch);
	return NULL;
}
