/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resizes: resizes as the leader carries them out, with what is told of them: a log line, a metric, and an Event at the
 * workload's topmost owner. Threads: resizes_post and resizes_set_used may be called from any thread, everything else
 * from the client's. */
#include "metrics/metrics.h"
#include "resize/resizer.h"

struct config;
struct resizes;

/** Everything given is borrowed and must live as long. `instance`: of this process, for Events. @return 0; -ENOMEM. */
int resizes_start(struct kube_client *client, const struct config *config, struct metrics *metrics,
		  const char *instance, struct resizes **ret, struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void resizes_stop(struct resizes *self);
/** After each kube_client_poll. */
void resizes_turn(struct resizes *self);
/** As resizer_post and resizer_set_used. */
int resizes_post(struct resizes *self, const struct resize_ask *ask) ATTR_NODISCARD;
void resizes_set_used(struct resizes *self, struct resize_used *take_used);
