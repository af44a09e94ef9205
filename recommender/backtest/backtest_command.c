/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/backtest_command.h"

#include "backtest/backtest_print.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/str.h"
#include "k8s/quantity.h"
#include "report/knowledge.h"
#include "report/output.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define OUTPUT_BYTES (4 * MIB)
#define MAX_RULES    16

/* ---- progress, on a terminal only ---- */

enum { BAR_WIDTH = 40 };

struct bar {
	bool is_shown;
	const char *what;
	int width; /* that was printed */
};

static void bar_show(void *context, double share)
{
	struct bar *self = context;
	int width = (int)(MIN(share, 1.0) * BAR_WIDTH);

	if (!self->is_shown || width == self->width)
		return;
	self->width = width;
	fprintf(stderr, "\r%-8s [%.*s%*s]", self->what, width, "########################################",
		BAR_WIDTH - width, "");
}

static void bar_start(struct bar *self, const char *what)
{
	*self = (struct bar){.is_shown = isatty(STDERR_FILENO), .what = what, .width = -1};
}

static void bar_end(const struct bar *self)
{
	if (self->is_shown)
		fprintf(stderr, "\r\033[K");
}

/* ---- the command ---- */

struct command {
	const struct cli_args *args;
	struct knowledge knowledge; /* with a trace only its configuration */
	struct trace trace;
	struct backtest backtest;
	const struct rule *rules[MAX_RULES];
	size_t n_rules;
	int64_t node_bytes;
};

static bool has_rule(const struct command *self, const struct rule *rule)
{
	for (size_t i = 0; i < self->n_rules; i++)
		if (self->rules[i] == rule)
			return true;
	return false;
}

/* All rules, or those that were named; memtamer, which the others are compared with, always and first. */
static int choose_rules(struct command *self)
{
	const char *name = cli_list(self->args, "rule", 0);

	self->rules[self->n_rules++] = &rule_memtamer;
	for (size_t i = 0; !name && i < n_rules; i++)
		if (!has_rule(self, rules[i]))
			self->rules[self->n_rules++] = rules[i];
	for (size_t i = 0; name; name = cli_list(self->args, "rule", ++i)) {
		const struct rule *rule = rule_find(name);

		if (!rule)
			return cli_usage_error(self->args->command, "there is no rule %s; see --help", name);
		if (!has_rule(self, rule))
			self->rules[self->n_rules++] = rule;
	}
	return EXIT_CLEAN;
}

/* Options that only make sense with a store. */
static const char *given_store_option(const struct cli_args *args)
{
	static const char *const names[] = {"store", "kubeconfig", "context", "namespace", "all-namespaces"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (cli_has(args, names[i]))
			return names[i];
	return NULL;
}

static int choose(struct command *self)
{
	const char *node = cli_get(self->args, "node-memory"), *store = given_store_option(self->args);
	struct quantity memory;

	if (cli_has(self->args, "trace") && store)
		return cli_usage_error(self->args->command, "--trace reads no store, so --%s cannot be given too",
				       store);
	if (quantity_parse(node, strlen(node), &memory, NULL) || quantity_value(&memory) <= 0)
		return cli_usage_error(self->args->command, "--node-memory %s is not an amount of memory such as 256Gi",
				       node);
	self->node_bytes = quantity_value(&memory);
	return choose_rules(self);
}

static int fail(const struct command *self, const struct err *err)
{
	return cli_fail(self->args, err, err->code == -ENOMEM ? EXIT_DEPENDENCY : EXIT_USAGE);
}

static int fail_memory(const struct command *self)
{
	return cli_fail(self->args, &(struct err){.msg = "out of memory"}, EXIT_DEPENDENCY);
}

/* Reads the configuration and the trace directory. */
static int read_trace(struct command *self, const char *folder)
{
	const char *config = cli_get(self->args, "config");
	struct err err = ERR_INIT;
	struct bar bar;
	int r;

	if (config_load(config, &self->knowledge.config, &err))
		return fail(self, &err);
	bar_start(&bar, "reading");
	r = trace_read(&self->trace, folder, bar_show, &bar, &err);
	bar_end(&bar);
	return r ? fail(self, &err) : EXIT_CLEAN;
}

/* Reads the histories of the store, which the options or the configuration name. */
static int read_histories(struct command *self)
{
	int code;

	self->knowledge.reads_all = true;
	code = knowledge_load(self->args, NULL, &self->knowledge);
	for (size_t i = 0; i < self->knowledge.items.n && !code; i++) {
		const struct known *known = &self->knowledge.items.items[i];

		if (known->history && trace_add_history(&self->trace, known->history))
			code = fail_memory(self);
	}
	return code;
}

static int test(struct command *self)
{
	struct err err = ERR_INIT;
	struct bar bar;
	struct backtest_options options = {.rules = self->rules,
					   .n_rules = self->n_rules,
					   .sizing = &self->knowledge.config->policy.sizing,
					   .node_bytes = self->node_bytes,
					   .progress = bar_show,
					   .context = &bar};
	int r;

	bar_start(&bar, "testing");
	r = backtest_run(&self->trace, &options, &self->backtest, &err);
	bar_end(&bar);
	return r ? fail(self, &err) : EXIT_CLEAN;
}

static int print_object(const struct command *self)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(OUTPUT_BYTES);
	int r = backtest_json(&self->backtest, &self->trace, &buf);

	return r ? r : output_print_object(self->args, &buf);
}

static int print(const struct command *self)
{
	if (output_is_object(self->args)
		    ? print_object(self)
		    : backtest_table(&self->backtest, &self->trace, output_is_wide(self->args), stdout))
		return fail_memory(self);
	return self->knowledge.n_bad ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int plot(const struct command *self, const char *path, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(OUTPUT_BYTES);
	struct frontier_point points[FRONTIER_POINTS];

	if (frontier_compute(&self->trace, points) || backtest_plot(&self->backtest, points, &buf))
		return err_set(err, -ENOMEM, "no memory left for the plot");
	return io_write_file_atomic(path, strbuf_text(&buf), buf.len, 0644, err);
}

static int output(const struct command *self)
{
	const char *path = cli_get(self->args, "plot");
	struct err err = ERR_INIT;

	if (path && plot(self, path, &err))
		return cli_fail(self->args, &err, EXIT_DEPENDENCY);
	return print(self);
}

static int backtest_command_run(const struct cli_args *args)
{
	struct command self = {
		.args = args, .trace = TRACE_INIT, .backtest = BACKTEST_INIT, .knowledge = KNOWLEDGE_INIT};
	const char *folder = cli_get(args, "trace");
	int code = choose(&self);

	if (!code)
		code = folder ? read_trace(&self, folder) : read_histories(&self);
	if (!code)
		code = test(&self);
	if (!code)
		code = output(&self);
	backtest_release(&self.backtest);
	trace_release(&self.trace);
	knowledge_release(&self.knowledge);
	return code;
}

static const struct cli_option backtest_options[] = {
	{"trace", 0, CLI_STRING, "DIR",
	 "Directory with runs.csv and series.csv or series.csv.gz, in place of the stored histories", NULL},
	{"rule", 0, CLI_LIST, "NAME",
	 "Compare memtamer with this rule: krr, vpa-p90, vpa-p95, peak-20 or oracle (default: all)", NULL},
	KNOWLEDGE_OPTIONS_ALL,
	{"node-memory", 0, CLI_STRING, "QUANTITY", "Allocatable memory of the simulated nodes", "256Gi"},
	{"plot", 0, CLI_STRING, "FILE", "Also draw OOM kills against waste, as SVG", NULL},
	OUTPUT_OPTION("table|wide|json|yaml", "table"),
	{.name = NULL},
};

const struct cli_command backtest_command = {
	.name = "backtest",
	.help = "Compare sizing rules on past runs: OOM kills, waste, time above the request",
	.example = "--plot backtest.svg",
	.options = backtest_options,
	.run = backtest_command_run,
};
