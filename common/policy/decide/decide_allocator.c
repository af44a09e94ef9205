/* SPDX-License-Identifier: Apache-2.0 */
/* decide_allocator: the setting of PyTorch's allocator for workloads whose last failed run ended by fragmentation
 * (model/diagnosis.h), and the check about it. Only absent variables are set. */
#include "policy/decide/decide_checks.h"

#include "k8s/allocator.h"

#include <errno.h>

static const struct diagnosis *wanted(const struct deciding *self)
{
	const struct diagnosis *diagnosis = self->facts->profile ? self->facts->profile->diagnosis : NULL;

	/* In a pod that was decided about, another replica may have known less, and its record stays as it is. */
	return diagnosis_wants_setting(diagnosis) && !self->mode->is_settled ? diagnosis : NULL;
}

/* A value that people have set stays, and envFrom may have one. */
static bool is_free(const struct k8s_container *container)
{
	return container->type == K8S_CONTAINER_MAIN && !container->has_allocator && !container->has_env_from;
}

/* What an earlier round has set in this pod is still ours. */
static const char *carried(const struct deciding *self)
{
	const struct pod_facts *facts = self->facts;

	return facts->has_said && facts->is_said_own ? facts->said.head.variable : NULL;
}

int decide_allocator(struct deciding *self)
{
	const struct diagnosis *diagnosis = wanted(self);

	self->variable = carried(self);
	if (!diagnosis || self->policy->actions[CHECK_ALLOCATOR] < ACTION_PATCH || self->mode->mode < MODE_FILL ||
	    self->input->subject != SUBJECT_POD)
		return 0;
	self->envs = arena_array(self->arena, self->n_items + 1, sizeof(*self->envs));
	if (!self->envs)
		return -ENOMEM;
	for (size_t i = 0; i < self->n_items; i++)
		if (self->items[i].is_main && is_free(self->items[i].container))
			self->envs[self->n_envs++] = self->items[i].container;
	if (self->n_envs)
		self->variable = diagnosis->variable;
	return 0;
}

/* What is done about it in a container that has no variable of its own. */
static const char *outcome(const struct deciding *self, const struct k8s_container *container, const char *variable)
{
	const char *verb = self->input->subject == SUBJECT_POD ? "set" : "will be";

	if (container->has_env_from)
		return "; " ALLOCATOR_SETTING " suggested, unless envFrom sets it";
	if (self->policy->actions[CHECK_ALLOCATOR] < ACTION_PATCH || self->mode->kind_why ||
	    self->mode->is_template_only)
		return "; " ALLOCATOR_SETTING " suggested";
	if (self->mode->mode < MODE_FILL)
		return "; mode fill would set " ALLOCATOR_SETTING;
	return arena_printf(self->arena, "; %s %s=" ALLOCATOR_SETTING, verb, variable);
}

int check_allocator(const struct deciding *self, struct findings *list)
{
	bool is_patched = self->mode->mode >= MODE_FILL && !self->mode->is_template_only;
	const struct diagnosis *diagnosis = wanted(self);
	int r = 0;

	for (size_t i = 0; diagnosis && i < self->n_items && !r; i++) {
		const struct k8s_container *container = self->items[i].container;
		const char *what;

		if (!self->items[i].is_main || container->type != K8S_CONTAINER_MAIN || container->has_allocator)
			continue;
		what = outcome(self, container, diagnosis->variable);
		r = !what ? -ENOMEM
			  : finding_add(self, list, CHECK_ALLOCATOR, is_patched && !container->has_env_from, container,
					arena_printf(self->arena, "/spec/%s/%zu%s", k8s_container_array(container),
						     container->index, container->has_env ? "/env" : ""),
					arena_printf(self->arena, "a run ended by fragmentation%s", what));
	}
	return r;
}
