/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/kind_object.h"

#include "base/limits.h"
#include "k8s/decode.h"

const char *kind_name_in(const struct doc *object, const char *key)
{
	const struct doc *value = doc_member(object, key);

	return value && value->type == DOC_STRING && value->n_text <= LIMIT_QUALIFIED_NAME_BYTES ? value->text : NULL;
}

bool kind_is_queued(const struct doc *object)
{
	const struct doc *labels = doc_member(doc_member(object, "metadata"), "labels");

	for (const struct doc *item = labels ? labels->first : NULL; item; item = item->next)
		if (item->key && item->type == DOC_STRING && kind_is_queue_label(item->key))
			return true;
	return false;
}

static const char *queue_in(const struct doc *object)
{
	return kind_name_in(doc_member(doc_member(object, "metadata"), "labels"), KIND_LABEL_QUEUE);
}

struct kind_owner kind_owner_facts(const struct doc *owner, const struct doc *root, bool is_root_queued)
{
	const struct doc *metadata = doc_member(owner, "metadata");
	const char *name = kind_name_in(metadata, "name"), *namespace_name = kind_name_in(metadata, "namespace");
	const char *queue = queue_in(owner);

	if (!name || !*name)
		name = kind_name_in(metadata, "generateName");
	if (!queue)
		queue = queue_in(root);
	return (struct kind_owner){
		.name = name ? name : "",
		.queue = queue,
		.namespace_name = namespace_name ? namespace_name : "",
		.is_queued = is_root_queued || (owner != root && kind_is_queued(owner)),
	};
}

/* The owner that is the controller. NULL: none. */
static const struct doc *controller_of(const struct doc *object)
{
	const struct doc *owners = doc_member(doc_member(object, "metadata"), "ownerReferences");

	for (const struct doc *item = owners ? owners->first : NULL; item; item = item->next) {
		const struct doc *controller = doc_member(item, "controller");

		if (controller && controller->type == DOC_TRUE)
			return item;
	}
	return NULL;
}

bool kind_is_controlled(const struct doc *object)
{
	return controller_of(object) != NULL;
}

bool kind_is_submitted(const struct doc *object)
{
	const struct doc *controller = controller_of(object);
	const char *api_version = controller ? kind_name_in(controller, "apiVersion") : NULL;
	const char *name = controller ? kind_name_in(controller, "kind") : NULL;
	const struct kind *kind = api_version && name ? kind_find_api_version(api_version, name) : NULL;

	return !controller || (kind && kind->is_recurring);
}

int kind_annotations(const struct doc *object, struct arena *arena, struct k8s_labels *ret, struct err *err)
{
	*ret = (struct k8s_labels){.items = NULL};
	return decode_labels(doc_member(object, "metadata"), "annotations", true, arena, ret, err);
}
