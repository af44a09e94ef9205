/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* report_commands: the reading commands of the recommender, as rows for a program's table. They only read the
 * store, but for undo, which writes a word of a person. */
#include "cli/cli.h"

extern const struct cli_command explain_command, history_command, report_command, status_command, undo_command;
