/* SPDX-License-Identifier: Apache-2.0 */
/* report: the capacity report: which workloads waste memory or are at risk, with recommendations. */
#include "report/question.h"
#include "report/report_commands.h"
#include "report/report_internal.h"

#include "base/io.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

#define REPORT_BYTES (GIB)

/* ---- the order ---- */

/* Rows are sorted by name before, and qsort need not be stable. */
static int compare_places(const struct report_row *a, const struct report_row *b)
{
	return (a->known > b->known) - (a->known < b->known);
}

static int by_waste(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;
	int r = (x->figures.waste_gibh < y->figures.waste_gibh) - (x->figures.waste_gibh > y->figures.waste_gibh);

	return r ? r : compare_places(x, y);
}

static int by_risk(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;
	int r = (int)figures_rank(&y->figures) - (int)figures_rank(&x->figures);

	r = r ? r : y->figures.oom_runs - x->figures.oom_runs;
	return r ? r : compare_places(x, y);
}

static int by_runs(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	return x->figures.runs == y->figures.runs ? compare_places(x, y) : y->figures.runs - x->figures.runs;
}

static const struct {
	const char *name;
	int (*compare)(const void *a, const void *b); /* NULL: as loaded, by name */
} orders[] = {{"name", NULL}, {"waste", by_waste}, {"risk", by_risk}, {"runs", by_runs}};

static void sort(struct report *self, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(orders); i++)
		if (self->rows.n && orders[i].compare && streq(name, orders[i].name))
			qsort(self->rows.items, self->rows.n, sizeof(*self->rows.items), orders[i].compare);
}

/* ---- the rows ---- */

static bool is_same_workload(const struct known *a, const struct known *b)
{
	return streq(known_namespace(a), known_namespace(b)) && streq(known_workload(a), known_workload(b));
}

/* 0 or -ENOMEM. */
static int collect(const struct knowledge *knowledge, struct report *ret)
{
	const struct known *before = NULL;

	for (size_t i = 0; i < knowledge->items.n; i++) {
		struct report_row row = {.known = &knowledge->items.items[i]};
		const struct figures *f = &row.figures;

		if (!figures_compute(knowledge, row.known, &row.figures))
			continue;
		row.is_first = !before || !is_same_workload(before, row.known);
		before = row.known;
		ret->at_risk += figures_rank(f) != RISK_NONE;
		ret->sum.runs += f->runs;
		ret->sum.oom_runs += f->oom_runs;
		ret->sum.waste_gibh += f->waste_gibh;
		if (vec_push(&ret->rows, row))
			return -ENOMEM;
	}
	return 0;
}

/* ---- the command ---- */

static int write_table(const struct report *report, struct strbuf *buf)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);
	int r;

	if (!memory)
		return -errno;
	r = report_print_table(report, memory);
	if (fclose(memory) && !r)
		r = -ENOMEM;
	if (!r)
		r = strbuf_add(buf, text, n);
	free(text);
	return r;
}

static const struct {
	const char *name;
	int (*write)(const struct report *report, struct strbuf *buf);
} formats[] = {
	{"table", write_table}, {"json", report_write_json}, {"csv", report_write_csv}, {"name", report_write_names}};

/* Renders the complete report into memory, so that a file is either complete or not written. */
static int render(const struct knowledge *knowledge, const struct cli_args *args, struct strbuf *buf)
{
	struct report report = {.knowledge = knowledge, .rows = VEC_INIT};
	int r = collect(knowledge, &report);

	sort(&report, cli_get(args, "sort-by"));
	for (size_t i = 0; i < ARRAY_LEN(formats) && !r; i++)
		if (streq(cli_get(args, "output"), formats[i].name))
			r = formats[i].write(&report, buf);
	vec_release(&report.rows);
	return r;
}

static int report_run(const struct cli_args *args)
{
	CLEANUP(knowledge_release) struct knowledge knowledge = KNOWLEDGE_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPORT_BYTES);
	const char *out = cli_get(args, "out");
	struct err err = ERR_INIT;
	int code = question_load(args, &knowledge);

	if (code)
		return code;
	if (render(&knowledge, args, &text))
		return cli_fail(args, &(struct err){.msg = "out of memory"}, EXIT_DEPENDENCY);
	if (out && io_write_file_atomic(out, strbuf_text(&text), text.len, 0644, &err))
		return cli_fail(args, &err, EXIT_DEPENDENCY);
	if (!out)
		fputs(strbuf_text(&text), stdout);
	return knowledge.n_bad ? EXIT_FINDINGS : EXIT_CLEAN;
}

static const struct cli_option report_options[] = {
	KNOWLEDGE_OPTIONS,
	{"output", 'o', CLI_STRING, "table|json|csv|name", "Output format", "table"},
	{"sort-by", 0, CLI_STRING, "name|waste|risk|runs", "Order of the workloads; except by name, the greatest first",
	 "name"},
	{"out", 0, CLI_STRING, "FILE", "Write atomically to FILE", NULL},
	{.name = NULL},
};

const struct cli_command report_command = {
	.name = "report",
	.operands = "[KIND/NAME]",
	.help = "List workloads that waste memory or are at risk, with recommendations",
	.example = "-n ml-team --sort-by waste",
	.options = report_options,
	.run = report_run,
};
