/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_plugin: a credential plugin (client.authentication.k8s.io) as a child process that nobody waits for.
 * It gets KUBERNETES_EXEC_INFO, an empty standard input and a deadline; its answer (a token, or a client certificate)
 * is kept until it expires or is called invalid. Threads: belongs to one thread. */
#include "kube/kubeconfig.h"

#include <poll.h>
#include <stdint.h>

#define KUBE_PLUGIN_FDS 3

struct kube_plugin;

struct kube_credentials {
	const char *token;		/* NULL: none */
	const char *cert_pem, *key_pem; /* NULL: none */
	unsigned int generation;	/* counts the answers, from 1 */
};

/** `kubeconfig` must outlive it. @return 0; -ENOMEM. */
int kube_plugin_new(const struct kubeconfig *kubeconfig, int64_t timeout_ms, struct kube_plugin **ret,
		    struct err *err) ATTR_NODISCARD;
/** Kills a child under way. NULL allowed. */
void kube_plugin_free(struct kube_plugin *self);

/** What to use at `now_ms` (wall clock); NULL when there is nothing valid. Borrowed until the next step. */
const struct kube_credentials *kube_plugin_credentials(const struct kube_plugin *self, int64_t now_ms);
/** The server refused this generation: forget it (a newer one stays). */
void kube_plugin_invalidate(struct kube_plugin *self, unsigned int generation);
bool kube_plugin_is_running(const struct kube_plugin *self);
/** Start the child; it must not run yet. @return 0; -errno (not found: with the install hint). */
int kube_plugin_start(struct kube_plugin *self, struct err *err) ATTR_NODISCARD;
/** What to wait for while it runs. @return how many of KUBE_PLUGIN_FDS entries were set. */
size_t kube_plugin_fds(const struct kube_plugin *self, struct pollfd *fds);
/** When it must be over, of time_monotonic_ms. */
int64_t kube_plugin_deadline_ms(const struct kube_plugin *self);
/** Go on with what is there, without waiting. `now_ms`: wall clock. @return 0 it still runs, or does not run at all; 1
 * it has answered; -errno it failed: err says how, with the first line of its standard error. */
int kube_plugin_step(struct kube_plugin *self, int64_t now_ms, struct err *err) ATTR_NODISCARD;
