/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics: the webhook's metrics, declared in metrics.def; metrics/metrics.h counts and renders them. Cost of a
 * count: constant; a label is compared with the family's few values. Any thread. */
#include "metrics/metrics.h"

enum metric_id {
#define METRIC(id, type, name, help, a, b, c) METRIC_##id,
#include "serve/metrics.def"
#undef METRIC
	METRIC_COUNT_
};

enum metric_result { RESULT_PATCHED, RESULT_UNCHANGED, RESULT_SKIPPED, RESULT_DENIED, RESULT_WARNED, RESULT_ERROR };
enum metric_reload { RELOAD_OK, RELOAD_FAILED };
enum metric_error { ERROR_UNREADABLE, ERROR_POD, ERROR_INTERNAL };

struct metrics *metrics_new(void) ATTR_NODISCARD;
/** Index of a value among the values of the family's label `position` (0..2); unknown values give the last one. */
size_t metrics_label(enum metric_id id, size_t position, const char *value);
