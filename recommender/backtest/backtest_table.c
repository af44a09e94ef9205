/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/backtest_print.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "report/table.h"

static void add_value(struct table *table, enum unit unit, double value)
{
	if (unit == UNIT_GIBH)
		table_addf(table, "%.1f", value);
	else if (unit == UNIT_COUNT)
		table_addf(table, "%.3f", value);
	else
		table_addf(table, "%.2f %%", 100 * value);
}

static void add_difference(struct table *table, const struct backtest_row *row, const struct backtest_block *block,
			   int metric)
{
	const struct interval *difference = &block->differences[metric];
	double scale = score_metrics[metric].unit == UNIT_GIBH ? 1 : 100;
	int digits = score_metrics[metric].unit == UNIT_GIBH ? 1 : 2;

	if (row->rule == &rule_memtamer)
		table_add(table, NULL);
	else
		table_addf(table, "%+.*f (%+.*f to %+.*f)", digits, scale * difference->value, digits,
			   scale * difference->low, digits, scale * difference->high);
}

static void add_row(struct table *table, const struct backtest_row *row, bool is_cold)
{
	const struct backtest_block *block = is_cold ? &row->cold : &row->warm;

	table_add(table, row->rule->name);
	for (int m = 0; m < METRIC_COUNT; m++)
		add_value(table, score_metrics[m].unit, score_metric(&block->total, &score_metrics[m]));
	if (is_cold)
		table_add(table, NULL);
	else
		add_value(table, UNIT_SHARE, row->node_overrun_share);
	add_difference(table, row, block, METRIC_OOM_RATE);
	add_difference(table, row, block, METRIC_WASTE_PEAK);
}

static int print_block(const struct backtest *backtest, enum walk_variant variant, bool is_cold, bool is_wide,
		       FILE *out)
{
	CLEANUP(strbuf_release) struct strbuf heads = STRBUF_INIT(4 * KIB);
	const double *sums = NULL;
	struct table table;
	int r;

	strbuf_adds(&heads, "RULE");
	for (int m = 0; m < METRIC_COUNT; m++)
		strbuf_addf(&heads, ",%s", score_metrics[m].title);
	if (strbuf_adds(&heads, ",>NODES,>OOM % TO MEMTAMER,>WASTE TO MEMTAMER"))
		return heads.status;
	table_init(&table, strbuf_text(&heads));
	table.is_wide = is_wide;
	for (size_t i = 0; i < backtest->rows.n; i++) {
		const struct backtest_row *row = &backtest->rows.items[i];

		if (row->variant != variant)
			continue;
		sums = sums ? sums : (is_cold ? &row->cold : &row->warm)->total.sums;
		add_row(&table, row, is_cold);
	}
	fprintf(out, "\n%s, %s (scored runs: %.0f, workloads: %.0f)\n", walk_variant_names[variant],
		is_cold ? "cold start with runs 2 and 3" : "from the fourth run on", sums ? sums[SUM_SCORED] : 0,
		sums ? sums[SUM_WORKLOADS] : 0);
	r = table_print(&table, out, 2);
	table_release(&table);
	return r;
}

int backtest_table(const struct backtest *backtest, const struct trace *trace, bool is_wide, FILE *out)
{
	int r = 0;

	fprintf(out, "Runs: %zu, workloads: %zu, samples: %lld. Workloads with fewer than %d runs are not scored.\n",
		trace->runs.n, trace->workloads.n, (long long)trace->n_samples, WALK_MIN_RUNS);
	for (int i = 0; i < 2 * WALK_VARIANT_COUNT_ && !r; i++)
		r = print_block(backtest, (enum walk_variant)(i % WALK_VARIANT_COUNT_), i >= WALK_VARIANT_COUNT_,
				is_wide, out);
	fputs("\nWASTE: GiB times hours above the peak of each run. TIME>REQ: share of time above the request. NODES: "
	      "share\n"
	      "of simulated node time with more memory in use than the node has. In brackets: 95 % intervals.",
	      out);
	if (is_wide)
		fputs("\nAREA: as WASTE, above the use over time. MACRO: mean OOM rate of the workloads. SLACK, "
		      "REQ-SLACK:\n"
		      "unused share of limits, of requests. PEAK>REQ: share of runs with a peak above the request.\n",
		      out);
	else
		fputs(" All columns: -o wide.\n", out);
	return r;
}
