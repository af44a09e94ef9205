/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks: one function a check, called through one table in the order of checks.def. */
#include "policy/decide_checks.h"

#include <errno.h>
#include <string.h>

enum { TEXT_MAX = 120 };

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

/* What a check may do here: `deny` is for objects that make pods; a pod being created is never refused. */
static enum check_action action_of(const struct deciding *self, enum check_id check, bool is_patched)
{
	enum check_action action = self->policy->actions[check];

	if (action == ACTION_DENY && self->input->subject == SUBJECT_TEMPLATE && self->ret->mode >= MODE_FILL)
		return ACTION_DENY;
	return is_patched && action >= ACTION_PATCH ? ACTION_PATCH : ACTION_WARN;
}

int finding_add(struct deciding *self, enum check_id check, bool is_patched, const struct k8s_container *container,
		const char *pointer, const char *text)
{
	struct decision *ret = self->ret;

	if (!pointer || !text)
		return -ENOMEM;
	text = text_clean(self->arena, text, TEXT_MAX);
	if (!text)
		return -ENOMEM;
	if (ret->n_findings == self->findings_capacity) {
		size_t more = self->findings_capacity ? 2 * self->findings_capacity : 8;
		struct finding *grown = arena_array(self->arena, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		if (ret->n_findings)
			memcpy(grown, ret->findings, ret->n_findings * sizeof(*grown));
		ret->findings = grown;
		self->findings_capacity = more;
	}
	ret->findings[ret->n_findings++] = (struct finding){check, action_of(self, check, is_patched), container,
							    pointer, text};
	ret->is_denied |= ret->findings[ret->n_findings - 1].action == ACTION_DENY;
	return 0;
}

int finding_add_field(struct deciding *self, enum check_id check, const struct sized *item,
		      enum sized_resource resource, int f, const char *head, const char *why)
{
	const struct field *field = &item->fields[resource][f];
	const char *outcome = why ? text_outcome(self, item, field, why) : NULL;

	if (!head || !outcome)
		return -ENOMEM;
	return finding_add(self, check, field->proposal.gate == GATE_OPEN, item->container,
			   finding_pointer(self, item, resource, f), arena_printf(self->arena, "%s%s", head, outcome));
}

/* `is_size`: about values that an earlier round has settled. */
static const struct {
	int (*find)(struct deciding *self);
	bool is_size;
} table[CHECK_COUNT_] = {
	[CHECK_MEMORY_LIMIT_BELOW_PEAK] = {check_limit_below_peak, true},
	[CHECK_BESTEFFORT_QOS] = {check_besteffort, true},
	[CHECK_MEMORY_LIMIT_MISSING] = {check_limit_missing, true},
	[CHECK_MEMORY_REQUEST_MISSING] = {check_request_missing, true},
	[CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING] = {check_ephemeral_missing, true},
	[CHECK_MEMORY_OVER_GPU_SHARE] = {check_over_share, true},
	[CHECK_EPHEMERAL_STORAGE_OVER_GPU_SHARE] = {check_ephemeral_over_share, true},
	[CHECK_USAGE_OVER_GPU_SHARE] = {check_usage_over_share, false},
	[CHECK_MEMORY_REQUEST_BELOW_MEDIAN] = {check_request_below_median, true},
	[CHECK_MEMORY_OVER_PROVISIONED] = {check_over_provisioned, true},
	[CHECK_OOM_HISTORY] = {check_oom_history, false},
	[CHECK_OOM_NOT_RETRIABLE] = {check_oom_not_retriable, false},
	[CHECK_MEMORY_LEAK_SUSPECTED] = {check_leak, false},
	[CHECK_MEMORY_UNSTABLE] = {check_unstable, false},
	[CHECK_UNSCHEDULABLE_SIZE] = {check_unschedulable, false},
	[CHECK_MEMORY_UNIT_SUSPICIOUS] = {check_unit, false},
	[CHECK_SHM_SMALL] = {check_shm_small, false},
	[CHECK_SHM_UNBOUNDED] = {check_shm_unbounded, false},
	[CHECK_EMPTYDIR_UNBOUNDED] = {check_emptydir_unbounded, false},
	[CHECK_CRITICAL_NOT_GUARANTEED] = {check_critical, true},
};

int decide_checks(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < CHECK_COUNT_ && !r; i++)
		if (self->policy->actions[i] != ACTION_OFF && !(self->is_settled && table[i].is_size))
			r = table[i].find(self);
	return r;
}
