/* SPDX-License-Identifier: Apache-2.0 */
#include "program/program.h"

#include "base/limits.h"
#include "config/config.h"

#include <errno.h>
#include <stdio.h>

static const struct cli_option program_options[] = {
	{"config", 0, CLI_STRING, "FILE", "Configuration to check or print; without it, the defaults", NULL},
	{"check-config", 0, CLI_FLAG, NULL, "Check the configuration and exit", NULL},
	{"print-config", 0, CLI_FLAG, NULL, "Print every effective value with its origin and exit", NULL},
	{.name = NULL},
};

static int run_options(const struct cli_args *args)
{
	CLEANUP(config_freep) struct config *config = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CONFIG_BYTES);
	struct err err = ERR_INIT;

	if (!cli_has(args, "check-config") && !cli_has(args, "print-config"))
		return cli_usage_error(args->command, "no command given");
	if (config_load(cli_get(args, "config"), &config, &err))
		return cli_fail(args, &err, EXIT_USAGE);
	if (!cli_has(args, "print-config"))
		return EXIT_CLEAN;
	if (config_print(config, &text)) {
		err_set(&err, -ENOMEM, "the configuration cannot be printed");
		return cli_fail(args, &err, EXIT_DEPENDENCY);
	}
	fputs(strbuf_text(&text), stdout);
	return EXIT_CLEAN;
}

int program_main(const char *name, const char *help, const struct cli_command *commands, int argc, char **argv)
{
	const struct cli_program program = {
		.name = name, .help = help, .commands = commands, .globals = program_options, .run = run_options};

	return cli_main(&program, argc, argv);
}
