/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics: a program's figures, declared as a table of families, rendered in Prometheus' text format.
 * Label values are closed sets; a value outside its set counts as the set's last one, "other". Values are atomic: any
 * thread may add or set, any thread may render. */
#include "base/attr.h"
#include "base/strbuf.h"

#include <stdint.h>

enum metric_type {
	METRIC_TYPE_COUNTER,
	METRIC_TYPE_TOTAL,    /* a counter that is counted elsewhere, and set here */
	METRIC_TYPE_GAUGE,    /* 0 until it is set */
	METRIC_TYPE_OPTIONAL, /* a gauge that is not there until it is set, and gone when set to NAN */
	METRIC_TYPE_STATES,   /* a gauge of whole numbers with labels; a row is there once it is put */
	METRIC_TYPE_HISTOGRAM,
};

/** The values that a label can have. */
struct metric_label {
	const char *name;
	const char *const *values;	/* NULL: `value` */
	const char *(*value)(size_t i); /* where they stand in a table of their own */
	size_t n;
};

#define METRIC_LABELS 3

struct metric_family {
	enum metric_type type;
	const char *name, *help;
	const struct metric_label *labels[METRIC_LABELS]; /* NULL: none; histograms have none */
};

/** Everything in it is static. */
struct metric_table {
	const struct metric_family *families;
	size_t n;
	const int64_t *bounds_ns; /* upper bounds of all histograms, rising */
	size_t n_bounds;
};

struct metrics;

/** NULL: no memory. */
struct metrics *metrics_make(const struct metric_table *table) ATTR_NODISCARD;
/** NULL allowed. */
void metrics_free(struct metrics *self);

/** Add to a counter; label values by index in their sets, 0 for labels that the family does not have. */
void metrics_count(struct metrics *self, size_t id, size_t a, size_t b, size_t c);
void metrics_add(struct metrics *self, size_t id, size_t a, size_t b, size_t c, uint64_t n);
/** A family without labels that is set. */
void metrics_set(struct metrics *self, size_t id, double value);
/** Set a row of a METRIC_TYPE_STATES. */
void metrics_put(struct metrics *self, size_t id, size_t a, size_t b, size_t c, uint64_t value);
/** Add an observation to a histogram. */
void metrics_observe_ns(struct metrics *self, size_t id, int64_t duration_ns);
/** Current value of anything but a histogram, for tests and logs. */
double metrics_value(struct metrics *self, size_t id, size_t a, size_t b, size_t c);
/** Text exposition format 0.0.4, with memtamer_build_info at its end. Counters that are 0 are written only where the
 *  family has no labels. Sticky status of buf. */
int metrics_render(struct metrics *self, struct strbuf *buf);

/** Index of a value in the set of a family's label `position`; the last one when it is not in the set (or NULL). */
size_t metric_table_label(const struct metric_table *table, size_t id, size_t position, const char *value);
