/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_access: finds the API server, the credentials and the namespace, and makes a client for them.
 *
 * With a kubeconfig all requests go through kubectl (kubectl.h). A kubeconfig is used when `path` (--kubeconfig) or
 * `context` is given, when $KUBECONFIG names a file that is not empty, or when $HOME/.kube/config is not empty.
 * Otherwise the service account of the pod that this process runs in is used. Threads: the client's. */
#include "base/arena.h"
#include "kube/kube_client.h"
#include "kube/kube_server.h"

struct kube_access {
	struct arena arena; /* owns the strings */
	struct kube_server server;
	struct kube_client *client;
	/* The namespace of the context or of the service account; "default" where neither has one. */
	const char *namespace;
};

#define KUBE_ACCESS_INIT                                                                                               \
	{                                                                                                              \
		.client = NULL                                                                                         \
	}

/** Fills `ret` and starts kubectl if a kubeconfig is used; sends no request to the API server. `path` and `context` may
 *  be NULL.
 *  @return 0; -ENOENT there is neither a kubeconfig nor a service account; an error of kubectl_start; another -errno
 *  with the place in `err`. Call kube_access_release in any case. */
int kube_access_open(const char *path, const char *context, const char *user_agent, struct kube_access *ret,
		     struct err *err) ATTR_NODISCARD;
/** Reads the service account of a pod. `folder` contains the files token, ca.crt and namespace; the API server is at
 *  `host`:`port`. `ret` must be initialised; `client` is not set.
 *  @return 0; -ENOENT token or ca.crt is missing; -ENOMEM; another -errno. */
int kube_access_of_pod(const char *folder, const char *host, const char *port, struct kube_access *ret,
		       struct err *err) ATTR_NODISCARD;
/** Frees the client and ends kubectl. Free everything that is built on the client first. */
void kube_access_release(struct kube_access *self);
