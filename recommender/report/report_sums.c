/* SPDX-License-Identifier: Apache-2.0 */
/* report_sums: the sums of a report by namespace: as a table, as names and as CSV; and the JSON of a report.
 *
 * JSON (apiVersion report.memtamer.io/v1alpha1): {"apiVersion", "kind": "Report", "generated": RFC 3339, "workloads"
 * (see report_render.c) or "namespaces": [{"namespace", and the members of "summary"}], "summary": {"workloads" (rows,
 * one for each role and container), "runs", "oomKilledRuns", "wasteGibHours", "atRisk", "gpuHours",
 * "oomKilledGpuHours"}}. CSV has the same columns as
 * "namespaces". */
#include "report/report_internal.h"

#include "base/json_write.h"
#include "base/plain.h"
#include "base/timefmt.h"

static void add_row(struct table *table, const char *name, const struct report_sum *sum)
{
	table_add(table, name);
	table_addf(table, "%d", sum->rows);
	report_add_runs(table, sum->runs, sum->oom_runs);
	table_addf(table, "%.2f", sum->waste_gibh);
	report_add_gpu_hours(table, sum->gpu_hours, sum->oom_gpu_hours);
	table_addf(table, "%d", sum->at_risk);
}

int report_print_sums(const struct report *self, FILE *out)
{
	struct table table;
	int r;

	if (!self->rows.n)
		return report_print_table(self, out);
	table_init(&table, "NAMESPACE,>WORKLOADS,>RUNS,>WASTE,>GPU HOURS,>AT RISK");
	for (size_t i = 0; i < self->namespaces.n; i++)
		add_row(&table, self->namespaces.items[i].namespace_name, &self->namespaces.items[i]);
	if (self->namespaces.n > 1)
		add_row(&table, "TOTAL", &self->sum);
	r = table_print(&table, out, 0);
	fprintf(out, "\nWORKLOADS and RUNS: each role and container by itself.\n");
	report_print_notes(self, out);
	return r;
}

int report_write_sums_names(const struct report *self, struct strbuf *buf)
{
	for (size_t i = 0; i < self->namespaces.n; i++)
		strbuf_addf(buf, "%s\n", PLAIN(self->namespaces.items[i].namespace_name));
	return buf->status;
}

int report_write_sums_csv(const struct report *self, struct strbuf *buf)
{
	strbuf_adds(buf, "namespace,workloads,runs,oomKilledRuns,wasteGibHours,atRisk,gpuHours,oomKilledGpuHours\n");
	for (size_t i = 0; i < self->namespaces.n; i++) {
		const struct report_sum *sum = &self->namespaces.items[i];

		report_csv_text(buf, sum->namespace_name, ',');
		strbuf_addf(buf, "%d,%d,%d,%.3f,%d,%.3f,%.3f\n", sum->rows, sum->runs, sum->oom_runs, sum->waste_gibh,
			    sum->at_risk, sum->gpu_hours, sum->oom_gpu_hours);
	}
	return buf->status;
}

static void write_sum(const struct report_sum *self, struct strbuf *buf)
{
	json_write_int(buf, "workloads", self->rows);
	json_write_int(buf, "runs", self->runs);
	json_write_int(buf, "oomKilledRuns", self->oom_runs);
	json_write_double(buf, "wasteGibHours", self->waste_gibh);
	json_write_int(buf, "atRisk", self->at_risk);
	json_write_double(buf, "gpuHours", self->gpu_hours);
	json_write_double(buf, "oomKilledGpuHours", self->oom_gpu_hours);
	strbuf_addc(buf, '}');
}

static void write_namespaces(const struct report *self, struct strbuf *buf)
{
	json_write_open(buf, "namespaces", '[');
	for (size_t i = 0; i < self->namespaces.n; i++) {
		json_write_line(buf, 4);
		json_write_open(buf, NULL, '{');
		json_write_text(buf, "namespace", self->namespaces.items[i].namespace_name);
		write_sum(&self->namespaces.items[i], buf);
	}
	strbuf_adds(buf, "\n  ]");
}

int report_write_json(const struct report *self, struct strbuf *buf)
{
	knowledge_write_head("report.memtamer.io/v1alpha1", "Report", time_now_ms(), buf);
	(self->is_by_namespace ? write_namespaces : report_write_workloads)(self, buf);
	json_write_line(buf, 2);
	json_write_open(buf, "summary", '{');
	write_sum(&self->sum, buf);
	return strbuf_adds(buf, "\n}\n");
}
