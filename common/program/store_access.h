/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store_access: the store that configuration or command line name, with the client of the cluster behind it. Threads:
 * the store's; SIGPIPE is ignored as long as a client is there. */
#include "cli/cli.h"
#include "config/config.h"
#include "kube/kube_access.h"
#include "store/store.h"

#include <signal.h>

struct store_access {
	struct store *store;
	struct kube_access kube;   /* client NULL: a file */
	const char *own_namespace; /* memtamer's; NULL: a file */
	bool is_implied;	   /* nobody named a store: it is the kubeconfig's cluster */
	bool has_pipe_action;	   /* SIGPIPE is ignored for the client's sake, and was not before */
	struct sigaction pipe_action;
};

#define STORE_ACCESS_INIT                                                                                              \
	{                                                                                                              \
		.store = NULL                                                                                          \
	}

/** The rows of commands' tables beside --config. */
#define STORE_ACCESS_OPTIONS                                                                                           \
	{"store", 's', CLI_STRING, "PATH", "read this file instead of a cluster", NULL},                               \
		{"kubeconfig", 0, CLI_STRING, "FILE", "read the cluster of this kubeconfig", NULL},                    \
	{                                                                                                              \
		"context", 0, CLI_STRING, "NAME", "this context of the kubeconfig", NULL                               \
	}

/** As `store` and `kubernetes` of the configuration say (which must live as long); nothing is sent yet.
 *  @return 0; -ENOENT no kubeconfig; -EINVAL; -EWOULDBLOCK; -errno. store_access_release in any case. */
int store_access_open(const struct config *config, bool is_writer, const char *user_agent, struct store_access *ret,
		      struct err *err) ATTR_NODISCARD;
/** For commands: --store goes first, then --kubeconfig and --context, then --config; with none of them it is
 *  the cluster of the kubeconfig that kubectl would take. `config` is the one of --config, or the defaults.
 *  @return the same; -EINVAL also for options that contradict each other. */
int store_access_open_args(const struct cli_args *args, const struct config *config, bool is_writer,
			   const char *user_agent, struct store_access *ret, struct err *err) ATTR_NODISCARD;
void store_access_release(struct store_access *self);
