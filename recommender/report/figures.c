/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figures.h"

#include "base/timefmt.h"

const char *const risk_names[RISK_COUNT_] = {"", "no limit", "peak over request", "limit below peak", "OOM-killed"};

static enum risk figures_risk(const struct figures *f, int64_t killed_limit_bytes)
{
	if (killed_limit_bytes && f->limit_bytes && f->limit_bytes <= killed_limit_bytes)
		return RISK_OOM;
	if (f->limit_bytes && f->peak_bytes >= f->limit_bytes)
		return RISK_LIMIT_BELOW_PEAK;
	if (!f->limit_bytes)
		return RISK_NO_LIMIT;
	return f->request_bytes && f->peak_bytes > f->request_bytes ? RISK_OVER_REQUEST : RISK_NONE;
}

static void figures_of_history(const struct history *history, struct figures *f)
{
	f->runs = (int)history->aggregate.runs;
	f->whole_runs = (int)history->aggregate.whole_runs;
	f->oom_runs = (int)history->aggregate.oom_runs;
	for (size_t i = 0; i < history->runs.n; i++) {
		const struct run *run = &history->runs.items[i];

		f->waste_gibh += run_unused_gib_hours(run);
		if (run->start_ms < f->last_start_ms)
			continue;
		f->last_start_ms = run->start_ms;
		f->request_bytes = run->request_bytes;
		f->limit_bytes = run->limit_bytes;
	}
}

bool figures_compute(const struct knowledge *knowledge, const struct known *known, struct figures *ret)
{
	int64_t killed_limit_bytes = 0;

	*ret = (struct figures){.runs = 0};
	if (known->history) {
		figures_of_history(known->history, ret);
		ret->peak_bytes = known->history->aggregate.peak.bytes;
		killed_limit_bytes = known->history->aggregate.killed.bytes;
	}
	if (known->profile) {
		const struct recommendation *rec = &known->profile->parent;
		enum size_by by[2];
		const struct recommendation sizes = known_sizes(knowledge, known, rec, by);

		ret->new_request_bytes = sizes.request_bytes;
		ret->new_limit_bytes = sizes.limit_bytes;
		ret->median_bytes = rec->median_bytes;
		ret->peak_bytes = MAX(ret->peak_bytes, rec->peak_bytes);
		ret->confidence = (enum confidence)rec->confidence;
		if (!known->history) {
			ret->runs = rec->runs;
			ret->whole_runs = rec->whole_runs;
			ret->oom_runs = rec->oom_kills;
		}
	}
	ret->risk = figures_risk(ret, killed_limit_bytes);
	return *known_workload(known);
}
