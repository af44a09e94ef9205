/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cli: subcommands and options as tables; parsing, --help and usage errors come from them.
 *
 * Accepted: `--name value`, `--name=value`, `-o value`, `-ovalue`, `-ab` for flags, `--` before operands that start
 * with a dash, options and operands in any order. An option given twice is an error unless its type is CLI_LIST.
 * Every program has --help (-h) and --version, every command --help, and `PROGRAM help COMMAND` works too; they are
 * not in the tables. Help goes to standard output with code 0, usage errors to standard error with code 2. */
#include "base/err.h"

enum {
	EXIT_CLEAN = 0,
	EXIT_FINDINGS = 1,   /* findings at or above --fail-on, or partial data */
	EXIT_USAGE = 2,	     /* usage or input error */
	EXIT_DEPENDENCY = 3, /* a dependency or output failed */
};

enum cli_option_type {
	CLI_FLAG,
	CLI_STRING,
	CLI_LIST, /* a string that may be given again: cli_list; cli_get is the last one */
};

struct cli_option {
	const char *name; /* "config" for --config */
	char letter;	  /* 'o' for -o; 0: none */
	enum cli_option_type type;
	const char *metavar; /* "FILE"; choices as "text|json|yaml" (with a `|`, in lower case) are checked */
	const char *help;
	const char *fallback; /* default, NULL: none */
};

/** One option as it was given, in the order of the command line. */
struct cli_given {
	const struct cli_option *option;
	const char *value;
};

#define CLI_MAX_OPTIONS 32

/** Parsed command line; text is borrowed from argv. */
struct cli_args {
	const struct cli_option *options;
	const char *values[CLI_MAX_OPTIONS]; /* by option index; a set flag is "" */
	const char **operands;
	size_t n_operands;
	struct cli_given *given;
	size_t n_given;
};

struct cli_command {
	const char *name;
	const char *operands;		  /* "FILE|DIR|-...", NULL: none allowed; in [brackets] when none is fine too */
	const char *help;		  /* the first line is shown in the list of commands */
	const struct cli_option *options; /* ended by a row without name */
	int (*run)(const struct cli_args *args); /* returns the exit code */
};

struct cli_program {
	const char *name, *help;
	const struct cli_command *commands; /* ended by a row without name */
	const struct cli_option
		*globals; /* options of the program without a command (--check-config ...); may be NULL */
	int (*run)(const struct cli_args *args); /* for globals other than --help and --version; may be NULL */
};

/** Value of an option by name: given, else its fallback, else NULL. Asserts that the option is in the table. */
const char *cli_get(const struct cli_args *args, const char *name);
/** Was the option given? */
bool cli_has(const struct cli_args *args, const char *name);
/** The i-th value given for a CLI_LIST option, NULL behind the last one. */
const char *cli_list(const struct cli_args *args, const char *name, size_t i);
/** Parse, run, flush standard output, return the exit code (3 when standard output could not be written). */
int cli_main(const struct cli_program *program, int argc, char **argv);

/** For commands that find a usage error themselves: prints `PROGRAM: message` and a hint at --help to standard error.
 *  @return EXIT_USAGE. */
int cli_usage_error(const char *program_and_command, const char *fmt, ...) ATTR_PRINTF(2, 3);
