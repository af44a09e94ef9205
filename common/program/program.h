/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* program: the options that both programs have besides their commands: --config, --check-config and --print-config. */
#include "cli/cli.h"

/** Runs the program; main() only calls it. `commands` ends with a row without name. @return the exit code. */
int program_main(const char *name, const char *help, const struct cli_command *commands, int argc, char **argv);
