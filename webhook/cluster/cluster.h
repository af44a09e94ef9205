/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster: the webhook's snapshot from the API server, by watch.
 *
 * Reflectors tell objects and changes, each is decoded and put into a snapshot_builder that the first change starts
 * from the snapshot before, and `changed` asks for cluster_build: soon after a single change, ten times a second when
 * there are many. An object that cannot be decoded is logged with namespace, name and field, counted, and passed over:
 * an earlier good version stays.
 * Watches that are necessary hold the first snapshot up until each has told its first list; from then on whatever fails
 * leaves the last snapshot as it is. Nothing waits: all of it happens inside kube_client_poll. Threads: the client's
 * (the control thread); snapshots that are let go are freed there. */
#include "config/config.h"
#include "kube/kube_client.h"
#include "model/snapshot.h"

struct cluster;

/** What is watched, for metrics. */
enum cluster_watch_id {
	CLUSTER_PROFILES,
	CLUSTER_NODE_SHAPES,
	CLUSTER_NAMESPACES,
	CLUSTER_LIMIT_RANGES,
	CLUSTER_QUOTAS,
	CLUSTER_PRIORITY_CLASSES,
	CLUSTER_OWNERS, /* Jobs, JobSets, PyTorchJobs ...: all kinds together */
	CLUSTER_PODS,	/* of all namespaces with a quota together */
	CLUSTER_WATCH_COUNT_,
};
/** A kube_condition, "network", or "object" for one that was passed over. */
#define CLUSTER_FAILURES (KUBE_CONDITION_COUNT_ + 2)
const char *cluster_failure_name(size_t i);
/** "memoryprofiles", "namespaces" ... */
extern const char *const cluster_watch_names[CLUSTER_WATCH_COUNT_];

struct cluster_config {
	int64_t gather_ms;			/* between two snapshots; 0: 100 ms */
	int64_t backoff_min_ms, backoff_max_ms; /* of the reflectors; 0: theirs */
	void (*changed)(void *context);		/* there is something to build */
	/* Something went wrong with a watch, as cluster_failure_name says. */
	void (*failed)(void *context, enum cluster_watch_id watch, const char *reason);
	void *context;
};

struct cluster_watch_state {
	bool is_synced;	    /* every list was told whole, ever */
	bool is_in_contact; /* and is known to be current now */
	size_t objects;
	uint64_t restarts; /* lists and watches that were started again, ever */
};

/** Starts listing at the next poll. `client` must outlive it. @return 0; -ENOMEM. */
int cluster_start(struct kube_client *client, const struct cluster_config *config, struct cluster **ret,
		  struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void cluster_free(struct cluster *self);
/** Whether each necessary watch has told its first list: before that there is no snapshot to build. */
bool cluster_is_synced(const struct cluster *self);
/** In words which necessary watches have not, and why. @return buf; "" when all have. */
const char *cluster_missing(const struct cluster *self, char *buf, size_t size);
void cluster_watch_state(const struct cluster *self, enum cluster_watch_id id, struct cluster_watch_state *ret);
/** Monotonic: since when at least one necessary watch may be behind; now, when none is; 0: there is no snapshot yet. */
int64_t cluster_confirmed_ms(struct cluster *self);
/** Call `changed` soon, because node shapes of the configuration are others. */
void cluster_reconfigure(struct cluster *self);
/** The snapshot of all that was told, with the configuration's node shapes, which win.
 *  @return 0 with one reference; 1 nothing to build; -ENOMEM: everything is listed anew. */
int cluster_build(struct cluster *self, const struct config *config, struct snapshot **ret,
		  struct err *err) ATTR_NODISCARD;
