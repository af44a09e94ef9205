/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* program: what both programs share beside their commands: --config, --check-config and --print-config. */
#include "cli/cli.h"

/** The whole of main(): `commands` is ended by a row without name. @return the exit code. */
int program_main(const char *name, const char *help, const struct cli_command *commands, int argc, char **argv);
