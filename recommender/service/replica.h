/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* replica: this process's part in a cluster. It has a thread and a client of its own, so that a long cycle does not
 * delay the renewal of the Lease. It takes part in the election; while it leads it watches nodes and pods, and
 * regularly checks whether the API server reaches the webhook.
 *
 * Leadership is a time, not a flag: until then, by our monotonic clock, no other replica can have taken the Lease. A
 * process that was stopped for a while therefore knows before its next write that it may not lead any more. All
 * functions but replica_start and replica_stop may be called from any thread. */
#include "engine/engine.h"
#include "metrics/metrics.h"
#include "service/probe.h"

struct config;
struct evidence_batch;
struct hung_list;
struct notice;
struct pods;
struct replica;

struct replica_config {
	const struct config *config; /* must live as long as the replica */
	struct metrics *metrics;
	/** Leadership was gained or lost. Called from the replica's thread; must not block or call replica_stop. */
	void (*changed)(void *context, bool leads);
	/** A pod changed in a way that a profile should reflect at once. Called as `changed` is. */
	void (*pods_changed)(void *context);
	void *context;
	int64_t lease_ms, renew_deadline_ms, retry_ms; /* see lease.h; 0: its defaults */
};

/** Starts the thread. @return 0; as kube_access_open; -errno. */
int replica_start(const struct replica_config *config, struct replica **ret, struct err *err) ATTR_NODISCARD;
/** Stops the thread and frees the replica. If we hold the Lease it is released, so that another replica need not wait.
 * Takes a few seconds at most. NULL is allowed. */
void replica_stop(struct replica *self);

/** Whether this replica leads now. */
bool replica_leads(const struct replica *self);
/** An engine_nodes_fn; `context` is a replica. Appends the shapes of the cluster's nodes. @return 0; 1: not known
 * (yet), as we do not lead or the nodes are not listed; -ENOMEM. */
int replica_shapes(void *context, struct shapes *ret) ATTR_NODISCARD;
/** As resizer_post and resizer_set_used. @return as they do; 1: we do not lead, or resizes are off. */
struct resize_ask;
struct resize_used;
int replica_resize(struct replica *self, const struct resize_ask *ask) ATTR_NODISCARD;
void replica_set_used(struct replica *self, struct resize_used *take_used);
/** The table of watched pods, which is empty while we do not lead; it lives as long as the replica. NULL:
 * recommender.pods is off. */
struct pods *replica_pods(const struct replica *self);
/** Since when (wall clock) this replica has done the work of a leader, in this or its last term; INT64_MAX: never. */
int64_t replica_worked_since_ms(const struct replica *self);
/** An engine_left_out_fn; `context` is a replica. Namespaces are not known while we do not lead. */
enum engine_left_out replica_ignores(void *context, const char *namespace_name);
/** Copies the list of gangs that hang. It is empty while we do not lead, or if `self` is NULL. */
void replica_hung(struct replica *self, struct hung_list *ret);
/** Sets END_QUOTA in the pods of a batch whose owner had pods rejected by a quota on memory. */
void replica_mark_refused(struct replica *self, struct evidence_batch *batch);
/** Queues a copy of a notice, which is sent as an Event while we lead. Best effort. */
void replica_notify(struct replica *self, const struct notice *notice);
/** Why the replica cannot take part in the election, in at most REPLICA_WORDS bytes, in `buf`. NULL: it takes part. */
#define REPLICA_WORDS 400
const char *replica_not_ready(struct replica *self, char buf[REPLICA_WORDS]);
/** Whether the API server reaches the webhook: one of probe_result_names, or "not-asked" if there is no result since we
 * lead or `self` is NULL. Static. */
const char *replica_webhook(const struct replica *self);
/** Whether the thread has not finished a round for a minute. */
bool replica_is_stuck(struct replica *self);
