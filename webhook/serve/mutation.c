/* SPDX-License-Identifier: Apache-2.0 */
/* /mutate: sets the sizes of a pod that is created. */
#include "serve/admission_internal.h"

#include "policy/render.h"
#include "serve/audit.h"

#include <errno.h>

static int read_pod(struct admission *self, const char *body, size_t n, struct err *err)
{
	return review_read_pod(body, n, &self->scratch->arena, &self->review, &self->pod, err);
}

/* Skips everything except the creation of a pod. */
static const char *foreign_reason(const struct admission *self, bool has_no_pod)
{
	const struct review *review = &self->review;

	if (!streq(review->kind, "Pod") || review->group[0])
		return "not-a-pod";
	if (review->sub_resource[0])
		return "sub-resource";
	return streq(review->operation, "CREATE") && !has_no_pod ? NULL : "not-create";
}

/* "raise: 2 sizes set, 3 findings", for the API server's audit log. */
static int audit_decision(struct admission *self, const struct decision *decision)
{
	return admission_audit(self, "decision",
			       arena_printf(&self->scratch->arena, "%s: %zu size%s, %zu finding%s, workload %s",
					    mode_names[decision->mode], decision->n_sizes, PLURAL(decision->n_sizes),
					    decision->n_findings, PLURAL(decision->n_findings),
					    decision->workload_id[0] ? decision->workload_id : "unknown"));
}

static int render(struct admission *self, const struct decide_input *input, const struct decision *decision)
{
	struct strbuf *patch = &self->scratch->patch;
	int r = render_patch(input, decision, &self->scratch->arena, patch);

	if (r == RENDER_NO_ROOM)
		return admission_skip_audited(self, ADMISSION_NO_ROOM);
	admission_count_findings(self, decision);
	if (!r && !k8s_pod_controller(&self->pod))
		r = render_warnings(input, decision, &self->scratch->arena, &self->response.warnings,
				    &self->response.n_warnings);
	if (!r)
		r = audit_decision(self, decision);
	if (r)
		return r;
	if (patch->len)
		self->response.patch = strbuf_text(patch);
	self->result = patch->len ? RESULT_PATCHED : RESULT_UNCHANGED;
	return 0;
}

static int decide_pod(struct admission *self, struct err *err)
{
	const struct config *config = self->world->state->config;
	struct decide_input input = {
		.pod = &self->pod,
		.subject = SUBJECT_POD,
		.namespace_name = self->review.namespace_name,
		.replicas = 1,
		.snapshot = self->world->state->snapshot,
		.policy = &config->policy,
		.now_ms = self->world->now_ms,
	};
	struct decision decision;
	int r = decide(&input, &self->scratch->arena, &decision, err);

	if (r)
		return r;
	self->mode = decision.mode;
	if (decision.skip)
		return admission_skip_audited(self, decision.skip);
	r = render(self, &input, &decision);
	if (!r && self->response.patch && config->log.audit)
		audit_pod(self->world->log, &self->review, &self->pod, &decision);
	return r;
}

const struct admission_webhook admission_mutate = {
	.requests = METRIC_ADMISSIONS,
	.skipped = METRIC_SKIPPED,
	.errors = METRIC_ERRORS,
	.findings = METRIC_FINDINGS,
	.read = read_pod,
	.foreign = foreign_reason,
	.decide = decide_pod,
};
