/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "base/timefmt.h"

static bool report_has(const struct report_scope *scope, const struct known *known)
{
	return !scope->namespace_name || streq(scope->namespace_name, known_namespace(known));
}

const struct known *report_next(const struct knowledge *knowledge, const struct report_scope *scope, size_t *index,
				struct figures *ret)
{
	while (*index < knowledge->items.n) {
		const struct known *known = &knowledge->items.items[(*index)++];

		if (report_has(scope, known)) {
			figures_compute(known, ret);
			return known;
		}
	}
	return NULL;
}

static void add_text(struct strbuf *buf, const char *key, const char *value)
{
	strbuf_addf(buf, "\"%s\":", key);
	strbuf_add_json_string(buf, value);
	strbuf_addc(buf, ',');
}

/* 0 means that there is no such value. */
static void add_bytes(struct strbuf *buf, const char *key, int64_t bytes)
{
	if (bytes)
		strbuf_addf(buf, "\"%s\":%lld,", key, (long long)bytes);
	else
		strbuf_addf(buf, "\"%s\":null,", key);
}

static void add_workload(struct strbuf *buf, const struct known *known, const struct figures *f)
{
	char when[TIME_TEXT_BYTES];

	strbuf_adds(buf, "\n    {");
	add_text(buf, "namespace", known_namespace(known));
	add_text(buf, "workload", known_workload(known));
	add_text(buf, "role", known_role(known));
	add_text(buf, "container", known_container(known));
	strbuf_addf(buf, "\"runs\":%d,\"wholeRuns\":%d,\"oomKilledRuns\":%d,", f->runs, f->whole_runs, f->oom_runs);
	add_text(buf, "lastRun", f->last_start_ms ? time_render(f->last_start_ms, when) : NULL);
	add_bytes(buf, "medianBytes", f->median_bytes);
	add_bytes(buf, "peakBytes", f->peak_bytes);
	add_bytes(buf, "requestBytes", f->request_bytes);
	add_bytes(buf, "limitBytes", f->limit_bytes);
	add_bytes(buf, "recommendedRequestBytes", f->new_request_bytes);
	add_bytes(buf, "recommendedLimitBytes", f->new_limit_bytes);
	add_text(buf, "risk", risk_names[f->risk]);
	strbuf_addf(buf, "\"wasteGibHours\":%.3f,\"confidence\":\"%s\"}", f->waste_gibh,
		    confidence_names[f->confidence]);
}

int report_render_json(const struct knowledge *knowledge, const struct report_scope *scope, struct strbuf *buf)
{
	int workloads = 0, runs = 0, oom_runs = 0, at_risk = 0;
	const struct known *known;
	struct figures f;
	size_t next = 0;
	char when[TIME_TEXT_BYTES];
	double waste_gibh = 0;

	strbuf_addf(buf,
		    "{\n  \"apiVersion\":\"report.memtamer.io/v1alpha1\",\n  \"kind\":\"Report\",\n"
		    "  \"generated\":\"%s\",\n  \"workloads\":[",
		    time_render(scope->now_ms, when));
	while ((known = report_next(knowledge, scope, &next, &f))) {
		strbuf_adds(buf, workloads ? "," : "");
		add_workload(buf, known, &f);
		workloads++;
		runs += f.runs;
		oom_runs += f.oom_runs;
		waste_gibh += f.waste_gibh;
		at_risk += f.risk != RISK_NONE;
	}
	return strbuf_addf(buf,
			   "\n  ],\n  \"summary\":{\"workloads\":%d,\"runs\":%d,\"oomKilledRuns\":%d,"
			   "\"wasteGibHours\":%.3f,\"atRisk\":%d}\n}\n",
			   workloads, runs, oom_runs, waste_gibh, at_risk);
}
