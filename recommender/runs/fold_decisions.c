/* SPDX-License-Identifier: Apache-2.0 */
/* fold_decisions: what was set in the pods of a run according to their annotations, one entry for each set of values.
 * An annotation may be wrong: it is copied with a manifest, and values may be edited later. Only values that a
 * container really has are counted. */
#include "runs/fold_internal.h"

#include "base/str.h"
#include "policy/decide.h"

#include <errno.h>
#include <stdio.h>

bool fold_read_set(const struct pod *pod, const struct pod_container *container, struct annotation *ret,
		   struct annotation_container *ret_set)
{
	const int64_t carried[2][2] = {
		[SIZE_REQUEST] = {container->request_bytes, container->ephemeral_request_bytes},
		[SIZE_LIMIT] = {container->limit_bytes, container->ephemeral_limit_bytes},
	};
	bool is_any = false;

	if (!*pod->decision || !annotation_read(pod->decision, container->name, ret, ret_set))
		return false;
	for (int f = 0; f < 2; f++)
		for (int r = 0; r < 2; r++) {
			struct annotation_value *value = &ret_set->values[f][r];

			if (!value->is_set || value->to_bytes <= 0 || value->to_bytes != carried[f][r])
				*value = (struct annotation_value){.is_set = false};
			is_any |= value->is_set;
		}
	return is_any;
}

/* The most important value: the limit, then the request; memory before ephemeral storage. NULL: nothing was set. */
static const struct annotation_value *leading(const struct annotation_container *set)
{
	for (int r = ANNOTATION_MEMORY; r <= ANNOTATION_EPHEMERAL; r++)
		for (int f = SIZE_LIMIT; f >= SIZE_REQUEST; f--)
			if (set->values[f][r].is_set)
				return &set->values[f][r];
	return NULL;
}

static void fill(struct history_decision *ret, const struct member *member, const struct annotation *annotation,
		 const struct annotation_container *set)
{
	const struct annotation_value *request = &set->values[SIZE_REQUEST][ANNOTATION_MEMORY];
	const struct annotation_value *limit = &set->values[SIZE_LIMIT][ANNOTATION_MEMORY];
	const struct annotation_value *lead = leading(set);

	*ret = (struct history_decision){
		.time_ms = lead && lead->at_ms ? lead->at_ms : member->begin_ms,
		.pods = 1,
		.mode = (int)annotation->mode,
		.revision = annotation->revision,
		.request_from_bytes = request->from_bytes,
		.request_to_bytes = request->to_bytes,
		.limit_from_bytes = limit->from_bytes,
		.limit_to_bytes = limit->to_bytes,
		.ephemeral_request_to_bytes = set->values[SIZE_REQUEST][ANNOTATION_EPHEMERAL].to_bytes,
		.ephemeral_limit_to_bytes = set->values[SIZE_LIMIT][ANNOTATION_EPHEMERAL].to_bytes,
	};
	identity_cut(member->run_key, ret->owner, sizeof(ret->owner));
	identity_cut(member->pod->name, ret->pod, sizeof(ret->pod));
	snprintf(ret->rule, sizeof(ret->rule), "%s", lead ? lead->rule : "");
	for (int r = ANNOTATION_MEMORY; r <= ANNOTATION_EPHEMERAL; r++)
		for (int f = SIZE_LIMIT; f >= SIZE_REQUEST && !*ret->cap; f--)
			snprintf(ret->cap, sizeof(ret->cap), "%s", set->values[f][r].cap);
}

int fold_add_decision(struct found_run *found, const struct member *member, const struct pod_container *container)
{
	struct annotation_container set;
	struct annotation annotation = {.variable = NULL};
	struct history_decision decision;
	bool is_any = fold_read_set(member->pod, container, &annotation, &set);

	found->has_setting |= annotation.variable != NULL;
	if (!is_any)
		return 0;
	fill(&decision, member, &annotation, &set);
	for (size_t i = 0; i < found->decisions.n; i++)
		if (history_decision_is_same(&found->decisions.items[i], &decision)) {
			found->decisions.items[i].pods++;
			return 0;
		}
	return vec_push(&found->decisions, decision);
}
