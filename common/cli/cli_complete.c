/* SPDX-License-Identifier: Apache-2.0 */
/* cli_complete: what a word of a command line can be, from the tables of commands and options, and the shell script
 * that asks for it. */
#include "cli/cli_internal.h"

#include "base/str.h"

/* Prints a candidate, "BEFOREword", if it begins as the word that is completed. */
static void offer(FILE *out, const char *begun, const char *before, const char *word, size_t n)
{
	char text[128];

	snprintf(text, sizeof(text), "%s%.*s", before, (int)n, word);
	if (strncmp(text, begun, strlen(begun)) == 0)
		fprintf(out, "%s\n", text);
}

static void offer_words(FILE *out, const char *begun, const char *before, const char *const *words)
{
	for (; *words; words++)
		offer(out, begun, before, *words, strlen(*words));
}

/* The values of an option behind `before`; nothing if they are not named. */
static void offer_values(FILE *out, const char *begun, const char *before, const struct cli_option *option)
{
	const char *at = option->metavar;

	while (cli_has_choices(option) && *at) {
		size_t n = strcspn(at, "|");

		offer(out, begun, before, at, n);
		at += n + (at[n] == '|');
	}
}

static void offer_options(FILE *out, const char *begun, const struct cli_option *options)
{
	static const char *const all[] = {"help", NULL};

	for (; options && options->name; options++)
		offer(out, begun, "--", options->name, strlen(options->name));
	offer_words(out, begun, "--", all);
}

static void offer_commands(FILE *out, const char *begun, const struct cli_program *program, bool is_first)
{
	static const char *const others[] = {"completion", "help", "version", NULL};

	for (const struct cli_command *c = program->commands; c->name; c++)
		offer(out, begun, "", c->name, strlen(c->name));
	if (is_first)
		offer_words(out, begun, "", others);
}

/* The option that `word` names, if its value is the next word; NULL: none. */
static const struct cli_option *awaits_value(const struct cli_option *options, const char *word)
{
	const struct cli_option *option = NULL;

	if (strncmp(word, "--", 2) == 0)
		option = cli_find_option(options, word + 2, strlen(word + 2), '\0');
	else if (word[0] == '-' && word[1] && !word[2])
		option = cli_find_option(options, "", 0, word[1]);
	return option && option->type != CLI_FLAG ? option : NULL;
}

/* Completes the last of `n` words behind a command. */
static void complete_option(FILE *out, const struct cli_option *options, int n, char **words)
{
	const char *begun = words[n - 1], *equals = strchr(begun, '=');
	const struct cli_option *option = n > 1 ? awaits_value(options, words[n - 2]) : NULL;
	char before[64];

	if (n > 2 && streq(words[n - 2], "=")) /* bash splits "--output=json" into three words */
		option = awaits_value(options, words[n - 3]);
	else if (n > 1 && streq(begun, "=")) /* and "--output=" into two */
		begun = "";
	if (option) {
		offer_values(out, begun, "", option);
	} else if (begun[0] == '-' && equals && equals - begun > 2) {
		option = cli_find_option(options, begun + 2, (size_t)(equals - begun) - 2, '\0');
		snprintf(before, sizeof(before), "%.*s", (int)(equals - begun) + 1, begun);
		if (option)
			offer_values(out, begun, before, option);
	} else if (begun[0] == '-') {
		offer_options(out, begun, options);
	}
}

void cli_complete(const struct cli_program *program, int argc, char **argv, FILE *out)
{
	static const char *const shells[] = {"bash", NULL};
	const struct cli_command *command;

	if (argc < 1)
		return;
	command = cli_find_command(program, argv[0]);
	if (argc == 1 && argv[0][0] != '-')
		offer_commands(out, argv[0], program, true);
	else if (argv[0][0] == '-')
		complete_option(out, program->globals, argc, argv);
	else if (argc == 2 && streq(argv[0], "help"))
		offer_commands(out, argv[1], program, false);
	else if (argc == 2 && streq(argv[0], "completion"))
		offer_words(out, argv[1], "", shells);
	else if (command)
		complete_option(out, command->options, argc - 1, argv + 1);
}

/* The name of the program, as that of its file ("kubectl memtamer" is kubectl-memtamer) or of a function. */
static void print_name(const char *name, size_t n, char between)
{
	for (size_t i = 0; i < n; i++)
		putchar(name[i] == ' ' || name[i] == '-' ? between : name[i]);
}

static int completion_run(const struct cli_args *args)
{
	size_t n = (size_t)(strrchr(args->command, ' ') - args->command);

	if (!streq(args->operands[0], "bash"))
		return cli_usage_error(args->command, "there is a script for bash only, not for %s", args->operands[0]);
	fputs("_", stdout);
	print_name(args->command, n, '_');
	fputs("() {\n\tlocal IFS=$'\\n'\n\tCOMPREPLY=($(\"${COMP_WORDS[0]}\" " CLI_COMPLETE
	      " \"${COMP_WORDS[@]:1:COMP_CWORD}\"))\n}\ncomplete -o default -F _",
	      stdout);
	print_name(args->command, n, '_');
	fputs(" ", stdout);
	print_name(args->command, n, '-');
	fputs("\n", stdout);
	return EXIT_CLEAN;
}

const struct cli_command cli_completion_command = {
	.name = "completion",
	.operands = "bash",
	.help = "Print a script with which bash completes commands, options and their values",
	.example = "bash",
	.run = completion_run,
};

const struct cli_command *cli_find_command(const struct cli_program *program, const char *name)
{
	for (const struct cli_command *c = program->commands; c->name; c++)
		if (streq(c->name, name))
			return c;
	return streq(name, cli_completion_command.name) ? &cli_completion_command : NULL;
}
