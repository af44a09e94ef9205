/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* replica_internal: shared by replica.c (thread and leadership), replica_work.c (the work of a leader) and
 * replica_pods.c. */
#include "base/timefmt.h"
#include "kube/kube_access.h"
#include "kube/lease.h"
#include "pods/pods.h"
#include "service/announce.h"
#include "service/hung_gangs.h"
#include "service/ignored_namespaces.h"
#include "service/metrics.h"
#include "service/nodes.h"
#include "service/outbox.h"
#include "service/overdue_pods.h"
#include "service/probe.h"
#include "service/pulse.h"
#include "service/refusals.h"
#include "service/replica.h"
#include "service/reported.h"
#include "service/resizes.h"
#include "service/wait_events.h"

#include <pthread.h>
#include <stdatomic.h>

/* Sets a pointer that other threads read. */
#define SHARE(self, field, value)                                                                                      \
	do {                                                                                                           \
		pthread_mutex_lock(&(self)->mutex);                                                                    \
		(self)->field = (value);                                                                               \
		pthread_mutex_unlock(&(self)->mutex);                                                                  \
	} while (0)

#define REPLICA_NAME	"memtamer-recommender"
#define REPLICA_TURN_MS (1 * TIME_SECOND_MS)

struct replica {
	struct replica_config config;
	const char *namespace;
	char identity[128];
	pthread_t thread;
	int stop_fd;

	/* Used by the replica's thread only. */
	struct kube_access access;
	struct lease *lease; /* NULL: no election, we always lead */
	struct kube_timer probe_timer;
	struct probe probe;
	bool is_working;	     /* the work of a leader is started */
	struct pods_figures counted; /* figures that are in the metrics already */
	char lease_said[160], watch_said[160], namespaces_said[160], pods_said[160], refusals_said[160],
		events_said[160];
	struct announce announce;
	struct hung_gangs gangs;
	struct overdue_pods overdue;
	struct wait_events *wait_events; /* NULL: not leading, or pods are not watched */

	/* May be used by any thread. */
	struct outbox *outbox;
	struct pods *pods;		/* NULL: pods are not watched */
	_Atomic int64_t leads_until_ms; /* monotonic; INT64_MAX: no end */
	_Atomic int64_t worked_since_ms;
	struct pulse pulse;
	_Atomic int probe_seen;		    /* enum probe_result; PROBE_RESULT_COUNT_: none */
	_Atomic bool has_heard;		    /* the API server has reported who leads */
	pthread_mutex_t mutex;		    /* protects all fields below */
	struct nodes *nodes;		    /* NULL: not leading */
	struct ignored_namespaces *ignored; /* the same */
	struct refusals *refusals;	    /* NULL: not leading */
	struct resizes *resizes;	    /* NULL: not leading, or resizes are off */
	struct hung_list hung;		    /* a copy of that of `gangs`; empty: not leading */
	char not_ready[REPLICA_WORDS];
};

/** Call it once, before the thread starts. @return 0; -ENOMEM. */
int replica_make_pods(struct replica *self, struct err *err) ATTR_NODISCARD;
/** Start and stop the watches of ignored namespaces and pods (replica_pods.c). */
void replica_start_pods(struct replica *self);
void replica_stop_pods(struct replica *self);
/** Copies the figures of the table of pods to the metrics. */
void replica_show_pods(struct replica *self);
/** Start and stop the work of a leader, outside of all callbacks. */
void replica_start_work(struct replica *self);
void replica_stop_work(struct replica *self);
/** Called after each round of the client, whether we lead or not. */
void replica_work(struct replica *self);
