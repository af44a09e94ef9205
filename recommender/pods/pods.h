/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pods: the training pods of a cluster by watch, as sightings (sighting.h). Dropped while they are parsed: pods that do
 * not train, by the function that admission asks (model/identity.h: pod_classify), and pods of namespaces that are left
 * out. A pod that is gone stays until its run is over and written.
 *
 * A table lives as long as its owner; watching begins and ends with leadership, and what was seen is forgotten then:
 * the next list tells it anew. Threads: pods_watch and pods_unwatch belong to the client's thread, everything else but
 * pods_free may be called from any. */
#include "kube/kube_client.h"
#include "pods/sighting.h"

struct pods;

struct pods_config {
	const char *own_namespace;		/* left out, as kube-system; NULL: not known */
	const char *const *namespaces;		/* only these, NULL-terminated; NULL or empty: all */
	const char *const *excluded_namespaces; /* NULL-terminated; NULL: none */
	bool keeps_text;			/* of running pods, for resizes */
	/** Something that a profile should know at once. The client's thread; must not block. May be NULL. */
	void (*changed)(void *context);
	/** A list or watch failed and is tried again, or a pod was passed over. May be NULL. */
	void (*failed)(void *context, const struct err *why);
	void *context;
};

/** `config` is copied, its texts must live as long. @return 0; -ENOMEM. */
int pods_new(const struct pods_config *config, struct pods **ret, struct err *err) ATTR_NODISCARD;
/** After pods_unwatch. NULL allowed. */
void pods_free(struct pods *self);

/** Start to list at the next poll. @return 0; -ENOMEM. */
int pods_watch(struct pods *self, struct kube_client *client, struct err *err) ATTR_NODISCARD;
/** Ends it, and forgets what was seen. */
void pods_unwatch(struct pods *self);

/** All pods that there are have been told since pods_watch. */
bool pods_is_synced(struct pods *self);

/** Fill an initialised batch with sightings as evidence: all (`since_seq` 0), or only those of runs of which something
 * is newer than `since_seq`, and, where the batch's window has a start, of runs that were there in it. Runs of which an
 * owner is not known yet are left out, and then the batch is partial: they are news when they are known. @param ret_seq
 * up to where they are told; give it to pods_written later. May be NULL.
 *  @return 0; 1 they have not been listed yet; -ENOMEM. */
int pods_batch(struct pods *self, int64_t now_ms, int64_t since_seq, struct evidence_batch *batch,
	       int64_t *ret_seq) ATTR_NODISCARD;
/** What was told up to `seq` is in the store: what is gone, and whose run can have no further attempt, is forgotten. */
void pods_written(struct pods *self, int64_t seq, int64_t now_ms);
/** Is there something newer? */
bool pods_has_news(struct pods *self, int64_t since_seq);

/** Each sighting, by namespace and name, under the table's mutex: read only, short, and not calling back. `visit`
 *  returns false to end it. */
typedef bool pods_visit_fn(void *context, const struct sighting *sighting);
void pods_visit(struct pods *self, pods_visit_fn *visit, void *context);

/** What `is_news` says true of is told again, as if it had changed just now: of its run something is known beside the
 *  pod. The client's thread. */
void pods_touch(struct pods *self, pods_visit_fn *is_news, void *context);

struct pods_figures {
	size_t watched, gone;	/* sightings: in the API; kept although they are not */
	uint64_t dropped, told; /* pods that do not train; changes of those that do */
	/* What was seen to happen since pods_new: each OOM kill of a container, and how pods ended otherwise. */
	uint64_t ends[OUTCOME_COUNT_];
};
void pods_figures(struct pods *self, struct pods_figures *ret);
