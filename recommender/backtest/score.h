/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* score: what is counted for a rule, and the metrics made from it. All counts are sums over runs, so those of workloads
 * can be added, or drawn again for intervals. Pure. */
#include "backtest/rule.h"

enum sum {
	SUM_WORKLOADS,	  /* with a scored run */
	SUM_SCORED,	  /* runs */
	SUM_KILLED,	  /* runs whose limit was below their peak */
	SUM_KILLED_SHARE, /* the workload's own share of such runs */
	SUM_RETRIES,
	SUM_WASTE_PEAK, /* GiBh: limit - peak, and the whole limit of each killed attempt */
	SUM_WASTE_AREA, /* the same with the use over time in place of the peak */
	SUM_LIMIT,	/* GiBh of the limit under which the run completed */
	SUM_REQUEST,	/* GiBh */
	SUM_USE,	/* GiBh */
	SUM_PEAK_OVER,	/* runs whose peak exceeds the request */
	SUM_HOURS_OVER, /* of use above the request */
	SUM_HOURS,
	SUM_COUNT_
};

struct score {
	double sums[SUM_COUNT_];
};

/** What a metric is: a share (0 to 1), a number for each run, or GiB times hours. */
enum unit { UNIT_SHARE, UNIT_REST, UNIT_COUNT, UNIT_GIBH };

/** A metric: a quotient of two sums (UNIT_REST: 1 minus it), or one sum (UNIT_GIBH). */
struct metric {
	const char *name;  /* in JSON */
	const char *title; /* of the table's column, as in table_init */
	enum unit unit;
	enum sum over, under; /* UNIT_GIBH: only `over` */
};

enum { METRIC_OOM_RATE = 0, METRIC_WASTE_PEAK = 3, METRIC_COUNT = 9 };
extern const struct metric score_metrics[METRIC_COUNT];

/** Adds a run. Every killed attempt is charged its limit for the whole duration of the run. */
void score_add_run(struct score *self, const struct rule_run *run);
/** Completes the score of one workload after its runs were added. */
void score_finish_workload(struct score *self);
/** Adds `weight` times another score. */
void score_add(struct score *self, const struct score *other, double weight);
/** The value of a metric; 0 if nothing was scored. */
double score_metric(const struct score *self, const struct metric *metric);
