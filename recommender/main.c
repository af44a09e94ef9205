/* SPDX-License-Identifier: Apache-2.0 */
/* memtamer-recommender: learns from Prometheus what training runs use, and says what it knows. */
#include "backtest/backtest_command.h"
#include "program/program.h"
#include "report/report_commands.h"
#include "service/probe_command.h"
#include "service/run_command.h"
#include "postmortem/triage_command.h"

int main(int argc, char **argv)
{
	const struct cli_command commands[] = {run_command,	report_command,	  explain_command, status_command,
					       history_command, backtest_command, triage_command,  undo_command,
					       probe_command,	{.name = NULL}};

	return program_main("memtamer-recommender",
			    "Learns from Prometheus what training runs really use, and recommends sizes.", commands,
			    argc, argv);
}
