/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_access: a client as a program wants it: the kubeconfig by kubectl's rules, the client, and the namespace that is
 * ours when nobody says otherwise. Threads: the client's. */
#include "kube/kube_client.h"
#include "kube/kubeconfig.h"

struct kube_access {
	struct kubeconfig *kubeconfig;
	struct kube_client *client;
	/* Of the context or the service account; "default" where neither says. Lives as long as `kubeconfig`. */
	const char *namespace;
};

#define KUBE_ACCESS_INIT                                                                                               \
	{                                                                                                              \
		.kubeconfig = NULL                                                                                     \
	}

/** Nothing is sent yet. `path` and `context` may be NULL: kubeconfig.h says what is looked for then.
 *  @return 0; -ENOENT, -EINVAL, -errno with the place in err. kube_access_release in any case. */
int kube_access_open(const char *path, const char *context, const char *user_agent, struct kube_access *ret,
		     struct err *err) ATTR_NODISCARD;
/** Free what is built on the client before. */
void kube_access_release(struct kube_access *self);
