/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* backtest_print: the output formats of a backtest. Cost: linear in its rows. */
#include "backtest/frontier.h"
#include "base/strbuf.h"

#include <stdio.h>

/** Prints all figures as one JSON object. @return the sticky status of `buf`. */
int backtest_json(const struct backtest *backtest, const struct trace *trace, struct strbuf *buf) ATTR_NODISCARD;
/** Prints tables for people: one for each variant and one for each cold start, in at most 120 columns, or with all
 * columns if `is_wide`. Of the differences only those of OOM kills and waste. @return 0 or -ENOMEM. */
int backtest_table(const struct backtest *backtest, const struct trace *trace, bool is_wide, FILE *out) ATTR_NODISCARD;
/** Draws OOM kills against waste as an SVG file that is readable in light and dark mode. @return the sticky status of
 * `buf`. */
int backtest_plot(const struct backtest *backtest, const struct frontier_point points[FRONTIER_POINTS],
		  struct strbuf *buf) ATTR_NODISCARD;
