/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* report_commands: the reading commands of the recommender, as rows for a program's table. They only read the store. */
#include "cli/cli.h"

extern const struct cli_command explain_command, report_command;
