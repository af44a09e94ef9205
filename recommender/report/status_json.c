/* SPDX-License-Identifier: Apache-2.0 */
#include "report/status.h"

#include "base/json_write.h"
#include "base/timefmt.h"

static void add_cycle(struct strbuf *buf, const struct status *self)
{
	const struct cycle_status *cycle = &self->cycle;

	json_write_line(buf, 2);
	if (!self->has_cycle) {
		json_write_text(buf, "lastCycle", NULL);
		json_write_text(buf, "lastCycleUnknown", self->cycle_unknown);
		json_write_text(buf, "webhook", NULL);
		return;
	}
	json_write_open(buf, "lastCycle", '{');
	cycle_status_write(cycle, buf);
	json_write_int(buf, "ageSeconds", MAX(self->now_ms - cycle->time_ms, 0) / TIME_SECOND_MS);
	json_write_bool(buf, "isSilent", status_is_silent(self));
	strbuf_addc(buf, '}');
	json_write_text(buf, "webhook", cycle->webhook);
}

static void add_metrics(struct strbuf *buf, const struct status *self)
{
	json_write_line(buf, 2);
	json_write_open(buf, "metrics", '{');
	json_write_text(buf, "source", self->is_asked ? "prometheus" : self->n_findings ? "last-cycle" : NULL);
	json_write_text(buf, "unknown", self->is_asked ? NULL : self->metrics_unknown);
	cycle_status_write_findings(self->findings, self->n_findings, "items", buf);
	strbuf_addc(buf, '}');
}

static void add_coverage(struct strbuf *buf, const struct coverage *coverage)
{
	int permille = coverage_permille(coverage);

	json_write_line(buf, 2);
	json_write_open(buf, "coverage", '{');
	json_write_double(buf, "podHours", coverage->total_pod_hours);
	json_write_int(buf, "runs", coverage->total_runs);
	if (permille < 0)
		json_write_text(buf, "matched", NULL);
	else
		json_write_double(buf, "matched", permille / 1000.0);
	json_write_int(buf, "workloadsCut", coverage->cut_workloads);
	json_write_open(buf, "byReason", '{');
	for (int i = 0; i < COVERAGE_REASON_COUNT_; i++) {
		json_write_open(buf, coverage_reason_names[i], '{');
		json_write_double(buf, "podHours", coverage->pod_hours[i]);
		json_write_int(buf, "runs", coverage->runs[i]);
		strbuf_addc(buf, '}');
	}
	strbuf_adds(buf, "}}");
}

static void add_replay(struct strbuf *buf, const struct status *self)
{
	const struct replay *replay = &self->replay;

	json_write_line(buf, 2);
	json_write_open(buf, "replay", '{');
	json_write_int(buf, "runs", replay->runs);
	json_write_int(buf, "fill", replay->fill);
	json_write_int(buf, "raise", replay->raise);
	json_write_int(buf, "lower", replay->lower);
	json_write_int(buf, "unchanged", replay->unchanged);
	json_write_open(buf, "undecided", '{');
	for (int i = 0; i < REPLAY_REASON_COUNT_; i++)
		json_write_int(buf, replay_reason_names[i], replay->undecided[i]);
	strbuf_addc(buf, '}');
	json_write_int(buf, "smallestRequest", replay->smallest);
	json_write_int(buf, "oomKills", replay->kills);
	json_write_int(buf, "oomKillsWithoutLimit", replay->kills_without_limit);
	json_write_int(buf, "oomKillsAvoided", replay->avoided);
	json_write_int(buf, "oomKillsAvoidedProven", replay->avoided_proven);
	json_write_int(buf, "tooSmall", replay->too_small);
	json_write_bool(buf, "limitsKnown", self->knows_limits);
	json_write_bool(buf, "requestsKnown", self->knows_requests);
	strbuf_addc(buf, '}');
}

static void add_riskiest(struct strbuf *buf, const struct status *self)
{
	json_write_line(buf, 2);
	json_write_open(buf, "riskiest", '[');
	for (size_t i = 0; i < self->n_riskiest; i++) {
		const struct risky *risky = &self->riskiest[i];

		json_write_line(buf, 4);
		json_write_open(buf, NULL, '{');
		known_write_names(risky->known, buf);
		json_write_text(buf, "risk", risk_names[risky->figures.risk]);
		json_write_text(buf, "why", risky->why);
		json_write_int(buf, "runs", risky->runs);
		json_write_int(buf, "oomKilledRuns", risky->oom_runs);
		json_write_double(buf, "podHours", risky->pod_hours);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

static void add_ignored(struct strbuf *buf, const struct status *self)
{
	json_write_int(buf, "ignoredSpecs", (int64_t)self->n_ignored);
	json_write_line(buf, 2);
	json_write_open(buf, "ignored", '[');
	for (size_t i = 0; i < MIN(self->n_ignored, (size_t)STATUS_IGNORED); i++) {
		json_write_line(buf, 4);
		json_write_open(buf, NULL, '{');
		json_write_text(buf, "namespace", known_namespace(self->ignored[i].known));
		json_write_text(buf, "name", self->ignored[i].known->profile->name);
		json_write_text(buf, "why", self->ignored[i].why);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

int status_render_json(const struct status *self, struct strbuf *buf)
{
	knowledge_write_head("status.memtamer.io/v1alpha1", "Status", self->now_ms, buf);
	json_write_time(buf, "from", self->from_ms);
	json_write_text(buf, "namespace", self->namespace_name);
	json_write_int(buf, "workloads", (int64_t)self->n_workloads);
	json_write_int(buf, "unreadableObjects", (int64_t)self->n_bad);
	add_cycle(buf, self);
	add_metrics(buf, self);
	add_coverage(buf, &self->coverage);
	add_replay(buf, self);
	add_riskiest(buf, self);
	add_ignored(buf, self);
	return strbuf_adds(buf, "\n}\n");
}
