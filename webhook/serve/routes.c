/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "serve/admission.h"
#include "serve/probe.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A review that used more leaves much free memory in the heap, which is trimmed. */
#define TRIM_FROM_BYTES (256 * KIB)

static void scratch_free(void *pointer)
{
	admission_scratch_release(pointer);
	free(pointer);
}

/* The chart sets the pod's name; otherwise it is the host's name. */
static void set_instance(struct serve *self)
{
	const char *pod = getenv("POD_NAME");

	if (pod && *pod)
		snprintf(self->instance, sizeof(self->instance), "%s", pod);
	else if (gethostname(self->instance, sizeof(self->instance) - 1))
		snprintf(self->instance, sizeof(self->instance), "memtamer-webhook");
}

int serve_init(struct serve *self, struct err *err)
{
	int r;

	*self = (struct serve){.metrics = NULL};
	set_instance(self);
	r = pthread_key_create(&self->scratch_key, scratch_free);
	if (r)
		return err_set(err, -r, "cannot make a thread key");
	r = pthread_mutex_init(&self->words_mutex, NULL);
	if (r) {
		pthread_key_delete(self->scratch_key);
		return err_set(err, -r, "cannot make a mutex");
	}
	self->metrics = metrics_new();
	self->current = current_state_new();
	if (self->metrics && self->current)
		return 0;
	serve_release(self);
	return err_set(err, -ENOMEM, "out of memory");
}

void serve_release(struct serve *self)
{
	current_state_free(self->current);
	metrics_free(self->metrics);
	pthread_key_delete(self->scratch_key);
	pthread_mutex_destroy(&self->words_mutex);
	*self = (struct serve){.metrics = NULL};
}

static void set_words(struct serve *self, char words[SERVE_WORDS], const char *text)
{
	pthread_mutex_lock(&self->words_mutex);
	snprintf(words, SERVE_WORDS, "%s", text);
	pthread_mutex_unlock(&self->words_mutex);
}

static const char *get_words(struct serve *self, const char words[SERVE_WORDS], char buf[SERVE_WORDS])
{
	pthread_mutex_lock(&self->words_mutex);
	snprintf(buf, SERVE_WORDS, "%s", words);
	pthread_mutex_unlock(&self->words_mutex);
	return buf;
}

void serve_set_waiting(struct serve *self, const char *words)
{
	set_words(self, self->waiting, words);
}

void serve_set_certificate_waiting(struct serve *self, const char *words)
{
	set_words(self, self->certificate_waiting, words);
}

/* Why the webhook is not ready, perhaps in `buf`; NULL: it is ready. */
static const char *serve_not_ready(struct serve *self, char buf[SERVE_WORDS])
{
	if (atomic_load(&self->is_draining))
		return "draining";
	if (!atomic_load(&self->has_certificate))
		return *get_words(self, self->certificate_waiting, buf) ? buf : "no certificate is loaded";
	if (atomic_load(&self->has_snapshot))
		return NULL;
	return *get_words(self, self->waiting, buf) ? buf : "no profiles are loaded";
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

/* Answers with the reason of a failure; `r` is the error code. */
static void say_failure(struct http_server_response *response, int r, const struct err *err)
{
	char text[sizeof(err->where) + sizeof(err->msg)];

	if (r == -EINVAL)
		say(response, 400, err_text(err, text, sizeof(text)));
	else
		say(response, 503,
		    r == -EAGAIN  ? "no answer: there is no snapshot yet"
		    : r == -E2BIG ? "no answer: the answer does not fit"
				  : "no answer: out of memory");
}

static const struct review_route {
	const char *path;
	const struct admission_webhook *webhook;
	enum metric_id duration;
} review_routes[] = {
	{"/mutate", &admission_mutate, METRIC_DURATION},
	{"/validate", &admission_validate, METRIC_VALIDATION_DURATION},
	{"/templates", &admission_templates, METRIC_TEMPLATE_DURATION},
};

/* NULL: no review is answered at this path. */
static const struct review_route *review_route_of(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(review_routes); i++)
		if (streq(review_routes[i].path, path))
			return &review_routes[i];
	return NULL;
}

static void handle_review(void *context, const struct http_server_request *request,
			  struct http_server_response *response)
{
	struct serve *self = context;
	struct admission_scratch *scratch = thread_scratch(self);
	struct err err = ERR_INIT;
	int r = -ENOMEM;

	if (scratch) {
		const struct admission_world world = {
			.metrics = self->metrics,
			.log = &self->log,
			.state = current_state_acquire(self->current),
			.now_ms = time_now_ms(),
		};

		r = admission_review(review_route_of(request->path)->webhook, scratch, &world, request->body,
				     request->body_bytes, &response->body, &err);
		current_state_release(self->current, world.state);
	}
	response->content_type = "application/json";
	if (r)
		say_failure(response, r, &err);
	if (scratch) {
		if (scratch->arena.used_bytes > TRIM_FROM_BYTES)
			atomic_store(&self->has_freed_much, true);
		admission_scratch_clear(scratch);
	}
}

static void handle_probe(void *context, const struct http_server_request *request,
			 struct http_server_response *response)
{
	struct serve *self = context;
	struct admission_scratch *scratch = thread_scratch(self);
	struct err err = ERR_INIT;
	int r = scratch ? probe_answer(scratch, self->instance, request->body, request->body_bytes, &response->body,
				       &err)
			: -ENOMEM;

	response->content_type = "application/json";
	if (r)
		say_failure(response, r, &err);
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
	char buf[SERVE_WORDS];
	const char *missing = serve_not_ready(context, buf);

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
		    confirmed_ms ? (double)(time_monotonic_ms() - confirmed_ms) / 1000 : (double)NAN);
	if (self->log_buffer)
		metrics_set(self->metrics, METRIC_LOG_DROPPED, (double)log_buffer_dropped(self->log_buffer));
	response->content_type = "text/plain; version=0.0.4; charset=utf-8";
	if (metrics_render(self->metrics, &response->body))
		say(response, 500, "the metrics do not fit");
}

const struct http_server_route serve_routes[] = {
	{"POST", "/mutate", LIMIT_REVIEW_BYTES, handle_review},
	{"POST", "/validate", LIMIT_REVIEW_BYTES, handle_review},
	{"POST", "/templates", LIMIT_REVIEW_BYTES, handle_review},
	{"POST", "/probe", LIMIT_PROBE_BYTES, handle_probe},
	{"GET", "/healthz", 0, handle_health},
	{"GET", "/readyz", 0, handle_ready},
	{"GET", "/metrics", 0, handle_metrics},
	{NULL, NULL, 0, NULL},
};

static void count_answer(struct serve *self, const struct http_server_event *event)
{
	const char code[] = {(char)('0' + event->status / 100 % 10), (char)('0' + event->status / 10 % 10),
			     (char)('0' + event->status % 10), '\0'};
	const struct review_route *route = review_route_of(event->path);

	metrics_count(self->metrics, METRIC_HTTP_REQUESTS, metrics_label(METRIC_HTTP_REQUESTS, 0, event->path),
		      metrics_label(METRIC_HTTP_REQUESTS, 1, code), 0);
	if (route && event->status == 200)
		metrics_observe_ns(self->metrics, route->duration, event->duration_ns);
}

void serve_observe(void *context, const struct http_server_event *event)
{
	struct serve *self = context;

	switch (event->type) {
	case HTTP_EVENT_ANSWERED:
		count_answer(self, event);
		break;
	case HTTP_EVENT_CLIENT_REFUSED:
		client_log(&self->log, LINE_CLIENT_REFUSED, "peer", event->peer, "reason", event->reason, NULL);
		break;
	case HTTP_EVENT_WATCHDOG_CLOSED:
		metrics_count(self->metrics, METRIC_WATCHDOG_CLOSED, 0, 0, 0);
		client_log(&self->log, LINE_SLOW_CLOSED, "peer", event->peer, "reason", event->reason, NULL);
		break;
	case HTTP_EVENT_EVICTED:
		metrics_count(self->metrics, METRIC_EVICTED, 0, 0, 0);
		client_log(&self->log, LINE_EVICTED, "peer", event->peer, "reason", event->reason, NULL);
		break;
	case HTTP_EVENT_HANDSHAKE_ENDED:
	case HTTP_EVENT_LIBRARY:
		client_log(&self->log, LINE_CONNECTION, "peer", event->peer, "reason", event->reason, NULL);
		break;
	}
}
