/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/control_cluster.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "cluster/cluster.h"
#include "serve/control_certs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define USER_AGENT "memtamer-webhook"
#define REPORT_MS  (1 * TIME_SECOND_MS)

static const struct config *config_of(const struct control_cluster *self)
{
	return control_state_config(self->state);
}

/* ---- the snapshot ---- */

static void snapshot_changed(void *context)
{
	struct control_cluster *self = context;
	struct snapshot *fresh = NULL;
	struct err err = ERR_INIT;
	int r = cluster_build(self->cluster, config_of(self), &fresh, &err);
	bool is_first = !self->state->snapshot;

	if (!r)
		r = control_state_publish(self->state, fresh, &err);
	if (r < 0)
		log_err(LOG_ERROR, "a new snapshot cannot be built", &err);
	/* building the snapshot has left much free memory */
	self->state->needs_trim |= r == 0;
	if (!r && is_first)
		log_event(LOG_INFO, "profiles loaded", "server", self->access.server.url, "profiles",
			  log_i64(snapshot_profile_count(fresh)), NULL);
}

static void watch_failed(void *context, enum cluster_watch_id watch, const char *reason)
{
	struct control_cluster *self = context;

	metrics_count(self->state->serve->metrics, METRIC_WATCH_FAILURES, watch,
		      metrics_label(METRIC_WATCH_FAILURES, 1, reason), 0);
}

static void snapshot_report(struct control_cluster *self)
{
	struct serve *serve = self->state->serve;
	char words[SERVE_WORDS];

	for (size_t i = 0; i < CLUSTER_WATCH_COUNT_; i++) {
		struct cluster_watch_state state;

		cluster_watch_state(self->cluster, (enum cluster_watch_id)i, &state);
		metrics_put(serve->metrics, METRIC_WATCH_SYNCED, i, 0, 0, state.is_synced && state.is_in_contact);
		metrics_put(serve->metrics, METRIC_WATCH_OBJECTS, i, 0, 0, state.objects);
		metrics_add(serve->metrics, METRIC_WATCH_RESTARTS, i, 0, 0, state.restarts - self->restarts[i]);
		self->restarts[i] = state.restarts;
	}
	atomic_store(&serve->confirmed_ms, cluster_confirmed_ms(self->cluster));
	serve_set_waiting(serve, cluster_missing(self->cluster, words, sizeof(words)));
}

/* ---- with control_certs ---- */

int control_cluster_start(struct control_state *state, struct control_cluster **ret, struct err *err)
{
	struct control_cluster *self = calloc(1, sizeof(*self));
	const struct config *config = control_state_config(state);
	const struct cluster_config cluster = {.changed = snapshot_changed, .failed = watch_failed, .context = self};
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->state = state;
	r = kube_access_open(config->kubernetes.kubeconfig, config->kubernetes.context, USER_AGENT, &self->access, err);
	if (!r) {
		self->own_namespace = strdup(config->policy.own_namespace ? config->policy.own_namespace
									  : self->access.namespace);
		r = self->own_namespace ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	r = r ? r : cluster_start(self->access.client, &cluster, &self->cluster, err);
	r = r ? r : control_certs_start(self, err);
	if (r) {
		control_cluster_free(self);
		return r;
	}
	*ret = self;
	return 0;
}

void control_cluster_free(struct control_cluster *self)
{
	if (!self)
		return;
	control_certs_stop(self);
	cluster_free(self->cluster);
	kube_access_release(&self->access);
	free(self->own_namespace);
	free(self);
}

static void report(struct control_cluster *self)
{
	int64_t now_ms = time_monotonic_ms();

	if (now_ms < self->reported_ms + REPORT_MS)
		return;
	self->reported_ms = now_ms;
	snapshot_report(self);
	control_certs_report(self);
}

void control_cluster_poll(struct control_cluster *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms)
{
	struct err err = ERR_INIT;

	wait_ms = MIN(wait_ms, MAX(self->reported_ms + REPORT_MS - time_monotonic_ms(), 0));
	if (kube_client_poll(self->access.client, fds, n_fds, wait_ms, &err)) {
		log_err(LOG_ERROR, "requests to the API server failed", &err);
		poll(fds, n_fds, (int)REPORT_MS); /* retry, but with a delay */
	}
	report(self);
}

void control_cluster_reconfigure(struct control_cluster *self)
{
	cluster_reconfigure(self->cluster);
	control_certs_reconfigure(self);
}
