/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* service: what runs beside the cycles of `run`: the HTTP endpoint (recommender.listen), and with store.kind kube this
 * process's part in the cluster (replica.h). Without a replica we always lead. The endpoint is plain HTTP: /metrics,
 * /healthz (fails only if the process is stuck), /readyz (whether the process takes part in the cluster).
 *
 * Threads: the program's main thread, unless a function says otherwise. Signals are blocked in all threads that the
 * service starts, so that the main thread gets them. */
#include "metrics/metrics.h"
#include "service/replica.h"

struct config;
struct log_buffer;
struct service;

/** Starts endpoint and replica. `config`, `metrics` and `log` must live as long as the service. `log` counts dropped
 * log lines; NULL: none can be dropped. @return 0; -EINVAL; -errno of bind, of the kubeconfig. */
int service_start(const struct config *config, struct metrics *metrics, struct log_buffer *log, struct service **ret,
		  struct err *err) ATTR_NODISCARD;
/** Releases the Lease, ends all threads and frees the service. NULL is allowed. */
void service_stop(struct service *self);
/** Whether the two configurations need different services. */
bool service_differs(const struct config *a, const struct config *b);

/** Whether cycles may run and write now. Any thread. */
bool service_leads(const struct service *self);
/** Sets a function that ends the current cycle. It is called from another thread when leadership is lost. With NULL no
 * call runs or begins any more when this function returns. */
void service_set_interrupt(struct service *self, void (*interrupt)(void *context), void *context);
/** The main thread promises to call again within this time; otherwise /healthz fails. */
void service_promise(struct service *self, int64_t within_ms);
/** Waits for `wait_ms`, a change of leadership, a change of pods, or service_wake. Returns at once if one of these
 * happened since the last call. */
void service_wait(struct service *self, int64_t wait_ms);
/** Wakes service_wait. Async-signal-safe; any thread. */
void service_wake(struct service *self);

/** The part in the cluster. NULL: there is none; also for a service that is NULL. */
struct replica *service_replica(const struct service *self);
/** Since when a change of a pod waits that a profile should reflect at once, monotonic; 0: none waits. */
int64_t service_urgent_since_ms(const struct service *self);
/** All changes up to now count as handled. */
void service_take_urgent(struct service *self);

/* The answers of /healthz and /readyz; exported for tests. NULL: all is well; else the reason, in `buf` or static. */
#define SERVICE_WORDS REPLICA_WORDS
const char *service_stuck(struct service *self, char buf[SERVICE_WORDS]);
const char *service_not_ready(struct service *self, char buf[SERVICE_WORDS]);
/** Port of the endpoint; 0: there is none. */
unsigned int service_port(const struct service *self);
