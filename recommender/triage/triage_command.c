/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/triage_command.h"

#include "base/io.h"
#include "base/limits.h"
#include "triage/triage.h"

#include <stdio.h>
#include <stdlib.h>

static int fail_memory(const struct cli_args *args)
{
	return cli_fail(args, &(struct err){.msg = "no memory left"}, EXIT_DEPENDENCY);
}

static bool find_input(const char *option, enum input *ret)
{
	static const char *const names[] = {[INPUT_LOG] = "log", [INPUT_DMESG] = "dmesg", [INPUT_SMI] = "nvidia-smi"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (streq(option, names[i])) {
			*ret = (enum input)i;
			return true;
		}
	return false;
}

/* Reads the files of the command line in their order, as ranks without a clock are compared by it. */
static int read_inputs(const struct cli_args *args, struct triage *triage)
{
	struct err err = ERR_INIT;
	bool is_input_read = false;

	for (size_t i = 0; i < args->n_given; i++) {
		const char *name = args->given[i].option->name, *path = args->given[i].value;
		enum input input;
		int r;

		if (!find_input(name, &input))
			continue;
		if (streq(path, "-") && is_input_read)
			return cli_usage_error(args->command, "standard input can be read only once");
		is_input_read = is_input_read || streq(path, "-");
		if (triage->facts.sources.n >= LIMIT_TRIAGE_SOURCES)
			return cli_usage_error(args->command, "more than %d files", LIMIT_TRIAGE_SOURCES);
		r = facts_read(&triage->facts, path, input, &err);
		if (r)
			return cli_fail(args, &err, r == -ENOMEM ? EXIT_DEPENDENCY : EXIT_USAGE);
	}
	if (!triage->facts.sources.n)
		return cli_usage_error(
			args->command,
			"nothing to read; give --log FILE, --dmesg FILE or --nvidia-smi FILE (-: standard input)");
	return EXIT_CLEAN;
}

static int print(const struct cli_args *args, struct triage *triage)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES);
	const char *format = cli_get(args, "output");
	int r;

	triage_decide(triage);
	if (streq(format, "json"))
		r = triage_json(triage, &buf);
	else
		r = streq(format, "markdown") ? triage_markdown(triage, &buf) : triage_text(triage, &buf);
	if (r)
		return fail_memory(args);
	fwrite(strbuf_text(&buf), 1, buf.len, stdout);
	return EXIT_CLEAN;
}

static int triage_command_run(const struct cli_args *args)
{
	struct triage *triage = malloc(sizeof(*triage));
	int code;

	if (!triage)
		return fail_memory(args);
	code = triage_init(triage) ? fail_memory(args) : read_inputs(args, triage);
	if (!code)
		code = print(args, triage);
	triage_release(triage);
	free(triage);
	return code;
}

static const struct cli_option triage_options[] = {
	{"log", 0, CLI_LIST, "FILE", "Log of the run, or of one rank or pod of it (-: standard input)", NULL},
	{"dmesg", 0, CLI_LIST, "FILE", "Kernel log of the node, as dmesg or journalctl -k print it", NULL},
	{"nvidia-smi", 0, CLI_LIST, "FILE",
	 "What nvidia-smi prints on the node: its table, -q, -q -x or --query-gpu as CSV", NULL},
	{"output", 'o', CLI_STRING, "text|json|markdown", "Output format", "text"},
	{.name = NULL},
};

const struct cli_command triage_command = {
	.name = "triage",
	.help = "Tell from logs what kind of out-of-memory ended a run, and what to do first",
	.example = "--log rank0.log --log rank1.log --dmesg dmesg.txt",
	.options = triage_options,
	.run = triage_command_run,
};
