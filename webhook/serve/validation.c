/* SPDX-License-Identifier: Apache-2.0 */
/* /validate: an object that makes pods gets, when it is made or its spec is changed, the findings of its pod templates
 * as warnings, so that `kubectl apply --dry-run=server` shows them. Never a patch; refused only where a check is
 * configured to deny. */
#include "serve/admission_internal.h"

#include "policy/workload.h"

#include <errno.h>

static int read_workload(struct admission *self, const char *body, size_t n, struct err *err)
{
	return review_read_workload(body, n, &self->scratch->arena, &self->review, &self->object,
				    &self->is_spec_changed, err);
}

/* An object made by a controller is silent: its own owner was judged. */
static const char *foreign_reason(const struct admission *self, bool has_no_object)
{
	const struct review *review = &self->review;
	const struct kind *kind = kind_find(review->group, review->kind);
	bool is_update = streq(review->operation, "UPDATE");

	if (!kind || (streq(kind->name, "Pod") && !kind->group[0]))
		return "not-a-workload";
	if (!kind->template_paths && !kind->object_paths)
		return "no-template";
	if (review->sub_resource[0])
		return "sub-resource";
	if (has_no_object || (!is_update && !streq(review->operation, "CREATE")))
		return "not-create-or-update";
	if (kind_is_controlled(self->object))
		return "controlled";
	return is_update && !self->is_spec_changed ? "spec-unchanged" : NULL;
}

/* The templates of one object, decided about. */
struct validation {
	const struct workload_template **items; /* without those that could not be read */
	size_t n, n_skipped, n_findings;
	const char *skip; /* why the first was not looked at */
	bool is_denied;
};

static int decide_template(struct admission *self, const struct kind_template *from, struct validation *all,
			   struct err *err)
{
	struct arena *arena = &self->scratch->arena;
	struct workload_template *item = arena_alloc(arena, sizeof(*item));
	int r = item ? workload_template_read(from, self->review.namespace_name, arena, item, err)
		     : err_set(err, -ENOMEM, "out of memory");

	if (r)
		return r;
	item->input.snapshot = self->state->snapshot;
	item->input.policy = &self->state->config->policy;
	item->input.now_ms = self->now_ms;
	r = decide(&item->input, arena, &item->decision, err);
	if (r)
		return r;
	admission_count_findings(self, &item->decision);
	if (item->decision.skip && !all->n_skipped++)
		all->skip = item->decision.skip;
	all->n_findings += item->decision.n_findings;
	all->is_denied |= item->decision.is_denied;
	self->mode = MAX(self->mode, item->decision.mode);
	all->items[all->n++] = item;
	return 0;
}

/* A template that cannot be read (the API server will say so) does not silence the others. */
static int decide_templates(struct admission *self, const struct kind_template *templates, size_t n,
			    struct validation *all, struct err *err)
{
	size_t n_bad = 0;

	for (size_t i = 0; i < n; i++) {
		int r = decide_template(self, &templates[i], all, err);

		if (r && r != -EINVAL && r != -E2BIG)
			return r;
		n_bad += r != 0;
	}
	if (n && n_bad == n)
		return -EINVAL;
	if (n_bad)
		metrics_count(self->metrics, self->webhook->errors, ERROR_POD, 0, 0);
	return 0;
}

static int answer(struct admission *self, const struct validation *all)
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
	struct arena *arena = &self->scratch->arena;
	struct kind_template *templates = NULL;
	struct validation all = {.n = 0};
	size_t n = 0;
	int r = kind_templates_of_doc(self->object, arena, &templates, &n, err);

	if (r)
		return r == -E2BIG ? -EINVAL : r;
	all.items = arena_array(arena, n + 1, sizeof(*all.items));
	if (!all.items)
		return err_set(err, -ENOMEM, "out of memory");
	r = decide_templates(self, templates, n, &all, err);
	if (r)
		return r;
	if (all.n_skipped == all.n) {
		admission_skip(self, all.n ? all.skip : "no-template");
		return admission_audit(self, "skip", all.n ? all.skip : "no-template");
	}
	return answer(self, &all);
}

static const struct admission_webhook validate = {
	.requests = METRIC_VALIDATIONS,
	.skipped = METRIC_VALIDATION_SKIPPED,
	.errors = METRIC_VALIDATION_ERRORS,
	.findings = METRIC_VALIDATION_FINDINGS,
	.duration = METRIC_VALIDATION_DURATION,
	.read = read_workload,
	.foreign = foreign_reason,
	.decide = decide_workload,
};

int admission_validate(struct admission_scratch *scratch, struct metrics *metrics, const struct state *state,
		       const char *body, size_t n, int64_t now_ms, struct strbuf *ret_answer, struct err *err)
{
	return admission_handle(&validate, scratch, metrics, state, body, n, now_ms, ret_answer, err);
}
