/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figures.h"
#include "report/status.h"

#include "base/plain.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>

static const char *time_text(int64_t time_ms, char buf[TIME_TEXT_BYTES])
{
	return time_render(time_ms - time_ms % TIME_SECOND_MS, buf);
}

static void print_gaps(const struct gaps *gaps, FILE *out)
{
	char from[TIME_TEXT_BYTES], to[TIME_TEXT_BYTES];

	for (size_t i = 0; gaps && i < gaps->n; i++) {
		const struct gap *gap = &gaps->items[i];

		fprintf(out, "            Not read: %s to %s, ", time_text(gap->start_ms, from),
			time_text(gap->end_ms, to));
		fprintf(out,
			*gap->namespace_name ? "namespace %s: " : "all namespaces%s: ", PLAIN(gap->namespace_name));
		plain_print(gap->why, out);
		fputs("; it is asked for again later\n", out);
	}
}

static void print_cycle(const struct status *self, FILE *out)
{
	const struct cycle_status *cycle = &self->cycle;
	int64_t age_ms = MAX(self->now_ms - cycle->time_ms, 0);
	char when[TIME_TEXT_BYTES], age[TIME_TEXT_BYTES], took[TIME_TEXT_BYTES];

	if (!self->has_cycle) {
		fprintf(out, "Last cycle  not known: ");
		plain_print(self->cycle_unknown, out);
		fputc('\n', out);
		return;
	}
	fprintf(out, "Last cycle  %s at %s, %s ago%s", PLAIN(cycle->result), time_text(cycle->time_ms, when),
		duration_render(age_ms - age_ms % TIME_SECOND_MS, age), cycle->why[0] ? ": " : "");
	plain_print(cycle->why, out);
	fputc('\n', out);
	fprintf(out,
		"            %lld run%s found in %lld of %lld day%s, %lld profile%s known, %lld profile change%s "
		"written\n",
		(long long)cycle->runs, PLURAL(cycle->runs), (long long)cycle->days_done, (long long)cycle->days_total,
		PLURAL(cycle->days_total), (long long)cycle->workloads, PLURAL(cycle->workloads),
		(long long)cycle->profiles_changed, PLURAL(cycle->profiles_changed));
	fprintf(out, "            took %s; version %s, mode %s\n", duration_render(cycle->duration_ms, took),
		PLAIN(cycle->version), PLAIN(cycle->mode));
	if (cycle->retry_after_ms)
		fprintf(out,
			"            Prometheus failed in several cycles: the next one begins %s after the last one\n",
			duration_render(cycle->retry_after_ms, took));
	print_gaps(cycle->gaps, out);
	if (cycle->warning && cycle->warning[0]) {
		fputs("            Prometheus warns in every answer ", out);
		plain_print(cycle->warning, out);
		fputs("; the warning is ignored\n", out);
	}
	if (status_is_silent(self))
		fprintf(out,
			"            The recommender has written nothing since %s: it does not run, or cannot write\n",
			when);
}

static void print_webhook(const struct status *self, FILE *out)
{
	static const struct {
		const char *result, *words;
	} rows[] = {
		{"reached", "reached by the API server"},
		{"not-configured",
		 "not configured: there is no webhook configuration (switched off, or not installed), so "
		 "pods are not examined"},
		{"failed-open", "not reached by the API server, which fails open: pods are not examined"},
		{"refused", "not known: the API server refused the recommender's dry run"},
		{"timed-out", "not known: the API server did not answer the recommender in time"},
		{"no-server", "not known: the recommender did not reach the API server"},
		{"not-asked", "not tested: no cluster, recommender.probe is 0s, or no probe yet"},
	};
	const char *words = "not known: no cycle has recorded it";
	char when[TIME_TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_LEN(rows) && self->has_cycle; i++)
		if (streq(self->cycle.webhook, rows[i].result))
			words = rows[i].words;
	if (status_is_silent(self))
		fprintf(out, "Webhook     as of %s: %s\n", time_text(self->cycle.time_ms, when), words);
	else
		fprintf(out, "Webhook     %s\n", words);
}

static void print_hung(const struct status *self, FILE *out)
{
	const struct hung_list *hung = self->has_cycle ? self->cycle.hung : NULL;
	char count[HUNG_COUNT_BYTES], when[TIME_TEXT_BYTES], death[HUNG_DEATH_BYTES];

	if (!hung || !hung->n)
		return;
	fprintf(out, "Hung gangs  %lld, in which a rank is dead; they hold %s%s\n", (long long)hung->n,
		hung_count(hung->accelerators_milli, count),
		hung->n > (int64_t)hung->n_items ? "; the first of them:" : "");
	for (size_t i = 0; i < hung->n_items; i++) {
		const struct hung_gang *gang = &hung->items[i];

		fprintf(out, "  %s %s: ", PLAIN(gang->namespace_name), PLAIN(gang->owner));
		fprintf(out, "pod %s %s at %s; running pods: %lld, with %s\n", PLAIN(gang->pod),
			PLAIN(hung_death(gang, death)), time_text(gang->died_ms, when), (long long)gang->n_pods,
			hung_count(gang->accelerators_milli, count));
		fputs("    if they do not go on without it: ", out);
		plain_print(gang->command, out);
		fputc('\n', out);
	}
}

static int print_metrics(const struct status *self, FILE *out)
{
	struct table table;

	table_init(&table, "MISSING,WITHOUT IT");
	for (size_t i = 0; i < self->n_findings; i++) {
		const struct evidence_finding *finding = &self->findings[i];

		if (finding->is_present)
			continue;
		table_add(&table, finding->metric);
		table_add(&table, !status_is_lost(self, finding) ? "the watch of pods replaces it from now on"
				  : finding->without		 ? finding->without
								 : "nothing can be learned");
	}
	if (self->n_findings)
		fprintf(out, "Metrics     %zu of %zu found in Prometheus %s\n", self->n_findings - table_rows(&table),
			self->n_findings, self->is_asked ? "now" : "by the last cycle");
	if (!self->is_asked) {
		fprintf(out, "%-12s", self->n_findings ? "" : "Metrics");
		plain_print(self->metrics_unknown, out);
		fputc('\n', out);
	}
	return table_print(&table, out, 2);
}

static int print_ignored(const struct status *self, FILE *out)
{
	size_t shown = MIN(self->n_ignored, (size_t)STATUS_IGNORED);
	struct table table;

	if (self->n_ignored)
		fprintf(out, "Specs       %zu MemoryProfile spec%s not applied%s\n", self->n_ignored,
			self->n_ignored == 1 ? " is" : "s are", shown < self->n_ignored ? "; the first of them:" : "");
	table_init(&table, "NAMESPACE,MEMORYPROFILE,WHY ITS SPEC IS NOT APPLIED");
	for (size_t i = 0; i < shown; i++) {
		table_add(&table, known_namespace(self->ignored[i].known));
		table_add(&table, self->ignored[i].known->profile->name);
		table_add(&table, self->ignored[i].why);
	}
	return table_print(&table, out, 2);
}

static int print_coverage(const struct coverage *coverage, FILE *out)
{
	int permille = coverage_permille(coverage), r;
	struct table table;

	if (permille < 0) {
		fprintf(out, "\nCoverage    no training pod was seen in 14 days\n");
		return 0;
	}
	fprintf(out,
		"\nCoverage    %s of %.1f training pod-hours of 14 days are covered: %s\n"
		"            (%lld of %lld run%s, each role of a run by itself)\n",
		PERCENT(permille), coverage->total_pod_hours, coverage_reason_words[COVERAGE_MATCHED],
		(long long)coverage->runs[COVERAGE_MATCHED], (long long)coverage->total_runs,
		PLURAL(coverage->total_runs));
	table_init(&table, "NOT COVERED,>POD-HOURS,>RUNS");
	for (int i = COVERAGE_MATCHED + 1; i < COVERAGE_REASON_COUNT_; i++) {
		if (!coverage->runs[i])
			continue;
		table_add(&table, coverage_reason_words[i]);
		table_addf(&table, "%.1f", coverage->pod_hours[i]);
		table_addf(&table, "%lld", (long long)coverage->runs[i]);
	}
	r = table_print(&table, out, 2);
	if (coverage->cut_workloads)
		fprintf(out, "  Not counted: runs older than the last %d of a history (%lld histor%s).\n",
			LIMIT_HISTORY_RUNS, (long long)coverage->cut_workloads,
			coverage->cut_workloads == 1 ? "y" : "ies");
	return r;
}

static void print_kills(const struct replay *replay, FILE *out)
{
	if (!replay->kills) {
		fprintf(out, "  no OOM kills were seen\n");
		return;
	}
	fprintf(out, "  would have set a larger limit before %lld of %lld OOM kill%s\n", (long long)replay->avoided,
		(long long)replay->kills, PLURAL(replay->kills));
	if (replay->avoided)
		fprintf(out, "    (for %lld of them the limit is known to be enough)\n",
			(long long)replay->avoided_proven);
	if (replay->kills_without_limit)
		fprintf(out, "  %lld kill%s had no limit: the node ran out of memory\n",
			(long long)replay->kills_without_limit, PLURAL(replay->kills_without_limit));
}

static void print_not_judged(const struct status *self, FILE *out)
{
	const struct replay *replay = &self->replay;

	for (size_t i = 0; i < REPLAY_REASON_COUNT_; i++) {
		if (!replay->undecided[i])
			continue;
		fprintf(out, "  %lld of %lld not judged: ", (long long)replay->undecided[i], (long long)replay->runs);
		if (i == REPLAY_TOO_FEW_RUNS)
			fprintf(out, "fewer than %d complete runs before them\n", self->min_runs);
		else
			fprintf(out, "%s\n", replay_reason_words[i]);
	}
	if (replay->smallest)
		fprintf(out, "    (%lld of them would get the smallest request, which needs no history)\n",
			(long long)replay->smallest);
}

static void print_replay(const struct status *self, FILE *out)
{
	const struct replay *replay = &self->replay;

	fprintf(out,
		"\nReplay      what mode enforce would have done for %lld run%s of 14 days (each role and container by "
		"itself)\n",
		(long long)replay->runs, PLURAL(replay->runs));
	fprintf(out,
		"  would have set missing values in %lld, raised %lld, lowered %lld, and left %lld unchanged "
		"(a run may be in several)\n",
		(long long)replay->fill, (long long)replay->raise, (long long)replay->lower,
		(long long)replay->unchanged);
	print_kills(replay, out);
	if (replay->too_small)
		fprintf(out, "  %lld run%s would have been given less than %s needed\n", (long long)replay->too_small,
			PLURAL(replay->too_small), replay->too_small == 1 ? "it" : "they");
	print_not_judged(self, out);
	if (!self->knows_requests)
		fprintf(out, "  Requests of runs were never seen: only limits are judged.\n");
	fprintf(out,
		"  Not considered: quotas, LimitRanges and labels of that time, other containers, disk. Values are "
		"lowered by one step.\n");
}

#define RISKIEST_HEADS(container) "NAMESPACE,WORKLOAD,ROLE," container ",>POD-HOURS,WHY"

static int print_riskiest(const struct status *self, FILE *out)
{
	struct table table;

	fprintf(out, "\nRiskiest    %s\n",
		self->n_riskiest ? "workloads that ran in 14 days, the worst first"
				 : "none of the workloads that ran in 14 days");
	table_init(&table, self->has_containers ? RISKIEST_HEADS("CONTAINER") : RISKIEST_HEADS("+CONTAINER"));
	for (size_t i = 0; i < self->n_riskiest; i++) {
		known_add_names(self->riskiest[i].known, &table);
		table_addf(&table, "%.1f", self->riskiest[i].pod_hours);
		table_add(&table, self->riskiest[i].why);
	}
	return table_print(&table, out, 2);
}

int status_print(const struct status *self, FILE *out)
{
	int r;

	print_cycle(self, out);
	print_webhook(self, out);
	print_hung(self, out);
	r = print_metrics(self, out);
	if (self->n_bad)
		fprintf(out, "Objects     %zu could not be read and are missing below\n", self->n_bad);
	if (!r)
		r = print_ignored(self, out);
	if (!r)
		r = print_coverage(&self->coverage, out);
	if (r)
		return r;
	print_replay(self, out);
	return print_riskiest(self, out);
}
