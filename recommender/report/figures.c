/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figures.h"

#include "base/timefmt.h"
#include "policy/decide.h"
#include "policy/size.h"

#include <stdio.h>

const char *const risk_names[RISK_COUNT_] = {
	[RISK_NONE] = "",
	[RISK_OVER_REQUEST] = "peak over request",
	[RISK_NO_LIMIT] = "no limit",
	[RISK_LIMIT_BELOW_PEAK] = "limit below peak",
	[RISK_OOM] = "OOM-killed",
};

const char *figures_percent(int32_t permille, char buf[16])
{
	if (permille % 10)
		snprintf(buf, 16, "%d.%d %%", permille / 10, permille % 10);
	else
		snprintf(buf, 16, "%d %%", permille / 10);
	return buf;
}

enum { RECENT_RUNS = 5 }; /* as in policy/size/size_evidence.c */

/* A request that equals the recommendation is below the peak by intention, and no risk that people should act on. */
static bool is_over_request(const struct figures *f)
{
	int64_t least_bytes = f->new_request_bytes ? f->new_request_bytes : f->median_bytes;

	return f->request_bytes && f->peak_bytes > f->request_bytes && f->request_bytes < least_bytes;
}

static enum risk figures_risk(const struct figures *f, int64_t killed_limit_bytes)
{
	if (killed_limit_bytes && f->limit_bytes && f->limit_bytes <= killed_limit_bytes)
		return RISK_OOM;
	if (f->limit_bytes && f->peak_bytes >= f->limit_bytes)
		return RISK_LIMIT_BELOW_PEAK;
	if (!f->limit_bytes)
		return RISK_NO_LIMIT;
	return is_over_request(f) ? RISK_OVER_REQUEST : RISK_NONE;
}

static bool was_killed_lately(const struct history *history)
{
	bool was_killed = false;

	for (size_t i = history->runs.n - MIN(history->runs.n, (size_t)RECENT_RUNS); i < history->runs.n; i++)
		was_killed |= history->runs.items[i].n_killed_limits > 0 ||
			      history->runs.items[i].outcome == OUTCOME_SUSPECTED_OOM;
	return was_killed;
}

const char *figures_not_lowered(const struct knowledge *knowledge, const struct known *known)
{
	const struct recommendation *rec = &known->profile->parent;
	enum size_by by[2];

	known_sizes(knowledge, known, rec, by);
	if (by[SIZE_LIMIT] == SIZE_BY_PIN_LIMIT)
		return NULL;
	if (rec->flags & REC_HARM)
		return "a run was harmed at a lowered size";
	if (rec->flags & REC_LEAK)
		return "memory leak suspected";
	if (rec->flags & REC_CACHE_BOUND)
		return "page cache fills the memory";
	if (rec->flags & REC_UNSTABLE)
		return "peaks differ widely between runs";
	if (rec->whole_runs < knowledge->config->policy.sizing.lower_min_runs)
		return "too few complete runs are known (sizing.lowering.minRuns)";
	if (!(rec->flags & REC_NO_LOWER))
		return NULL;
	if (known->history && was_killed_lately(known->history))
		return "one of the last five runs was OOM-killed";
	return "too few complete runs of this image, arguments and number of pods";
}

static void figures_of_history(const struct history *history, struct figures *f)
{
	f->runs = (int)history->aggregate.runs;
	f->whole_runs = (int)history->aggregate.whole_runs;
	f->oom_runs = (int)history->aggregate.oom_runs;
	for (size_t i = 0; i < history->runs.n; i++) {
		const struct run *run = &history->runs.items[i];

		f->waste_gibh += run_unused_gib_hours(run);
		f->gpu_hours += run_accelerator_hours(run);
		f->oom_gpu_hours += run->outcome == OUTCOME_OOM_KILLED ? run_accelerator_hours(run) : 0;
		if (run->start_ms < f->last_start_ms)
			continue;
		f->last_start_ms = run->start_ms;
		f->request_bytes = run->request_bytes;
		f->limit_bytes = run->limit_bytes;
	}
}

static void figures_of_profile(const struct knowledge *knowledge, const struct known *known, struct figures *f)
{
	const struct recommendation *rec = &known->profile->parent;
	enum size_by by[2];
	const struct recommendation sizes = known_sizes(knowledge, known, rec, by);

	f->new_request_bytes = sizes.request_bytes;
	f->new_limit_bytes = f->limit_bytes ? sizes.limit_bytes : size_advised_limit(&sizes, by, 0);
	f->median_bytes = rec->median_bytes;
	f->peak_bytes = MAX(f->peak_bytes, rec->peak_bytes);
	f->confidence = (enum confidence)rec->confidence;
	f->is_leak = rec->flags & REC_LEAK;
	f->not_lowered = figures_not_lowered(knowledge, known);
	f->is_request_kept = f->not_lowered && by[SIZE_REQUEST] < SIZE_BY_PIN_REQUEST &&
			     f->new_request_bytes < f->request_bytes;
	f->is_limit_kept = f->not_lowered && f->new_limit_bytes < f->limit_bytes;
	if (!known->history) {
		f->runs = rec->runs;
		f->whole_runs = rec->whole_runs;
		f->oom_runs = rec->oom_kills;
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
	if (known->profile)
		figures_of_profile(knowledge, known, ret);
	ret->risk = figures_risk(ret, killed_limit_bytes);
	return *known_workload(known);
}

enum risk figures_rank(const struct figures *self)
{
	return MAX(self->risk, self->is_leak ? RISK_NO_LIMIT : RISK_NONE);
}
