/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/score.h"

#define HOUR_MS 3600000.0

const struct metric score_metrics[METRIC_COUNT] = {
	[METRIC_OOM_RATE] = {"oom_rate", ">OOM", UNIT_SHARE, SUM_KILLED, SUM_SCORED},
	{"oom_rate_macro", "+>MACRO", UNIT_SHARE, SUM_KILLED_SHARE, SUM_WORKLOADS},
	{"retries_per_run", "+>RETRIES", UNIT_COUNT, SUM_RETRIES, SUM_SCORED},
	[METRIC_WASTE_PEAK] = {"waste_peak_gibh", ">WASTE", UNIT_GIBH, SUM_WASTE_PEAK, SUM_COUNT_},
	{"waste_area_gibh", "+>AREA", UNIT_GIBH, SUM_WASTE_AREA, SUM_COUNT_},
	{"limit_slack", "+>SLACK", UNIT_REST, SUM_USE, SUM_LIMIT},
	{"request_slack", "+>REQ-SLACK", UNIT_REST, SUM_USE, SUM_REQUEST},
	{"peak_over_request", "+>PEAK>REQ", UNIT_SHARE, SUM_PEAK_OVER, SUM_SCORED},
	{"time_over_request", ">TIME>REQ", UNIT_SHARE, SUM_HOURS_OVER, SUM_HOURS},
};

void score_add_run(struct score *self, const struct rule_run *from)
{
	const struct trace_run *run = from->run;
	double hours = (double)run->duration_ms / HOUR_MS, *sums = self->sums;
	double last_gibh = trace_gibh((double)from->last_limit_bytes, run->duration_ms), failed_gibh = 0;

	for (int i = 1; i <= from->n_kills; i++)
		failed_gibh += trace_gibh((double)(from->last_limit_bytes >> i), run->duration_ms);
	sums[SUM_SCORED] += 1;
	sums[SUM_KILLED] += from->n_kills > 0;
	sums[SUM_RETRIES] += from->n_kills;
	sums[SUM_WASTE_PEAK] += failed_gibh + last_gibh - trace_gibh((double)run->peak_bytes, run->duration_ms);
	sums[SUM_WASTE_AREA] += failed_gibh + last_gibh - run->use_gibh;
	sums[SUM_LIMIT] += last_gibh;
	sums[SUM_REQUEST] += trace_gibh((double)from->given.request_bytes, run->duration_ms);
	sums[SUM_USE] += run->use_gibh;
	sums[SUM_PEAK_OVER] += run->peak_bytes > from->given.request_bytes;
	sums[SUM_HOURS_OVER] += hours * sketch_share_above(&run->use, from->given.request_bytes);
	sums[SUM_HOURS] += hours;
}

void score_finish_workload(struct score *self)
{
	if (self->sums[SUM_SCORED] > 0) {
		self->sums[SUM_WORKLOADS] = 1;
		self->sums[SUM_KILLED_SHARE] = self->sums[SUM_KILLED] / self->sums[SUM_SCORED];
	}
}

void score_add(struct score *self, const struct score *other, double weight)
{
	for (int i = 0; i < SUM_COUNT_; i++)
		self->sums[i] += weight * other->sums[i];
}

double score_metric(const struct score *self, const struct metric *metric)
{
	double over = self->sums[metric->over], share;

	if (metric->unit == UNIT_GIBH)
		return over;
	share = self->sums[metric->under] > 0 ? over / self->sums[metric->under] : 0;
	return metric->unit == UNIT_REST ? 1 - share : share;
}
