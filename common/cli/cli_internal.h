/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cli_internal: functions that the files of cli share. */
#include "cli/cli.h"

#include <stdio.h>

/** Parses options and operands. @return 0; CLI_WANTS_HELP; CLI_WANTS_VERSION; -EINVAL; -ENOMEM. Call cli_args_release
 *  in any case. */
enum { CLI_WANTS_HELP = 1, CLI_WANTS_VERSION = 2 };
int cli_parse(const struct cli_option *options, const char *operands, bool is_program, int argc, char **argv,
	      struct cli_args *args, struct err *err) ATTR_NODISCARD;
void cli_args_release(struct cli_args *args);

/** Print help, wrapped to `columns`. */
void cli_help_program(const struct cli_program *program, size_t columns, FILE *out);
void cli_help_command(const struct cli_program *program, const struct cli_command *command, size_t columns, FILE *out);
