/* SPDX-License-Identifier: Apache-2.0 */
#include "service/service.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "config/config.h"
#include "http_server/http_server.h"
#include "program/log_buffer.h"
#include "service/metrics.h"
#include "service/pulse.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define THREADS	     1
#define CONNECTIONS  64
#define IDLE_MS	     (2 * TIME_MINUTE_MS)
#define REQUEST_MS   (10 * TIME_SECOND_MS)
#define BODIES_BYTES (64 * 1024)

struct service {
	struct metrics *metrics;
	struct log_buffer *log;	    /* NULL: none */
	struct http_server *server; /* NULL: none */
	struct replica *replica;    /* NULL: no cluster */
	struct log_gate client_lines;
	struct pulse pulse; /* of the main thread */
	int wake_fd;
	_Atomic int64_t urgent_since_ms; /* 0: no change of a pod waits */
	pthread_mutex_t mutex;		 /* protects all fields below */
	void (*interrupt)(void *context);
	void *interrupt_context;
};

/* ---- leadership ---- */

void service_wake(struct service *self)
{
	const uint64_t one = 1;
	int before = errno;

	while (write(self->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	errno = before;
}

static void leadership_changed(void *context, bool leads)
{
	struct service *self = context;

	pthread_mutex_lock(&self->mutex);
	if (!leads && self->interrupt)
		self->interrupt(self->interrupt_context);
	pthread_mutex_unlock(&self->mutex);
	service_wake(self);
}

static void pods_changed(void *context)
{
	struct service *self = context;
	int64_t none = 0;

	if (atomic_compare_exchange_strong(&self->urgent_since_ms, &none, MAX(time_monotonic_ms(), 1)))
		service_wake(self);
}

struct replica *service_replica(const struct service *self)
{
	return self ? self->replica : NULL;
}

int64_t service_urgent_since_ms(const struct service *self)
{
	return atomic_load(&self->urgent_since_ms);
}

void service_take_urgent(struct service *self)
{
	atomic_store(&self->urgent_since_ms, 0);
}

bool service_leads(const struct service *self)
{
	return !self->replica || replica_leads(self->replica);
}

void service_set_interrupt(struct service *self, void (*interrupt)(void *context), void *context)
{
	pthread_mutex_lock(&self->mutex);
	self->interrupt = interrupt;
	self->interrupt_context = context;
	pthread_mutex_unlock(&self->mutex);
}

void service_promise(struct service *self, int64_t within_ms)
{
	pulse_promise(&self->pulse, within_ms);
}

void service_wait(struct service *self, int64_t wait_ms)
{
	struct pollfd fd = {.fd = self->wake_fd, .events = POLLIN};
	uint64_t count;

	if (poll(&fd, 1, (int)MIN(MAX(wait_ms, 0), INT32_MAX)) > 0)
		while (read(self->wake_fd, &count, sizeof(count)) < 0 && errno == EINTR)
			;
}

/* ---- the endpoint ---- */

const char *service_stuck(struct service *self, char buf[SERVICE_WORDS])
{
	int64_t late_ms = pulse_late_ms(&self->pulse);

	if (late_ms > 0) {
		snprintf(buf, SERVICE_WORDS, "the thread that runs cycles should have ended a step %lld s ago",
			 (long long)(late_ms / 1000));
		return buf;
	}
	return self->replica && replica_is_stuck(self->replica) ? "the thread that talks to the API server is stuck"
								: NULL;
}

const char *service_not_ready(struct service *self, char buf[SERVICE_WORDS])
{
	return self->replica ? replica_not_ready(self->replica, buf) : NULL;
}

static void answer(struct http_server_response *response, const char *problem)
{
	response->status = problem ? 503 : 200;
	response->content_type = "text/plain; charset=utf-8";
	strbuf_clear(&response->body);
	strbuf_addf(&response->body, "%s\n", problem ? problem : "ok");
}

static void handle_health(void *context, const struct http_server_request *request,
			  struct http_server_response *response)
{
	char words[SERVICE_WORDS];

	(void)request;
	answer(response, service_stuck(context, words));
}

static void handle_ready(void *context, const struct http_server_request *request,
			 struct http_server_response *response)
{
	char words[SERVICE_WORDS];

	(void)request;
	answer(response, service_not_ready(context, words));
}

static void handle_metrics(void *context, const struct http_server_request *request,
			   struct http_server_response *response)
{
	struct service *self = context;

	(void)request;
	if (self->log)
		metrics_set(self->metrics, METRIC_LOG_DROPPED, (double)log_buffer_dropped(self->log));
	response->content_type = "text/plain; version=0.0.4; charset=utf-8";
	if (metrics_render(self->metrics, &response->body)) {
		answer(response, "the metrics do not fit");
		response->status = 500;
	}
}

static const struct http_server_route routes[] = {
	{"GET", "/healthz", 0, handle_health},
	{"GET", "/readyz", 0, handle_ready},
	{"GET", "/metrics", 0, handle_metrics},
	{NULL, NULL, 0, NULL},
};

static void observe(void *context, const struct http_server_event *event)
{
	/* clients can cause as many as they like */
	static const struct log_kind client_line = {LOG_DEBUG, "http server", 20, 500};
	struct service *self = context;

	if (event->type == HTTP_EVENT_ANSWERED)
		metrics_count(self->metrics, METRIC_HTTP_REQUESTS,
			      service_metrics_label(METRIC_HTTP_REQUESTS, 0, event->path),
			      service_metrics_code(METRIC_HTTP_REQUESTS, 1, event->status), 0);
	else
		log_limited(&self->client_lines, &client_line, "peer", event->peer, "reason", event->reason, NULL);
}

unsigned int service_port(const struct service *self)
{
	return self->server ? http_server_port(self->server) : 0;
}

/* ---- start and stop ---- */

static int start_server(struct service *self, const char *listen, struct err *err)
{
	const struct http_server_config config = {
		.listen = listen,
		.is_plain = true,
		.threads = THREADS,
		.connections = CONNECTIONS,
		.idle_timeout_ms = IDLE_MS,
		.request_timeout_ms = REQUEST_MS,
		.buffers_total_bytes = BODIES_BYTES,
		.routes = routes,
		.context = self,
		.observe = observe,
	};
	int r = http_server_start(&config, &self->server, err);

	if (r)
		err_wrap(err, "recommender.listen");
	else
		log_event(LOG_INFO, "metrics are served", "port", log_i64(http_server_port(self->server)), NULL);
	return r;
}

static int start_threads(struct service *self, const struct config *config, struct err *err)
{
	const struct replica_config replica = {.config = config,
					       .metrics = self->metrics,
					       .changed = leadership_changed,
					       .pods_changed = pods_changed,
					       .context = self};
	int r = 0;

	if (config->store.kind == STORE_KUBE)
		r = replica_start(&replica, &self->replica, err);
	if (!r && config->recommender.listen && *config->recommender.listen)
		r = start_server(self, config->recommender.listen, err);
	return r;
}

int service_start(const struct config *config, struct metrics *metrics, struct log_buffer *log, struct service **ret,
		  struct err *err)
{
	struct service *self = calloc(1, sizeof(*self));
	sigset_t all, before;
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->metrics = metrics;
	self->log = log;
	pthread_mutex_init(&self->mutex, NULL);
	self->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (self->wake_fd < 0) {
		r = err_set(err, -errno, "cannot make an eventfd");
	} else {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		r = start_threads(self, config, err);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (r) {
		service_stop(self);
		return r;
	}
	*ret = self;
	return 0;
}

void service_stop(struct service *self)
{
	if (!self)
		return;
	http_server_free(self->server); /* first, because its handlers use the replica */
	replica_stop(self->replica);
	if (self->wake_fd >= 0)
		close(self->wake_fd);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

/* NULL and "" are equal. */
static bool is_other(const char *a, const char *b)
{
	return !streq(a ? a : "", b ? b : "");
}

static bool is_other_list(const char *const *a, const char *const *b)
{
	size_t i = 0;

	while (a && b && a[i] && b[i] && streq(a[i], b[i]))
		i++;
	return is_other(a ? a[i] : NULL, b ? b[i] : NULL);
}

bool service_differs(const struct config *a, const struct config *b)
{
	return a->store.kind != b->store.kind || is_other(a->recommender.listen, b->recommender.listen) ||
	       a->policy.resize || b->policy.resize || /* resizes use the whole policy */
	       is_other(a->recommender.lease, b->recommender.lease) ||
	       a->harm.pending_after_ms != b->harm.pending_after_ms ||
	       a->recommender.probe_ms != b->recommender.probe_ms || a->recommender.pods != b->recommender.pods ||
	       is_other_list(a->recommender.namespaces, b->recommender.namespaces) ||
	       is_other_list(a->policy.excluded_namespaces, b->policy.excluded_namespaces) ||
	       is_other(a->kubernetes.kubeconfig, b->kubernetes.kubeconfig) ||
	       is_other(a->kubernetes.context, b->kubernetes.context) ||
	       is_other(a->policy.own_namespace, b->policy.own_namespace) ||
	       is_other(a->webhook.mutating_configuration, b->webhook.mutating_configuration);
}
