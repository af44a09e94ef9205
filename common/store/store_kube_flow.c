/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of requests, a window of them at a time. */
#include "store/store_kube.h"

#include <errno.h>

static void fail(struct kube_job *job, const struct err *why)
{
	if (job->flow->n_failed++)
		return;
	job->flow->err = *why;
	job->flow->name(job, &job->flow->err);
}

/* A chain whose callbacks submitted nothing has ended. */
static void end_step(struct kube_job *job, int r, const struct err *err)
{
	if (r)
		fail(job, err);
	if (job->call)
		return;
	job->is_busy = false;
	job->flow->in_flight--;
}

static void on_done(void *context, const struct kube_result *result)
{
	struct kube_job *job = context;
	struct err err = result->err;

	err.code = store_kube_errno(result->code);
	job->call = NULL;
	end_step(job, job->flow->answered(job, result, &err), &err);
}

static int on_piece(void *context, const char *bytes, size_t n)
{
	struct kube_job *job = context;

	return strbuf_add(&job->answer, bytes, n);
}

int kube_flow_object(struct kube_job *job, struct arena *arena, struct kube_object *ret, struct err *err)
{
	arena_reset(arena);
	return kube_object_scan(strbuf_text(&job->answer), job->answer.len, arena, ret, err);
}

int kube_flow_submit(struct kube_job *job, struct kube_request *request, struct err *err)
{
	strbuf_clear(&job->answer);
	request->piece = on_piece;
	request->done = on_done;
	request->context = job;
	return kube_client_submit(job->flow->store->client, request, &job->call, err);
}

static void start_next(struct kube_flow *self)
{
	struct kube_job *job = self->jobs;
	struct err err = ERR_INIT;

	while (job->is_busy)
		job++;
	job->flow = self;
	job->index = self->next++;
	job->step = 0;
	job->is_busy = true;
	self->in_flight++;
	end_step(job, self->start(job, &err), &err);
}

static void flow_init(struct kube_flow *self)
{
	self->scratch = (struct arena)ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	for (size_t i = 0; i < STORE_KUBE_WINDOW; i++)
		self->jobs[i] = (struct kube_job){.answer = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES)};
}

static void flow_release(struct kube_flow *self)
{
	for (size_t i = 0; i < STORE_KUBE_WINDOW; i++) {
		if (self->jobs[i].is_busy)
			kube_client_cancel(self->store->client, self->jobs[i].call);
		strbuf_release(&self->jobs[i].answer);
	}
	arena_release(&self->scratch);
}

static int end(struct kube_flow *self, struct err *err)
{
	if (!self->n_failed)
		return 0;
	if (err)
		*err = self->err;
	if (self->n_failed > 1)
		err_wrap(err, "%zu objects failed, the first", self->n_failed);
	return self->err.code;
}

int kube_flow_run(struct kube_flow *self, struct err *err)
{
	int r = 0;

	flow_init(self);
	while (!r) {
		bool may_start = self->n_failed < STORE_KUBE_MAX_FAILURES;

		if (store_is_cancelled(&self->store->base))
			r = err_set(err, -ECANCELED, "stopped between two objects");
		while (!r && may_start && self->next < self->n && self->in_flight < STORE_KUBE_WINDOW)
			start_next(self);
		if (r || !self->in_flight) {
			if (r || self->next == self->n || !may_start)
				break;
			continue;
		}
		r = kube_client_poll(self->store->client, NULL, 0, STORE_KUBE_POLL_MS, err);
	}
	flow_release(self);
	return r ? r : end(self, err);
}
