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
/** The option of a long name, or of a letter if it is not 0. NULL: there is none. */
const struct cli_option *cli_find_option(const struct cli_option *options, const char *name, size_t n, char letter);
/** Whether the metavar lists the values of the option. */
bool cli_has_choices(const struct cli_option *option);

/** Print help, wrapped to `columns`. */
void cli_help_program(const struct cli_program *program, size_t columns, FILE *out);
void cli_help_command(const struct cli_program *program, const struct cli_command *command, size_t columns, FILE *out);

/** The command with which a shell asks for completions; hidden from --help. */
#define CLI_COMPLETE "__complete"
/** Prints what the last of the words behind the program's name can be, one candidate a line. Nothing, where only the
 * user can know. */
void cli_complete(const struct cli_program *program, int argc, char **argv, FILE *out);
/** `completion bash`, which every program has: prints a script that completes the program's words by CLI_COMPLETE. */
extern const struct cli_command cli_completion_command;
/** A command of the program, or `completion`; NULL: there is none of this name. */
const struct cli_command *cli_find_command(const struct cli_program *program, const char *name);
