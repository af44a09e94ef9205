/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/admission.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "k8s/review.h"
#include "policy/render.h"

#include <errno.h>
#include <time.h>

#define ADMISSION_ARENA_BYTES (8 * MIB)

void admission_scratch_init(struct admission_scratch *self)
{
	*self = (struct admission_scratch){
		.arena = ARENA_INIT(ADMISSION_ARENA_BYTES),
		.patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES),
	};
}

void admission_scratch_release(struct admission_scratch *self)
{
	arena_release(&self->arena);
	strbuf_release(&self->patch);
}

/* One review on its way. */
struct admission {
	struct admission_scratch *scratch;
	struct metrics *metrics;
	const struct state *state;
	int64_t now_ms;
	struct review review;
	struct k8s_pod pod;
	struct decision decision;
	struct review_response response;
	enum metric_result result;
};

static int64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* What is not a pod being created is none of our business, whoever sent it here. */
static const char *foreign_reason(const struct review *review, bool has_no_pod)
{
	if (!streq(review->kind, "Pod") || review->group[0])
		return "not-a-pod";
	if (review->sub_resource[0])
		return "sub-resource";
	return streq(review->operation, "CREATE") && !has_no_pod ? NULL : "not-create";
}

static int add_audit(struct admission *self, const char *key, const char *value)
{
	struct k8s_label *item = arena_alloc(&self->scratch->arena, sizeof(*item));

	if (!item)
		return -ENOMEM;
	*item = (struct k8s_label){key, value};
	self->response.audit_annotations = item;
	self->response.n_audit_annotations = 1;
	return 0;
}

static void skip(struct admission *self, const char *reason)
{
	self->result = RESULT_SKIPPED;
	metrics_count(self->metrics, METRIC_SKIPPED, metrics_label(METRIC_SKIPPED, 0, reason), 0, 0);
}

static void count_findings(const struct admission *self)
{
	for (size_t i = 0; i < self->decision.n_findings; i++)
		metrics_count(self->metrics, METRIC_FINDINGS, self->decision.findings[i].check,
			      self->decision.findings[i].action, 0);
}

/* "raise: 2 sizes set, 3 findings", for the API server's audit log. */
static int audit_decision(struct admission *self)
{
	const struct decision *decision = &self->decision;
	const char *text = arena_printf(&self->scratch->arena, "%s: %zu sizes, %zu findings, workload %s",
					mode_names[decision->mode], decision->n_sizes, decision->n_findings,
					decision->workload_id[0] ? decision->workload_id : "unknown");

	return text ? add_audit(self, "decision", text) : -ENOMEM;
}

static void log_patch(const struct admission *self)
{
	const struct decision *decision = &self->decision;

	log_event(LOG_DEBUG, "pod decided", "uid", self->review.uid, "namespace", self->review.namespace_name, "pod",
		  self->pod.name[0] ? self->pod.name : self->pod.generate_name, "workload", decision->workload_id,
		  "mode", mode_names[decision->mode], "sizes", log_i64(decision->n_sizes), "findings",
		  log_i64(decision->n_findings), NULL);
}

static int render(struct admission *self, const struct decide_input *input)
{
	struct strbuf *patch = &self->scratch->patch;
	int r = render_patch(input, &self->decision, &self->scratch->arena, patch);

	if (!r && !k8s_pod_controller(&self->pod))
		r = render_warnings(input, &self->decision, &self->scratch->arena, &self->response.warnings,
				    &self->response.n_warnings);
	if (!r)
		r = audit_decision(self);
	if (r)
		return r;
	if (patch->len)
		self->response.patch = strbuf_text(patch);
	self->result = patch->len ? RESULT_PATCHED : RESULT_UNCHANGED;
	return 0;
}

/* Decide about the pod in the review. Errors are the caller's to turn into "allowed, no patch". */
static int admit_pod(struct admission *self, struct err *err)
{
	const struct policy *policy = &self->state->config->policy;
	struct decide_input input = {
		.pod = &self->pod,
		.subject = SUBJECT_POD,
		.namespace_name = self->review.namespace_name,
		.replicas = 1,
		.snapshot = self->state->snapshot,
		.policy = policy,
		.now_ms = self->now_ms,
	};
	int r = decide(&input, &self->scratch->arena, &self->decision, err);

	if (r)
		return r;
	if (self->decision.skip) {
		skip(self, self->decision.skip);
		return add_audit(self, "skip", self->decision.skip);
	}
	count_findings(self);
	log_patch(self);
	return render(self, &input);
}

static void fail_open(struct admission *self, enum metric_error reason, const struct err *err)
{
	metrics_count(self->metrics, METRIC_ERRORS, reason, 0, 0);
	log_event(LOG_WARN, "pod allowed without a decision", "uid", self->review.uid, "namespace",
		  self->review.namespace_name, "where", err->where, "error", err->msg, NULL);
	self->result = RESULT_ERROR;
	self->response = (struct review_response){.is_allowed = true};
}

/* `read_result` and `err` are what review_read_pod said; the uid is known, so the answer is always "allowed". */
static void admit(struct admission *self, int read_result, struct err *err)
{
	const char *foreign = read_result < 0 ? NULL : foreign_reason(&self->review, read_result == REVIEW_NO_POD);

	self->response.is_allowed = true;
	if (foreign) {
		skip(self, foreign);
	} else if (read_result < 0) {
		fail_open(self, ERROR_POD, err);
	} else if (!self->state) {
		err_set(err, -EAGAIN, "no snapshot yet");
		fail_open(self, ERROR_INTERNAL, err);
	} else if (admit_pod(self, err)) {
		fail_open(self, ERROR_INTERNAL, err);
	}
}

static void scratch_clear(struct admission_scratch *self)
{
	arena_reset(&self->arena);
	strbuf_clear(&self->patch);
}

int admission_review(struct admission_scratch *scratch, struct metrics *metrics, const struct state *state,
		     const char *body, size_t n, int64_t now_ms, struct strbuf *ret_answer, struct err *err)
{
	struct admission self = {.scratch = scratch, .metrics = metrics, .state = state, .now_ms = now_ms};
	int64_t start_ns = monotonic_ns();
	int r;

	scratch_clear(scratch);
	r = review_read_pod(body, n, &scratch->arena, &self.review, &self.pod, err);
	if (r < 0 && !self.review.uid[0]) {
		metrics_count(metrics, METRIC_ERRORS, r == -ENOMEM ? ERROR_INTERNAL : ERROR_UNREADABLE, 0, 0);
		return r == -ENOMEM ? r : -EINVAL;
	}
	admit(&self, r, err);
	r = review_render(&self.review, &self.response, ret_answer);
	metrics_count(metrics, METRIC_ADMISSIONS, self.result, self.decision.mode, self.review.is_dry_run);
	metrics_observe_ns(metrics, METRIC_DURATION, monotonic_ns() - start_ns);
	return r ? err_set(err, r, "the answer does not fit") : 0;
}
