/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resizes: carries out resizes while we lead and reports them: a log line, a metric, and an Event on the workload's
 * topmost owner. Threads: the client's. */
#include "metrics/metrics.h"
#include "resize/resizer.h"

struct config;
struct resizes;

/** All arguments are borrowed and must live as long. `instance`: name of this process in Events. @return 0; -ENOMEM. */
int resizes_start(struct kube_client *client, const struct config *config, struct metrics *metrics,
		  const char *instance, struct resizes **ret, struct err *err) ATTR_NODISCARD;
/** NULL is allowed. */
void resizes_stop(struct resizes *self);
/** Carries out the resizes; lives as long as `self`. */
struct resizer *resizes_resizer(const struct resizes *self);
