/* SPDX-License-Identifier: Apache-2.0 */
/* /validate: an object that makes pods gets, when it is made or its spec is changed, the findings of its pod templates
 * as warnings, so that `kubectl apply --dry-run=server` shows them. Never a patch; refused only where a check is
 * configured to deny. */
#include "serve/templates.h"

/* An object made by a controller is silent: its own owner was judged. */
static const char *foreign_reason(const struct admission *self, bool has_no_object)
{
	const char *foreign = templates_foreign(self, has_no_object);

	if (foreign)
		return foreign;
	if (kind_is_controlled(self->object))
		return "controlled";
	return streq(self->review.operation, "UPDATE") && !self->is_spec_changed ? "spec-unchanged" : NULL;
}

static int answer(struct admission *self, const struct templates *all)
{
	struct arena *arena = &self->scratch->arena;
	struct review_response *response = &self->response;
	int r = workload_warnings(all->items, all->n, arena, &response->warnings, &response->n_warnings);

	if (!r && all->is_denied)
		r = workload_denial(all->items, all->n, arena, &response->message);
	if (!r)
		r = admission_audit(self, "decision",
				    arena_printf(arena, "%s: %zu templates, %zu findings", mode_names[self->mode],
						 all->n, all->n_findings));
	response->is_allowed = !response->message;
	self->result = response->message ? RESULT_DENIED : response->n_warnings ? RESULT_WARNED : RESULT_UNCHANGED;
	return r;
}

static int decide_workload(struct admission *self, struct err *err)
{
	struct templates all;
	int r = templates_decide(self, false, &all, err);

	if (r)
		return r;
	return all.n_skipped == all.n ? templates_skip(self, &all) : answer(self, &all);
}

static const struct admission_webhook validate = {
	.requests = METRIC_VALIDATIONS,
	.skipped = METRIC_VALIDATION_SKIPPED,
	.errors = METRIC_VALIDATION_ERRORS,
	.findings = METRIC_VALIDATION_FINDINGS,
	.duration = METRIC_VALIDATION_DURATION,
	.read = templates_read,
	.foreign = foreign_reason,
	.decide = decide_workload,
};

int admission_validate(struct admission_scratch *scratch, const struct admission_world *world, const char *body,
		       size_t n, struct strbuf *ret_answer, struct err *err)
{
	return admission_handle(&validate, scratch, world, body, n, ret_answer, err);
}
