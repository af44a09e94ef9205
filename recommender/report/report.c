/* SPDX-License-Identifier: Apache-2.0 */
/* report: the capacity report, as a table or as JSON.
 *
 * JSON (apiVersion report.memtamer.io/v1alpha1): {"apiVersion", "kind": "Report", "generated": RFC 3339, "summary":
 * {"workloads", "runs", "oomKilledRuns", "wasteGibHours", "atRisk"}, "workloads": [{"namespace", "workload",
 * "role", "container", "runs", "wholeRuns", "oomKilledRuns", "lastRun", "medianBytes", "peakBytes", "requestBytes",
 * "limitBytes" (last run's; null: none), "recommendedRequestBytes", "recommendedLimitBytes" (null: no
 * recommendation), "wasteGibHours" (of all ranks, each assumed to need as much as the largest one), "risk" ("" or
 * text), "confidence"}]} */
#include "report/figures.h"
#include "report/report_commands.h"

#include "base/io.h"
#include "base/json_write.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>

#define REPORT_BYTES (GIB)

/* ---- as a table ---- */

/* "3Gi -> 704Mi"; "3Gi" if nothing changes or nothing is recommended. */
static void add_change(struct table *table, int64_t from_bytes, int64_t to_bytes)
{
	if (!to_bytes || from_bytes == to_bytes)
		table_add_bytes(table, from_bytes);
	else
		table_addf(table, "%s -> %s", from_bytes ? HUMAN(from_bytes) : "-", HUMAN(to_bytes));
}

static void add_row(struct table *table, const struct known *known, const struct figures *f)
{
	known_add_names(known, table);
	table_addf(table, f->oom_runs ? "%d (%d OOM)" : "%d", f->runs, f->oom_runs);
	table_add_bytes(table, f->median_bytes);
	table_add_bytes(table, f->peak_bytes);
	add_change(table, f->request_bytes, f->new_request_bytes);
	add_change(table, f->limit_bytes, f->new_limit_bytes);
	table_addf(table, "%.2f", f->waste_gibh);
	table_add(table, confidence_names[f->confidence]);
	table_add(table, risk_names[f->risk]);
}

static int print_table(const struct knowledge *knowledge, FILE *out)
{
	const char *only = knowledge->namespace_name;
	struct figures f;
	struct table table;
	bool is_empty;
	int r;

	table_init(&table, KNOWN_HEADS ",>RUNS,>MEDIAN,>PEAK,>REQUEST,>LIMIT,>WASTE GiBh,CONFIDENCE,RISK");
	for (size_t i = 0; i < knowledge->items.n; i++)
		if (figures_compute(knowledge, &knowledge->items.items[i], &f))
			add_row(&table, &knowledge->items.items[i], &f);
	is_empty = !table_rows(&table);
	r = table_print(&table, out, 0);
	if (is_empty)
		fprintf(out, "No workloads known%s%s.\n", only ? " in namespace " : "", only ? only : "");
	else
		fprintf(out,
			"\nREQUEST and LIMIT: of the last run -> recommended. WASTE: (limit - peak) x time x ranks, "
			"each rank taken for the worst one, all runs listed.\n");
	return r;
}

/* ---- as JSON ---- */

static void write_workload(const struct known *known, const struct figures *f, struct strbuf *buf)
{
	json_write_line(buf, 4);
	json_write_open(buf, NULL, '{');
	known_write_names(known, buf);
	json_write_int(buf, "runs", f->runs);
	json_write_int(buf, "wholeRuns", f->whole_runs);
	json_write_int(buf, "oomKilledRuns", f->oom_runs);
	if (f->last_start_ms)
		json_write_time(buf, "lastRun", f->last_start_ms);
	else
		json_write_text(buf, "lastRun", NULL);
	json_write_int_or_null(buf, "medianBytes", f->median_bytes);
	json_write_int_or_null(buf, "peakBytes", f->peak_bytes);
	json_write_int_or_null(buf, "requestBytes", f->request_bytes);
	json_write_int_or_null(buf, "limitBytes", f->limit_bytes);
	json_write_int_or_null(buf, "recommendedRequestBytes", f->new_request_bytes);
	json_write_int_or_null(buf, "recommendedLimitBytes", f->new_limit_bytes);
	json_write_text(buf, "risk", risk_names[f->risk]);
	json_write_double(buf, "wasteGibHours", f->waste_gibh);
	json_write_text(buf, "confidence", confidence_names[f->confidence]);
	strbuf_addc(buf, '}');
}

/* One line for each workload. @return the sticky status of `buf`. */
static int write_json(const struct knowledge *knowledge, struct strbuf *buf)
{
	struct figures f, sum = {.runs = 0};
	int workloads = 0, at_risk = 0;

	knowledge_write_head("report.memtamer.io/v1alpha1", "Report", time_now_ms(), buf);
	json_write_open(buf, "workloads", '[');
	for (size_t i = 0; i < knowledge->items.n; i++) {
		if (!figures_compute(knowledge, &knowledge->items.items[i], &f))
			continue;
		write_workload(&knowledge->items.items[i], &f, buf);
		workloads++;
		at_risk += f.risk != RISK_NONE;
		sum.runs += f.runs;
		sum.oom_runs += f.oom_runs;
		sum.waste_gibh += f.waste_gibh;
	}
	strbuf_adds(buf, "\n  ]");
	json_write_line(buf, 2);
	json_write_open(buf, "summary", '{');
	json_write_int(buf, "workloads", workloads);
	json_write_int(buf, "runs", sum.runs);
	json_write_int(buf, "oomKilledRuns", sum.oom_runs);
	json_write_double(buf, "wasteGibHours", sum.waste_gibh);
	json_write_int(buf, "atRisk", at_risk);
	return strbuf_adds(buf, "}\n}\n");
}

/* ---- the command ---- */

/* Renders the complete report into memory, so that a file is either complete or not written. */
static int render(const struct knowledge *knowledge, bool is_json, struct strbuf *buf)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory;
	int r;

	if (is_json)
		return write_json(knowledge, buf);
	memory = open_memstream(&text, &n);
	if (!memory)
		return -errno;
	r = print_table(knowledge, memory);
	if (fclose(memory) && !r)
		r = -ENOMEM;
	if (!r)
		r = strbuf_add(buf, text, n);
	free(text);
	return r;
}

static int report_run(const struct cli_args *args)
{
	CLEANUP(knowledge_release) struct knowledge knowledge = KNOWLEDGE_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPORT_BYTES);
	const char *out = cli_get(args, "out");
	struct err err = ERR_INIT;
	int code = knowledge_load(args, NULL, &knowledge);

	if (code)
		return code;
	if (render(&knowledge, streq(cli_get(args, "output"), "json"), &text))
		return cli_fail(args, &(struct err){.msg = "out of memory"}, EXIT_DEPENDENCY);
	if (out && io_write_file_atomic(out, strbuf_text(&text), text.len, 0644, &err))
		return cli_fail(args, &err, EXIT_DEPENDENCY);
	if (!out)
		fputs(strbuf_text(&text), stdout);
	return knowledge.n_bad ? EXIT_FINDINGS : EXIT_CLEAN;
}

static const struct cli_option report_options[] = {
	KNOWLEDGE_OPTIONS,
	{"output", 'o', CLI_STRING, "table|json", "Output format", "table"},
	{"out", 0, CLI_STRING, "FILE", "Write atomically to FILE", NULL},
	{.name = NULL},
};

const struct cli_command report_command = {
	.name = "report",
	.help = "List workloads that waste memory or are at risk, with recommendations",
	.example = "-n ml-team -o json",
	.options = report_options,
	.run = report_run,
};
