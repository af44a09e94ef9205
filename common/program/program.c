/* SPDX-License-Identifier: Apache-2.0 */
#include "program/program.h"

#include "base/limits.h"
#include "config/config.h"

#include <errno.h>
#include <stdio.h>

static const struct cli_option program_options[] = {
	{"config", 0, CLI_STRING, "FILE", "the configuration to check or print; without it the defaults", NULL},
	{"check-config", 0, CLI_FLAG, NULL, "check the configuration and exit", NULL},
	{"print-config", 0, CLI_FLAG, NULL, "print every effective value with its origin and exit", NULL},
	{.name = NULL},
};

static int print_config(const struct config *config)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CONFIG_BYTES);

	if (config_print(config, &text)) {
		fprintf(stderr, "%s: the configuration cannot be printed\n", program_invocation_short_name);
		return EXIT_DEPENDENCY;
	}
	fputs(strbuf_text(&text), stdout);
	return EXIT_CLEAN;
}

static int run_options(const struct cli_args *args)
{
	CLEANUP(config_freep) struct config *config = NULL;
	const char *path = cli_get(args, "config");
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];

	if (!cli_has(args, "check-config") && !cli_has(args, "print-config"))
		return cli_usage_error(program_invocation_short_name, "no command given");
	if (path ? config_load(path, &config, &err) : !(config = config_new_default())) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, err_text(&err, text, sizeof(text)));
		return EXIT_USAGE;
	}
	return cli_has(args, "print-config") ? print_config(config) : EXIT_CLEAN;
}

int program_main(const char *name, const char *help, const struct cli_command *commands, int argc, char **argv)
{
	const struct cli_program program = {
		.name = name, .help = help, .commands = commands, .globals = program_options, .run = run_options};

	return cli_main(&program, argc, argv);
}
