/* SPDX-License-Identifier: Apache-2.0 */
#include "service/replica_internal.h"

#include "base/hash.h"
#include "base/log.h"
#include "config/config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STUCK_MS   (1 * TIME_MINUTE_MS)
#define GIVE_UP_MS (3 * TIME_SECOND_MS)

/* ---- any thread ---- */

bool replica_leads(const struct replica *self)
{
	return time_monotonic_ms() < atomic_load(&self->leads_until_ms);
}

bool replica_is_stuck(struct replica *self)
{
	return pulse_late_ms(&self->pulse) > 0;
}

int replica_shapes(void *context, struct shapes *ret)
{
	struct replica *self = context;
	int r;

	pthread_mutex_lock(&self->mutex);
	r = self->nodes ? nodes_shapes(self->nodes, ret) : 1;
	pthread_mutex_unlock(&self->mutex);
	return r;
}

const char *replica_not_ready(struct replica *self, char buf[REPLICA_WORDS])
{
	if (atomic_load(&self->has_heard))
		return NULL;
	pthread_mutex_lock(&self->mutex);
	snprintf(buf, REPLICA_WORDS, "%s", *self->not_ready ? self->not_ready : "no answer of the API server yet");
	pthread_mutex_unlock(&self->mutex);
	return buf;
}

const char *replica_webhook(const struct replica *self)
{
	int result = self ? atomic_load(&self->probe_seen) : PROBE_RESULT_COUNT_;

	return result < PROBE_RESULT_COUNT_ ? probe_result_names[result] : "not-asked";
}

int replica_resize(struct replica *self, const struct resize_ask *ask)
{
	int r;

	pthread_mutex_lock(&self->mutex);
	r = self->resizes ? resizer_post(resizes_resizer(self->resizes), ask) : 1;
	pthread_mutex_unlock(&self->mutex);
	return r;
}

void replica_set_used(struct replica *self, struct resize_used *take_used)
{
	pthread_mutex_lock(&self->mutex);
	if (self->resizes)
		resizer_set_used(resizes_resizer(self->resizes), take_used);
	else
		take_used->free(take_used);
	pthread_mutex_unlock(&self->mutex);
}

struct pods *replica_pods(const struct replica *self)
{
	return self->pods;
}

int64_t replica_worked_since_ms(const struct replica *self)
{
	return atomic_load(&self->worked_since_ms);
}

enum engine_left_out replica_ignores(void *context, const char *namespace_name)
{
	struct replica *self = context;
	enum engine_left_out found;

	pthread_mutex_lock(&self->mutex);
	found = self->ignored ? ignored_namespaces_find(self->ignored, namespace_name) : ENGINE_LEFT_OUT_UNKNOWN;
	pthread_mutex_unlock(&self->mutex);
	return found;
}

void replica_hung(struct replica *self, struct hung_list *ret)
{
	*ret = (struct hung_list){.n = 0};
	if (!self)
		return;
	pthread_mutex_lock(&self->mutex);
	*ret = self->hung;
	pthread_mutex_unlock(&self->mutex);
}

void replica_mark_refused(struct replica *self, struct evidence_batch *batch)
{
	pthread_mutex_lock(&self->mutex);
	if (self->refusals)
		refusals_mark(self->refusals, batch);
	pthread_mutex_unlock(&self->mutex);
}

void replica_notify(struct replica *self, const struct notice *notice)
{
	outbox_put(self->outbox, notice, time_monotonic_ms());
}

/* ---- leadership ---- */

/* The lease is checked after each round, in one place: its holder may change without a call of `started` or
 * `stopped`. */
static void lease_changed(void *context)
{
	(void)context;
}

static void lease_new_leader(void *context, const char *identity)
{
	struct replica *self = context;

	self->lease_said[0] = '\0';
	atomic_store(&self->has_heard, true);
	if (!streq(identity, self->identity))
		log_event(LOG_INFO, *identity ? "another one leads" : "no replica is the leader", "identity", identity,
			  NULL);
}

static void lease_failed(void *context, const struct err *why)
{
	struct replica *self = context;

	metrics_count(self->config.metrics, METRIC_LEASE_ERRORS, 0, 0, 0);
	pthread_mutex_lock(&self->mutex);
	snprintf(self->not_ready, sizeof(self->not_ready), "the Lease cannot be read or written: %.340s", why->msg);
	pthread_mutex_unlock(&self->mutex);
	if (reported_is_new(self->lease_said, why))
		log_err(LOG_WARN, "the Lease cannot be taken or renewed", why);
}

static void begin_leading(struct replica *self)
{
	if (self->lease) {
		metrics_set(self->config.metrics, METRIC_IS_LEADER, 1);
		log_event(LOG_INFO, "leading", "lease", self->config.config->recommender.lease, "identity",
			  self->identity, NULL);
	}
	replica_start_work(self);
}

static void end_leading(struct replica *self)
{
	if (self->lease) {
		metrics_set(self->config.metrics, METRIC_IS_LEADER, 0);
		log_event(LOG_INFO, "no longer leading", "lease", self->config.config->recommender.lease, NULL);
	}
	replica_stop_work(self);
}

/* Starts and stops the work of a leader, outside of all callbacks. */
static void follow_leadership(struct replica *self, bool may_lead)
{
	bool leads;

	atomic_store(&self->leads_until_ms, !may_lead	  ? 0
					    : self->lease ? lease_leads_until_ms(self->lease)
							  : INT64_MAX);
	leads = replica_leads(self);
	if (leads != self->is_working) {
		self->is_working = leads;
		if (!leads)
			/* first, because it ends the current cycle */
			self->config.changed(self->config.context, false);
		(leads ? begin_leading : end_leading)(self);
		if (leads)
			self->config.changed(self->config.context, true);
	}
}

/* ---- the thread ---- */

static void *replica_main(void *context)
{
	struct replica *self = context;
	struct pollfd fd = {.fd = self->stop_fd, .events = POLLIN};
	struct err err = ERR_INIT;

	while (!(fd.revents & POLLIN)) {
		fd.revents = 0;
		if (kube_client_poll(self->access.client, &fd, 1, REPLICA_TURN_MS, &err)) {
			log_err(LOG_ERROR, "requests to the API server failed", &err);
			poll(&fd, 1, (int)REPLICA_TURN_MS); /* continue, but wait a moment */
		}
		pulse_promise(&self->pulse, STUCK_MS);
		follow_leadership(self, true);
		replica_work(self);
	}
	follow_leadership(self, false);
	if (self->lease && lease_give_up(self->lease, GIVE_UP_MS, &err))
		log_err(LOG_WARN, "the Lease was not released; another replica must wait until it expires", &err);
	return NULL;
}

static void count_request(void *context, enum kube_verb verb, long status)
{
	struct replica *self = context;

	metrics_count(self->config.metrics, METRIC_KUBE_REQUESTS, service_metrics_verb(verb),
		      service_metrics_code(METRIC_KUBE_REQUESTS, 1, status), 0);
}

/* Makes an identity that is new for every start and that contains the pod's name. */
static void make_identity(struct replica *self)
{
	const char *pod = getenv("POD_NAME");
	char host[65] = "";
	struct {
		int64_t now_ns, pid;
	} start = {time_now_ms() * 1000000, getpid()};

	if (!pod || !*pod) {
		(void)gethostname(host, sizeof(host) - 1);
		pod = *host ? host : "memtamer-recommender";
	}
	snprintf(self->identity, sizeof(self->identity), "%.100s_%016" PRIx64, pod, hash_seeded(&start, sizeof(start)));
}

static int stand_for_election(struct replica *self, struct err *err)
{
	const char *name = self->config.config->recommender.lease;
	const struct lease_config config = {
		.namespace = self->namespace,
		.name = name,
		.identity = self->identity,
		.lease_ms = self->config.lease_ms,
		.renew_deadline_ms = self->config.renew_deadline_ms,
		.retry_ms = self->config.retry_ms,
		.started = lease_changed,
		.stopped = lease_changed,
		.new_leader = lease_new_leader,
		.failed = lease_failed,
		.context = self,
	};

	if (name && *name) {
		metrics_set(self->config.metrics, METRIC_IS_LEADER, 0);
		return lease_start(self->access.client, &config, &self->lease, err);
	}
	atomic_store(&self->leads_until_ms, INT64_MAX);
	atomic_store(&self->has_heard, true);
	return 0;
}

static int open_cluster(struct replica *self, struct err *err)
{
	const struct config *config = self->config.config;
	int r = kube_access_open(config->kubernetes.kubeconfig, config->kubernetes.context, REPLICA_NAME, &self->access,
				 err);

	if (r)
		return r;
	self->namespace = config->policy.own_namespace && *config->policy.own_namespace ? config->policy.own_namespace
											: self->access.namespace;
	kube_client_observe(self->access.client, count_request, self);
	make_identity(self);
	r = replica_make_pods(self, err);
	return r ? r : stand_for_election(self, err);
}

static void release(struct replica *self)
{
	metrics_set(self->config.metrics, METRIC_IS_LEADER, NAN);
	lease_free(self->lease);
	pods_free(self->pods);
	outbox_free(self->outbox);
	kube_access_release(&self->access);
	if (self->stop_fd >= 0)
		close(self->stop_fd);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

int replica_start(const struct replica_config *config, struct replica **ret, struct err *err)
{
	struct replica *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->config = *config;
	self->access = (struct kube_access)KUBE_ACCESS_INIT;
	atomic_store(&self->probe_seen, PROBE_RESULT_COUNT_);
	atomic_store(&self->worked_since_ms, INT64_MAX);
	pulse_promise(&self->pulse, STUCK_MS);
	pthread_mutex_init(&self->mutex, NULL);
	self->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	self->outbox = outbox_new();
	r = !self->outbox	? err_set(err, -ENOMEM, "out of memory")
	    : self->stop_fd < 0 ? err_set(err, -errno, "cannot make an eventfd")
				: open_cluster(self, err);
	if (!r && (r = -pthread_create(&self->thread, NULL, replica_main, self)))
		err_set(err, r, "cannot start a thread");
	if (r) {
		release(self);
		return r;
	}
	*ret = self;
	return 0;
}

void replica_stop(struct replica *self)
{
	const uint64_t one = 1;

	if (!self)
		return;
	while (write(self->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(self->thread, NULL);
	release(self);
}
