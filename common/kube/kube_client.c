/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: timers, calls that wait, the plugin. Calls are freed only here, between rounds of the HTTP client. */
#include "kube/kube_client.h"

#include "base/hash.h"
#include "base/timefmt.h"
#include "kube/kube_internal.h"
#include "kube/kubeconfig.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* A watch holds a connection for minutes; one of each kind, and of pods in each namespace that has a quota. */
#define CONCURRENCY	  512
#define PLUGIN_TIMEOUT_MS (60 * TIME_SECOND_MS)
#define CALLERS_FDS	  12

static int make_http(struct kube_client *self, const struct kube_client_config *config, struct err *err)
{
	const struct kubeconfig *kube = self->kubeconfig;
	const struct http_client_config http = {
		.base_url = kube->server,
		.ca_file = kube->ca_file,
		.ca_pem = kube->ca_pem,
		.cert_file = kube->client_cert_file,
		.cert_pem = kube->client_cert_pem,
		.key_file = kube->client_key_file,
		.key_pem = kube->client_key_pem,
		.tls_server_name = kube->tls_server_name,
		.insecure_skip_verify = kube->insecure_skip_tls_verify,
		.proxy = kube->proxy_url,
		.user_agent = config->user_agent,
		.concurrency = config->concurrency ? config->concurrency : CONCURRENCY,
	};

	return http_client_new(&http, &self->http, err);
}

int kube_client_new(const struct kubeconfig *kubeconfig, const struct kube_client_config *config,
		    struct kube_client **ret, struct err *err)
{
	static const struct kube_client_config defaults;
	struct kube_client *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	if (!config)
		config = &defaults;
	self->calls.next = self->calls.previous = &self->calls;
	self->kubeconfig = kubeconfig;
	self->now_ms = config->now_ms ? config->now_ms : time_now_ms;
	r = make_http(self, config, err);
	if (!r && kubeconfig->exec)
		r = kube_plugin_new(kubeconfig,
				    config->plugin_timeout_ms ? config->plugin_timeout_ms : PLUGIN_TIMEOUT_MS,
				    &self->plugin, err);
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
	kube_plugin_free(self->plugin);
	while (self->calls.next != &self->calls)
		call_free(self->calls.next);
	free(self);
}

void kube_client_freep(struct kube_client **self)
{
	kube_client_free(*self);
	*self = NULL;
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

int64_t kube_client_random(struct kube_client *self, int64_t from, int64_t to)
{
	uint64_t random;

	self->random_state += (uint64_t)time_monotonic_ms() << 20 | 1;
	random = hash_seeded(&self->random_state, sizeof(self->random_state));
	return to > from ? from + (int64_t)(random % (uint64_t)(to - from)) : from;
}

int64_t kube_client_now_ms(const struct kube_client *self)
{
	return self->now_ms();
}

void kube_timer_stop(struct kube_client *self, struct kube_timer *timer)
{
	struct kube_timer **at = &self->timers;

	if (!timer->is_set)
		return;
	while (*at != timer)
		at = &(*at)->next;
	*at = timer->next;
	timer->is_set = false;
}

/* Sorted: the first is due first, among equals the one that was set first. */
void kube_timer_set(struct kube_client *self, struct kube_timer *timer, int64_t delay_ms)
{
	struct kube_timer **at = &self->timers;

	kube_timer_stop(self, timer);
	timer->due_ms = time_monotonic_ms() + MAX(delay_ms, 0);
	while (*at && (*at)->due_ms <= timer->due_ms)
		at = &(*at)->next;
	timer->next = *at;
	timer->is_set = true;
	*at = timer;
}

static void fire_timers(struct kube_client *self)
{
	int64_t now_ms = time_monotonic_ms();

	/* what a timer sets for "at once" waits for the next round, or this would not end */
	for (struct kube_timer *timer = self->timers; timer && timer->due_ms <= now_ms; timer = self->timers) {
		kube_timer_stop(self, timer);
		timer->fire(timer->context);
		if (self->timers && self->timers->is_set && self->timers->due_ms >= now_ms)
			return;
	}
}

static void fail_waiting(struct kube_client *self, const struct err *why)
{
	struct kube_call *last = self->calls.previous;

	for (struct kube_call *call = self->calls.next; call != &self->calls; call = call->next) {
		if (call->state == CALL_WAITS && call->retry_at_ms <= time_monotonic_ms())
			call_fail(call, why);
		if (call == last) /* what callbacks submit starts afresh */
			return;
	}
}

static void step_plugin(struct kube_client *self)
{
	struct err err = ERR_INIT;

	if (self->plugin && kube_plugin_step(self->plugin, self->now_ms(), &err) < 0)
		fail_waiting(self, &err);
}

/* Start what need not wait, free what has ended. @return when the next one that waits for its time is due. */
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
	if (self->plugin && kube_plugin_is_running(self->plugin))
		next_ms = MIN(next_ms, kube_plugin_deadline_ms(self->plugin));
	return next_ms == INT64_MAX ? wait_ms : MAX(0, MIN(wait_ms, next_ms - time_monotonic_ms()));
}

int kube_client_poll(struct kube_client *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms, struct err *err)
{
	struct pollfd all[CALLERS_FDS + KUBE_PLUGIN_FDS];
	size_t n = n_fds;
	int64_t next_ms;
	int r;

	if (n_fds > CALLERS_FDS)
		return err_set(err, -EINVAL, "more than %d files to wait for", CALLERS_FDS);
	fire_timers(self);
	step_plugin(self);
	next_ms = advance_calls(self);
	if (n_fds)
		memcpy(all, fds, n_fds * sizeof(*fds));
	if (self->plugin)
		n += kube_plugin_fds(self->plugin, all + n);
	r = http_client_poll(self->http, all, n, wait_until(self, next_ms, wait_ms), err);
	if (n_fds)
		memcpy(fds, all, n_fds * sizeof(*fds));
	step_plugin(self);
	advance_calls(self);
	return r > 0 ? -ECANCELED : r;
}

struct wait {
	bool is_done;
	int code;
	struct json_object *object;
	struct err err;
};

static void wait_done(void *context, const struct kube_result *result)
{
	struct wait *wait = context;

	wait->is_done = true;
	wait->code = result->code;
	wait->object = json_object_get(result->object);
	wait->err = result->err;
}

int kube_client_call(struct kube_client *self, const struct kube_request *request, struct json_object **ret_object,
		     struct err *err)
{
	struct wait wait = {.is_done = false};
	struct kube_request own = *request;
	struct kube_call *call;
	int r;

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
		r = wait.code;
		if (r && err)
			*err = wait.err;
	}
	if (ret_object && !r)
		*ret_object = wait.object;
	else
		json_object_put(wait.object);
	return r;
}

struct json_object *kube_delete_preconditions(const char *uid, const char *resource_version)
{
	struct json_object *options = json_object_new_object(), *conditions = json_object_new_object();
	int r = options ? json_add(options, "kind", json_object_new_string("DeleteOptions")) : -ENOMEM;

	if (!r)
		r = json_add(options, "apiVersion", json_object_new_string("v1"));
	if (!r && conditions && uid)
		r = json_add(conditions, "uid", json_object_new_string(uid));
	if (!r && conditions && resource_version)
		r = json_add(conditions, "resourceVersion", json_object_new_string(resource_version));
	if (!r)
		r = json_add(options, "preconditions", TAKE_PTR(conditions));
	json_object_put(conditions);
	if (!r)
		return options;
	json_object_put(options);
	return NULL;
}
