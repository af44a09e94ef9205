/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster: the source of a postmortem that asks the API server, with the rights of whoever calls. One thread. SIGPIPE
 * is ignored while a struct cluster is open. */
#include "kube/kube_access.h"
#include "postmortem/postmortem.h"

#include <signal.h>

/** Sends the requests of a postmortem by a client that the caller has. */
struct cluster_source {
	struct kube_client *client; /* borrowed */
	int64_t deadline_ms;	    /* monotonic: requests fail from then on; 0: each has its own time */
	struct postmortem_source source;
};

struct cluster {
	struct kube_access access;
	struct cluster_source requests;
	bool has_pipe_action;
	struct sigaction pipe_action;
};

/** `ret` must stay where it is. */
void cluster_source_init(struct cluster_source *ret, struct kube_client *client, int64_t deadline_ms);
/** Opens the cluster of a kubeconfig, or of the pod that this process runs in; sends no request yet. Both names may be
 *  NULL. `ret` must stay where it is. @return 0; an error of kube_access_open. Call cluster_close in any case. */
int cluster_open(const char *kubeconfig, const char *context, struct cluster *ret, struct err *err) ATTR_NODISCARD;
void cluster_close(struct cluster *self);
