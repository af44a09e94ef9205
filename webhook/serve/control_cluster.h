/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* control_cluster: what the control thread does in a cluster (store.kind: kube). One client of the API server and the
 * modules that use it; all of them run inside control_cluster_poll, and none may block. Threads: the control thread. */
#include "cluster/cluster.h"
#include "kube/kube_access.h"
#include "serve/control_state.h"

struct pollfd;
struct control_certs;

struct control_cluster {
	struct control_state *state;
	struct kube_access access;
	char *own_namespace; /* namespaces.own, else the namespace of the service account or context; heap */
	struct cluster *cluster;
	struct control_certs *certs;
	uint64_t restarts[CLUSTER_WATCH_COUNT_]; /* restarts that the metric already includes */
	int64_t reported_ms;			 /* monotonic: when states were reported last */
};

/** Starts it as the configuration in use says; `state` is borrowed. @return 0; -ENOENT there is no access to a cluster;
 *  -EINVAL; another -errno. */
int control_cluster_start(struct control_state *state, struct control_cluster **ret, struct err *err) ATTR_NODISCARD;
/** NULL is allowed. */
void control_cluster_free(struct control_cluster *self);
/** Runs one round. Waits at most `wait_ms` for the API server, a timer, or one of `fds`. */
void control_cluster_poll(struct control_cluster *self, struct pollfd *fds, size_t n_fds, int64_t wait_ms);
/** Applies a changed configuration for the same cluster. */
void control_cluster_reconfigure(struct control_cluster *self);
