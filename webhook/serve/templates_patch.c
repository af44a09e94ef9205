/* SPDX-License-Identifier: Apache-2.0 */
/* /templates (templates: patch): what somebody submits gets its sizes at once, in its pod templates.
 *
 * On update only what was set at creation is set again where the manifest's old values came back with the next apply:
 * most kinds refuse a changed template, and nobody's apply may fail because of us. */
#include "serve/audit.h"
#include "serve/templates.h"

static bool is_create(const struct admission *self)
{
	return streq(self->review.operation, "CREATE");
}

static const char *foreign_reason(const struct admission *self, bool has_no_object)
{
	const char *foreign = templates_foreign(self, has_no_object);

	if (foreign)
		return foreign;
	/* It lives on, and its sizes would grow old: each object that it makes is sized. */
	if (kind_find(self->review.group, self->review.kind)->is_recurring)
		return "recurring";
	return kind_is_submitted(self->object) ? NULL : "controlled";
}

static int render(struct admission *self, const struct templates *all, const struct k8s_labels *annotations)
{
	struct strbuf *patch = &self->scratch->patch;
	struct arena *arena = &self->scratch->arena;
	struct review_response *response = &self->response;
	int r = is_create(self) ? workload_patch(all->items, all->n, annotations, arena, patch)
				: workload_patch_again(all->items, all->n, annotations, arena, patch);

	/* The object's other reviews have said what is to be said about an update. */
	if (!r && is_create(self) && !kind_is_controlled(self->object))
		r = workload_warnings(all->items, all->n, arena, &response->warnings, &response->n_warnings);
	if (!r)
		r = admission_audit(self, "decision",
				    arena_printf(arena, "%s: %zu templates, %zu findings%s", mode_names[self->mode],
						 all->n, all->n_findings, is_create(self) ? "" : ", as at creation"));
	if (r)
		return r;
	if (patch->len)
		response->patch = strbuf_text(patch);
	self->result = patch->len ? RESULT_PATCHED : RESULT_UNCHANGED;
	return 0;
}

static void audit(const struct admission *self, const struct templates *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->items[i]->decision.n_sizes)
			audit_template(&self->review, all->items[i]);
}

static int decide_workload(struct admission *self, struct err *err)
{
	const struct config *config = self->world->state->config;
	struct k8s_labels annotations;
	struct templates all;
	int r;

	if (config->policy.templates != TEMPLATES_PATCH) {
		admission_skip(self, "templates-warn");
		return 0;
	}
	r = kind_annotations(self->object, &self->scratch->arena, &annotations, err);
	r = r ? r : templates_decide(self, true, &all, err);
	if (r)
		return r;
	if (all.n_skipped == all.n)
		return templates_skip(self, &all);
	if (is_create(self))
		r = workload_settle(all.items, all.n, &annotations, &self->scratch->arena);
	r = r ? r : render(self, &all, &annotations);
	if (!r && self->response.patch && is_create(self) && config->log.audit)
		audit(self, &all);
	return r;
}

static const struct admission_webhook webhook = {
	.requests = METRIC_TEMPLATES,
	.skipped = METRIC_TEMPLATE_SKIPPED,
	.errors = METRIC_TEMPLATE_ERRORS,
	.findings = METRIC_TEMPLATE_FINDINGS,
	.duration = METRIC_TEMPLATE_DURATION,
	.read = templates_read,
	.foreign = foreign_reason,
	.decide = decide_workload,
};

int admission_templates(struct admission_scratch *scratch, const struct admission_world *world, const char *body,
			size_t n, struct strbuf *ret_answer, struct err *err)
{
	return admission_handle(&webhook, scratch, world, body, n, ret_answer, err);
}
