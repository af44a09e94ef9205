/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that all webhooks share: read the review, check whether it concerns memtamer, decide, answer, count. */
#include "serve/admission_internal.h"

#include "base/limits.h"
#include "k8s/doc.h"

#include <errno.h>

/* Memory for reading and deciding is linear in the body: a copy of its strings, up to 160 bytes for each value that is
 * kept (LIMIT_PROJECTED_TOKENS) and 4 KiB for each container (LIMIT_OBJECT_CONTAINERS). An object that needs more is
 * not decided. */
#define ADMISSION_ARENA_BYTES (12 * MIB)
/* Memory that is kept for the next patch; the arena keeps as much. */
#define KEPT_BYTES (64 * KIB)

void admission_scratch_init(struct admission_scratch *self)
{
	*self = (struct admission_scratch){
		.arena = ARENA_INIT(ADMISSION_ARENA_BYTES),
		.patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES),
	};
}

void admission_scratch_clear(struct admission_scratch *self)
{
	arena_reset(&self->arena);
	if (self->patch.capacity > KEPT_BYTES)
		strbuf_release(&self->patch);
	strbuf_clear(&self->patch);
}

void admission_scratch_release(struct admission_scratch *self)
{
	arena_release(&self->arena);
	strbuf_release(&self->patch);
}

int admission_audit(struct admission *self, const char *key, const char *value)
{
	struct k8s_label *item = value ? arena_alloc(&self->scratch->arena, sizeof(*item)) : NULL;

	if (!item)
		return -ENOMEM;
	*item = (struct k8s_label){key, value};
	self->response.audit_annotations = item;
	self->response.n_audit_annotations = 1;
	return 0;
}

void admission_skip(struct admission *self, const char *reason)
{
	enum metric_id id = self->webhook->skipped;

	self->result = RESULT_SKIPPED;
	metrics_count(self->world->metrics, id, metrics_label(id, 0, reason), 0, 0);
}

int admission_skip_audited(struct admission *self, const char *reason)
{
	admission_skip(self, reason);
	return admission_audit(self, "skip", reason);
}

void admission_count_findings(const struct admission *self, const struct decision *decision)
{
	for (size_t i = 0; i < decision->n_findings; i++)
		metrics_count(self->world->metrics, self->webhook->findings, decision->findings[i].check,
			      decision->findings[i].action, 0);
}

static void fail_open(struct admission *self, enum metric_error reason, const struct err *err)
{
	metrics_count(self->world->metrics, self->webhook->errors, reason, 0, 0);
	client_log(self->world->log, LINE_NO_DECISION, "uid", self->review.uid, "kind", self->review.kind, "namespace",
		   self->review.namespace_name, "where", err->where, "error", err->msg, NULL);
	self->result = RESULT_ERROR;
	self->response = (struct review_response){.is_allowed = true};
}

/* `read_result` and `err` are the result of reading; the uid is known, so there is always an answer. */
static void admit(struct admission *self, int read_result, struct err *err)
{
	const char *foreign = read_result < 0 ? NULL : self->webhook->foreign(self, read_result > 0);
	int r;

	self->response.is_allowed = true;
	if (foreign) {
		admission_skip(self, foreign);
		return;
	}
	if (read_result < 0) {
		fail_open(self, ERROR_POD, err);
		return;
	}
	r = self->webhook->decide(self, err);
	if (r == -E2BIG)
		r = err_set(err, -EINVAL, "the patch or its annotation would be too long");
	r = doc_reading_ended(&self->scratch->arena, r, err);
	if (r)
		fail_open(self, r == -EINVAL ? ERROR_POD : ERROR_INTERNAL, err);
}

int admission_review(const struct admission_webhook *webhook, struct admission_scratch *scratch,
		     const struct admission_world *world, const char *body, size_t n, struct strbuf *ret_answer,
		     struct err *err)
{
	struct admission self = {.webhook = webhook, .scratch = scratch, .world = world};
	struct metrics *metrics = world->metrics;
	int r;

	/* Reports a failure. An answer without a patch would look like a decision. A failed request is counted and
	 * logged by the API server, which allows the object. */
	if (!world->state)
		return err_set(err, -EAGAIN, "there is no snapshot yet");
	admission_scratch_clear(scratch);
	r = webhook->read(&self, body, n, err);
	if (r < 0)
		r = doc_reading_ended(&scratch->arena, r, err);
	if (r < 0 && !self.review.uid[0]) {
		metrics_count(metrics, webhook->errors, r == -ENOMEM ? ERROR_INTERNAL : ERROR_UNREADABLE, 0, 0);
		return r == -ENOMEM ? r : -EINVAL;
	}
	admit(&self, r, err);
	r = review_render(&self.review, &self.response, ret_answer);
	metrics_count(metrics, webhook->requests, self.result, self.mode, self.review.is_dry_run);
	return r ? err_set(err, r, "the answer does not fit") : 0;
}
