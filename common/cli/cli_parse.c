/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_internal.h"

#include "base/str.h"
#include "base/suggest.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

struct parser {
	const struct cli_option *options;
	const char *operands; /* NULL: none allowed */
	bool is_program;      /* --version is accepted; the first operand is a command */
	int argc, i;
	char **argv;
	struct cli_args *args;
	struct err *err;
};

static const struct cli_option no_options[] = {{0}};

void cli_args_release(struct cli_args *args)
{
	free(args->operands);
	free(args->given);
	*args = (struct cli_args){0};
}

bool cli_has_choices(const struct cli_option *option)
{
	if (!option->metavar || !strchr(option->metavar, '|'))
		return false;
	for (const char *p = option->metavar; *p; p++)
		if (isupper((unsigned char)*p))
			return false;
	return true;
}

const struct cli_option *cli_find_option(const struct cli_option *options, const char *name, size_t n, char letter)
{
	for (; options && options->name; options++)
		if (letter ? options->letter == letter
			   : strlen(options->name) == n && memcmp(options->name, name, n) == 0)
			return options;
	return NULL;
}

static int fail_unknown(struct parser *p, const char *word, size_t n)
{
	char name[SUGGEST_WORD_CHARS + 1];
	struct suggest suggest = SUGGEST_INIT(name);

	snprintf(name, sizeof(name), "%.*s", (int)MIN(n, sizeof(name) - 1), word);
	for (const struct cli_option *o = p->options; o->name; o++)
		suggest_consider(&suggest, o->name);
	suggest_consider(&suggest, "help");
	if (p->is_program)
		suggest_consider(&suggest, "version");
	if (suggest_best(&suggest))
		return err_set(p->err, -EINVAL, "unknown option --%s; did you mean --%s?", name,
			       suggest_best(&suggest));
	return err_set(p->err, -EINVAL, "unknown option --%s", name);
}

static bool is_choice(const char *choices, const char *value)
{
	size_t n = strlen(value);

	for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
		if (strcspn(at, "|") == n && memcmp(at, value, n) == 0)
			return true;
	return false;
}

/* The i-th value that was given. NULL: there are fewer. */
static const char *nth_value(const struct cli_args *args, const struct cli_option *option, size_t i)
{
	for (size_t k = 0; k < args->n_given; k++)
		if (args->given[k].option == option && i-- == 0)
			return args->given[k].value;
	return NULL;
}

static int take(struct parser *p, const struct cli_option *option, const char *value)
{
	if (option->type != CLI_LIST && nth_value(p->args, option, 0))
		return err_set(p->err, -EINVAL, "option --%s is given twice", option->name);
	if (cli_has_choices(option) && !is_choice(option->metavar, value))
		return err_set(p->err, -EINVAL, "option --%s is one of %s, not \"%s\"", option->name, option->metavar,
			       value);
	p->args->given[p->args->n_given++] = (struct cli_given){option, value};
	return 0;
}

/* The value of an option: the text attached to it, else the next argument. */
static int take_value(struct parser *p, const struct cli_option *option, const char *attached)
{
	if (attached)
		return take(p, option, attached);
	if (p->i + 1 >= p->argc)
		return err_set(p->err, -EINVAL, "option --%s needs a value: %s", option->name,
			       option->metavar ? option->metavar : "VALUE");
	return take(p, option, p->argv[++p->i]);
}

static int parse_long(struct parser *p, const char *word)
{
	size_t n = strcspn(word, "=");
	const char *attached = word[n] == '=' ? word + n + 1 : NULL;
	const struct cli_option *option = cli_find_option(p->options, word, n, '\0');

	if (!option && streq(word, "help"))
		return CLI_WANTS_HELP;
	if (!option && p->is_program && streq(word, "version"))
		return CLI_WANTS_VERSION;
	if (!option)
		return fail_unknown(p, word, n);
	if (option->type == CLI_FLAG && attached)
		return err_set(p->err, -EINVAL, "option --%s takes no value", option->name);
	return option->type == CLI_FLAG ? take(p, option, "") : take_value(p, option, attached);
}

static int parse_letters(struct parser *p, const char *letters)
{
	for (; *letters; letters++) {
		const struct cli_option *option = cli_find_option(p->options, NULL, 0, *letters);
		int r;

		if (!option && *letters == 'h')
			return CLI_WANTS_HELP;
		if (!option)
			return err_set(p->err, -EINVAL, "unknown option -%c", *letters);
		if (option->type != CLI_FLAG)
			return take_value(p, option, letters[1] ? letters + 1 : NULL);
		r = take(p, option, "");
		if (r)
			return r;
	}
	return 0;
}

static int take_operand(struct parser *p, const char *word)
{
	if (!p->operands || (p->args->n_operands && !strstr(p->operands, "...")))
		return err_set(p->err, -EINVAL, "unexpected operand \"%s\"", word);
	p->args->operands[p->args->n_operands++] = word;
	return 0;
}

static int parse_words(struct parser *p)
{
	bool is_operands_only = false;

	for (; p->i < p->argc; p->i++) {
		const char *word = p->argv[p->i];
		int r;

		if (is_operands_only || word[0] != '-' || !word[1])
			r = take_operand(p, word);
		else if (streq(word, "--"))
			r = 0, is_operands_only = true;
		else
			r = word[1] == '-' ? parse_long(p, word + 2) : parse_letters(p, word + 1);
		if (r)
			return r;
	}
	if (p->operands && p->operands[0] != '[' && !p->args->n_operands)
		return err_set(p->err, -EINVAL, "missing operand: %s", p->operands);
	return 0;
}

int cli_parse(const struct cli_option *options, const char *operands, bool is_program, int argc, char **argv,
	      struct cli_args *args, struct err *err)
{
	size_t n = argc > 0 ? (size_t)argc : 0, n_letters = 0;
	struct parser p = {.options = options ? options : no_options,
			   .operands = operands,
			   .is_program = is_program,
			   .argc = argc,
			   .argv = argv,
			   .args = args,
			   .err = err};

	*args = (struct cli_args){.options = p.options};
	for (size_t i = 0; i < n; i++)
		n_letters += strlen(argv[i]);
	args->operands = calloc(n + 1, sizeof(*args->operands));
	args->given = calloc(n + n_letters + 1, sizeof(*args->given)); /* "-abc" is three options in one argument */
	if (!args->operands || !args->given)
		return err_set(err, -ENOMEM, "out of memory");
	return parse_words(&p);
}

static const struct cli_option *must_find(const struct cli_args *args, const char *name)
{
	const struct cli_option *option = cli_find_option(args->options, name, strlen(name), '\0');

	assert(option);
	return option;
}

const char *cli_get(const struct cli_args *args, const char *name)
{
	const struct cli_option *option = must_find(args, name);
	const char *value = nth_value(args, option, 0);

	return value ? value : option->fallback;
}

bool cli_has(const struct cli_args *args, const char *name)
{
	return nth_value(args, must_find(args, name), 0) != NULL;
}

const char *cli_list(const struct cli_args *args, const char *name, size_t i)
{
	return nth_value(args, must_find(args, name), i);
}
