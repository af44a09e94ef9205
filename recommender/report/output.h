/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* output: the option -o of the reading commands, and objects as YAML. */
#include "base/strbuf.h"
#include "cli/cli.h"

/** A row of a table of options. `formats` are the words that the command takes, the first for people. */
#define OUTPUT_OPTION(formats, fallback)                                                                               \
	{                                                                                                              \
		"output", 'o', CLI_STRING, formats, "Output format", fallback                                          \
	}

/** Whether -o asks for an object: json or yaml. */
bool output_is_object(const struct cli_args *args);
/** Whether -o asks for wide tables: all columns, and names in full. */
bool output_is_wide(const struct cli_args *args);
/** Prints to standard output an object that is written as JSON, in the format that -o asks for. @return 0; -ENOMEM. */
int output_print_object(const struct cli_args *args, const struct strbuf *json) ATTR_NODISCARD;
/** Appends JSON that json_write.h has written as YAML, in blocks as `kubectl -o yaml` prints it; strings stay quoted.
 * Cost: linear in the text. @return the sticky status of `buf`. */
int output_yaml(const char *json, struct strbuf *buf);
