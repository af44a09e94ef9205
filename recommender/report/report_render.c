/* SPDX-License-Identifier: Apache-2.0 */
/* report_render: the rows of a report as a table, as names, as CSV and as JSON.
 *
 * JSON: "workloads": [{"namespace", "workload", "role", "container", "runs", "wholeRuns", "oomKilledRuns", "lastRun",
 * "medianBytes", "peakBytes", "requestBytes", "limitBytes" (last run's; null: none), "recommendedRequestBytes",
 * "recommendedLimitBytes" (null: no recommendation), "notLowered" (why values are not lowered in any mode; null: they
 * may be), "risk" ("" or text), "leakSuspected", "wasteGibHours" (figures.h), "confidence", "gpuHours",
 * "oomKilledGpuHours" (figures.h; 0: no GPU is known)}]. CSV has the same columns.
 */
#include "report/report_internal.h"

#include "base/json_write.h"
#include "base/plain.h"
#include "base/timefmt.h"

#include <inttypes.h>

/* ---- as a table ---- */

/* "3Gi -> 704Mi"; "3Gi" if nothing changes, nothing is recommended, or the value will not be lowered. */
static void add_change(struct table *table, int64_t from_bytes, int64_t to_bytes, bool is_kept)
{
	if (!to_bytes || from_bytes == to_bytes || is_kept)
		table_add_bytes(table, from_bytes);
	else
		table_addf(table, "%s -> %s", from_bytes ? HUMAN(from_bytes) : "none", HUMAN(to_bytes));
}

void report_add_runs(struct table *table, int runs, int oom_runs)
{
	table_addf(table, oom_runs ? "%d (%d OOM)" : "%d", runs, oom_runs);
}

void report_add_gpu_hours(struct table *table, double hours, double oom_hours)
{
	if (oom_hours >= 0.005)
		table_addf(table, "%.2f (%.2f OOM)", hours, oom_hours);
	else if (hours > 0)
		table_addf(table, "%.2f", hours);
	else
		table_add(table, "");
}

void report_print_notes(const struct report *self, FILE *out)
{
	fputs("WASTE: unused memory in GiB-hours: (limit, else request, - peak of the largest rank) x time x ranks.\n",
	      out);
	if (self->sum.gpu_hours > 0)
		fprintf(out,
			"GPU HOURS: %.2f in all, of these %.2f in runs that ended OOM-killed: GPUs x time x ranks%s.\n",
			self->sum.gpu_hours, self->sum.oom_gpu_hours,
			self->is_wide || self->is_by_namespace ? "" : " (all rows: -o wide)");
	fprintf(out, "Hours are of the last %d runs, at most, of each role and container.\n", LIMIT_HISTORY_RUNS);
}

static void add_row(struct table *table, const struct report_row *row)
{
	const struct figures *f = &row->figures;

	known_add_names(row->known, table);
	report_add_runs(table, f->runs, f->oom_runs);
	table_add_bytes(table, f->median_bytes);
	table_add_bytes(table, f->peak_bytes);
	add_change(table, f->request_bytes, f->new_request_bytes, f->is_request_kept);
	add_change(table, f->limit_bytes, f->new_limit_bytes, f->is_limit_kept);
	table_addf(table, "%.2f", f->waste_gibh);
	report_add_gpu_hours(table, f->gpu_hours, f->oom_gpu_hours);
	table_add(table, confidence_names[f->confidence]);
	table_addf(table, "%s%s%s", risk_names[f->risk], f->risk && f->is_leak ? ", " : "", f->is_leak ? "leak" : "");
}

static void add_total(struct table *table, const struct report *self)
{
	table_add(table, "TOTAL");
	for (int i = 0; i < 3; i++)
		table_add(table, "");
	report_add_runs(table, self->sum.runs, self->sum.oom_runs);
	for (int i = 0; i < 4; i++)
		table_add(table, "");
	table_addf(table, "%.2f", self->sum.waste_gibh);
	report_add_gpu_hours(table, self->sum.gpu_hours, self->sum.oom_gpu_hours);
	table_add(table, "");
	table_addf(table, "%d at risk", self->sum.at_risk);
}

#define HEADS(container)                                                                                               \
	"NAMESPACE,WORKLOAD,ROLE," container                                                                           \
	",>RUNS,+>MEDIAN,+>PEAK,>REQUEST,>LIMIT,>WASTE,+>GPU HOURS,+CONFIDENCE,RISK"

int report_print_table(const struct report *self, FILE *out)
{
	bool has_kept = false;
	struct table table;
	int r;

	if (!self->rows.n) {
		fprintf(out, "No workloads known%s\n", knowledge_where(self->knowledge, (char[KNOWN_WHERE_BYTES]){0}));
		return 0;
	}
	table_init(&table, knowledge_has_containers(self->knowledge) ? HEADS("CONTAINER") : HEADS("+CONTAINER"));
	table.is_wide = self->is_wide;
	for (size_t i = 0; i < self->rows.n; i++) {
		add_row(&table, &self->rows.items[i]);
		has_kept |= self->rows.items[i].figures.is_request_kept || self->rows.items[i].figures.is_limit_kept;
	}
	if (self->rows.n > 1)
		add_total(&table, self);
	r = table_print(&table, out, 0);
	fprintf(out, "\nREQUEST and LIMIT: of the last run -> recommended in the end (next run: `explain`)%s.\n",
		has_kept ? "; no arrow: will not be lowered" : "");
	report_print_notes(self, out);
	return r;
}

/* ---- as names ---- */

int report_write_names(const struct report *self, struct strbuf *buf)
{
	for (size_t i = 0; i < self->rows.n; i++)
		if (self->rows.items[i].is_first)
			strbuf_addf(buf, "%s\n", PLAIN(known_workload(self->rows.items[i].known)));
	return buf->status;
}

/* ---- as CSV ---- */

void report_csv_text(struct strbuf *buf, const char *text, char end)
{
	char clean[KIB];
	bool is_quoted;

	snprintf(clean, sizeof(clean), "%s", text);
	plain_clean(clean);
	is_quoted = strpbrk(clean, ",\"") != NULL;
	if (is_quoted)
		strbuf_addc(buf, '"');
	for (const char *p = clean; *p; p++) {
		if (*p == '"')
			strbuf_addc(buf, '"');
		strbuf_addc(buf, *p);
	}
	if (is_quoted)
		strbuf_addc(buf, '"');
	strbuf_addc(buf, end);
}

static void csv_bytes(struct strbuf *buf, int64_t bytes)
{
	if (bytes)
		strbuf_addf(buf, "%" PRId64, bytes);
	strbuf_addc(buf, ',');
}

static void csv_row(struct strbuf *buf, const struct report_row *row)
{
	const struct figures *f = &row->figures;
	char when[TIME_TEXT_BYTES];

	report_csv_text(buf, known_namespace(row->known), ',');
	report_csv_text(buf, known_workload(row->known), ',');
	report_csv_text(buf, known_role(row->known), ',');
	report_csv_text(buf, known_container(row->known), ',');
	strbuf_addf(buf, "%d,%d,%d,", f->runs, f->whole_runs, f->oom_runs);
	report_csv_text(buf, f->last_start_ms ? time_render(f->last_start_ms, when) : "", ',');
	csv_bytes(buf, f->median_bytes);
	csv_bytes(buf, f->peak_bytes);
	csv_bytes(buf, f->request_bytes);
	csv_bytes(buf, f->limit_bytes);
	csv_bytes(buf, f->new_request_bytes);
	csv_bytes(buf, f->new_limit_bytes);
	report_csv_text(buf, f->not_lowered ? f->not_lowered : "", ',');
	report_csv_text(buf, risk_names[f->risk], ',');
	strbuf_addf(buf, "%s,%.3f,", f->is_leak ? "true" : "false", f->waste_gibh);
	report_csv_text(buf, confidence_names[f->confidence], ',');
	strbuf_addf(buf, "%.3f,%.3f\n", f->gpu_hours, f->oom_gpu_hours);
}

int report_write_csv(const struct report *self, struct strbuf *buf)
{
	strbuf_adds(buf, "namespace,workload,role,container,runs,wholeRuns,oomKilledRuns,lastRun,medianBytes,peakBytes,"
			 "requestBytes,limitBytes,recommendedRequestBytes,recommendedLimitBytes,notLowered,risk,"
			 "leakSuspected,wasteGibHours,confidence,gpuHours,oomKilledGpuHours\n");
	for (size_t i = 0; i < self->rows.n; i++)
		csv_row(buf, &self->rows.items[i]);
	return buf->status;
}

/* ---- as JSON ---- */

static void write_workload(const struct report_row *row, struct strbuf *buf)
{
	const struct figures *f = &row->figures;

	json_write_line(buf, 4);
	json_write_open(buf, NULL, '{');
	known_write_names(row->known, buf);
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
	json_write_text(buf, "notLowered", f->not_lowered);
	json_write_text(buf, "risk", risk_names[f->risk]);
	json_write_bool(buf, "leakSuspected", f->is_leak);
	json_write_double(buf, "wasteGibHours", f->waste_gibh);
	json_write_text(buf, "confidence", confidence_names[f->confidence]);
	json_write_double(buf, "gpuHours", f->gpu_hours);
	json_write_double(buf, "oomKilledGpuHours", f->oom_gpu_hours);
	strbuf_addc(buf, '}');
}

void report_write_workloads(const struct report *self, struct strbuf *buf)
{
	json_write_open(buf, "workloads", '[');
	for (size_t i = 0; i < self->rows.n; i++)
		write_workload(&self->rows.items[i], buf);
	strbuf_adds(buf, "\n  ]");
}
