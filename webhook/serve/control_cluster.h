/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* control_cluster: what the control thread does in a cluster (store.kind: kube): one client of the API server, and the
 * parts that use it. All of them live inside control_cluster_poll; none may block. A new part is a row of `parts` in
 * control_cluster.c. */
#include "cluster/cluster.h"
#include "kube/kube_access.h"
#include "serve/control.h"

struct pollfd;
struct control_certs;

struct control_cluster {
	struct control *control;
	struct kube_access access;
	char *own_namespace; /* namespaces.own, else the service account's or the context's */
	struct cluster *cluster;
	struct control_certs *certs;
	uint64_t restarts[CLUSTER_WATCH_COUNT_]; /* as the metric has them */
	int64_t state_ms;			 /* monotonic: when states were told last */
};

/** By the configuration in use. @return 0; -ENOENT, -EINVAL, -errno: no access to a cluster is configured. */
int control_cluster_start(struct control *control, struct control_cluster **ret, struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void control_cluster_free(struct control_cluster *self);
/** One round: waits for the API server, for timers, or for one of `fds`, at most `wait_ms`. */
void control_cluster_poll(struct control_cluster *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms);
/** The configuration in use is another one, of the same cluster. */
void control_cluster_reconfigure(struct control_cluster *self);
/** Metrics and readiness by what the parts say now; cheap, called every round. */
void control_cluster_tell(struct control_cluster *self);
