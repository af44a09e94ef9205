/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store_access: opens the store that the configuration or the command line names, including the client of its cluster.
 * Threads: the store's. SIGPIPE is ignored while there is a client. */
#include "cli/cli.h"
#include "config/config.h"
#include "kube/kube_access.h"
#include "store/store.h"

#include <signal.h>

struct store_access {
	struct store *store;
	struct kube_access kube;   /* the client is NULL for a file */
	const char *own_namespace; /* memtamer's namespace; NULL for a file */
	bool is_implied;	   /* no store was named, so it is the kubeconfig's cluster */
	bool has_pipe_action;	   /* SIGPIPE was set to be ignored, and `pipe_action` is to be restored */
	struct sigaction pipe_action;
};

#define STORE_ACCESS_INIT                                                                                              \
	{                                                                                                              \
		.store = NULL                                                                                          \
	}

/** The rows of a command's table of options, to be used with --config. */
#define STORE_ACCESS_OPTIONS                                                                                           \
	{"store", 's', CLI_STRING, "PATH", "Read this file instead of a cluster", NULL},                               \
		{"kubeconfig", 0, CLI_STRING, "FILE", "Read the cluster of this kubeconfig", NULL},                    \
	{                                                                                                              \
		"context", 0, CLI_STRING, "NAME", "Use this context of the kubeconfig", NULL                           \
	}

/** Opens the store that `store` and `kubernetes` of the configuration name; sends no request yet. `config` is borrowed
 *  and must live as long.
 *  @return 0; -ENOENT there is no kubeconfig; -EWOULDBLOCK another writer has the file; an error of kube_access_open.
 *  Call store_access_release in any case. */
int store_access_open(const struct config *config, bool is_writer, const char *user_agent, struct store_access *ret,
		      struct err *err) ATTR_NODISCARD;
/** The same for commands. --store wins over --kubeconfig and --context, and these over --config; without any of them it
 *  is the cluster of the kubeconfig that kubectl would use. `config` is the file of --config, or the defaults. The file
 *  of --store must exist. A file that only the configuration names may be missing: it is an empty store until a
 *  recommender writes it.
 *  @return as store_access_open; -ENOENT also for a missing --store; -EINVAL for options that contradict each other. */
int store_access_open_args(const struct cli_args *args, const struct config *config, bool is_writer,
			   const char *user_agent, struct store_access *ret, struct err *err) ATTR_NODISCARD;
/** Closes the store, frees the client and restores the action of SIGPIPE. */
void store_access_release(struct store_access *self);
