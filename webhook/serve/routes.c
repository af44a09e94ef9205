/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "serve/admission.h"
#include "serve/probe.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOG_WINDOW_MS (10 * TIME_SECOND_MS)
#define LOG_WINDOW_N  20
/* A large review leaves a heap full of holes behind. */
#define TRIM_FROM_BYTES (256 * KIB)

static void scratch_free(void *pointer)
{
	admission_scratch_release(pointer);
	free(pointer);
}

/* In a pod the chart says its name; a host has one too. */
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
	untold_init(&self->untold);
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
	pthread_mutex_destroy(&self->words_mutex);
	untold_release(&self->untold);
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

/* NULL when ready to decide, else what is missing, perhaps in buf. */
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

typedef int admit_fn(struct admission_scratch *scratch, const struct admission_world *world, const char *body, size_t n,
		     struct strbuf *ret_answer, struct err *err);

static void handle_review(struct serve *self, admit_fn *admit, const struct http_server_request *request,
			  struct http_server_response *response)
{
	struct admission_scratch *scratch = thread_scratch(self);
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];
	int r = -ENOMEM;

	if (scratch) {
		const struct admission_world world = {
			.metrics = self->metrics,
			.state = holder_acquire(self->holder),
			.now_ms = time_now_ms(),
			.may_wait = request->may_be_held,
			.has_waited = request->was_held,
			.untold = &self->untold,
		};

		r = admit(scratch, &world, request->body, request->body_bytes, &response->body, &err);
		holder_release(self->holder, world.state);
	}
	response->is_held = r == ADMISSION_WAITS;
	response->content_type = "application/json";
	if (r == -EINVAL)
		say(response, 400, err_text(&err, text, sizeof(text)));
	else if (r && !response->is_held)
		say(response, 503, r == -EAGAIN ? "no answer: there is no snapshot yet" : "no answer: out of memory");
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

static void handle_templates(void *context, const struct http_server_request *request,
			     struct http_server_response *response)
{
	handle_review(context, admission_templates, request, response);
}

static void handle_probe(void *context, const struct http_server_request *request,
			 struct http_server_response *response)
{
	struct serve *self = context;
	struct admission_scratch *scratch = thread_scratch(self);
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];
	int r = scratch ? probe_answer(scratch, self->instance, request->body, request->body_bytes, &response->body,
				       &err)
			: -ENOMEM;

	response->content_type = "application/json";
	if (r == -EINVAL)
		say(response, 400, err_text(&err, text, sizeof(text)));
	else if (r)
		say(response, 503, "no answer: out of memory");
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
		    confirmed_ms ? (double)(time_monotonic_ms() - confirmed_ms) / 1000 : -1);
	response->content_type = "text/plain; version=0.0.4; charset=utf-8";
	if (metrics_render(self->metrics, &response->body))
		say(response, 500, "the metrics do not fit");
}

const struct http_server_route serve_routes[] = {
	{"POST", "/mutate", LIMIT_REVIEW_BYTES, handle_mutate},
	{"POST", "/validate", LIMIT_REVIEW_BYTES, handle_validate},
	{"POST", "/templates", LIMIT_REVIEW_BYTES, handle_templates},
	{"POST", "/probe", LIMIT_PROBE_BYTES, handle_probe},
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
