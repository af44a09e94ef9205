/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* replica_internal: what replica.c (the thread, and leadership) and replica_work.c (what a leader does) share. */
#include "base/timefmt.h"
#include "kube/kube_access.h"
#include "kube/lease.h"
#include "pods/pods.h"
#include "service/announce.h"
#include "service/metrics.h"
#include "service/nodes.h"
#include "service/outbox.h"
#include "service/probe.h"
#include "service/pulse.h"
#include "service/refusals.h"
#include "service/replica.h"
#include "service/resizes.h"

#include <pthread.h>
#include <stdatomic.h>

#define REPLICA_NAME	"memtamer-recommender"
#define REPLICA_TURN_MS (1 * TIME_SECOND_MS)

struct replica {
	struct replica_config config;
	const char *namespace;
	char identity[128];
	pthread_t thread;
	int stop_fd;

	/* Of the thread. */
	struct kube_access access;
	struct lease *lease; /* NULL: no election, we lead */
	struct kube_timer probe_timer;
	struct probe probe;
	bool is_working;	     /* as leader */
	struct pods_figures counted; /* in the metrics */
	char lease_said[160], watch_said[160], pods_said[160], refusals_said[160], events_said[160];
	struct announce announce;
	int64_t overdue_ms; /* until then pods were looked at that wait; wall clock */

	/* Of any thread. */
	struct outbox *outbox;
	struct pods *pods;		/* NULL: they are not watched */
	_Atomic int64_t leads_until_ms; /* monotonic; INT64_MAX: for ever */
	struct pulse pulse;
	_Atomic int probe_seen;	   /* enum probe_result; PROBE_RESULT_COUNT_: none */
	_Atomic bool has_heard;	   /* from the API server: who leads */
	pthread_mutex_t mutex;	   /* for what follows */
	struct nodes *nodes;	   /* NULL: not leading */
	struct refusals *refusals; /* NULL: not leading */
	struct resizes *resizes;   /* NULL: not leading, or pods that run are not resized */
	char not_ready[REPLICA_WORDS];
};

/** Once, before the thread. @return 0; -ENOMEM. */
int replica_make_pods(struct replica *self, struct err *err) ATTR_NODISCARD;
/** What a leader does, begun and ended outside of all callbacks. */
void replica_start_work(struct replica *self);
void replica_stop_work(struct replica *self);
/** Between two rounds of the client, leading or not. */
void replica_work(struct replica *self);
/** What is said again every few seconds is said once. */
bool replica_is_new(char said[160], const struct err *why);
