/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in the ring of a client: adding, cancelling and freeing them. The loop sends them. */
#include "base/limits.h"
#include "base/timefmt.h"
#include "kube/kube_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS (30 * TIME_SECOND_MS)
#define TOTAL_MS   (60 * TIME_SECOND_MS)

void call_free(struct kube_call *call)
{
	call->previous->next = call->next;
	call->next->previous = call->previous;
	free(call->path);
	/* the body may contain a Secret */
	if (call->body)
		explicit_bzero(call->body, call->body_bytes);
	free(call->body);
	strbuf_wipe(&call->answer);
	free(call);
}

static int copy_body(struct kube_call *call, const struct kube_request *request)
{
	const char *text;

	if (!request->body)
		return 0;
	text = json_object_to_json_string_length(request->body, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
						 &call->body_bytes);
	call->body = text ? strdup(text) : NULL;
	return call->body ? 0 : -ENOMEM;
}

static struct kube_call *new_call(struct kube_client *self, const struct kube_request *request)
{
	struct kube_call *call = calloc(1, sizeof(*call));
	int64_t total_ms = request->total_timeout_ms ? request->total_timeout_ms : TOTAL_MS;

	if (!call)
		return NULL;
	call->client = self;
	call->request = *request;
	if (!request->timeout_ms)
		call->request.timeout_ms = TIMEOUT_MS;
	call->give_up_ms = time_monotonic_ms() + total_ms;
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
