/* SPDX-License-Identifier: Apache-2.0 */
#include "report/riskiest.h"

#include "report/coverage.h"

#include <stdio.h>

static bool is_worse(const struct risky *a, const struct risky *b)
{
	enum risk rank_a = figures_rank(&a->figures), rank_b = figures_rank(&b->figures);

	if (rank_a != rank_b)
		return rank_a > rank_b;
	if (a->oom_runs != b->oom_runs)
		return a->oom_runs > b->oom_runs;
	return a->pod_hours > b->pod_hours;
}

static void count_runs(struct risky *self, int64_t from_ms, int64_t now_ms)
{
	const struct history *history = self->known->history;

	for (size_t i = 0; i < history->runs.n; i++) {
		const struct run *run = &history->runs.items[i];
		double pod_hours = coverage_pod_hours(run, from_ms, now_ms);

		if (run->start_ms < from_ms && pod_hours <= 0)
			continue;
		self->runs++;
		self->oom_runs += run->n_killed_limits > 0;
		self->pod_hours += pod_hours;
	}
}

static void say_why(struct risky *self)
{
	const struct figures *f = &self->figures;
	const char *limit = HUMAN(f->limit_bytes), *peak = HUMAN(f->peak_bytes);
	const char *leak = "; possible leak: see `explain`";
	char kills[64] = "", more[120] = "";

	if (self->oom_runs)
		snprintf(kills, sizeof(kills), "%lld of %lld runs OOM-killed; ", (long long)self->oom_runs,
			 (long long)self->runs);
	if (f->is_leak)
		snprintf(more, sizeof(more), "%s", leak);
	else if (f->new_limit_bytes && f->confidence >= CONFIDENCE_MEDIUM)
		snprintf(more, sizeof(more), ", recommended %s", HUMAN(f->new_limit_bytes));
	switch (f->risk) {
	case RISK_OOM:
		snprintf(self->why, sizeof(self->why), "%slimit still %s%s", *kills ? kills : "a run was OOM-killed; ",
			 limit, more);
		break;
	case RISK_LIMIT_BELOW_PEAK:
		snprintf(self->why, sizeof(self->why), "%slimit %s is not above the peak of %s%s", kills, limit, peak,
			 more);
		break;
	case RISK_OVER_REQUEST:
		snprintf(self->why, sizeof(self->why), "%speak %s is above the request of %s: may be evicted%s", kills,
			 peak, HUMAN(f->request_bytes), f->is_leak ? leak : "");
		break;
	case RISK_NONE:
		snprintf(self->why, sizeof(self->why), "%s%s", kills, leak + strlen("; "));
		break;
	default:
		snprintf(self->why, sizeof(self->why), "%sno memory limit, peak %s%s", kills,
			 f->peak_bytes ? peak : "not seen", more);
		break;
	}
}

static void insert(struct risky ret[RISKIEST], size_t *n, const struct risky *risky)
{
	size_t at = *n;

	while (at > 0 && is_worse(risky, &ret[at - 1]))
		at--;
	if (at == RISKIEST)
		return;
	*n = MIN(*n + 1, RISKIEST);
	memmove(&ret[at + 1], &ret[at], (*n - at - 1) * sizeof(*ret));
	ret[at] = *risky;
}

size_t riskiest_find(const struct knowledge *knowledge, int64_t from_ms, int64_t now_ms, bool knows_limits,
		     struct risky ret[RISKIEST])
{
	size_t n = 0;

	for (size_t i = 0; i < knowledge->items.n; i++) {
		struct risky risky = {.known = &knowledge->items.items[i]};

		if (!risky.known->history)
			continue;
		count_runs(&risky, from_ms, now_ms);
		figures_compute(knowledge, risky.known, &risky.figures);
		if (risky.figures.risk == RISK_NO_LIMIT && !knows_limits)
			risky.figures.risk = RISK_NONE;
		if (!risky.runs || figures_rank(&risky.figures) == RISK_NONE)
			continue;
		say_why(&risky);
		insert(ret, &n, &risky);
	}
	return n;
}
