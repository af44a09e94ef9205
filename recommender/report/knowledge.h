/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* knowledge: everything the store holds, joined for the reading commands: one entry per workload, role and container,
 * sorted by namespace, workload, role and container. One thread. */
#include "base/strmap.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "config/config.h"
#include "store/store.h"

struct known {
	struct profile *profile; /* NULL: a history without a profile */
	struct history *history; /* NULL: a profile without a history (written by hand) */
};

struct knowledge {
	struct config *config;
	VEC(struct known) items;
	VEC(struct node_shape) shapes;
	struct strmap index; /* "namespace/name" -> item number + 1 */
	VEC(char *) keys;    /* of the index */
};

#define KNOWLEDGE_INIT                                                                                                 \
	{                                                                                                              \
		.config = NULL                                                                                         \
	}

/** The options that every reading command has: --config, --store, --namespace. */
#define KNOWLEDGE_OPTIONS                                                                                              \
	{"config", 0, CLI_STRING, "FILE", "configuration file", NULL},                                                 \
		{"store", 0, CLI_STRING, "PATH", "file store to read, instead of the configuration's", NULL},          \
	{                                                                                                              \
		"namespace", 'n', CLI_STRING, "NAMESPACE", "only this namespace", NULL                                 \
	}

/** Load configuration and store as the options say; `command` begins every message. @return an exit code; anything but
 * EXIT_CLEAN has been printed. */
int knowledge_load(const char *command, const struct cli_args *args, struct knowledge *ret);
void knowledge_release(struct knowledge *self);

/** Names of an entry, from the profile or the history. */
const char *known_namespace(const struct known *self);
const char *known_workload(const struct known *self);
const char *known_role(const struct known *self);
const char *known_container(const struct known *self);
