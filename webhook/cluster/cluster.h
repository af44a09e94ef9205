/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster: builds the webhook's snapshot from objects that it watches in the API server.
 *
 * Reflectors report objects and changes. Each object is decoded and put into a snapshot_builder, which the first change
 * starts from the previous snapshot. `changed` then asks the caller to call cluster_build: at once after a single
 * change, and at most ten times a second if there are many. An object that cannot be decoded is skipped, counted, and
 * logged with namespace, name and field; an earlier valid version stays in use.
 *
 * There is no snapshot before the first lists of all necessary watches are complete. After that, failures leave the
 * last snapshot in use. Nothing blocks: all work happens inside kube_client_poll. Threads: the client's (the control
 * thread), which also frees old snapshots. */
#include "config/config.h"
#include "kube/kube_client.h"
#include "model/snapshot.h"

struct cluster;

/** The watches, for metrics. */
enum cluster_watch_id {
	CLUSTER_PROFILES,
	CLUSTER_NODE_SHAPES,
	CLUSTER_NAMESPACES,
	CLUSTER_LIMIT_RANGES,
	CLUSTER_QUOTAS,
	CLUSTER_PRIORITY_CLASSES,
	CLUSTER_OWNERS, /* Jobs, JobSets, PyTorchJobs ...: all kinds together */
	CLUSTER_PODS,	/* of all namespaces with a quota together */
	CLUSTER_LOCAL_QUEUES,
	CLUSTER_CLUSTER_QUEUES,
	CLUSTER_VPAS,
	CLUSTER_WATCH_COUNT_,
};
/** The name of failure reason `i`: a kube_condition, "network", or "object" for an object that was skipped. Static. */
#define CLUSTER_FAILURES (KUBE_CONDITION_COUNT_ + 2)
const char *cluster_failure_name(size_t i);
/** "memoryprofiles", "namespaces" ... */
extern const char *const cluster_watch_names[CLUSTER_WATCH_COUNT_];

struct cluster_config {
	int64_t gather_ms;			/* minimum time between two snapshots; 0: 100 ms */
	int64_t backoff_min_ms, backoff_max_ms; /* of the reflectors; 0: their defaults */
	void (*changed)(void *context);		/* there is something to build: call cluster_build */
	/* A watch failed, or an object was skipped; `reason` as in cluster_failure_name. */
	void (*failed)(void *context, enum cluster_watch_id watch, const char *reason);
	void *context;
};

struct cluster_watch_state {
	bool is_synced;	    /* every watch has completed a list since it started */
	bool is_in_contact; /* every watch is open, so its objects are current */
	size_t objects;
	uint64_t restarts; /* lists and watches that were restarted since the start */
};

/** Starts to list at the next poll. `client` must live until cluster_free. @return 0; -EINVAL; -ENOMEM. */
int cluster_start(struct kube_client *client, const struct cluster_config *config, struct cluster **ret,
		  struct err *err) ATTR_NODISCARD;
/** NULL is allowed. */
void cluster_free(struct cluster *self);
/** Whether the first lists of all necessary watches are complete. Before that there is no snapshot to build. */
bool cluster_is_synced(const struct cluster *self);
/** Describes the necessary watches whose first list is missing, and the reasons. @return buf; "" if none is missing. */
const char *cluster_missing(const struct cluster *self, char *buf, size_t size);
/** The state of all watches of one id together. Cost: the number of watches. */
void cluster_watch_state(const struct cluster *self, enum cluster_watch_id id, struct cluster_watch_state *ret);
/** Until when the snapshot is known to be current, monotonic: now if all necessary watches are open, otherwise the last
 * contact of the watch that has been without contact longest; 0: there is no snapshot yet. */
int64_t cluster_confirmed_ms(struct cluster *self);
/** Call it when the node shapes of the configuration changed: `changed` is called soon. */
void cluster_reconfigure(struct cluster *self);
/** Builds a snapshot of all reported objects and the configuration's node shapes, which override those of the cluster.
 * Cost: proportional to what changed since the last one (snapshot.h).
 * @return 0 with one reference in `ret`; 1: nothing changed, or not synced; -ENOMEM: all objects are listed again. */
int cluster_build(struct cluster *self, const struct config *config, struct snapshot **ret,
		  struct err *err) ATTR_NODISCARD;
