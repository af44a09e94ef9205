/* SPDX-License-Identifier: Apache-2.0 */
/* One request: sent, answered, tried again. */
#include "base/limits.h"
#include "base/timefmt.h"
#include "kube/kube_internal.h"
#include "kube/kube_status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_DEPTH 128
#define MAX_TRIES    6
#define BACKOFF_MS   TIME_SECOND_MS
#define TIMEOUT_MS   (30 * TIME_SECOND_MS)
#define TOTAL_MS     (60 * TIME_SECOND_MS)

static void wipe(struct strbuf *buf)
{
	if (buf->text)
		explicit_bzero(buf->text, buf->capacity);
	strbuf_release(buf);
}

void call_free(struct kube_call *call)
{
	call->previous->next = call->next;
	call->next->previous = call->previous;
	free(call->path);
	/* they may have been a Secret */
	if (call->body)
		explicit_bzero(call->body, call->body_bytes);
	free(call->body);
	wipe(&call->answer);
	free(call);
}

void call_end(struct kube_call *call, const struct kube_result *result)
{
	struct kube_client *client = call->client;

	call->state = CALL_ENDED;
	if (call->is_cancelled)
		return;
	if (client->observe)
		client->observe(client->observe_context, call->verb, result->status);
	if (call->done)
		call->done(call->context, result);
}

void call_fail(struct kube_call *call, const struct err *why)
{
	struct kube_result result = {.code = why->code, .err = *why};

	call_end(call, &result);
}

static int on_head(void *context, long status, const char *content_type)
{
	struct kube_call *call = context;

	(void)status, (void)content_type;
	if (call->began && !call->is_cancelled)
		call->began(call->context);
	return 0;
}

static int on_piece(void *context, const char *bytes, size_t n)
{
	struct kube_call *call = context;

	if (call->is_cancelled)
		return -ECANCELED;
	if (!call->piece)
		return strbuf_add(&call->answer, bytes, n);
	call->has_streamed = true;
	return call->piece(call->context, bytes, n);
}

/* How long to wait before the next try; <0: there is none. */
static int64_t retry_delay_ms(struct kube_call *call, const struct http_result *http)
{
	bool is_asked = http->retry_after_s > 0 && (http->status == 429 || http->status >= 500);
	int64_t delay_ms = BACKOFF_MS << MIN(call->tries, 5);

	if (http->outcome != HTTP_STATUS || call->is_tried_once || call->has_streamed || call->is_cancelled ||
	    call->tries >= MAX_TRIES || !(is_asked || http->status == 429))
		return -1;
	if (is_asked)
		delay_ms = MIN(http->retry_after_s, 3600) * TIME_SECOND_MS;
	/* never before the server's wish; spread, because others were sent away at the same time */
	delay_ms += kube_client_random(call->client, 0, BACKOFF_MS);
	return time_monotonic_ms() + delay_ms < call->give_up_ms ? delay_ms : -1;
}

/* Credentials that the plugin gave earlier may have been taken back; with new ones it is tried once more. */
static bool wants_new_credentials(struct kube_call *call, const struct http_result *http)
{
	struct kube_client *client = call->client;

	if (http->outcome != HTTP_STATUS || http->status != 401 || !client->plugin || !call->generation)
		return false;
	kube_plugin_invalidate(client->plugin, call->generation);
	if (call->has_new_credentials || call->is_cancelled)
		return false;
	call->has_new_credentials = true;
	return true;
}

static void read_answer(struct kube_call *call, struct kube_result *result)
{
	int r = json_parse(strbuf_text(&call->answer), call->answer.len, ANSWER_DEPTH, &result->object, &result->err);

	if (!r)
		return;
	result->code = r;
	err_wrap(&result->err, "the answer is not JSON");
}

static void fill_result(struct kube_call *call, const struct http_result *http, struct kube_result *result)
{
	*result = (struct kube_result){.status = http->status, .retry_after_s = http->retry_after_s};
	if (http->outcome == HTTP_DONE) {
		if (!call->piece && call->answer.len)
			read_answer(call, result);
		return;
	}
	result->err = http->err;
	result->code = http->err.code;
	if (http->outcome == HTTP_STATUS)
		result->code = kube_status_of_http(http->status, http->error_body, http->error_body_bytes,
						   &result->err);
	else if (http->outcome == HTTP_ABORTED && http->err.code == -E2BIG && !call->piece)
		err_set_at(&result->err, -E2BIG, http->err.where, 0, 0, "the answer is longer than %zu bytes",
			   call->answer.max);
}

static void on_done(void *context, const struct http_result *http)
{
	struct kube_call *call = context;
	struct kube_result result;
	int64_t delay_ms = retry_delay_ms(call, http);

	if (wants_new_credentials(call, http))
		delay_ms = 0;
	if (delay_ms >= 0) {
		call->state = CALL_WAITS;
		call->retry_at_ms = time_monotonic_ms() + delay_ms;
		return;
	}
	fill_result(call, http, &result);
	call_end(call, &result);
	json_object_put(result.object);
}

static int submit(struct kube_call *call, const char *authorization, struct err *err)
{
	const struct http_client_header headers[] = {{"Accept", "application/json"}, {"Authorization", authorization}};
	const struct http_request request = {
		.method = verb_method(call->verb),
		.path = call->path,
		.body = call->body,
		.body_bytes = call->body_bytes,
		.content_type = call->content_type,
		.headers = headers,
		.n_headers = *authorization ? 2 : 1,
		.timeout_ms = call->timeout_ms,
		.stall_timeout_ms = call->stall_timeout_ms,
		.head = on_head,
		.body_piece = on_piece,
		.done = on_done,
		.context = call,
	};

	strbuf_clear(&call->answer);
	return http_client_submit(call->client->http, &request, err);
}

void call_start(struct kube_call *call)
{
	CLEANUP(wipe) struct strbuf authorization = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	struct err err = ERR_INIT;
	int r = auth_header(call->client, &authorization, &call->generation, &err);

	if (r > 0)
		return;
	call->tries++;
	call->state = CALL_IN_FLIGHT;
	if (!r)
		r = submit(call, strbuf_text(&authorization), &err);
	if (r)
		call_fail(call, &err);
}

static int copy_body(struct kube_call *call, const struct kube_request *request)
{
	const char *text;

	if (!request->body)
		return 0;
	text = json_object_to_json_string_length(request->body, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
						 &call->body_bytes);
	call->body = text ? strdup(text) : NULL;
	call->content_type = verb_content_type(request->verb);
	return call->body ? 0 : -ENOMEM;
}

static struct kube_call *new_call(struct kube_client *self, const struct kube_request *request)
{
	struct kube_call *call = calloc(1, sizeof(*call));
	int64_t total_ms = request->total_timeout_ms ? request->total_timeout_ms : TOTAL_MS;

	if (!call)
		return NULL;
	call->client = self;
	call->verb = request->verb;
	call->timeout_ms = request->timeout_ms ? request->timeout_ms : TIMEOUT_MS;
	call->stall_timeout_ms = request->stall_timeout_ms;
	call->give_up_ms = time_monotonic_ms() + total_ms;
	call->is_tried_once = request->is_tried_once;
	call->began = request->began;
	call->piece = request->piece;
	call->done = request->done;
	call->context = request->context;
	call->answer = (struct strbuf)STRBUF_INIT(request->max_answer_bytes ? request->max_answer_bytes
									    : LIMIT_KUBE_OBJECT_BYTES);
	call->next = &self->calls;
	call->previous = self->calls.previous;
	call->previous->next = call->next->previous = call;
	return call;
}

int kube_client_submit(struct kube_client *self, const struct kube_request *request, struct kube_call **ret_call,
		       struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(32 * KIB);
	struct kube_call *call;
	int r = request_path(request, &path, err);

	if (r)
		return r;
	call = new_call(self, request);
	if (!call)
		return err_set(err, -ENOMEM, "out of memory");
	r = copy_body(call, request);
	if (!r && !(call->path = strbuf_detach(&path)))
		r = -ENOMEM;
	if (r) {
		call_free(call);
		return err_set(err, r, "out of memory");
	}
	if (ret_call)
		*ret_call = call;
	return 0;
}

void kube_client_cancel(struct kube_client *self, struct kube_call *call)
{
	if (!call || call->is_cancelled)
		return;
	call->is_cancelled = true;
	if (call->state == CALL_IN_FLIGHT)
		http_client_cancel(self->http, call);
	else
		call->state = CALL_ENDED;
}
