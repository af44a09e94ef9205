/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cli: parses command lines by tables of subcommands and options, and makes --help and usage errors from the same
 * tables.
 *
 * Accepted: `--name value`, `--name=value`, `-o value`, `-ovalue`, `-ab` for flags, `--` before operands that start
 * with a dash, options and operands in any order. An option given twice is an error unless its type is CLI_LIST. Every
 * program has --help (-h) and --version, and every command --help; these are not in the tables. `PROGRAM help COMMAND`
 * and `PROGRAM version` work, too, and `PROGRAM completion bash` prints a script that completes words from the tables.
 * Under a name that begins with "kubectl_complete-" the program completes its arguments, as kubectl wants it. Help goes
 * to standard output with exit code 0, usage errors to standard error with exit code 2. */
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
	CLI_LIST, /* a string that may be repeated: see cli_list; cli_get returns the first one */
};

struct cli_option {
	const char *name; /* long name: "config" for --config */
	char letter;	  /* short name: 'o' for -o; 0: none */
	enum cli_option_type type;
	const char *metavar; /* "FILE"; "text|json|yaml" (in lower case, with `|`) allows these values only */
	const char *help;
	const char *fallback; /* default; NULL: none */
};

/** An option as given, in the order of the command line. */
struct cli_given {
	const struct cli_option *option;
	const char *value; /* "" for a flag */
};

/** A parsed command line. Strings are borrowed from argv. */
struct cli_args {
	const char *command; /* program and command, for messages */
	const struct cli_option *options;
	const char **operands;
	size_t n_operands;
	struct cli_given *given;
	size_t n_given;
};

struct cli_command {
	const char *name;
	const char *operands; /* "KIND/NAME"; "FILE...": any number; "[NAME]": may be missing; NULL: none allowed */
	const char *help;     /* the list of commands shows its first line */
	const char *example;  /* the words after the command in an example; NULL: none */
	const struct cli_option *options;	 /* ended by a row without name */
	int (*run)(const struct cli_args *args); /* @return the exit code */
};

struct cli_program {
	const char *name, *help;
	const struct cli_command *commands;	 /* ended by a row without name */
	const struct cli_option *globals;	 /* options of the program itself (--check-config ...); may be NULL */
	int (*run)(const struct cli_args *args); /* for globals other than --help and --version; may be NULL */
};

/** The value of an option: as given, else its default, else NULL. Asserts that the option is in the table. */
const char *cli_get(const struct cli_args *args, const char *name);
/** Whether the option was given. */
bool cli_has(const struct cli_args *args, const char *name);
/** The i-th value of a CLI_LIST option; NULL after the last one. */
const char *cli_list(const struct cli_args *args, const char *name, size_t i);
/** Parses the command line, runs the command and flushes standard output. @return the exit code; EXIT_DEPENDENCY when
 *  standard output cannot be written. */
int cli_main(const struct cli_program *program, int argc, char **argv);

/** Prints "COMMAND: what: where: msg" to standard error, without control characters; `what` may be NULL. */
void cli_complain(const struct cli_args *args, const char *what, const struct err *err);
/** The same without `what`, for an error that ends the command. @return `code`. */
int cli_fail(const struct cli_args *args, const struct err *err, int code);
/** Reports a usage error that a command found: prints `PROGRAM: message` and a hint to --help to standard error.
 *  @return EXIT_USAGE. */
int cli_usage_error(const char *program_and_command, const char *fmt, ...) ATTR_PRINTF(2, 3);
