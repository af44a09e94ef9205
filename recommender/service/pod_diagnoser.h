/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_diagnoser: finds which pod of a run died first among the watched pods, and reads why (postmortem/diagnose_pod.h),
 * by the store's client. Main thread.
 *
 * One pod at a time is read: of the run in which a container died last, the pod that died first. Other pods of this run
 * that were running then are collateral and are not read. Containers that started later are: a retry of the run, or a
 * restart in the same pod. In a pod with accelerators only the containers that have them count, until the pod itself
 * fails. Deaths more than an hour ago, and those of pods that were deleted before or are gone, are not read. What could
 * not be read or stored is tried again, LIMIT_DIAGNOSE_TRIES times in all, after DIAGNOSE_REST_MS and then after twice
 * as long each time; a pod that is gone or may not be read is not.
 *
 * What was found is told to the table of pods (pods_note_end), for gangs that hang (hung_gangs.h).
 *
 * Cost of a turn: two passes over the watched pods, and if there is a pod to read, at most DIAGNOSE_MS. */
#include "engine/diagnose.h"
#include "pods/pods.h"

struct kube_client;

/** How long one pod is read, and how long its run rests then; the rest doubles with each further try. */
#define DIAGNOSE_MS	 ((int64_t)5 * 1000)
#define DIAGNOSE_REST_MS ((int64_t)60 * 1000)

/** A container or a pod that died. */
struct dead_pod {
	uint64_t run; /* as in struct sighting */
	int64_t end_ms;
	char namespace[LIMIT_NAMESPACE_BYTES + 1], name[LIMIT_NAME_BYTES + 1], uid[64];
};

/** A run of which a pod was read, or tried. */
struct dead_run {
	uint64_t run;
	int64_t read_ms; /* what started until then is not read any more; 0: nothing was read */
	int64_t end_ms;	 /* the death that was tried last; the fields below are about it */
	int n_tries;
	bool has_part;		     /* a result is in the store, of which a part could not be read */
	int64_t next_ms;	     /* the run is not tried before; wall clock */
	struct pods_found_end found; /* uid "": nothing was found */
};

struct pod_diagnoser {
	struct pods *pods;	    /* borrowed */
	struct kube_client *client; /* borrowed */
	bool reads_logs;
	int64_t written_seq; /* set by the caller: changes of pods that are in the store (pods.h) */

	struct dead_pod dead; /* of the last call of `next` */
	bool is_partial;      /* of the last call of `read` */
	/* Kept between calls; beyond its size the oldest are forgotten. */
	struct dead_run runs[LIMIT_DIAGNOSE_RUNS];
	size_t n_runs; /* all that were added */
};

/** Sets what is borrowed; what was read already is kept. Start with all zeros. */
void pod_diagnoser_connect(struct pod_diagnoser *self, struct pods *pods, struct kube_client *client, bool reads_logs);
/** The engine's interface to it. */
struct diagnoser pod_diagnoser_interface(struct pod_diagnoser *self);
