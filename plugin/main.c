/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl-memtamer: the commands of both programs for people, as a plugin of kubectl: `kubectl memtamer explain`.
 * kubectl finds it by its name in PATH and passes everything behind "memtamer" on. */
#include "backtest/backtest_command.h"
#include "program/program.h"
#include "report/report_commands.h"
#include "review/review_command.h"
#include "postmortem/triage_command.h"

int main(int argc, char **argv)
{
	const struct cli_command commands[] = {explain_command, report_command, status_command,
					       history_command, undo_command,	backtest_command,
					       triage_command,	review_command, {.name = NULL}};

	return program_main("kubectl memtamer", "Shows what memtamer knows of training runs and what it does for them.",
			    commands, argc, argv);
}
