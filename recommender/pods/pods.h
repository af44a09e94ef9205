/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pods: watches the training pods of a cluster and keeps one sighting (sighting.h) of each. Pods that do not train are
 * dropped while they are parsed, by the function that admission uses too (model/identity.h: pod_classify). Pods of
 * excluded namespaces are dropped as well. Pods of ignored namespaces are set apart: no function below reads or counts
 * them until their namespace is ignored no longer. The sighting of a deleted pod is kept until its run is over and
 * written.
 *
 * The table may outlive several terms of leadership: a term begins with pods_watch and ends with pods_unwatch, which
 * deletes all sightings. The next list finds the pods that still exist.
 *
 * Threads: pods_watch, pods_unwatch, and functions that say so belong to the client's thread. pods_free needs that no
 * other thread uses the table. All other functions may be called from any thread. */
#include "base/limits.h"
#include "kube/kube_client.h"
#include "model/diagnosis.h"
#include "pods/sighting.h"

struct pods;

struct pods_config {
	const char *own_namespace;		/* excluded, as kube-system is; NULL: not known */
	const char *const *namespaces;		/* watch only these, NULL-terminated; NULL or empty: all */
	const char *const *excluded_namespaces; /* NULL-terminated; NULL: none */
	/** Whether a namespace is ignored now. Runs on the client's thread. NULL: none is. */
	bool (*is_ignored)(void *context, const char *namespace_name);
	bool keeps_text; /* keep the JSON text of running pods, for resizes */
	/** Something changed that a profile should reflect at once (sighting_is_urgent), or the first list is complete.
	 * Runs on the client's thread; must not block. May be NULL. */
	void (*changed)(void *context);
	/** A list or watch failed and is retried, the owner of a pod could not be read, or a pod could not be read and
	 * was skipped. Runs on the client's thread. May be NULL. */
	void (*failed)(void *context, const struct err *why);
	void *context;
};

/** `config` is copied; the texts in it must live as long as the table. @return 0; -ENOMEM. */
int pods_new(const struct pods_config *config, struct pods **ret, struct err *err) ATTR_NODISCARD;
/** Stops the watch as pods_unwatch does and frees the table. NULL is allowed. */
void pods_free(struct pods *self);

/** Starts to list and watch pods at the next poll. `client` must live until pods_unwatch.
 * @return 0; -EINVAL; -ENOMEM. */
int pods_watch(struct pods *self, struct kube_client *client, struct err *err) ATTR_NODISCARD;
/** Stops the watch and deletes all sightings. No callback runs afterwards. */
void pods_unwatch(struct pods *self);

/** `is_ignored` of this namespace has changed: sets its pods apart and forgets those that are gone, or takes the pods
 * back. The client's thread. Cost: the number of sightings. */
void pods_set_ignored(struct pods *self, const char *namespace_name, bool is_ignored);

/** Whether a list has been completed since pods_watch. */
bool pods_is_synced(struct pods *self);

/** Fills an initialised batch with sightings as evidence. With `since_seq` 0 it adds all runs. Otherwise it adds runs
 * with a change after `since_seq` and, if the batch's window has a start, runs that existed in the window.
 *
 * A run is added with all of its pods or not at all. Runs with a pod whose topmost owner is not known yet are left
 * out, and the batch is marked partial; they count as changed once the owner is known.
 *
 * Cost: n log n in the number of sightings, under the table's mutex.
 * @param ret_seq the sequence number of the latest change in the batch, for pods_written. May be NULL.
 * @return 0; 1: the first list is not complete; -ENOMEM. */
int pods_batch(struct pods *self, int64_t now_ms, int64_t since_seq, struct evidence_batch *batch,
	       int64_t *ret_seq) ATTR_NODISCARD;
/** Fills an initialised batch whose window has no start with the pods of one run. Cost: the number of sightings, and
 * n log n in those whose topmost owner is not known.
 * @return 0; 1: the first list is not complete; -ENOMEM. */
int pods_batch_run(struct pods *self, int64_t now_ms, uint64_t run_hash, struct evidence_batch *batch) ATTR_NODISCARD;
/** Changes up to `seq` are in the store. Deletes sightings of pods that are gone and whose run can have no further
 * attempt; beyond 20,000 pods that are gone it deletes the oldest ones too. Cost: n log n in the number of
 * sightings. */
void pods_written(struct pods *self, int64_t seq, int64_t now_ms);
/** Whether a sighting changed after `since_seq`. False before the first list is complete. */
bool pods_has_changes(struct pods *self, int64_t since_seq);

/** Calls `visit` for each sighting, in no particular order, until it returns false. The table's mutex is held: `visit`
 * must only read, return quickly, and not call functions of pods.h. */
typedef bool pods_visit_fn(void *context, const struct sighting *sighting);
void pods_visit(struct pods *self, pods_visit_fn *visit, void *context);

/** Marks the sightings for which `is_news` returns true as changed, so that the next pods_batch contains their runs,
 * and calls `changed`. Use it when something outside the pod changed that belongs to its run. Sightings of pods that
 * are gone are not considered. The client's thread. Cost: the number of sightings. */
void pods_touch(struct pods *self, pods_visit_fn *is_news, void *context);

/** A pod that is not scheduled yet. */
struct pods_waiting {
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1], name[LIMIT_NAME_BYTES + 1], uid[64];
};
/** Finds a pod whose Events should be read. Such a pod has sizes that we set and is not scheduled after `after_ms`, its
 * Events or those of another pod of its run were not read within the last `after_ms`, and no Event has named a missing
 * resource yet. The pod's PodScheduled condition does not suffice: it describes the nodes that exist, while
 * autoscalers describe in Events which nodes they could add.
 *
 * All pods of the run are marked as asked at `now_ms`. Cost: the number of sightings. The client's thread.
 * @return false: there is no such pod. */
bool pods_next_waiting(struct pods *self, int64_t now_ms, int64_t after_ms, struct pods_waiting *ret);
/** Records that, since `since_ms`, Events of the pod say that new nodes would lack these resources too.
 * @param lacks bits of END_UNSCHEDULABLE. The client's thread. */
void pods_note_lack(struct pods *self, const struct pods_waiting *pod, unsigned int lacks, int64_t since_ms);

/** What was found about the end of a pod from its log and Events. */
struct pods_found_end {
	char uid[64];			 /* of the pod */
	char kind[DIAGNOSIS_WORD_BYTES]; /* of an end for memory, in the words of triage; "": another end */
	int64_t end_ms;
};
/** Keeps what was found, also while no pods are watched, in place of what was found about the pod before. Of
 * LIMIT_DIAGNOSE_RUNS pods; then the oldest are forgotten. */
void pods_note_end(struct pods *self, const struct pods_found_end *end);
/** Copies what was found about ends for memory. @return how many there are. */
size_t pods_found_ends(struct pods *self, struct pods_found_end ret[LIMIT_DIAGNOSE_RUNS]);

struct pods_figures {
	size_t watched, gone; /* sightings of pods that exist; of pods that are gone */
	/* Ends that were observed since pods_new, by outcome. OUTCOME_OOM_KILLED counts every OOM kill of a container,
	 * the others count pods. Ends before the first list are not counted. */
	uint64_t ends[OUTCOME_COUNT_];
};
/** Copies the figures. Any thread. */
void pods_figures(struct pods *self, struct pods_figures *ret);
