/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics: the webhook's counters, declared in metrics.def, rendered in Prometheus' text format.
 * Counters are atomic: any thread may add, any thread may render. Label values are closed sets; a value outside its set
 * counts as the set's last one, "other". */
#include "base/attr.h"
#include "base/strbuf.h"

#include <stdint.h>

enum metric_id {
#define METRIC(id, type, name, help, a, b, c) METRIC_##id,
#include "serve/metrics.def"
#undef METRIC
	METRIC_COUNT_
};

enum metric_result { RESULT_PATCHED, RESULT_UNCHANGED, RESULT_SKIPPED, RESULT_DENIED, RESULT_WARNED, RESULT_ERROR };
enum metric_reload { RELOAD_OK, RELOAD_FAILED };
enum metric_error { ERROR_UNREADABLE, ERROR_POD, ERROR_INTERNAL };

struct metrics;

struct metrics *metrics_new(void) ATTR_NODISCARD;
void metrics_free(struct metrics *self);

/** Add to a counter; label values by index in their sets, 0 for labels that the family does not have. */
void metrics_count(struct metrics *self, enum metric_id id, size_t a, size_t b, size_t c);
/** Index of a value in the set of a family's label `position` (0..2); the last one when it is not in the set. */
size_t metrics_label(enum metric_id id, size_t position, const char *value);
void metrics_set(struct metrics *self, enum metric_id id, double value);
/** Add an observation to a histogram. */
void metrics_observe_ns(struct metrics *self, enum metric_id id, int64_t duration_ns);
/** Text exposition format 0.0.4. Counters that are 0 are written only where the family has no labels.
 *  Sticky status of buf. */
int metrics_render(struct metrics *self, struct strbuf *buf);
/** Current value of a counter or gauge, for tests and logs. */
double metrics_value(struct metrics *self, enum metric_id id, size_t a, size_t b, size_t c);
