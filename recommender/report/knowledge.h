/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* knowledge: everything the store holds, joined for the reading commands: one entry per workload, role and container,
 * sorted by namespace, workload, role and container. One thread. */
#include "base/strmap.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "config/config.h"
#include "program/store_access.h"
#include "store/store.h"

struct known {
	struct profile *profile; /* NULL: a history without a profile */
	struct history *history; /* NULL: a profile without a history (written by hand) */
};

struct knowledge {
	struct config *config;
	VEC(struct known) items;
	struct strmap index; /* "namespace/name" -> item number + 1 */
	VEC(char *) keys;    /* of the index */
	size_t n_bad;	     /* objects that could not be read: told, and missing here */
	/* Set before loading: keep the store open, and where memtamer is in a cluster, whatever the configuration says.
	 */
	bool keeps_store;
	const char *own_namespace;  /* borrowed; NULL: as the configuration says */
	struct store_access access; /* open with keeps_store; may be released before the rest */
};

#define KNOWLEDGE_INIT                                                                                                 \
	{                                                                                                              \
		.config = NULL                                                                                         \
	}

/** The options that every reading command has: --config, --store, --kubeconfig, --context, --namespace. */
#define KNOWLEDGE_OPTIONS                                                                                              \
	{"config", 0, CLI_STRING, "FILE", "configuration file", NULL}, STORE_ACCESS_OPTIONS,                           \
	{                                                                                                              \
		"namespace", 'n', CLI_STRING, "NAMESPACE", "only this namespace", NULL                                 \
	}

/** Which workloads are wanted; without it, or in a store that is a file, all are loaded. Of a cluster only the
 *  histories of those are asked for. */
struct knowledge_filter {
	bool (*wants)(const void *context, const struct profile *profile);
	const void *context;
};

/** Load configuration and store as the options say; `command` begins every message. `filter` may be NULL.
 *  @return an exit code; anything but EXIT_CLEAN has been printed. */
int knowledge_load(const char *command, const struct cli_args *args, const struct knowledge_filter *filter,
		   struct knowledge *ret);
void knowledge_release(struct knowledge *self);

/** Names of an entry, from the profile or the history. */
const char *known_namespace(const struct known *self);
const char *known_workload(const struct known *self);
const char *known_role(const struct known *self);
const char *known_container(const struct known *self);
