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

#define KNOWN_WHY_BYTES	  400
#define KNOWN_WHERE_BYTES 400

struct known {
	char *key;		 /* heap: "namespace/name" */
	struct profile *profile; /* NULL: a history without a profile */
	struct history *history; /* NULL: a profile without a history (written by hand) */
};

struct knowledge {
	const struct cli_args *args; /* borrowed */
	struct config *config;
	const char *namespace_name; /* borrowed: only its entries were loaded; NULL: all */
	char *context_namespace;    /* heap: that of kubectl's context, if it was chosen; NULL: otherwise */
	VEC(struct known) items;
	VEC(struct profile *) caps; /* heap: profiles of whole namespaces (PROFILE_OF_NAMESPACE), which are no items */
	VEC(struct node_shape) shapes; /* after knowledge_read_shapes */
	struct strmap index;	       /* key -> index of an item + 1, while loading */
	struct snapshot *refs;	       /* of the profiles that name a workload in their spec; NULL: there are none */
	size_t n_bad;		       /* objects that could not be read; they were reported and are missing here */
	/* Set before loading: read all namespaces unless -n names one, keep the store open, and where memtamer runs in
	 * a cluster. */
	bool reads_all, keeps_store;
	const char *own_namespace;  /* borrowed; NULL: as configured */
	struct store_access access; /* open with keeps_store; may be released before the rest */
};

#define KNOWLEDGE_INIT                                                                                                 \
	{                                                                                                              \
		.config = NULL                                                                                         \
	}

/** Options of every reading command: --config, --store, --kubeconfig, --context, --namespace, --all-namespaces. As with
 * kubectl, the default is the namespace of its context, and -A wins over -n. A file, and a program in a pod, have no
 * context: they read all namespaces. KNOWLEDGE_OPTIONS_ALL: for commands with `reads_all`. */
#define KNOWLEDGE_OPTIONS     KNOWLEDGE_OPTIONS_("Read only this namespace (default: that of kubectl's context)")
#define KNOWLEDGE_OPTIONS_ALL KNOWLEDGE_OPTIONS_("Read only this namespace (default: all)")
#define KNOWLEDGE_OPTIONS_(namespace_help)                                                                             \
	{"config", 0, CLI_STRING, "FILE", "Configuration file", NULL}, STORE_ACCESS_OPTIONS,                           \
		{"namespace", 'n', CLI_STRING, "NAMESPACE", namespace_help, NULL},                                     \
	{                                                                                                              \
		"all-namespaces", 'A', CLI_FLAG, NULL, "Read all namespaces", NULL                                     \
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
/** Reads the node shapes of the store, which must be open (`keeps_store`). Users who may read one namespace may not be
 * allowed to read node shapes, so a failure leaves `shapes` empty. */
void knowledge_read_shapes(struct knowledge *self);
void knowledge_release(struct knowledge *self);
/** Where nothing was found, for messages: " in namespace ml", with a hint to -A if nobody named the namespace; "" for
 * all namespaces. @return `buf`. */
const char *knowledge_where(const struct knowledge *self, char buf[KNOWN_WHERE_BYTES]);
/** Whether two entries differ only in their container, so that a table has to show it. */
bool knowledge_has_containers(const struct knowledge *self);
/** Begins a JSON document of a reading command: its opening bracket, "apiVersion", "kind" and "generated". */
void knowledge_write_head(const char *api_version, const char *kind, int64_t now_ms, struct strbuf *buf);

void known_release(struct known *self);
/** The names of an entry, from the profile or the history. For a profile that people wrote and that has no runs, the
 * names in its spec; a workload of "" means that it names none. */
const char *known_namespace(const struct known *self);
const char *known_workload(const struct known *self);
const char *known_role(const struct known *self);
const char *known_container(const struct known *self);
/** The names (namespace, workload, role, container) as the cells of a table, in one line of text, and as members of a
 * JSON object. */
void known_add_names(const struct known *self, struct table *table);
void known_print(const struct known *self, FILE *out);
void known_write_names(const struct known *self, struct strbuf *buf);

/** What later runs say about the end in the entry's diagnosis (model/diagnosis.h). */
static inline enum diagnosis_since known_since(const struct known *self, const struct run **ret)
{
	return diagnosis_since(self->profile ? self->profile->diagnosis : NULL,
			       self->history ? self->history->runs.items : NULL,
			       self->history ? self->history->runs.n : 0, ret);
}
/** The profile whose spec applies to an entry: one that names its workload, else its own. The container is assumed to
 * be the main one, unless its name is that of a helper. NULL: none. */
const struct profile *known_decided(const struct knowledge *self, const struct known *known);
/** Whether the spec of an entry's profile is not applied. If so, `ret_why` is the reason. */
bool known_is_ignored(const struct knowledge *self, const struct known *known, char ret_why[KNOWN_WHY_BYTES]);
/** The sizes of a new pod of an entry, before its manifest and namespace are considered: `rec`, one of its
 * recommendations, with what people decided applied. @param ret_by  indexed by enum size_field. */
struct recommendation known_sizes(const struct knowledge *self, const struct known *known,
				  const struct recommendation *rec, enum size_by ret_by[2]);
