/* SPDX-License-Identifier: Apache-2.0 */
/* /templates (templates: patch): sets the sizes in the pod templates of an object that a user submits. On an update
 * only values that were set at creation are set again, if applying the manifest has reverted them: most kinds refuse a
 * changed template, and memtamer must not make an apply fail. */
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
	/* The object lives long and its sizes would become outdated, so each object that it creates is sized
	 * instead. */
	if (kind_find(self->review.group, self->review.kind)->is_recurring)
		return "recurring";
	return kind_is_submitted(self->object) ? NULL : "controlled";
}

static int render(struct admission *self, const struct templates *all)
{
	struct strbuf *patch = &self->scratch->patch;
	struct arena *arena = &self->scratch->arena;
	struct review_response *response = &self->response;
	int r = is_create(self) ? workload_patch(all->items, all->n, &all->annotations, arena, patch)
				: workload_patch_again(all->items, all->n, &all->annotations, arena, patch);

	/* The pods are sized when they are created, and /validate says so. */
	if (r == RENDER_NO_ROOM)
		return admission_skip_audited(self, ADMISSION_NO_ROOM);
	templates_count_findings(self, all);
	/* The other webhooks report findings about an update. */
	if (!r && is_create(self) && !kind_is_controlled(self->object))
		r = workload_warnings(all->items, all->n, arena, &response->warnings, &response->n_warnings);
	if (!r)
		r = admission_audit(self, "decision",
				    arena_printf(arena, "%s: %zu template%s, %zu finding%s%s", mode_names[self->mode],
						 all->n, PLURAL(all->n), all->n_findings, PLURAL(all->n_findings),
						 is_create(self) ? "" : ", as at creation"));
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
			audit_template(self->world->log, &self->review, all->items[i]);
}

static int decide_workload(struct admission *self, struct err *err)
{
	const struct config *config = self->world->state->config;
	struct templates all;
	int r;

	if (config->policy.templates != TEMPLATES_PATCH) {
		admission_skip(self, "templates-warn");
		return 0;
	}
	r = templates_open(self, &all, err);
	r = r ? r : templates_decide(self, true, &all, err);
	if (r)
		return r;
	templates_count(self, &all);
	if (all.n_skipped == all.n)
		return templates_skip(self, &all);
	r = render(self, &all);
	if (!r && self->response.patch && is_create(self) && config->log.audit)
		audit(self, &all);
	return r;
}

const struct admission_webhook admission_templates = {
	.requests = METRIC_TEMPLATES,
	.skipped = METRIC_TEMPLATE_SKIPPED,
	.errors = METRIC_TEMPLATE_ERRORS,
	.findings = METRIC_TEMPLATE_FINDINGS,
	.read = templates_read,
	.foreign = foreign_reason,
	.decide = decide_workload,
};
