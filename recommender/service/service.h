/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* service: what runs beside the cycles of `run`: the HTTP endpoint (recommender.listen), and with store.kind kube this
 * process's part in the cluster (replica.h). With neither there is nothing here, and we always lead.
 *
 * The program's main thread starts, asks and stops it; whatever is started here has signals blocked, so that they reach
 * the main thread. */
#include "engine/shapes.h"
#include "metrics/metrics.h"

struct config;
struct evidence_batch;
struct notice;
struct pods;
struct service;

/** `config` and `metrics` must live as long. @return 0; -EINVAL; -errno of bind, of the kubeconfig. */
int service_start(const struct config *config, struct metrics *metrics, struct service **ret,
		  struct err *err) ATTR_NODISCARD;
/** Gives the Lease up, ends all threads, frees. NULL allowed. */
void service_stop(struct service *self);
/** Would another configuration make another service? */
bool service_differs(const struct config *a, const struct config *b);

/** May cycles run and write now? */
bool service_leads(const struct service *self);
/** To be called from another thread when leadership is lost: ends what is under way. NULL: nothing is under way; then
 *  it does not run any more. */
void service_set_interrupt(struct service *self, void (*interrupt)(void *context), void *context);
/** The main thread promises to come back within this time; /healthz fails when it does not. */
void service_promise(struct service *self, int64_t within_ms);
/** Until `wait_ms` are over, leadership comes or goes, or service_wake is called; also when that was before. */
void service_wait(struct service *self, int64_t wait_ms);
/** From a signal handler, too. */
void service_wake(struct service *self);

/** Is there a cluster to ask for nodes? */
bool service_has_nodes(const struct service *self);
/** An engine_nodes_fn with a service as context. */
int service_nodes(void *context, struct shapes *ret);

/** Does the API server reach the webhook: one of probe_result_names, or "not-asked". Static. */
const char *service_webhook(const struct service *self);
/** The pods that are watched while we lead; NULL: none are. They live as long as the service. */
struct pods *service_pods(const struct service *self);
/** As replica_resize and replica_set_used. */
struct resize_ask;
struct resize_used;
int service_resize(struct service *self, const struct resize_ask *ask) ATTR_NODISCARD;
void service_set_used(struct service *self, struct resize_used *take_used);
/** Marks pods whose owner was refused some by a quota on memory. */
void service_mark_refused(struct service *self, struct evidence_batch *batch);
/** A notice_fn with a service as context: an Event, where there is a cluster. */
void service_notify(void *context, const struct notice *notice);
/** Since when (monotonic) a change of a pod waits that a profile should know at once; 0: none does. */
int64_t service_urgent_since_ms(const struct service *self);
/** What has changed up to now waits no more. */
void service_take_urgent(struct service *self);

/* What the endpoint answers, for tests. NULL: all is well; else what is wrong, in `buf` or static. */
#define SERVICE_WORDS 400
const char *service_stuck(struct service *self, char buf[SERVICE_WORDS]);
const char *service_not_ready(struct service *self, char buf[SERVICE_WORDS]);
/** Port of the endpoint; 0: none. */
unsigned int service_port(const struct service *self);
