/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_diagnoser: finds which pod of a run died first among the watched pods, and reads why (postmortem/diagnose_pod.h),
 * by the store's client. Main thread.
 *
 * Of each attempt of a run one pod is read, once: the others that die with it are collateral. Pods that died more than
 * an hour ago, were deleted before they ended, or are gone, are not read. Cost of a cycle: one pass over the watched
 * pods, at most LIMIT_DIAGNOSE_PODS pods, and PODS_READ_MS in all. */
#include "engine/diagnose.h"

struct kube_client;
struct pods;

enum { PODS_DEAD_MAX = 64, RUNS_READ_KEPT = 512 };
enum { DEAD_NEW = -1, DEAD_UNKNOWN = -2 /* nothing could be read in this cycle */ };

struct dead_pod {
	uint64_t run; /* as in struct sighting */
	int64_t end_ms;
	int result; /* index of results; DEAD_NEW, DEAD_UNKNOWN */
	char namespace[LIMIT_NAMESPACE_BYTES + 1], name[LIMIT_NAME_BYTES + 1], uid[64];
};

struct pod_diagnoser {
	struct pods *pods;	    /* borrowed */
	struct kube_client *client; /* borrowed */
	bool reads_logs;

	int64_t now_ms, deadline_ms; /* wall clock; monotonic */
	struct dead_pod dead[PODS_DEAD_MAX];
	struct diagnosed results[LIMIT_DIAGNOSE_PODS];
	size_t n_dead, n_tried, n_results; /* of this cycle */
	struct {
		uint64_t run;
		int64_t end_ms;
	} read[RUNS_READ_KEPT]; /* kept between cycles */
	size_t n_read;		/* all that were added */
};

/** Sets what is borrowed; what was read already is kept. Start with all zeros. */
void pod_diagnoser_connect(struct pod_diagnoser *self, struct pods *pods, struct kube_client *client, bool reads_logs);
/** The engine's interface to it. */
struct diagnoser pod_diagnoser_interface(struct pod_diagnoser *self);
