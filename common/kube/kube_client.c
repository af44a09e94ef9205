/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: timers and waiting calls. Calls are freed only here, between rounds of the HTTP client. */
#include "kube/kube_client.h"

#include "base/timefmt.h"
#include "kube/kube_internal.h"
#include "kube/kubectl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

/* Watches last for minutes: one for each resource, and one for the pods of each namespace with a quota. */
#define CONCURRENCY 512

static int make_http(struct kube_client *self, const struct kube_server *server,
		     const struct kube_client_config *config, struct err *err)
{
	const struct http_client_config http = {
		.base_url = server->url,
		.unix_socket = server->kubectl ? server->kubectl->socket : NULL,
		.ca_file = server->ca_file,
		.bearer_token_file = server->token_file,
		.user_agent = config->user_agent,
		.concurrency = config->concurrency ? config->concurrency : CONCURRENCY,
	};

	return http_client_new(&http, &self->http, err);
}

int kube_client_new(const struct kube_server *server, const struct kube_client_config *config, struct kube_client **ret,
		    struct err *err)
{
	static const struct kube_client_config defaults;
	struct kube_client *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	if (!config)
		config = &defaults;
	self->calls.next = self->calls.previous = &self->calls;
	self->kubectl = server->kubectl;
	self->now_ms = config->now_ms ? config->now_ms : time_now_ms;
	lanes_init(self, config);
	r = make_http(self, server, config, err);
	if (r) {
		kube_client_free(self);
		return r;
	}
	*ret = self;
	return 0;
}

void kube_client_free(struct kube_client *self)
{
	if (!self)
		return;
	for (struct kube_call *call = self->calls.next; call != &self->calls; call = call->next)
		call->is_cancelled = true;
	http_client_free(self->http);
	while (self->calls.next != &self->calls)
		call_free(self->calls.next);
	free(self);
}

void kube_client_interrupt(struct kube_client *self)
{
	http_client_interrupt(self->http);
}

void kube_client_observe(struct kube_client *self, kube_observer_fn *observe, void *context)
{
	self->observe = observe;
	self->observe_context = context;
}

static void fire_timers(struct kube_client *self)
{
	int64_t now_ms = time_monotonic_ms();

	/* a timer that is set to "at once" by a callback waits for the next round, so that this loop ends */
	for (struct kube_timer *timer = self->timers; timer && timer->due_ms <= now_ms; timer = self->timers) {
		kube_timer_stop(self, timer);
		timer->fire(timer->context);
		if (self->timers && self->timers->is_set && self->timers->due_ms >= now_ms)
			return;
	}
}

/* Starts calls that are due and frees calls that have ended. @return when the next waiting call is due. */
static int64_t advance_calls(struct kube_client *self)
{
	int64_t now_ms = time_monotonic_ms(), next_ms = INT64_MAX;
	struct kube_call *next;

	for (struct kube_call *call = self->calls.next; call != &self->calls; call = next) {
		if (call->state == CALL_WAITS && call->retry_at_ms <= now_ms)
			call_start(call);
		else if (call->state == CALL_WAITS)
			next_ms = MIN(next_ms, call->retry_at_ms);
		next = call->next;
		if (call->state == CALL_ENDED)
			call_free(call);
	}
	return next_ms;
}

static int64_t wait_until(struct kube_client *self, int64_t next_ms, int64_t wait_ms)
{
	if (self->timers)
		next_ms = MIN(next_ms, self->timers->due_ms);
	return next_ms == INT64_MAX ? wait_ms : MAX(0, MIN(wait_ms, next_ms - time_monotonic_ms()));
}

int kube_client_poll(struct kube_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms, struct err *err)
{
	int64_t next_ms;
	int r;

	fire_timers(self);
	next_ms = advance_calls(self);
	r = http_client_poll(self->http, fds, n_fds, wait_until(self, next_ms, wait_ms), err);
	advance_calls(self);
	return r > 0 ? -ECANCELED : r;
}

struct wait {
	bool is_done;
	struct kube_result result;
};

static void wait_done(void *context, const struct kube_result *result)
{
	struct wait *wait = context;

	wait->is_done = true;
	wait->result = *result;
	json_object_get(result->object);
}

int kube_client_call(struct kube_client *self, const struct kube_request *request, struct json_object **ret_object,
		     struct err *err)
{
	struct wait wait = {.is_done = false};
	struct kube_request own = *request;
	struct kube_call *call;
	int r;

	own.began = NULL;
	own.piece = NULL;
	own.done = wait_done;
	own.context = &wait;
	r = kube_client_submit(self, &own, &call, err);
	if (r)
		return r;
	while (!wait.is_done && !r)
		r = kube_client_poll(self, NULL, 0, TIME_SECOND_MS, err);
	if (!wait.is_done)
		kube_client_cancel(self, call);
	if (wait.is_done) {
		r = wait.result.code;
		if (r && err)
			*err = wait.result.err;
	}
	if (ret_object && !r)
		*ret_object = wait.result.object;
	else
		json_object_put(wait.result.object);
	return r;
}

struct json_object *kube_delete_preconditions(const char *uid, const char *resource_version)
{
	struct json_object *options = json_object_new_object();

	json_set_text(&options, "kind", "DeleteOptions");
	json_set_text(&options, "apiVersion", "v1");
	json_set_text(&options, "preconditions.uid", uid);
	json_set_text(&options, "preconditions.resourceVersion", resource_version);
	return options;
}
