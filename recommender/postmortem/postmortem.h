/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* postmortem: reads what a cluster still knows of a pod, or of all pods of an owner, into the facts of a triage: logs
 * of the containers that failed, events, statuses, the node. Requests are few and bounded (base/limits.h), all of them
 * reads. What the caller may not read, or what is gone, becomes a note in triage.unseen.
 * The pods are groups of the facts in the order of their ends. One thread. */
#include "base/arena.h"
#include "postmortem/ended_pod.h"
#include "postmortem/owner.h"
#include "triage/triage.h"

struct evidence_reader;

/** How requests are sent. Everything is a GET. */
struct postmortem_source {
	/* Fetches a path with its query into `body`; of an answer beyond `max_bytes` the last part may be kept
	 * (`keeps_end`). @return 0; KUBE_NOT_FOUND; KUBE_FORBIDDEN; another kube_condition; -errno. */
	int (*fetch)(void *context, const char *path, size_t max_bytes, bool keeps_end, struct strbuf *body,
		     struct err *err);
	void *context;
};

struct postmortem {
	struct triage *triage; /* borrowed */
	const struct postmortem_source *source;
	const char *namespace;
	struct owner owner;	      /* as asked */
	struct arena arena;	      /* names of sources */
	VEC(struct ended_pod) pods;   /* in the order of their ends */
	struct owner siblings_of;     /* the owner that the pods belong to; the kind is NULL: none */
	int n_slow;		      /* logs that could not be read because a kubelet did not answer */
	int n_missed;		      /* logs and events that could not be read, and perhaps can be later */
	bool is_node_unseen;	      /* nodes cannot be read: it was said once */
	struct json_object *profiles; /* MemoryProfiles of the namespace, see known_workload.h; NULL: not read */
	/* Prometheus; the caller may set it. NULL: it is not asked, or did not answer. */
	struct evidence_reader *reader;
	int64_t reader_left_ms; /* it may take so long in all; postmortem_init sets PROMETHEUS_ALL_MS */
	/* At most so much of the end of each log: postmortem_init sets the limits of LIMIT_TRIAGE_LOG; 0 bytes: no
	 * logs. */
	size_t log_bytes;
	int log_lines;
	bool is_tail; /* only the ends of logs are wanted */
};

#define POSTMORTEM_NOT_FOUND 1
#define PROMETHEUS_ALL_MS    20000 /* that all queries to Prometheus may take together */

/** `triage` and `source` are borrowed until postmortem_release. */
void postmortem_init(struct postmortem *self, struct triage *triage, const struct postmortem_source *source,
		     const char *namespace);
/** Reads what `owner` means. @return 0; POSTMORTEM_NOT_FOUND: there is no such object, and no event of it; another
 *  kube_condition or -errno: it cannot be read. */
int postmortem_read(struct postmortem *self, const struct owner *owner, struct err *err) ATTR_NODISCARD;
/** Reads one pod only: its object (by a list, for callers without the right to get pods), its events, and its logs up
 * to self->log_bytes. @param uid  of the pod; another one of the same name does not count.
 * @return 0; KUBE_NOT_FOUND; another kube_condition; -errno. */
int postmortem_read_single(struct postmortem *self, const char *pod, const char *uid, struct err *err) ATTR_NODISCARD;
/** After triage_decide(): names the pod in the commands of the answer, and says what still holds accelerators. */
void postmortem_conclude(struct postmortem *self);
void postmortem_release(struct postmortem *self);
