/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* knowledge: everything in the store, joined for the reading commands: one entry for each workload, role and container,
 * sorted by namespace, workload, role and container. One thread. Cost: all profiles and histories in memory. */
#include "base/strmap.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "config/config.h"
#include "policy/size.h"
#include "program/store_access.h"
#include "report/table.h"
#include "store/store.h"

#define KNOWN_WHY_BYTES 400

struct known {
	char *key;		 /* heap: "namespace/name" */
	struct profile *profile; /* NULL: a history without a profile */
	struct history *history; /* NULL: a profile without a history (written by hand) */
};

struct knowledge {
	struct config *config;
	const char *namespace_name; /* borrowed: only its entries were loaded; NULL: all */
	VEC(struct known) items;
	struct strmap index;   /* key -> index of an item + 1, while loading */
	struct snapshot *refs; /* of the profiles that name a workload in their spec; NULL: there are none */
	size_t n_bad;	       /* objects that could not be read; they were reported and are missing here */
	/* Set before loading: keep the store open, and where memtamer runs in a cluster. */
	bool keeps_store;
	const char *own_namespace;  /* borrowed; NULL: as configured */
	struct store_access access; /* open with keeps_store; may be released before the rest */
};

#define KNOWLEDGE_INIT                                                                                                 \
	{                                                                                                              \
		.config = NULL                                                                                         \
	}

/** Options of every reading command: --config, --store, --kubeconfig, --context, --namespace. */
#define KNOWLEDGE_OPTIONS                                                                                              \
	{"config", 0, CLI_STRING, "FILE", "Configuration file", NULL}, STORE_ACCESS_OPTIONS,                           \
	{                                                                                                              \
		"namespace", 'n', CLI_STRING, "NAMESPACE", "Read only this namespace", NULL                            \
	}

/** Selects workloads. Without a filter, or with a file store, all are loaded. With a filter, only the histories of the
 * selected workloads are read from a cluster. */
struct knowledge_filter {
	bool (*wants)(const void *context, const struct profile *profile);
	const void *context;
};

/** Loads configuration and store according to the options. `filter` may be NULL. @return an exit code; if it is not
 * EXIT_CLEAN, the reason was printed. */
int knowledge_load(const struct cli_args *args, const struct knowledge_filter *filter, struct knowledge *ret);
void knowledge_release(struct knowledge *self);
/** Begins a JSON document of a reading command: its opening bracket, "apiVersion", "kind" and "generated". */
void knowledge_write_head(const char *api_version, const char *kind, int64_t now_ms, struct strbuf *buf);

void known_release(struct known *self);
/** The names of an entry, from the profile or the history. For a profile that people wrote and that has no runs, the
 * names in its spec. A workload of "" means the profile of a namespace. */
const char *known_namespace(const struct known *self);
const char *known_workload(const struct known *self);
const char *known_role(const struct known *self);
const char *known_container(const struct known *self);
/** The names as the cells of a table, under KNOWN_HEADS; in one line of text; and as members of a JSON object. */
#define KNOWN_HEADS "NAMESPACE,WORKLOAD,ROLE,CONTAINER"
void known_add_names(const struct known *self, struct table *table);
void known_print(const struct known *self, FILE *out);
void known_write_names(const struct known *self, struct strbuf *buf);

/** The profile whose spec applies to an entry: one that names its workload, else its own. The container is assumed to
 * be the main one, unless its name is that of a helper. NULL: none. */
const struct profile *known_decided(const struct knowledge *self, const struct known *known);
/** Whether the spec of an entry's profile is not applied. If so, `ret_why` is the reason. */
bool known_is_ignored(const struct knowledge *self, const struct known *known, char ret_why[KNOWN_WHY_BYTES]);
/** The sizes of a new pod of an entry, before its manifest and namespace are considered: `rec`, one of its
 * recommendations, with what people decided applied. @param ret_by  indexed by enum size_field. */
struct recommendation known_sizes(const struct knowledge *self, const struct known *known,
				  const struct recommendation *rec, enum size_by ret_by[2]);
