/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "base/io.h"
#include "base/timefmt.h"
#include "report/report_commands.h"
#include "report/table.h"

#include <errno.h>
#include <stdlib.h>

#define REPORT_BYTES (GIB)

static const char *size_text(int64_t bytes, char buf[QUANTITY_TEXT_BYTES])
{
	return bytes ? quantity_render_human(bytes, buf) : "-";
}

/* "3Gi -> 704Mi", "3Gi" when nothing changes or nothing is recommended. */
static void change_text(int64_t from_bytes, int64_t to_bytes, char *buf, size_t size)
{
	char from[QUANTITY_TEXT_BYTES], to[QUANTITY_TEXT_BYTES];

	if (!to_bytes || from_bytes == to_bytes)
		snprintf(buf, size, "%s", size_text(from_bytes, from));
	else
		snprintf(buf, size, "%s -> %s", size_text(from_bytes, from), size_text(to_bytes, to));
}

static void add_row(struct table *table, const struct known *known, const struct figures *f)
{
	char runs[48], request[64], limit[64], median[QUANTITY_TEXT_BYTES], peak[QUANTITY_TEXT_BYTES], waste[32];
	const char *cells[] = {known_namespace(known),
			       known_workload(known),
			       known_role(known),
			       known_container(known),
			       runs,
			       median,
			       peak,
			       request,
			       limit,
			       waste,
			       confidence_names[f->confidence],
			       risk_names[f->risk]};

	snprintf(runs, sizeof(runs), f->oom_runs ? "%d (%d OOM)" : "%d", f->runs, f->oom_runs);
	snprintf(median, sizeof(median), "%s", size_text(f->median_bytes, request));
	snprintf(peak, sizeof(peak), "%s", size_text(f->peak_bytes, request));
	change_text(f->request_bytes, f->new_request_bytes, request, sizeof(request));
	change_text(f->limit_bytes, f->new_limit_bytes, limit, sizeof(limit));
	snprintf(waste, sizeof(waste), "%.2f", f->waste_gibh);
	table_add(table, cells);
}

static int report_print_table(const struct knowledge *knowledge, const struct report_scope *scope, FILE *out)
{
	static const char *const heads[] = {"NAMESPACE", "WORKLOAD", "ROLE",   "CONTAINER",   ">RUNS",	    ">MEDIAN",
					    ">PEAK",	 ">REQUEST", ">LIMIT", ">WASTE GiBh", "CONFIDENCE", "RISK"};
	const struct known *known;
	struct figures f;
	struct table table;
	size_t next = 0, shown = 0;
	int r;

	table_init(&table, heads, ARRAY_LEN(heads));
	while ((known = report_next(knowledge, scope, &next, &f))) {
		add_row(&table, known, &f);
		shown++;
	}
	if (shown) {
		r = table_print(&table, out, 0);
		fprintf(out,
			"\nREQUEST and LIMIT: of the last run -> recommended. WASTE: (limit - peak) x time x ranks, "
			"each rank taken for the worst one, all runs listed.\n");
	} else {
		fprintf(out, "No workloads known%s%s.\n", scope->namespace_name ? " in namespace " : "",
			scope->namespace_name ? scope->namespace_name : "");
		r = 0;
	}
	table_release(&table);
	return r;
}

/* The whole report as text, so that a file is written whole or not at all. */
static int report_render(const struct knowledge *knowledge, const struct report_scope *scope, bool is_json,
			 struct strbuf *buf)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory;
	int r;

	if (is_json)
		return report_render_json(knowledge, scope, buf);
	memory = open_memstream(&text, &n);
	if (!memory)
		return -errno;
	r = report_print_table(knowledge, scope, memory);
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
	struct report_scope scope = {.namespace_name = cli_get(args, "namespace"), .now_ms = time_now_ms()};
	const char *out = cli_get(args, "out");
	struct err err = ERR_INIT;
	int code = knowledge_load("memtamer-recommender report", args, NULL, &knowledge);

	if (code)
		return code;
	if (report_render(&knowledge, &scope, streq(cli_get(args, "output"), "json"), &text)) {
		fprintf(stderr, "memtamer-recommender report: out of memory\n");
		return EXIT_DEPENDENCY;
	}
	if (!out) {
		fwrite(strbuf_text(&text), 1, text.len, stdout);
		return knowledge.n_bad ? EXIT_FINDINGS : EXIT_CLEAN;
	}
	if (io_write_file_atomic(out, strbuf_text(&text), text.len, 0644, &err)) {
		fprintf(stderr, "memtamer-recommender report: %s: %s\n", err.where, err.msg);
		return EXIT_DEPENDENCY;
	}
	return knowledge.n_bad ? EXIT_FINDINGS : EXIT_CLEAN;
}

static const struct cli_option report_options[] = {
	KNOWLEDGE_OPTIONS,
	{"output", 'o', CLI_STRING, "table|json", "format", "table"},
	{"out", 0, CLI_STRING, "FILE", "write to a file, whole or not at all", NULL},
	{.name = NULL},
};

const struct cli_command report_command = {
	.name = "report",
	.help = "who wastes memory, who is at risk, and what is recommended",
	.options = report_options,
	.run = report_run,
};
