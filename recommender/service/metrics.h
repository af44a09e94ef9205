/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics: the recommender's figures, declared in metrics.def; counted and rendered by metrics/metrics.h. */
#include "kube/kube_client.h"
#include "metrics/metrics.h"

enum metric_id {
#define METRIC(id, type, name, help, a, b, c) METRIC_##id,
#include "service/metrics.def"
#undef METRIC
	METRIC_COUNT_
};

/* Label values that this program names by index. */
enum metric_cycle { CYCLE_DONE, CYCLE_PARTIAL, CYCLE_FAILED, CYCLE_INTERRUPTED };
enum metric_quick { QUICK_DONE, QUICK_FAILED, QUICK_INTERRUPTED };
enum metric_write { WRITE_OK, WRITE_CONFLICT, WRITE_FAILED };
enum metric_event { EVENT_RECORDED, EVENT_FAILED };
enum metric_reload { RELOAD_OK, RELOAD_FAILED };

/** NULL: no memory. */
struct metrics *service_metrics_new(void) ATTR_NODISCARD;
/** Index of a value in the set of a family's label `position` (0..2); the last one when it is not in the set. */
size_t service_metrics_label(enum metric_id id, size_t position, const char *value);
/** Index of a verb among the values of a label. */
size_t service_metrics_verb(enum kube_verb verb);
/** Index of an HTTP status (0: no answer) among the values of a label. */
size_t service_metrics_code(enum metric_id id, size_t position, long status);
