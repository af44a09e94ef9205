/* SPDX-License-Identifier: Apache-2.0 */
/* What both webhooks do with a review: read it, see whether it is ours, decide, answer, count. */
#include "serve/admission_internal.h"

#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <time.h>

#define ADMISSION_ARENA_BYTES (16 * MIB)

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
	strbuf_clear(&self->patch);
}

void admission_scratch_release(struct admission_scratch *self)
{
	arena_release(&self->arena);
	strbuf_release(&self->patch);
}

static int64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
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

void admission_count_findings(const struct admission *self, const struct decision *decision)
{
	for (size_t i = 0; i < decision->n_findings; i++)
		metrics_count(self->world->metrics, self->webhook->findings, decision->findings[i].check,
			      decision->findings[i].action, 0);
}

static void fail_open(struct admission *self, enum metric_error reason, const struct err *err)
{
	metrics_count(self->world->metrics, self->webhook->errors, reason, 0, 0);
	log_event(LOG_WARN, "allowed without a decision", "uid", self->review.uid, "kind", self->review.kind,
		  "namespace", self->review.namespace_name, "where", err->where, "error", err->msg, NULL);
	self->result = RESULT_ERROR;
	self->response = (struct review_response){.is_allowed = true};
}

/* `read_result` and `err` are what reading said; the uid is known, so there is always an answer. */
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
	if (r)
		fail_open(self, r == -EINVAL ? ERROR_POD : ERROR_INTERNAL, err);
}

int admission_handle(const struct admission_webhook *webhook, struct admission_scratch *scratch,
		     const struct admission_world *world, const char *body, size_t n, struct strbuf *ret_answer,
		     struct err *err)
{
	struct admission self = {.webhook = webhook, .scratch = scratch, .world = world};
	struct metrics *metrics = world->metrics;
	int64_t start_ns = monotonic_ns();
	int r;

	/* An answer without a patch would look like a decision; what fails, the API server allows, counts and tells. */
	if (!world->state)
		return err_set(err, -EAGAIN, "there is no snapshot yet");
	admission_scratch_clear(scratch);
	r = webhook->read(&self, body, n, err);
	if (r < 0 && !self.review.uid[0]) {
		metrics_count(metrics, webhook->errors, r == -ENOMEM ? ERROR_INTERNAL : ERROR_UNREADABLE, 0, 0);
		return r == -ENOMEM ? r : -EINVAL;
	}
	admit(&self, r, err);
	if (self.waits)
		return ADMISSION_WAITS;
	r = review_render(&self.review, &self.response, ret_answer);
	metrics_count(metrics, webhook->requests, self.result, self.mode, self.review.is_dry_run);
	metrics_observe_ns(metrics, webhook->duration, monotonic_ns() - start_ns);
	return r ? err_set(err, r, "the answer does not fit") : 0;
}
