/* SPDX-License-Identifier: Apache-2.0 */
/* memtamer-recommender: learns from Prometheus what training runs use, and says what it knows. */
#include "base/limits.h"
#include "cli/cli.h"
#include "config/config.h"
#include "engine/run_command.h"
#include "report/report_commands.h"

#include <stdio.h>

static const struct cli_option globals[] = {
	{"config", 0, CLI_STRING, "FILE", "the configuration to check or print; without it the defaults", NULL},
	{"check-config", 0, CLI_FLAG, NULL, "check the configuration and exit", NULL},
	{"print-config", 0, CLI_FLAG, NULL, "print every effective value with its origin and exit", NULL},
	{NULL, 0, CLI_FLAG, NULL, NULL, NULL},
};

static int print_config(const struct config *config)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CONFIG_BYTES);

	if (config_print(config, &text)) {
		fprintf(stderr, "memtamer-recommender: the configuration cannot be printed\n");
		return EXIT_DEPENDENCY;
	}
	fputs(strbuf_text(&text), stdout);
	return EXIT_CLEAN;
}

static int run_globals(const struct cli_args *args)
{
	CLEANUP(config_freep) struct config *config = NULL;
	const char *path = cli_get(args, "config");
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];

	if (!cli_has(args, "check-config") && !cli_has(args, "print-config"))
		return cli_usage_error("memtamer-recommender", "no command given");
	if (path ? config_load(path, &config, &err) : !(config = config_new_default())) {
		fprintf(stderr, "memtamer-recommender: %s\n", err_text(&err, text, sizeof(text)));
		return EXIT_USAGE;
	}
	return cli_has(args, "print-config") ? print_config(config) : EXIT_CLEAN;
}

int main(int argc, char **argv)
{
	const struct cli_command commands[] = {
		run_command,
		report_command,
		explain_command,
		{NULL, NULL, NULL, NULL, NULL},
	};
	const struct cli_program program = {
		.name = "memtamer-recommender",
		.help = "Learns from Prometheus what training runs really use, and recommends sizes.",
		.commands = commands,
		.globals = globals,
		.run = run_globals,
	};

	return cli_main(&program, argc, argv);
}
