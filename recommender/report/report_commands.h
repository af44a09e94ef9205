/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* report_commands: the reading commands of the recommender, as rows of a program's table. They only read the store,
 * except undo, which writes spec.modeCap of profiles. */
#include "cli/cli.h"

extern const struct cli_command explain_command, history_command, report_command, status_command, undo_command;
