/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* frontier: what a fixed buffer above the greatest past peak costs and avoids, for several buffers: the curve that a
 * rule has to be below. Walk-forward order. */
#include "backtest/backtest.h"

enum { FRONTIER_POINTS = 8 };

struct frontier_point {
	int buffer_percent;
	double waste_gibh, oom_rate;
};

/** Cost: that of walking the trace FRONTIER_POINTS times under a simple rule. @return 0; -ENOMEM. */
int frontier_compute(const struct trace *trace, struct frontier_point ret[FRONTIER_POINTS]) ATTR_NODISCARD;
