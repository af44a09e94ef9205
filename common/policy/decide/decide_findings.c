/* SPDX-License-Identifier: Apache-2.0 */
/* decide_findings: adds findings to a decision. */
#include "policy/decide/decide_checks.h"

#include <errno.h>
#include <string.h>

enum { TEXT_MAX = 1024 };

const char *finding_pointer(const struct deciding *self, const struct sized *item, enum sized_resource resource, int f)
{
	const struct k8s_resources *resources = &item->container->resources;
	const struct k8s_amount *amounts = f == SIZE_LIMIT ? resources->limits : resources->requests;
	bool has_map = f == SIZE_LIMIT ? resources->has_limits : resources->has_requests;
	const char *map = !resources->is_present || !has_map ? "" : f == SIZE_LIMIT ? "/limits" : "/requests";
	bool has_value = amounts[sized_resource_of(resource)].text;

	return arena_printf(self->arena, "/spec/%s/%zu%s%s%s%s", k8s_container_array(item->container),
			    item->container->index, resources->is_present ? "/resources" : "", map,
			    has_value ? "/" : "", has_value ? k8s_resource_names[sized_resource_of(resource)] : "");
}

/* The action of a check in this place: `deny` is only for objects that create pods; a pod is never denied. */
static enum check_action action_of(const struct deciding *self, enum check_id check, bool is_patched)
{
	enum check_action action = self->policy->actions[check];

	if (action == ACTION_DENY && self->input->subject == SUBJECT_TEMPLATE && self->mode->mode >= MODE_FILL)
		return ACTION_DENY;
	return is_patched && action >= ACTION_PATCH ? ACTION_PATCH : ACTION_WARN;
}

int finding_add(const struct deciding *self, struct findings *list, enum check_id check, bool is_patched,
		const struct k8s_container *container, const char *pointer, const char *text)
{
	if (!pointer || !text)
		return -ENOMEM;
	text = text_clean(self->arena, text, TEXT_MAX);
	if (!text)
		return -ENOMEM;
	if (list->n == list->capacity) {
		size_t more = list->capacity ? 2 * list->capacity : 8;
		struct finding *grown = arena_array(self->arena, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		if (list->n)
			memcpy(grown, list->items, list->n * sizeof(*grown));
		list->items = grown;
		list->capacity = more;
	}
	list->items[list->n++] = (struct finding){check, action_of(self, check, is_patched), container, pointer, text};
	list->is_denied |= list->items[list->n - 1].action == ACTION_DENY;
	return 0;
}

int finding_add_field(const struct deciding *self, struct findings *list, enum check_id check, const struct sized *item,
		      enum sized_resource resource, int f, const char *head, const char *why)
{
	const struct field *field = &item->fields[resource][f];
	const char *outcome = why ? text_outcome(self, item, field, why) : NULL;

	if (!head || !outcome)
		return -ENOMEM;
	return finding_add(self, list, check, field->proposal.gate == GATE_OPEN, item->container,
			   finding_pointer(self, item, resource, f), arena_printf(self->arena, "%s%s", head, outcome));
}
