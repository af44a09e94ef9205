/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/backtest_print.h"
#include "base/json_write.h"

static void add_number(struct strbuf *buf, const char *key, double value)
{
	strbuf_addf(buf, ",\"%s\":%.9g", key, value);
}

static void add_differences(struct strbuf *buf, const struct backtest_block *block)
{
	json_write_open(buf, "difference", '{');
	for (int m = 0; m < METRIC_COUNT; m++) {
		const struct interval *difference = &block->differences[m];

		json_write_open(buf, score_metrics[m].name, '{');
		strbuf_addf(buf, "\"value\":%.9g", difference->value);
		add_number(buf, "low", difference->low);
		add_number(buf, "high", difference->high);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, '}');
}

static void add_row(struct strbuf *buf, const struct backtest_row *row, bool is_cold)
{
	const struct backtest_block *block = is_cold ? &row->cold : &row->warm;
	const double *sums = block->total.sums;

	json_write_line(buf, 4);
	json_write_open(buf, NULL, '{');
	json_write_text(buf, "rule", row->rule->name);
	json_write_text(buf, "variant", walk_variant_names[row->variant]);
	json_write_int(buf, "workloads", (int64_t)sums[SUM_WORKLOADS]);
	json_write_int(buf, "scored", (int64_t)sums[SUM_SCORED]);
	json_write_int(buf, "oom_killed", (int64_t)sums[SUM_KILLED]);
	for (int m = 0; m < METRIC_COUNT; m++)
		add_number(buf, score_metrics[m].name, score_metric(&block->total, &score_metrics[m]));
	if (!is_cold)
		add_number(buf, "node_overrun_share", row->node_overrun_share);
	if (row->rule != &rule_memtamer)
		add_differences(buf, block);
	strbuf_addc(buf, '}');
}

static void add_rows(struct strbuf *buf, const struct backtest *backtest, bool is_cold)
{
	json_write_open(buf, "rules", '[');
	for (size_t i = 0; i < backtest->rows.n; i++)
		add_row(buf, &backtest->rows.items[i], is_cold);
	strbuf_addc(buf, ']');
}

int backtest_json(const struct backtest *backtest, const struct trace *trace, struct strbuf *buf)
{
	json_write_open(buf, NULL, '{');
	json_write_text(buf, "apiVersion", "backtest.memtamer.io/v1alpha1");
	json_write_text(buf, "kind", "Backtest");
	json_write_int(buf, "runs", (int64_t)trace->runs.n);
	json_write_int(buf, "samples", (int64_t)trace->n_samples);
	json_write_int(buf, "workloads", (int64_t)trace->workloads.n);
	add_rows(buf, backtest, false);
	json_write_open(buf, "cold_start", '{');
	json_write_int(buf, "first_runs", (int64_t)backtest->n_first_runs);
	add_rows(buf, backtest, true);
	return strbuf_adds(buf, "}}\n");
}
