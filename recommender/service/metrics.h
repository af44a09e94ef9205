/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics: the recommender's metrics, declared in metrics.def; counted and rendered by metrics/metrics.h. */
#include "kube/kube_client.h"
#include "metrics/metrics.h"

enum metric_id {
#define METRIC(id, type, name, help, a, b, c) METRIC_##id,
#include "service/metrics.def"
#undef METRIC
	METRIC_COUNT_
};

/* Label values that this program addresses by index. */
enum metric_cycle { CYCLE_DONE, CYCLE_PARTIAL, CYCLE_FAILED, CYCLE_INTERRUPTED };
enum metric_quick { QUICK_DONE, QUICK_FAILED, QUICK_INTERRUPTED };
enum metric_write { WRITE_OK, WRITE_CONFLICT, WRITE_FAILED };
enum metric_event { EVENT_RECORDED, EVENT_FAILED };
enum metric_reload { RELOAD_OK, RELOAD_FAILED };

/** NULL: out of memory. */
struct metrics *service_metrics_new(void) ATTR_NODISCARD;
/** The index of a value of label `position` (0 to 2) of a family. A value that is not in the label's set gets the last
 * index. */
size_t service_metrics_label(enum metric_id id, size_t position, const char *value);
/** The index of a verb among the label values. */
size_t service_metrics_verb(enum kube_verb verb);
/** The index of an HTTP status among the label values; 0 means that there was no response. */
size_t service_metrics_code(enum metric_id id, size_t position, long status);
