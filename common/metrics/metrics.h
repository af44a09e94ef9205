/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics: a program's metrics, declared as a table of families and rendered in Prometheus' text format. Label values
 * are closed sets; a value outside its set counts as the last one, "other". Values are atomic: any thread may change
 * and render them. Memory: one value for each combination of label values. */
#include "base/attr.h"
#include "base/strbuf.h"

#include <stdint.h>

enum metric_type {
	METRIC_TYPE_COUNTER,
	METRIC_TYPE_TOTAL,    /* a counter that is maintained elsewhere and set here */
	METRIC_TYPE_GAUGE,    /* 0 until it is set */
	METRIC_TYPE_OPTIONAL, /* a gauge that is absent until it is set, and when it is set to NAN */
	METRIC_TYPE_STATES,   /* a gauge of integers with labels; a row exists from metrics_put to metrics_remove */
	METRIC_TYPE_HISTOGRAM,
};

/** The set of values of a label. */
struct metric_label {
	const char *name;
	const char *const *values;	/* NULL: `value` */
	const char *(*value)(size_t i); /* for values in a table of their own */
	size_t n;
};

#define METRIC_LABELS 3

struct metric_family {
	enum metric_type type;
	const char *name, *help;
	const struct metric_label *labels[METRIC_LABELS]; /* NULL: no label; histograms have none */
};

/** Must live as long as the metrics. */
struct metric_table {
	const struct metric_family *families;
	size_t n;
	const int64_t *bounds_ns; /* upper bounds of the buckets of all histograms, ascending */
	size_t n_bounds;
};

struct metrics;

/** Makes the metrics, all zero. Call it at the start of the program: process_start_time_seconds is the time of the
 *  call. NULL: out of memory. */
struct metrics *metrics_make(const struct metric_table *table) ATTR_NODISCARD;
/** NULL is allowed. */
void metrics_free(struct metrics *self);

/** Adds to a METRIC_TYPE_COUNTER. `a`, `b` and `c` are indexes of label values in their sets; 0 for labels that the
 *  family does not have. */
void metrics_count(struct metrics *self, size_t id, size_t a, size_t b, size_t c);
void metrics_add(struct metrics *self, size_t id, size_t a, size_t b, size_t c, uint64_t n);
/** Sets a METRIC_TYPE_TOTAL, METRIC_TYPE_GAUGE or METRIC_TYPE_OPTIONAL; these have no labels. */
void metrics_set(struct metrics *self, size_t id, double value);
/** Sets a row of a METRIC_TYPE_STATES; labels as for metrics_count. */
void metrics_put(struct metrics *self, size_t id, size_t a, size_t b, size_t c, uint64_t value);
/** Removes all rows of a METRIC_TYPE_STATES. */
void metrics_remove(struct metrics *self, size_t id);
/** Adds an observation to a histogram. Cost: linear in the number of bounds. */
void metrics_observe_ns(struct metrics *self, size_t id, int64_t duration_ns);
/** The current value of a metric that is not a histogram; for tests and logs. */
double metrics_value(struct metrics *self, size_t id, size_t a, size_t b, size_t c);
/** Appends the text exposition format 0.0.4, including the families of metrics_process.def. Counters that are 0 are
 *  left out if their family has labels. Cost: linear in the number of values. @return the sticky status of `buf`. */
int metrics_render(struct metrics *self, struct strbuf *buf);

/** Index of a value in the set of a family's label `position`; the last index when `value` is not in the set or
 *  NULL. */
size_t metric_table_label(const struct metric_table *table, size_t id, size_t position, const char *value);
