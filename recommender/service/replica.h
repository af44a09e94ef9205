/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* replica: this process's part in a cluster, in a thread of its own with a client of its own, so that a long cycle does
 * not keep a Lease from being renewed. It stands for election; while it leads it watches nodes and pods, and asks now
 * and then whether the API server reaches the webhook.
 *
 * Whether we lead is a time, not a flag: until then, by our monotonic clock, nobody else can have taken the Lease. So a
 * process that was stopped for a while knows, before its next write, that it may lead no more. Everything but start and
 * stop may be called from any thread. */
#include "engine/shapes.h"
#include "metrics/metrics.h"
#include "service/probe.h"

struct config;
struct evidence_batch;
struct notice;
struct pods;
struct replica;

struct replica_config {
	const struct config *config; /* must live as long */
	struct metrics *metrics;
	/** Leadership came or went. The replica's thread; must not block, nor call stop. */
	void (*changed)(void *context, bool leads);
	/** Something happened to a pod that a profile should know at once. The same. */
	void (*pods_changed)(void *context);
	void *context;
	int64_t lease_ms, renew_deadline_ms, retry_ms; /* of lease.h; 0: its defaults */
};

/** @return 0; -ENOENT no kubeconfig; -EINVAL; -errno. */
int replica_start(const struct replica_config *config, struct replica **ret, struct err *err) ATTR_NODISCARD;
/** Gives the Lease up when it is ours, so that another need not wait, and frees. Takes a few seconds at most. NULL
 *  allowed. */
void replica_stop(struct replica *self);

bool replica_leads(const struct replica *self);
/** Shapes of the nodes there are. @return 0; 1 not known (yet): not leading, or not listed; -ENOMEM. */
int replica_shapes(struct replica *self, struct shapes *ret) ATTR_NODISCARD;
/** As resizer_post and resizer_set_used, while we lead. @return as they do; 1: not leading, or resizes are off. */
struct resize_ask;
struct resize_used;
int replica_resize(struct replica *self, const struct resize_ask *ask) ATTR_NODISCARD;
void replica_set_used(struct replica *self, struct resize_used *take_used);
/** The pods that it watches while it leads; NULL: recommender.pods is off. They live as long as the replica. */
struct pods *replica_pods(const struct replica *self);
/** Marks the pods of a batch whose owner was refused pods by a quota on memory (END_QUOTA). */
void replica_mark_refused(struct replica *self, struct evidence_batch *batch);
/** Copy a notice, to be sent as an Event while we lead. Best effort. */
void replica_notify(struct replica *self, const struct notice *notice);
/** What keeps it from taking part, in words of at most REPLICA_WORDS; NULL: nothing. */
#define REPLICA_WORDS 400
const char *replica_not_ready(struct replica *self, char buf[REPLICA_WORDS]);
/** What the probe found last, since we lead; PROBE_RESULT_COUNT_: it has not asked. */
enum probe_result replica_probe(const struct replica *self);
/** Its thread has not turned for a minute. */
bool replica_is_stuck(struct replica *self);
