/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* walk: replays a trace under one rule. For each workload with WALK_MIN_RUNS runs or more, run by run in the order of
 * their starts, the rule sizes the run from the runs before it. A run whose peak exceeds its limit is OOM-killed; its
 * limit then doubles until it fits. The first WALK_WARM_UP runs only teach the rule; of these all but the first, which
 * has no history, are scored apart as the cold start.
 * A run without any history keeps the limit that it had in the trace, also as its request. If it had none, it is not
 * scored. A result depends only on earlier runs, never on later ones. */
#include "backtest/score.h"

enum {
	WALK_WARM_UP = 3,
	WALK_MIN_RUNS = 5,
};

enum walk_variant {
	/* As in the literature: the history is all runs that started earlier, and all of them count as completed. */
	WALK_FORWARD,
	/* As in a cluster: the history is the runs that had ended when this one started, with their outcomes. */
	WALK_CAUSAL,
	WALK_VARIANT_COUNT_
};
/** "walk-forward", "causal". */
extern const char *const walk_variant_names[WALK_VARIANT_COUNT_];

/** Called for each scored run. `run` is borrowed. */
typedef void walk_run_fn(void *context, const struct rule_run *run, bool is_cold);

/** Replays one workload. Cost: as the rule's, with one sort of the runs.
 * @param each  may be NULL.
 * @return 0; -ENOMEM. */
int walk_workload(const struct trace *trace, const struct trace_workload *workload, const struct rule *rule,
		  enum walk_variant variant, const struct sizing_policy *sizing, walk_run_fn *each,
		  void *context) ATTR_NODISCARD;
