/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_internal.h"

#include "base/str.h"
#include "base/suggest.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Width of help: the terminal's, but lines of more than 100 columns are hard to read, and less than 80 break tables. */
static size_t help_columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return 80;
	return MAX(80, MIN(100, (size_t)size.ws_col));
}

static int unknown_command(const struct cli_program *program, const char *name)
{
	struct suggest suggest = SUGGEST_INIT(name);

	for (const struct cli_command *c = program->commands; c->name; c++)
		suggest_consider(&suggest, c->name);
	if (suggest_best(&suggest))
		return cli_usage_error(program->name, "unknown command \"%s\"; did you mean %s?", name,
				       suggest_best(&suggest));
	return cli_usage_error(program->name, "unknown command \"%s\"", name);
}

static int run_help(const struct cli_program *program, int argc, char **argv)
{
	const struct cli_command *command = argc > 0 ? cli_find_command(program, argv[0]) : NULL;

	if (argc > 0 && !command)
		return unknown_command(program, argv[0]);
	if (command)
		cli_help_command(program, command, help_columns(), stdout);
	else
		cli_help_program(program, help_columns(), stdout);
	return EXIT_CLEAN;
}

static int run_command(const struct cli_program *program, const struct cli_command *command, int argc, char **argv)
{
	CLEANUP(cli_args_release) struct cli_args args = {0};
	struct err err = ERR_INIT;
	char name[128];
	int r = cli_parse(command->options, command->operands, false, argc, argv, &args, &err);

	snprintf(name, sizeof(name), "%s %s", program->name, command->name);
	args.command = name;
	if (r == CLI_WANTS_HELP) {
		cli_help_command(program, command, help_columns(), stdout);
		return EXIT_CLEAN;
	}
	return r ? cli_usage_error(name, "%s", err.msg) : command->run(&args);
}

static int print_version(const struct cli_program *program)
{
	printf("%s %s\n", program->name, MEMTAMER_VERSION);
	return EXIT_CLEAN;
}

/* Runs the program's own options. An operand after them is a command in the wrong place. */
static int run_program(const struct cli_program *program, int argc, char **argv)
{
	CLEANUP(cli_args_release) struct cli_args args = {0};
	struct err err = ERR_INIT;
	int r = cli_parse(program->globals, "[COMMAND...]", true, argc, argv, &args, &err);

	if (r == CLI_WANTS_HELP)
		return run_help(program, 0, NULL);
	if (r == CLI_WANTS_VERSION)
		return print_version(program);
	if (r)
		return cli_usage_error(program->name, "%s", err.msg);
	if (args.n_operands && cli_find_command(program, args.operands[0]))
		return cli_usage_error(program->name, "the command comes first: %s %s [OPTIONS]", program->name,
				       args.operands[0]);
	if (args.n_operands)
		return unknown_command(program, args.operands[0]);
	args.command = program->name;
	if (!args.n_given || !program->run)
		return cli_usage_error(program->name, "no command given");
	return program->run(&args);
}

/* kubectl runs a program of this name for the words behind its plugin's. */
static bool is_kubectl_completion(const char *path)
{
	static const char prefix[] = "kubectl_complete-";
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, prefix, sizeof(prefix) - 1) == 0;
}

static int dispatch(const struct cli_program *program, int argc, char **argv)
{
	const struct cli_command *command;
	bool is_completion = argc > 0 && is_kubectl_completion(argv[0]);

	if (is_completion || (argc > 1 && streq(argv[1], CLI_COMPLETE))) {
		cli_complete(program, argc - 1 - !is_completion, argv + 1 + !is_completion, stdout);
		return EXIT_CLEAN;
	}
	if (argc < 2) {
		cli_help_program(program, help_columns(), stderr);
		return EXIT_USAGE;
	}
	if (argv[1][0] == '-')
		return run_program(program, argc - 1, argv + 1);
	command = cli_find_command(program, argv[1]);
	if (command)
		return run_command(program, command, argc - 2, argv + 2);
	if (streq(argv[1], "help"))
		return run_help(program, argc - 2, argv + 2);
	if (streq(argv[1], "version") && argc == 2)
		return print_version(program);
	return unknown_command(program, argv[1]);
}

int cli_main(const struct cli_program *program, int argc, char **argv)
{
	int code = dispatch(program, argc, argv);

	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "%s: cannot write the output: %s\n", program->name, strerror(errno));
		return EXIT_DEPENDENCY;
	}
	return code;
}
