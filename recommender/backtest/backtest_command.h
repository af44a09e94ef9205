/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* backtest_command: `backtest` prints what the rules would have done on past runs, of a trace directory or of the
 * stored histories. Exit codes: 0; 1: objects of the store could not be read; 2: usage, configuration, or the trace; 3:
 * the store or the output failed, or no memory is left. */
#include "cli/cli.h"

extern const struct cli_command backtest_command;
