/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_internal.h"

#include "base/str.h"
#include "base/strbuf.h"

#define LABEL_COLUMNS 26

/* Prints `text` word by word, starting at column `at`; further lines start at column `indent`. At most `columns`
 * wide. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t indent, size_t columns)
{
	bool is_first = true;

	while (*text) {
		size_t n = strcspn(text, " \n");

		if (!is_first && at + 1 + n > columns) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			is_first = true;
		}
		if (n) {
			fprintf(out, "%s%.*s", is_first ? "" : " ", (int)n, text);
			at += n + !is_first;
			is_first = false;
		}
		text += n;
		if (*text == '\n') {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			is_first = true;
		}
		text += *text != '\0';
	}
	fputc('\n', out);
}

/* Prints a label in the left column and its text in the right one. */
static void print_row(FILE *out, const char *label, const char *text, size_t columns)
{
	size_t n = strlen(label) + 2;

	fprintf(out, "  %s", label);
	if (n + 2 > LABEL_COLUMNS)
		fprintf(out, "\n%*s", LABEL_COLUMNS, "");
	else
		fprintf(out, "%*s", (int)(LABEL_COLUMNS - n), "");
	print_wrapped(out, text, LABEL_COLUMNS, LABEL_COLUMNS, columns);
}

static void print_option(FILE *out, const struct cli_option *option, size_t columns)
{
	CLEANUP(strbuf_release) struct strbuf label = STRBUF_INIT(512);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

	if (option->letter)
		strbuf_addf(&label, "-%c, ", option->letter);
	strbuf_addf(&label, "--%s", option->name);
	if (option->type != CLI_FLAG)
		strbuf_addf(&label, " %s", option->metavar ? option->metavar : "VALUE");
	strbuf_adds(&text, option->help ? option->help : "");
	if (option->type == CLI_LIST)
		strbuf_adds(&text, "; can be repeated");
	if (option->fallback)
		strbuf_addf(&text, " (default: %s)", option->fallback);
	print_row(out, strbuf_text(&label), strbuf_text(&text), columns);
}

static void print_options(FILE *out, const struct cli_option *options, bool is_program, size_t columns)
{
	fputs("\nOptions:\n", out);
	for (; options && options->name; options++)
		print_option(out, options, columns);
	print_row(out, "-h, --help", "Show this help", columns);
	if (is_program)
		print_row(out, "--version", "Show the version, as the command `version` does", columns);
}

static void print_command(FILE *out, const struct cli_command *command, size_t columns)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(4096);

	strbuf_add(&line, command->help, strcspn(command->help, "\n"));
	print_row(out, command->name, strbuf_text(&line), columns);
}

void cli_help_program(const struct cli_program *program, size_t columns, FILE *out)
{
	fprintf(out, "Usage: %s COMMAND [OPTIONS]\n\n", program->name);
	print_wrapped(out, program->help, 0, 0, columns);
	fputs("\nCommands:\n", out);
	for (const struct cli_command *c = program->commands; c->name; c++)
		print_command(out, c, columns);
	print_command(out, &cli_completion_command, columns);
	print_options(out, program->globals, true, columns);
	fprintf(out,
		"\nExit codes: 0 clean, 1 findings or partial data, 2 usage or input error, 3 a dependency or output "
		"failed.\n");
	fprintf(out, "`%s COMMAND --help` shows the options of a command.\n", program->name);
}

void cli_help_command(const struct cli_program *program, const struct cli_command *command, size_t columns, FILE *out)
{
	fprintf(out, "Usage: %s %s [OPTIONS]%s%s\n\n", program->name, command->name, command->operands ? " " : "",
		command->operands ? command->operands : "");
	print_wrapped(out, command->help, 0, 0, columns);
	print_options(out, command->options, false, columns);
	if (command->example)
		fprintf(out, "\nExample:\n  %s %s %s\n", program->name, command->name, command->example);
}
