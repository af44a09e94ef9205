/* SPDX-License-Identifier: Apache-2.0 */
/* /validate: returns the findings in the pod templates of an object as warnings when the object is created or its spec
 * changes, so that `kubectl apply --dry-run=server` shows them. Never a patch; denies only for a check that is
 * configured to deny. */
#include "serve/templates.h"

/* An object that a controller created gets no warnings: its owner was checked. */
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

	templates_count_findings(self, all);
	if (!r && all->is_denied)
		r = workload_denial(all->items, all->n, arena, &response->message);
	if (!r)
		r = admission_audit(self, "decision",
				    arena_printf(arena, "%s: %zu template%s, %zu finding%s", mode_names[self->mode],
						 all->n, PLURAL(all->n), all->n_findings, PLURAL(all->n_findings)));
	response->is_allowed = !response->message;
	self->result = response->message ? RESULT_DENIED : response->n_warnings ? RESULT_WARNED : RESULT_UNCHANGED;
	return r;
}

/* With `templates: patch` the other webhook has decided about the object before. Its decision is made again, so that
 * both say the same and people see it once; it leaves no size to set. If it does, the other webhook was not asked or
 * left the object alone (RENDER_NO_ROOM), and the pods will be sized. */
static int decide_again(struct admission *self, struct templates *all, struct err *err)
{
	bool may_be_patched = self->world->state->config->policy.templates == TEMPLATES_PATCH &&
			      streq(self->review.operation, "CREATE") && kind_is_submitted(self->object);
	int r = templates_decide(self, may_be_patched, all, err);

	return !r && may_be_patched && all->n_sizes ? templates_decide(self, false, all, err) : r;
}

static int decide_workload(struct admission *self, struct err *err)
{
	struct templates all;
	int r = templates_open(self, &all, err);

	r = r ? r : decide_again(self, &all, err);
	if (r)
		return r;
	templates_count(self, &all);
	return all.n_skipped == all.n ? templates_skip(self, &all) : answer(self, &all);
}

const struct admission_webhook admission_validate = {
	.requests = METRIC_VALIDATIONS,
	.skipped = METRIC_VALIDATION_SKIPPED,
	.errors = METRIC_VALIDATION_ERRORS,
	.findings = METRIC_VALIDATION_FINDINGS,
	.read = templates_read,
	.foreign = foreign_reason,
	.decide = decide_workload,
};
