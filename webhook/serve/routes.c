/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "serve/admission.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define LOG_WINDOW_MS (10 * TIME_SECOND_MS)
#define LOG_WINDOW_N  20
/* A large review leaves a heap full of holes behind. */
#define TRIM_FROM_BYTES (256 * KIB)

static void scratch_free(void *pointer)
{
	admission_scratch_release(pointer);
	free(pointer);
}

int serve_init(struct serve *self, struct err *err)
{
	int r;

	*self = (struct serve){.metrics = NULL};
	r = pthread_key_create(&self->scratch_key, scratch_free);
	if (r)
		return err_set(err, -r, "cannot make a thread key");
	self->metrics = metrics_new();
	self->holder = holder_new();
	if (self->metrics && self->holder)
		return 0;
	serve_release(self);
	return err_set(err, -ENOMEM, "out of memory");
}

void serve_release(struct serve *self)
{
	holder_free(self->holder);
	metrics_free(self->metrics);
	pthread_key_delete(self->scratch_key);
	*self = (struct serve){.metrics = NULL};
}

/* NULL when ready to decide, else what is missing. */
static const char *serve_not_ready(struct serve *self)
{
	if (atomic_load(&self->is_draining))
		return "draining";
	if (!atomic_load(&self->has_certificate))
		return "no certificate is loaded";
	return atomic_load(&self->has_snapshot) ? NULL : "no profiles are loaded";
}

static struct admission_scratch *thread_scratch(struct serve *self)
{
	struct admission_scratch *scratch = pthread_getspecific(self->scratch_key);

	if (scratch)
		return scratch;
	scratch = malloc(sizeof(*scratch));
	if (!scratch)
		return NULL;
	admission_scratch_init(scratch);
	if (pthread_setspecific(self->scratch_key, scratch)) {
		scratch_free(scratch);
		return NULL;
	}
	return scratch;
}

static void say(struct http_server_response *response, unsigned int status, const char *text)
{
	response->status = status;
	response->content_type = "text/plain; charset=utf-8";
	strbuf_clear(&response->body);
	strbuf_addf(&response->body, "%s\n", text);
}

typedef int admit_fn(struct admission_scratch *scratch, struct metrics *metrics, const struct state *state,
		     const char *body, size_t n, int64_t now_ms, struct strbuf *ret_answer, struct err *err);

static void handle_review(struct serve *self, admit_fn *admit, const struct http_server_request *request,
			  struct http_server_response *response)
{
	struct admission_scratch *scratch = thread_scratch(self);
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];
	const struct state *state;
	int r = -ENOMEM;

	if (scratch) {
		state = holder_acquire(self->holder);
		r = admit(scratch, self->metrics, state, request->body, request->body_bytes, time_now_ms(),
			  &response->body, &err);
		holder_release(self->holder, state);
	}
	response->content_type = "application/json";
	if (r == -EINVAL)
		say(response, 400, err_text(&err, text, sizeof(text)));
	else if (r)
		say(response, 503, "no answer: out of memory");
	if (scratch && request->body_bytes > TRIM_FROM_BYTES) {
		admission_scratch_clear(scratch);
		malloc_trim(0);
	}
}

static void handle_mutate(void *context, const struct http_server_request *request,
			  struct http_server_response *response)
{
	handle_review(context, admission_review, request, response);
}

static void handle_validate(void *context, const struct http_server_request *request,
			    struct http_server_response *response)
{
	handle_review(context, admission_validate, request, response);
}

static void handle_health(void *context, const struct http_server_request *request,
			  struct http_server_response *response)
{
	(void)context, (void)request;
	say(response, 200, "ok");
}

static void handle_ready(void *context, const struct http_server_request *request,
			 struct http_server_response *response)
{
	const char *missing = serve_not_ready(context);

	(void)request;
	say(response, missing ? 503 : 200, missing ? missing : "ok");
}

static void handle_metrics(void *context, const struct http_server_request *request,
			   struct http_server_response *response)
{
	struct serve *self = context;
	int64_t confirmed_ms = atomic_load(&self->confirmed_ms);

	(void)request;
	metrics_set(self->metrics, METRIC_CONNECTIONS, (double)http_server_connections(self->server));
	metrics_set(self->metrics, METRIC_SNAPSHOT_AGE,
		    confirmed_ms ? (double)(time_monotonic_ms() - confirmed_ms) / 1000 : -1);
	response->content_type = "text/plain; version=0.0.4; charset=utf-8";
	if (metrics_render(self->metrics, &response->body))
		say(response, 500, "the metrics do not fit");
}

const struct http_server_route serve_routes[] = {
	{"POST", "/mutate", LIMIT_REVIEW_BYTES, handle_mutate},
	{"POST", "/validate", LIMIT_REVIEW_BYTES, handle_validate},
	{"GET", "/healthz", 0, handle_health},
	{"GET", "/readyz", 0, handle_ready},
	{"GET", "/metrics", 0, handle_metrics},
	{NULL, NULL, 0, NULL},
};

static bool gate_opens(struct log_gate *gate)
{
	int64_t now_ms = time_monotonic_ms(), start_ms = atomic_load(&gate->window_start_ms);

	/* whoever moves the window counts from one again; a race costs a line too many */
	if ((start_ms == 0 || now_ms - start_ms > LOG_WINDOW_MS) &&
	    atomic_compare_exchange_strong(&gate->window_start_ms, &start_ms, now_ms))
		atomic_store(&gate->n, 0);
	return atomic_fetch_add(&gate->n, 1) < LOG_WINDOW_N;
}

static void count_answer(struct serve *self, const struct http_server_event *event)
{
	const char code[] = {(char)('0' + event->status / 100 % 10), (char)('0' + event->status / 10 % 10),
			     (char)('0' + event->status % 10), '\0'};

	metrics_count(self->metrics, METRIC_HTTP_REQUESTS, metrics_label(METRIC_HTTP_REQUESTS, 0, event->path),
		      metrics_label(METRIC_HTTP_REQUESTS, 1, code), 0);
}

void serve_observe(void *context, const struct http_server_event *event)
{
	struct serve *self = context;

	switch (event->type) {
	case HTTP_EVENT_ANSWERED:
		count_answer(self, event);
		break;
	case HTTP_EVENT_CLIENT_REFUSED:
		if (gate_opens(&self->refused_gate))
			log_event(LOG_WARN, "client refused", "peer", event->peer, "reason", event->reason, NULL);
		break;
	case HTTP_EVENT_WATCHDOG_CLOSED:
		metrics_count(self->metrics, METRIC_WATCHDOG_CLOSED, 0, 0, 0);
		if (gate_opens(&self->closed_gate))
			log_event(LOG_WARN, "slow connection closed", "peer", event->peer, "reason", event->reason,
				  NULL);
		break;
	case HTTP_EVENT_HANDSHAKE_ENDED:
	case HTTP_EVENT_LIBRARY:
		log_event(LOG_DEBUG, "http server", "peer", event->peer, "reason", event->reason, NULL);
		break;
	}
}
