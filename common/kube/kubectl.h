/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kubectl: reaches the API server from outside a pod. `kubectl proxy` runs as a child process. The proxy finds the
 * kubeconfig, authenticates as kubectl does, and accepts plain HTTP requests on a Unix socket.
 *
 * The socket's path is removed as soon as the proxy listens. Only this process and root can connect then, and no file
 * is left however this process ends. The kernel kills the child when the thread that called kubectl_start ends, also
 * after a crash.
 * Threads: one thread starts and stops it, the others only read. kubectl_start must run before other threads exist, or
 * they must have SIGHUP, SIGINT and SIGTERM blocked. */
#include "base/err.h"

#include <stdint.h>

struct kubectl {
	char *server;	 /* URL of the API server, for messages; never NULL */
	char *namespace; /* of the context; "default" when the context has none */
	char socket[32]; /* path of the proxy's socket for this process */
	int socket_fd;	 /* the socket behind that path */
	struct kubectl_child {
		int pid; /* 0: not running */
		int out, words;
	} proxy;
};

/** Reads the context with `kubectl config view`, starts the proxy and waits until it listens. `kubeconfig` (a path) and
 *  `context` may be NULL: kubectl chooses. Takes two runs of kubectl (about 0.2 s), at most `timeout_ms`.
 *  @return 0; -ENOPKG kubectl is not installed; -EINVAL kubectl refuses the kubeconfig or the context; -ETIMEDOUT;
 *  -EINTR a signal to terminate arrived that was not blocked, and takes effect before this returns; another -errno.
 *  `err` repeats what kubectl wrote to stderr. */
int kubectl_start(const char *kubeconfig, const char *context, int64_t timeout_ms, struct kubectl **ret,
		  struct err *err) ATTR_NODISCARD;
/** Ends the proxy and frees `self`. NULL is allowed. */
void kubectl_stop(struct kubectl *self);
/** Call it when a request got no answer from the API server. Adds to `err` what the proxy and credential plugins wrote
 *  to stderr, and whether the proxy has ended. */
void kubectl_explain(struct kubectl *self, struct err *err);
