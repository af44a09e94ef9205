/* SPDX-License-Identifier: Apache-2.0 */
#include "report/status.h"

#include "base/timefmt.h"

#include <stdio.h>

static void add_text(struct strbuf *buf, const char *key, const char *value)
{
	strbuf_addf(buf, "\"%s\":", key);
	strbuf_add_json_string(buf, value);
}

static void add_number(struct strbuf *buf, const char *key, int64_t value)
{
	strbuf_addf(buf, ",\"%s\":%lld", key, (long long)value);
}

static void add_cycle(struct strbuf *buf, const struct status *self)
{
	const struct cycle_status *cycle = &self->cycle;
	char when[TIME_TEXT_BYTES];

	if (!self->has_cycle) {
		strbuf_adds(buf, "  \"lastCycle\":null,\n  ");
		add_text(buf, "lastCycleUnknown", self->cycle_unknown);
		strbuf_adds(buf, ",\n  \"webhook\":null,\n");
		return;
	}
	strbuf_addf(buf, "  \"lastCycle\":{\"time\":\"%s\"", time_render(cycle->time_ms, when));
	add_number(buf, "ageSeconds", MAX(self->now_ms - cycle->time_ms, 0) / TIME_SECOND_MS);
	strbuf_addf(buf, ",\"isSilent\":%s,", status_is_silent(self) ? "true" : "false");
	add_text(buf, "result", cycle->result);
	strbuf_addc(buf, ',');
	add_text(buf, "why", cycle->why);
	add_number(buf, "durationMs", cycle->duration_ms);
	add_number(buf, "runs", cycle->runs);
	add_number(buf, "workloads", cycle->workloads);
	add_number(buf, "profilesChanged", cycle->profiles_changed);
	add_number(buf, "daysDone", cycle->days_done);
	add_number(buf, "daysTotal", cycle->days_total);
	strbuf_addf(buf, ",\"watchesPods\":%s,", cycle->watches_pods ? "true" : "false");
	add_text(buf, "version", cycle->version);
	strbuf_addc(buf, ',');
	add_text(buf, "mode", cycle->mode);
	strbuf_adds(buf, "},\n  ");
	add_text(buf, "webhook", cycle->webhook);
	strbuf_adds(buf, ",\n");
}

static void add_metrics(struct strbuf *buf, const struct status *self)
{
	strbuf_adds(buf, "  \"metrics\":{");
	add_text(buf, "source", self->is_asked ? "prometheus" : self->n_findings ? "last-cycle" : NULL);
	strbuf_addc(buf, ',');
	add_text(buf, "unknown", self->is_asked ? NULL : self->metrics_unknown);
	strbuf_adds(buf, ",\"items\":[");
	for (size_t i = 0; i < self->n_findings; i++) {
		const struct evidence_finding *finding = &self->findings[i];

		strbuf_adds(buf, i ? ",\n    {" : "\n    {");
		add_text(buf, "name", finding->metric);
		strbuf_addf(buf, ",\"isPresent\":%s,\"isOfPods\":%s,", finding->is_present ? "true" : "false",
			    finding->is_of_pods ? "true" : "false");
		add_text(buf, "without", finding->without);
		strbuf_addc(buf, '}');
	}
	strbuf_adds(buf, "]},\n");
}

static void add_coverage(struct strbuf *buf, const struct coverage *coverage)
{
	int permille = coverage_permille(coverage);

	strbuf_addf(buf, "  \"coverage\":{\"podHours\":%.3f", coverage->total_pod_hours);
	add_number(buf, "runs", coverage->total_runs);
	if (permille < 0)
		strbuf_adds(buf, ",\"matched\":null");
	else
		strbuf_addf(buf, ",\"matched\":%.3f", permille / 1000.0);
	add_number(buf, "workloadsCut", coverage->cut_workloads);
	strbuf_adds(buf, ",\"byReason\":{");
	for (int i = 0; i < COVERAGE_REASON_COUNT_; i++)
		strbuf_addf(buf, "%s\"%s\":{\"podHours\":%.3f,\"runs\":%lld}", i ? "," : "", coverage_reason_names[i],
			    coverage->pod_hours[i], (long long)coverage->runs[i]);
	strbuf_adds(buf, "}},\n");
}

static void add_replay(struct strbuf *buf, const struct status *self)
{
	const struct replay *replay = &self->replay;

	strbuf_addf(buf, "  \"replay\":{\"runs\":%lld", (long long)replay->runs);
	add_number(buf, "fill", replay->fill);
	add_number(buf, "raise", replay->raise);
	add_number(buf, "lower", replay->lower);
	add_number(buf, "unchanged", replay->unchanged);
	strbuf_adds(buf, ",\"undecided\":{");
	for (int i = 0; i < REPLAY_REASON_COUNT_; i++)
		strbuf_addf(buf, "%s\"%s\":%lld", i ? "," : "", replay_reason_names[i],
			    (long long)replay->undecided[i]);
	strbuf_addc(buf, '}');
	add_number(buf, "smallestRequest", replay->smallest);
	add_number(buf, "oomKills", replay->kills);
	add_number(buf, "oomKillsWithoutLimit", replay->kills_without_limit);
	add_number(buf, "oomKillsAvoided", replay->avoided);
	add_number(buf, "oomKillsAvoidedProven", replay->avoided_proven);
	add_number(buf, "tooSmall", replay->too_small);
	strbuf_addf(buf, ",\"limitsKnown\":%s,\"requestsKnown\":%s},\n", self->knows_limits ? "true" : "false",
		    self->knows_requests ? "true" : "false");
}

static void add_risky(struct strbuf *buf, const struct risky *risky)
{
	add_text(buf, "namespace", known_namespace(risky->known));
	strbuf_addc(buf, ',');
	add_text(buf, "workload", known_workload(risky->known));
	strbuf_addc(buf, ',');
	add_text(buf, "role", known_role(risky->known));
	strbuf_addc(buf, ',');
	add_text(buf, "container", known_container(risky->known));
	strbuf_addc(buf, ',');
	add_text(buf, "risk", risk_names[risky->figures.risk]);
	strbuf_addc(buf, ',');
	add_text(buf, "why", risky->why);
	add_number(buf, "runs", risky->runs);
	add_number(buf, "oomKilledRuns", risky->oom_runs);
	strbuf_addf(buf, ",\"podHours\":%.3f", risky->pod_hours);
}

int status_render_json(const struct status *self, struct strbuf *buf)
{
	char now[TIME_TEXT_BYTES], from[TIME_TEXT_BYTES];

	strbuf_addf(buf,
		    "{\n  \"apiVersion\":\"status.memtamer.io/v1alpha1\",\n  \"kind\":\"Status\",\n"
		    "  \"generated\":\"%s\",\n  \"from\":\"%s\",\n  ",
		    time_render(self->now_ms, now), time_render(self->from_ms, from));
	add_text(buf, "namespace", self->namespace_name);
	add_number(buf, "workloads", (int64_t)self->n_workloads);
	add_number(buf, "unreadableObjects", (int64_t)self->n_bad);
	strbuf_adds(buf, ",\n");
	add_cycle(buf, self);
	add_metrics(buf, self);
	add_coverage(buf, &self->coverage);
	add_replay(buf, self);
	strbuf_adds(buf, "  \"riskiest\":[");
	for (size_t i = 0; i < self->n_riskiest; i++) {
		strbuf_adds(buf, i ? ",\n    {" : "\n    {");
		add_risky(buf, &self->riskiest[i]);
		strbuf_addc(buf, '}');
	}
	return strbuf_adds(buf, "]\n}\n");
}
