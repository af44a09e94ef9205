/* SPDX-License-Identifier: Apache-2.0 */
/* report: the capacity report: which workloads waste memory or are at risk, with recommendations. */
#include "report/output.h"
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

static int sums_by_waste(const void *a, const void *b)
{
	const struct report_sum *x = a, *y = b;
	int r = (x->waste_gibh < y->waste_gibh) - (x->waste_gibh > y->waste_gibh);

	return r ? r : strcmp(x->namespace_name, y->namespace_name);
}

static int sums_by_risk(const void *a, const void *b)
{
	const struct report_sum *x = a, *y = b;

	return x->at_risk == y->at_risk ? strcmp(x->namespace_name, y->namespace_name) : y->at_risk - x->at_risk;
}

static int sums_by_runs(const void *a, const void *b)
{
	const struct report_sum *x = a, *y = b;

	return x->runs == y->runs ? strcmp(x->namespace_name, y->namespace_name) : y->runs - x->runs;
}

/* NULL: as loaded, by name. */
static const struct {
	const char *name;
	int (*compare_rows)(const void *a, const void *b);
	int (*compare_sums)(const void *a, const void *b);
} orders[] = {{"name", NULL, NULL},
	      {"waste", by_waste, sums_by_waste},
	      {"risk", by_risk, sums_by_risk},
	      {"runs", by_runs, sums_by_runs}};

static void sort(struct report *self, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		if (!orders[i].compare_rows || !streq(name, orders[i].name))
			continue;
		if (self->rows.n) /* qsort must not be given NULL */
			qsort(self->rows.items, self->rows.n, sizeof(*self->rows.items), orders[i].compare_rows);
		if (self->namespaces.n)
			qsort(self->namespaces.items, self->namespaces.n, sizeof(*self->namespaces.items),
			      orders[i].compare_sums);
	}
}

/* ---- the rows ---- */

static bool is_same_workload(const struct known *a, const struct known *b)
{
	return streq(known_namespace(a), known_namespace(b)) && streq(known_workload(a), known_workload(b));
}

static void add_to_sum(struct report_sum *sum, const struct figures *f)
{
	sum->rows++;
	sum->runs += f->runs;
	sum->oom_runs += f->oom_runs;
	sum->at_risk += figures_rank(f) != RISK_NONE;
	sum->waste_gibh += f->waste_gibh;
	sum->gpu_hours += f->gpu_hours;
	sum->oom_gpu_hours += f->oom_gpu_hours;
}

/* Rows come by namespace. 0 or -ENOMEM. */
static int add_to_sums(struct report *self, const struct report_row *row)
{
	const char *name = known_namespace(row->known);
	size_t n = self->namespaces.n;

	if ((!n || !streq(self->namespaces.items[n - 1].namespace_name, name)) &&
	    vec_push(&self->namespaces, (struct report_sum){.namespace_name = name}))
		return -ENOMEM;
	add_to_sum(&self->namespaces.items[self->namespaces.n - 1], &row->figures);
	add_to_sum(&self->sum, &row->figures);
	return 0;
}

/* 0 or -ENOMEM. */
static int collect(const struct knowledge *knowledge, struct report *ret)
{
	const struct known *before = NULL;

	for (size_t i = 0; i < knowledge->items.n; i++) {
		struct report_row row = {.known = &knowledge->items.items[i]};

		if (!figures_compute(knowledge, row.known, &row.figures))
			continue;
		row.is_first = !before || !is_same_workload(before, row.known);
		before = row.known;
		if (vec_push(&ret->rows, row) || add_to_sums(ret, &row))
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
	r = (report->is_by_namespace ? report_print_sums : report_print_table)(report, memory);
	if (fclose(memory) && !r)
		r = -ENOMEM;
	if (!r)
		r = strbuf_add(buf, text, n);
	free(text);
	return r;
}

static int write_csv(const struct report *report, struct strbuf *buf)
{
	return (report->is_by_namespace ? report_write_sums_csv : report_write_csv)(report, buf);
}

static int write_names(const struct report *report, struct strbuf *buf)
{
	return (report->is_by_namespace ? report_write_sums_names : report_write_names)(report, buf);
}

static int write_yaml(const struct report *report, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(REPORT_BYTES);
	int r = report_write_json(report, &json);

	return r ? r : output_yaml(strbuf_text(&json), buf);
}

static const struct {
	const char *name;
	int (*write)(const struct report *report, struct strbuf *buf);
} formats[] = {{"table", write_table}, {"wide", write_table}, {"json", report_write_json},
	       {"yaml", write_yaml},   {"csv", write_csv},    {"name", write_names}};

/* Renders the complete report into memory, so that a file is either complete or not written. */
static int render(const struct knowledge *knowledge, const struct cli_args *args, struct strbuf *buf)
{
	struct report report = {.knowledge = knowledge,
				.rows = VEC_INIT,
				.namespaces = VEC_INIT,
				.is_by_namespace = streq(cli_get(args, "by"), "namespace"),
				.is_wide = streq(cli_get(args, "output"), "wide")};
	int r = collect(knowledge, &report);

	sort(&report, cli_get(args, "sort-by"));
	for (size_t i = 0; i < ARRAY_LEN(formats) && !r; i++)
		if (streq(cli_get(args, "output"), formats[i].name))
			r = formats[i].write(&report, buf);
	vec_release(&report.rows);
	vec_release(&report.namespaces);
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
	OUTPUT_OPTION("table|wide|json|yaml|csv|name", "table"),
	{"by", 0, CLI_STRING, "workload|namespace", "List each workload, or the sums of each namespace", "workload"},
	{"sort-by", 0, CLI_STRING, "name|waste|risk|runs", "Order of the list; except by name, the greatest first",
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
