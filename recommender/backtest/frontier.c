/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/frontier.h"

static void add_run(void *context, const struct rule_run *run, bool is_cold)
{
	if (!is_cold)
		score_add_run(context, run);
}

int frontier_compute(const struct trace *trace, struct frontier_point ret[FRONTIER_POINTS])
{
	static const int buffers[FRONTIER_POINTS] = {2, 5, 10, 15, 20, 30, 50, 100};

	for (int i = 0; i < FRONTIER_POINTS; i++) {
		struct rule rule = rule_krr;
		struct score score = {{0}};

		rule.buffer_percent = buffers[i];
		for (size_t w = 0; w < trace->workloads.n; w++)
			if (walk_workload(trace, &trace->workloads.items[w], &rule, WALK_FORWARD, NULL, add_run,
					  &score))
				return -ENOMEM;
		ret[i] = (struct frontier_point){buffers[i], score_metric(&score, &score_metrics[METRIC_WASTE_PEAK]),
						 score_metric(&score, &score_metrics[METRIC_OOM_RATE])};
	}
	return 0;
}
