/* SPDX-License-Identifier: Apache-2.0 */
/* One request: it is sent, answered and retried. */
#include "base/timefmt.h"
#include "kube/kube_internal.h"
#include "kube/kube_status.h"
#include "kube/kubectl.h"

#include <errno.h>
#include <string.h>

#define ANSWER_DEPTH 128
#define MAX_TRIES    6
#define BACKOFF_MS   TIME_SECOND_MS

void call_end(struct kube_call *call, const struct kube_result *result)
{
	struct kube_client *client = call->client;

	call->state = CALL_ENDED;
	if (call->is_cancelled)
		return;
	if (client->observe)
		client->observe(client->observe_context, call->request.verb, result->status);
	if (call->request.done)
		call->request.done(call->request.context, result);
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
	if (call->request.began && !call->is_cancelled)
		call->request.began(call->request.context);
	return 0;
}

static int on_piece(void *context, const char *bytes, size_t n)
{
	struct kube_call *call = context;

	if (call->is_cancelled)
		return -ECANCELED;
	if (!call->request.piece)
		return strbuf_add(&call->answer, bytes, n);
	call->has_streamed = true;
	return call->request.piece(call->request.context, bytes, n);
}

/* The delay before the next try; <0: no retry. */
static int64_t retry_delay_ms(struct kube_call *call, const struct http_result *http)
{
	bool is_asked = http->retry_after_s > 0 && (http->status == 429 || http->status >= 500);
	int64_t delay_ms = BACKOFF_MS << MIN(call->tries, 5);

	if (http->outcome != HTTP_STATUS || call->request.is_tried_once || call->has_streamed || call->is_cancelled ||
	    call->tries >= MAX_TRIES || !(is_asked || http->status == 429))
		return -1;
	if (is_asked)
		delay_ms = MIN(http->retry_after_s, 3600) * TIME_SECOND_MS;
	/* Not before the time that the server asks for; at random, because other clients were rejected at the same
	 * moment. */
	delay_ms += kube_client_random(call->client, 0, BACKOFF_MS);
	return time_monotonic_ms() + delay_ms < call->give_up_ms ? delay_ms : -1;
}

static void read_answer(struct kube_call *call, struct kube_result *result)
{
	int r = json_parse(strbuf_text(&call->answer), call->answer.len, ANSWER_DEPTH, &result->object, &result->err);

	if (!r)
		return;
	result->code = r;
	err_wrap(&result->err, "the answer is not JSON");
}

/* The API server answers with JSON; kubectl proxy answers like this when it got no answer. */
static bool is_of_proxy(const struct kube_call *call, const struct http_result *http)
{
	return call->client->kubectl && http->status == 500 && strstarts(http->content_type, "text/plain");
}

static void fail_behind_proxy(const struct kube_call *call, const struct http_result *http, struct kube_result *result)
{
	char line[400];

	if (http->outcome == HTTP_STATUS) {
		kube_status_line(http->error_body, http->error_body_bytes, line, sizeof(line));
		result->code = err_set_at(&result->err, -ECONNREFUSED, http->err.where, 0, 0, "%s", line);
		result->status = 0;
	}
	kubectl_explain(call->client->kubectl, &result->err);
}

static void fill_result(struct kube_call *call, const struct http_result *http, struct kube_result *result)
{
	*result = (struct kube_result){.status = http->status, .retry_after_s = http->retry_after_s};
	if (http->outcome == HTTP_DONE) {
		if (!call->request.piece && call->answer.len)
			read_answer(call, result);
		return;
	}
	result->err = http->err;
	result->code = http->err.code;
	if (http->outcome == HTTP_STATUS && !is_of_proxy(call, http))
		result->code = kube_status_of_http(http->status, http->error_body, http->error_body_bytes,
						   &result->err);
	else if (http->outcome == HTTP_ABORTED && http->err.code == -E2BIG && !call->request.piece)
		err_set_at(&result->err, -E2BIG, http->err.where, 0, 0, "the answer is longer than %zu bytes",
			   call->answer.max);
	else if (call->client->kubectl && http->outcome != HTTP_ABORTED && http->outcome != HTTP_CANCELLED)
		fail_behind_proxy(call, http, result);
}

static void on_done(void *context, const struct http_result *http)
{
	struct kube_call *call = context;
	struct kube_result result;
	int64_t delay_ms = retry_delay_ms(call, http);

	if (delay_ms >= 0) {
		call->state = CALL_WAITS;
		call->retry_at_ms = time_monotonic_ms() + delay_ms;
		return;
	}
	fill_result(call, http, &result);
	call_end(call, &result);
	json_object_put(result.object);
}

static int submit(struct kube_call *call, struct err *err)
{
	const struct kube_method *method = kube_method(call->request.verb);
	static const struct http_client_header accept = {"Accept", "application/json"};
	const struct http_request request = {
		.method = method->name,
		.path = call->path,
		.body = call->body,
		.body_bytes = call->body_bytes,
		.content_type = method->content_type,
		.headers = &accept,
		.n_headers = 1,
		.timeout_ms = call->request.timeout_ms,
		.stall_timeout_ms = call->request.stall_timeout_ms,
		.lane = call->lane,
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
	struct err err = ERR_INIT;

	call->tries++;
	if (call->request.is_shared)
		call->lane = lanes_choose(call->client);
	call->state = CALL_IN_FLIGHT;
	if (submit(call, &err))
		call_fail(call, &err);
}
