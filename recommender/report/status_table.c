/* SPDX-License-Identifier: Apache-2.0 */
#include "report/plain.h"
#include "report/status.h"
#include "report/table.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>

static const char *time_text(int64_t time_ms, char buf[TIME_TEXT_BYTES])
{
	return time_render(time_ms - time_ms % TIME_SECOND_MS, buf);
}

static void print_cycle(const struct status *self, FILE *out)
{
	const struct cycle_status *cycle = &self->cycle;
	int64_t age_ms = MAX(self->now_ms - cycle->time_ms, 0);
	char when[TIME_TEXT_BYTES], age[TIME_TEXT_BYTES], took[TIME_TEXT_BYTES];
	char result[PLAIN_BYTES], version[PLAIN_BYTES], mode[PLAIN_BYTES];

	if (!self->has_cycle) {
		fprintf(out, "Last cycle  not known: ");
		plain_print(self->cycle_unknown, out);
		fputc('\n', out);
		return;
	}
	fprintf(out, "Last cycle  %s at %s, %s ago%s", plain_text(cycle->result, result),
		time_text(cycle->time_ms, when), duration_render(age_ms - age_ms % TIME_SECOND_MS, age),
		cycle->why[0] ? ": " : "");
	plain_print(cycle->why, out);
	fputc('\n', out);
	fprintf(out, "            %lld runs found in %lld of %lld days, %lld workloads known, %lld profiles changed; ",
		(long long)cycle->runs, (long long)cycle->days_done, (long long)cycle->days_total,
		(long long)cycle->workloads, (long long)cycle->profiles_changed);
	fprintf(out, "took %s; version %s, mode %s\n", duration_render(cycle->duration_ms, took),
		plain_text(cycle->version, version), plain_text(cycle->mode, mode));
	if (status_is_silent(self))
		fprintf(out,
			"            The recommender has not said anything since %s: it does not run, or cannot "
			"write\n",
			when);
}

static void print_webhook(const struct status *self, FILE *out)
{
	static const struct {
		const char *result, *words;
	} rows[] = {
		{"reached", "reached by the API server"},
		{"not-configured", "NOT CONFIGURED: no webhook configuration asks for it (switched off, or not "
				   "installed); pods are not looked at"},
		{"failed-open", "NOT REACHED: the API server goes on without an answer; pods are not looked at"},
		{"refused", "not known: the API server did not let the recommender ask"},
		{"timed-out", "not known: the API server did not answer the recommender in time"},
		{"no-server", "not known: the recommender did not reach the API server"},
		{"not-asked", "not asked: no cluster, recommender.probe is 0, or too early"},
	};
	const char *words = "not known: no cycle says so";
	char when[TIME_TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_LEN(rows) && self->has_cycle; i++)
		if (streq(self->cycle.webhook, rows[i].result))
			words = rows[i].words;
	if (status_is_silent(self))
		fprintf(out, "Webhook     as of %s: %s\n", time_text(self->cycle.time_ms, when), words);
	else
		fprintf(out, "Webhook     %s\n", words);
}

static int print_metrics(const struct status *self, FILE *out)
{
	static const char *const heads[] = {"MISSING", "WITHOUT IT"};
	struct table table;
	size_t missing = 0;
	int r = 0;

	table_init(&table, heads, ARRAY_LEN(heads));
	for (size_t i = 0; i < self->n_findings; i++) {
		const struct evidence_finding *finding = &self->findings[i];
		const char *cells[] = {finding->metric, !status_is_lost(self, finding)
								? "pods are watched and tell it from now on"
							: finding->without ? finding->without
									   : "nothing can be learned"};

		if (finding->is_present)
			continue;
		table_add(&table, cells);
		missing++;
	}
	if (self->n_findings)
		fprintf(out, "Metrics     %zu of %zu are there, %s\n", self->n_findings - missing, self->n_findings,
			self->is_asked ? "Prometheus says now" : "the last cycle said");
	if (!self->is_asked) {
		fprintf(out, "%-12s", self->n_findings ? "" : "Metrics");
		plain_print(self->metrics_unknown, out);
		fputc('\n', out);
	}
	if (missing)
		r = table_print(&table, out, 2);
	table_release(&table);
	return r;
}

static int print_coverage(const struct status *self, FILE *out)
{
	static const char *const heads[] = {"NOT MATCHED", ">POD-HOURS", ">RUNS"};
	const struct coverage *coverage = &self->coverage;
	int permille = coverage_permille(coverage);
	struct table table;
	int r = 0;

	if (permille < 0) {
		fprintf(out, "\nCoverage    no training pod was seen in 14 days\n");
		return 0;
	}
	fprintf(out,
		"\nCoverage    %d.%d %% of %.1f training pod-hours of 14 days: %s\n"
		"            (%lld of %lld runs, each role of a run by itself)\n",
		permille / 10, permille % 10, coverage->total_pod_hours, coverage_reason_words[COVERAGE_MATCHED],
		(long long)coverage->runs[COVERAGE_MATCHED], (long long)coverage->total_runs);
	table_init(&table, heads, ARRAY_LEN(heads));
	for (int i = COVERAGE_MATCHED + 1; i < COVERAGE_REASON_COUNT_; i++) {
		char hours[32], runs[32];
		const char *cells[] = {coverage_reason_words[i], hours, runs};

		snprintf(hours, sizeof(hours), "%.1f", coverage->pod_hours[i]);
		snprintf(runs, sizeof(runs), "%lld", (long long)coverage->runs[i]);
		if (coverage->runs[i])
			table_add(&table, cells);
	}
	if (coverage->runs[COVERAGE_MATCHED] < coverage->total_runs)
		r = table_print(&table, out, 2);
	table_release(&table);
	if (coverage->cut_workloads)
		fprintf(out, "  Not counted: runs that %lld histories have dropped from their lists of %d.\n",
			(long long)coverage->cut_workloads, LIMIT_HISTORY_RUNS);
	return r;
}

static void print_kills(const struct replay *replay, FILE *out)
{
	if (!replay->kills) {
		fprintf(out, "  no OOM kills were seen\n");
		return;
	}
	fprintf(out, "  would have avoided %lld of %lld OOM kills: the limit above the one that was killed",
		(long long)replay->avoided, (long long)replay->kills);
	if (replay->avoided)
		fprintf(out, ", %lld of them known to be above the need too", (long long)replay->avoided_proven);
	fputc('\n', out);
	if (replay->kills_without_limit)
		fprintf(out, "  %lld kills had no limit: the node ran out of memory, which no limit tells of\n",
			(long long)replay->kills_without_limit);
}

static void print_replay(const struct status *self, FILE *out)
{
	const struct replay *replay = &self->replay;
	int64_t undecided = 0;

	fprintf(out,
		"\nReplay      of %lld runs of 14 days (each role and container by itself), as mode enforce would have "
		"sized "
		"their memory\n",
		(long long)replay->runs);
	for (size_t i = 0; i < REPLAY_REASON_COUNT_; i++)
		undecided += replay->undecided[i];
	fprintf(out, "  would fill %lld, raise %lld, lower %lld; %lld as they are (a run may be in several)\n",
		(long long)replay->fill, (long long)replay->raise, (long long)replay->lower,
		(long long)replay->unchanged);
	print_kills(replay, out);
	if (replay->too_small)
		fprintf(out, "  %lld runs would have been given LESS THAN THEY NEEDED\n", (long long)replay->too_small);
	fprintf(out, "  could not decide %lld\n", (long long)undecided);
	for (size_t i = 0; i < REPLAY_REASON_COUNT_; i++)
		if (replay->undecided[i])
			fprintf(out, "    %lld: %s\n", (long long)replay->undecided[i], replay_reason_words[i]);
	if (replay->smallest)
		fprintf(out, "    (%lld of them would get the smallest request, which needs no history)\n",
			(long long)replay->smallest);
	if (!self->knows_requests)
		fprintf(out, "  Requests of runs were never seen: only limits are judged.\n");
	fprintf(out, "  Not known: quotas, LimitRanges and labels of the time, other containers, disk. Lowering is the "
		     "first step.\n");
}

static int print_riskiest(const struct status *self, FILE *out)
{
	static const char *const heads[] = {"NAMESPACE", "WORKLOAD", "ROLE", "CONTAINER", ">POD-HOURS", "WHY"};
	struct table table;
	int r;

	if (!self->n_riskiest) {
		fprintf(out, "\nRiskiest    none of the workloads that ran in 14 days\n");
		return 0;
	}
	fprintf(out, "\nRiskiest\n");
	table_init(&table, heads, ARRAY_LEN(heads));
	for (size_t i = 0; i < self->n_riskiest; i++) {
		const struct risky *risky = &self->riskiest[i];
		char hours[32];
		const char *cells[] = {known_namespace(risky->known),
				       known_workload(risky->known),
				       known_role(risky->known),
				       known_container(risky->known),
				       hours,
				       risky->why};

		snprintf(hours, sizeof(hours), "%.1f", risky->pod_hours);
		table_add(&table, cells);
	}
	r = table_print(&table, out, 2);
	table_release(&table);
	return r;
}

int status_print(const struct status *self, FILE *out)
{
	int r;

	print_cycle(self, out);
	print_webhook(self, out);
	r = print_metrics(self, out);
	if (self->n_bad)
		fprintf(out, "Objects     %zu could not be read and are missing below\n", self->n_bad);
	if (!r)
		r = print_coverage(self, out);
	if (r)
		return r;
	print_replay(self, out);
	return print_riskiest(self, out);
}
