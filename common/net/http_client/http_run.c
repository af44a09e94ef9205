/* SPDX-License-Identifier: Apache-2.0 */
/* The queue and the loop. At most n_slots handles are in the multi handle at a time: curl would queue more by itself,
 * but then a request's timeout would run while it waits. curl forbids multi calls inside its callbacks, so requests are
 * started and ended only here, between two calls of curl_multi_perform. */
#include "base/timefmt.h"
#include "http_client/http_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS		  1000
#define HTTP_POLL_MAX_FDS 16
/* curl takes an int */
#define CLAMP_WAIT(ms) MIN(MAX((ms), 0), 60 * 60 * 1000)

void job_free(struct job *job)
{
	if (!job)
		return;
	curl_slist_free_all(job->header_lines);
	free(job->path);
	free(job->method);
	free(job->body);
	free(job);
}

static int copy_job(struct job *job, const struct http_request *request, struct err *err)
{
	const char *type = request->content_type ? request->content_type : "application/x-www-form-urlencoded";
	int r = 0;

	job->request = *request;
	if (copy_text(&job->path, request->path ? request->path : "") || copy_text(&job->method, request->method))
		return err_set(err, -ENOMEM, "out of memory");
	if (has_control_character(job->path) || strchr(job->path, ' '))
		return err_set(err, -EINVAL, "the path of a request holds a space or a control character");
	if (request->body) {
		job->body = malloc(request->body_bytes + 1);
		if (!job->body)
			return err_set(err, -ENOMEM, "out of memory");
		memcpy(job->body, request->body, request->body_bytes);
		r = header_append(&job->header_lines, "Content-Type", type, err);
	}
	return r ? r : headers_append(&job->header_lines, request->headers, request->n_headers, err);
}

int http_client_submit(struct http_client *self, const struct http_request *request, struct err *err)
{
	struct job *job = calloc(1, sizeof(*job));
	int r;

	if (self->is_cancelling) {
		free(job);
		return err_set(err, -ECANCELED, "the requests are being cancelled");
	}
	if (!job)
		return err_set(err, -ENOMEM, "out of memory");
	r = copy_job(job, request, err);
	if (r) {
		job_free(job);
		return r;
	}
	*self->queue_tail = job;
	self->queue_tail = &job->next;
	return 0;
}

static struct job *dequeue(struct http_client *self)
{
	struct job *job = self->queue_head;

	if (!job)
		return NULL;
	self->queue_head = job->next;
	if (!self->queue_head)
		self->queue_tail = &self->queue_head;
	job->next = NULL;
	return job;
}

/* The result borrows from the slot, so the slot is freed behind the callback; what that submits is only queued. */
static void end_job(struct slot *slot, const struct http_result *result)
{
	http_done_fn *done = slot->job->request.done;
	void *context = slot->job->request.context;

	if (done)
		done(context, result);
	transfer_finish(slot);
}

static void fail_job(struct slot *slot, enum http_outcome outcome, const struct err *why)
{
	struct http_result result = {.outcome = outcome, .content_type = "", .error_body = "", .err = *why};

	transfer_where(slot, result.err.where, sizeof(result.err.where));
	end_job(slot, &result);
}

static void cancel_job(struct slot *slot)
{
	struct err why = ERR_INIT;

	err_set(&why, -ECANCELED, "cancelled");
	fail_job(slot, HTTP_CANCELLED, &why);
}

static void start_job(struct slot *slot, struct job *take_job)
{
	struct http_client *self = slot->client;
	struct err err = ERR_INIT;
	CURLMcode code;
	int r;

	slot->job = take_job;
	if (take_job->is_cancelled) {
		cancel_job(slot);
		return;
	}
	r = transfer_prepare(slot, &err);
	if (!r) {
		code = curl_multi_add_handle(self->multi, slot->easy);
		if (code)
			r = err_set(&err, -EIO, "%s", curl_multi_strerror(code));
	}
	if (r)
		fail_job(slot, HTTP_FAILED_LOCALLY, &err);
	else
		self->n_busy++;
}

static void fill_slots(struct http_client *self)
{
	for (size_t i = 0; i < self->n_slots && self->queue_head; i++)
		while (!self->slots[i].job && self->queue_head)
			start_job(&self->slots[i], dequeue(self));
}

/* End what http_client_cancel marked while under way. */
static void end_cancelled(struct http_client *self)
{
	if (!self->has_cancelled_jobs)
		return;
	self->has_cancelled_jobs = false;
	for (size_t i = 0; i < self->n_slots; i++) {
		struct slot *slot = &self->slots[i];

		if (!slot->job || !slot->job->is_cancelled)
			continue;
		curl_multi_remove_handle(self->multi, slot->easy);
		self->n_busy--;
		cancel_job(slot);
	}
}

static void reap(struct http_client *self)
{
	struct CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(self->multi, &left))) {
		struct http_result result;
		struct slot *slot = NULL;
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		/* the message dies with the handle's removal */
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
		curl_multi_remove_handle(self->multi, slot->easy);
		self->n_busy--;
		transfer_result(slot, code, &result);
		end_job(slot, &result);
	}
	end_cancelled(self);
}

void run_cancel(struct http_client *self, const struct err *why)
{
	struct job *job;

	/* what callbacks submit from here on is refused: afterwards nothing is left */
	self->is_cancelling = true;
	for (size_t i = 0; i < self->n_slots; i++) {
		struct slot *slot = &self->slots[i];

		if (!slot->job)
			continue;
		curl_multi_remove_handle(self->multi, slot->easy);
		self->n_busy--;
		fail_job(slot, HTTP_CANCELLED, why);
	}
	while ((job = dequeue(self))) {
		self->slots[0].job = job;
		fail_job(&self->slots[0], HTTP_CANCELLED, why);
	}
	self->is_cancelling = false;
}

/* Why the run must end before its work is done; 0 when it need not. */
static int end_reason(struct http_client *self, int64_t deadline_ms, struct err *ret_why)
{
	if (atomic_load(&self->is_interrupted))
		return err_set(ret_why, -ECANCELED, "interrupted");
	if (deadline_ms && time_monotonic_ms() >= deadline_ms)
		return err_set(ret_why, -ETIME, "the time for all requests together is over");
	return 0;
}

static int step(struct http_client *self, int64_t deadline_ms, struct err *err)
{
	int running = 0;
	int64_t wait_ms = POLL_MS;
	CURLMcode code = curl_multi_perform(self->multi, &running);

	if (!code) {
		reap(self);
		fill_slots(self);
		if (!self->n_busy)
			return 0;
		if (deadline_ms)
			wait_ms = MIN(wait_ms, MAX(0, deadline_ms - time_monotonic_ms()));
		code = curl_multi_poll(self->multi, NULL, 0, (int)wait_ms, NULL);
	}
	return code ? err_set(err, -EIO, "%s", curl_multi_strerror(code)) : 0;
}

int http_client_run(struct http_client *self, int64_t deadline_ms, struct err *err)
{
	struct err why = ERR_INIT;
	int r = 0;

	while (self->n_busy || self->queue_head) {
		if (end_reason(self, deadline_ms, &why)) {
			run_cancel(self, &why);
			err_set(err, 1, "%s", why.msg);
			return 1;
		}
		fill_slots(self);
		r = self->n_busy ? step(self, deadline_ms, err) : 0;
		if (r) {
			run_cancel(self, err);
			return r;
		}
	}
	return 0;
}

static CURLMcode wait_for(struct http_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms)
{
	struct curl_waitfd waits[HTTP_POLL_MAX_FDS];
	CURLMcode code;

	for (size_t i = 0; i < n_fds; i++)
		waits[i] = (struct curl_waitfd){
			.fd = fds[i].fd,
			.events = (short)((fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
					  (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0)),
		};
	code = curl_multi_poll(self->multi, waits, (unsigned int)n_fds, (int)CLAMP_WAIT(wait_ms), NULL);
	for (size_t i = 0; i < n_fds; i++)
		fds[i].revents = (short)((waits[i].revents & CURL_WAIT_POLLIN ? POLLIN : 0) |
					 (waits[i].revents & CURL_WAIT_POLLOUT ? POLLOUT : 0));
	return code;
}

int http_client_poll(struct http_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms, struct err *err)
{
	struct err why = ERR_INIT;
	CURLMcode code;
	int running = 0;

	if (n_fds > HTTP_POLL_MAX_FDS)
		return err_set(err, -EINVAL, "more than %d files to wait for", HTTP_POLL_MAX_FDS);
	if (end_reason(self, 0, &why)) {
		run_cancel(self, &why);
		err_set(err, 1, "%s", why.msg);
		return 1;
	}
	/* Waiting comes first: what callbacks bring about is then the caller's before it waits again. A handle that was
	 * just added ends the waiting at once. */
	fill_slots(self);
	code = wait_for(self, fds, n_fds, self->has_cancelled_jobs ? 0 : wait_ms);
	if (!code)
		code = curl_multi_perform(self->multi, &running);
	if (!code) {
		reap(self);
		fill_slots(self);
		return 0;
	}
	err_set(&why, -EIO, "%s", curl_multi_strerror(code));
	run_cancel(self, &why);
	return err_set(err, -EIO, "%s", why.msg);
}

void http_client_cancel(struct http_client *self, const void *context)
{
	for (struct job *job = self->queue_head; job; job = job->next)
		job->is_cancelled |= job->request.context == context;
	for (size_t i = 0; i < self->n_slots; i++)
		if (self->slots[i].job && self->slots[i].job->request.context == context)
			self->slots[i].job->is_cancelled = self->has_cancelled_jobs = true;
}

void http_client_interrupt(struct http_client *self)
{
	atomic_store(&self->is_interrupted, true);
	curl_multi_wakeup(self->multi);
}

struct fetch {
	struct strbuf *body;
	struct http_result result;
};

static int fetch_piece(void *context, const char *bytes, size_t n)
{
	struct fetch *fetch = context;

	return strbuf_add(fetch->body, bytes, n);
}

static void fetch_done(void *context, const struct http_result *result)
{
	struct fetch *fetch = context;

	fetch->result = *result;
	if (result->outcome == HTTP_STATUS)
		strbuf_add(fetch->body, result->error_body, result->error_body_bytes);
}

int http_client_fetch(struct http_client *self, const struct http_request *request, struct strbuf *ret_body,
		      long *ret_status, struct err *err)
{
	struct fetch fetch = {.body = ret_body};
	struct http_request own = *request;
	int r;

	own.head = NULL;
	own.body_piece = fetch_piece;
	own.done = fetch_done;
	own.context = &fetch;
	r = http_client_submit(self, &own, err);
	if (!r)
		r = http_client_run(self, 0, err);
	if (ret_status)
		*ret_status = fetch.result.status;
	if (r > 0)
		r = -ECANCELED;
	if (!r && fetch.result.outcome != HTTP_DONE) {
		if (err)
			*err = fetch.result.err;
		r = fetch.result.err.code;
	}
	return r;
}
