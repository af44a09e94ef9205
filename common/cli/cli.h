/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cli: subcommands and options as tables; parsing, --help, usage errors and completion come from them. */
#include "base/err.h"

enum {
	EXIT_CLEAN = 0,
	EXIT_FINDINGS = 1,   /* findings at or above --fail-on, or partial data */
	EXIT_USAGE = 2,	     /* usage or input error */
	EXIT_DEPENDENCY = 3, /* a dependency or output failed */
};

enum cli_option_type { CLI_FLAG, CLI_STRING };

struct cli_option {
	const char *name; /* "config" for --config */
	char letter;	  /* 'o' for -o; 0: none */
	enum cli_option_type type;
	const char *metavar; /* "FILE"; choices as "text|json|yaml" are checked */
	const char *help;
	const char *fallback; /* default, NULL: none */
};

/** Parsed command line; text is borrowed from argv. */
struct cli_args {
	const struct cli_option *options;
	const char *values[32]; /* by option index; a set flag is "" */
	const char *operands[64];
	size_t n_operands;
};

struct cli_command {
	const char *name;
	const char *operands;			 /* "FILE|DIR|-...", NULL: none allowed */
	const char *help;			 /* one line */
	const struct cli_option *options;	 /* ended by a row without name */
	int (*run)(const struct cli_args *args); /* returns the exit code */
};

struct cli_program {
	const char *name, *help;
	const struct cli_command *commands; /* ended by a row without name */
	const struct cli_option *globals; /* options of the program without a command (--version, --check-config ...) */
	int (*run)(const struct cli_args *args); /* for globals other than --help and --version; may be NULL */
};

/** Value of an option by name: given, else its fallback, else NULL. Asserts that the option is in the table. */
const char *cli_get(const struct cli_args *args, const char *name);
bool cli_has(const struct cli_args *args, const char *name);
/** Parse, run, return the exit code. Usage errors go to stderr with code 2. */
int cli_main(const struct cli_program *program, int argc, char **argv);
