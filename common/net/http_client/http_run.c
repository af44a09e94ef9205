/* SPDX-License-Identifier: Apache-2.0 */
/* The queue and the loop. At most n_slots handles are in the multi handle at a time: curl could queue more, but then
 * the time in the queue would count against a request's timeout. curl forbids multi calls inside its callbacks, so
 * requests are started and ended only here, between two calls of curl_multi_perform. */
#include "base/timefmt.h"
#include "http_client/http_internal.h"

#include <errno.h>
#include <poll.h>

#define HTTP_POLL_MAX_FDS 16
/* curl takes an int */
#define MAX_WAIT_MS TIME_HOUR_MS

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

/* The result borrows from the slot, so the slot is freed after the callback. Requests that the callback submits are
 * only queued. */
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

/* @return whether the job is under way; otherwise it has ended already. */
static bool start_job(struct slot *slot, struct job *take_job)
{
	struct http_client *self = slot->client;
	struct err err = ERR_INIT;
	CURLMcode code;
	int r;

	slot->job = take_job;
	if (take_job->is_cancelled) {
		cancel_job(slot);
		return false;
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
	return !r;
}

/* @return whether a job has ended, so that its callback was called. */
static bool fill_slots(struct http_client *self)
{
	bool has_ended = false;

	for (size_t i = 0; i < self->n_slots && self->queue_head; i++)
		while (!self->slots[i].job && self->queue_head)
			has_ended |= !start_job(&self->slots[i], dequeue(self));
	return has_ended;
}

/* Ends the transfers that http_client_cancel and http_client_break_lane have marked. */
static void end_marked(struct http_client *self)
{
	if (!self->has_marked_jobs)
		return;
	self->has_marked_jobs = false;
	for (size_t i = 0; i < self->n_slots; i++) {
		struct slot *slot = &self->slots[i];
		bool is_broken = slot->job && slot->job->lane && slot->job->lane->is_broken;

		if (!slot->job || !(slot->job->is_cancelled || is_broken))
			continue;
		curl_multi_remove_handle(self->multi, slot->easy);
		self->n_busy--;
		if (slot->job->is_cancelled)
			cancel_job(slot);
		else
			fail_job(slot, HTTP_TIMED_OUT, &slot->job->lane->why);
	}
	lanes_close_broken(self);
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
		/* removing the handle frees the message */
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
		curl_multi_remove_handle(self->multi, slot->easy);
		self->n_busy--;
		transfer_result(slot, code, &result);
		end_job(slot, &result);
	}
	end_marked(self);
}

void run_cancel(struct http_client *self, const struct err *why)
{
	struct job *job;

	/* requests that callbacks submit from here on are refused, so nothing is left afterwards */
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

/* Why the run must end before all requests have ended; 0: it need not. */
static int end_reason(struct http_client *self, int64_t deadline_ms, struct err *ret_why)
{
	if (atomic_load(&self->is_interrupted))
		return err_set(ret_why, -ECANCELED, "interrupted");
	if (deadline_ms && time_monotonic_ms() >= deadline_ms)
		return err_set(ret_why, -ETIME, "the time for all requests together is over");
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
	code = curl_multi_poll(self->multi, waits, (unsigned int)n_fds, (int)MIN(MAX(wait_ms, 0), MAX_WAIT_MS), NULL);
	for (size_t i = 0; i < n_fds; i++)
		fds[i].revents = (short)((waits[i].revents & CURL_WAIT_POLLIN ? POLLIN : 0) |
					 (waits[i].revents & CURL_WAIT_POLLOUT ? POLLOUT : 0));
	return code;
}

/* One round, at most until the deadline. */
static int step(struct http_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms, int64_t deadline_ms,
		struct err *err)
{
	struct err why = ERR_INIT;
	CURLMcode code;
	int running = 0, r = end_reason(self, deadline_ms, &why) ? 1 : 0;

	if (!r) {
		/* Waiting comes first, so that the caller sees the effects of callbacks before the next wait. A handle
		 * that was just added ends the wait at once. */
		end_marked(self);
		if (fill_slots(self) || self->has_marked_jobs)
			wait_ms = 0;
		code = wait_for(self, fds, n_fds, wait_ms);
		if (!code)
			code = curl_multi_perform(self->multi, &running);
		if (!code) {
			reap(self);
			fill_slots(self);
			return 0;
		}
		r = err_set(&why, -EIO, "%s", curl_multi_strerror(code));
	}
	run_cancel(self, &why);
	return err_set(err, r, "%s", why.msg);
}

int http_client_run(struct http_client *self, int64_t deadline_ms, struct err *err)
{
	int r = 0;

	while ((self->n_busy || self->queue_head) && !r)
		r = step(self, NULL, 0, deadline_ms ? deadline_ms - time_monotonic_ms() : MAX_WAIT_MS, deadline_ms,
			 err);
	return r;
}

int http_client_poll(struct http_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms, struct err *err)
{
	if (n_fds > HTTP_POLL_MAX_FDS)
		return err_set(err, -EINVAL, "more than %d files to wait for", HTTP_POLL_MAX_FDS);
	return step(self, fds, n_fds, wait_ms, 0, err);
}

void http_client_cancel(struct http_client *self, const void *context)
{
	for (struct job *job = self->queue_head; job; job = job->next)
		job->is_cancelled |= job->request.context == context;
	for (size_t i = 0; i < self->n_slots; i++)
		if (self->slots[i].job && self->slots[i].job->request.context == context)
			self->slots[i].job->is_cancelled = self->has_marked_jobs = true;
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

int http_client_fetch(struct http_client *self, const struct http_request *request, int64_t deadline_ms,
		      struct strbuf *ret_body, long *ret_status, struct err *err)
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
		r = http_client_run(self, deadline_ms, err);
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
