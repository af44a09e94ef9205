/* SPDX-License-Identifier: Apache-2.0 */
#include "service/run_output.h"

#include "policy/size.h"
#include "report/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* Formats a number in short: "1.2M", "940k", "312". */
static const char *short_number(double value, char buf[16])
{
	if (value >= 1e6)
		snprintf(buf, 16, "%.1fM", value / 1e6);
	else if (value >= 1e4)
		snprintf(buf, 16, "%.0fk", value / 1e3);
	else
		snprintf(buf, 16, "%.0f", value);
	return buf;
}

void run_output_progress(void *context, const struct collect_progress *progress)
{
	char series[16], rate[16];

	(void)context;
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[K%s  day %zu of %zu  %s series  %s samples/s", progress->day ? progress->day : "",
		progress->days_done, progress->days_total, short_number((double)progress->n_series, series),
		short_number((double)progress->n_samples * 1000 / (double)MAX(progress->elapsed_ms, 1), rate));
	fflush(stderr);
}

void run_output_progress_end(void)
{
	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

void run_output_findings(const struct evidence_reader *reader, FILE *out)
{
	struct table table;
	size_t missing;

	table_init(&table, "MISSING,WITHOUT IT");
	for (size_t i = 0; i < reader->n_findings; i++) {
		const struct evidence_finding *finding = &reader->findings[i];

		if (finding->is_present)
			continue;
		table_add(&table, finding->metric);
		table_add(&table, finding->without ? finding->without : "nothing can be learned");
	}
	missing = table_rows(&table);
	if (missing)
		fprintf(out, "%zu of %zu metrics found in Prometheus\n", reader->n_findings - missing,
			reader->n_findings);
	if (!table_print(&table, out, 2) && missing)
		fputc('\n', out);
}

struct listing {
	const struct sizing_policy *sizing;
	struct table table;
};

static void list_workload(struct table *table, const struct profile *profile, const struct recommendation *rec)
{
	table_add(table, profile->namespace_name);
	table_addf(table, "%s%s%s", profile->workload, *profile->role ? " " : "", profile->role);
	table_add(table, profile->container);
	table_addf(table, rec->oom_kills ? "%d (%d OOM)" : "%d", rec->runs, rec->oom_kills);
	table_add_bytes(table, rec->median_bytes);
	table_add_bytes(table, rec->peak_bytes);
	table_add_bytes(table, rec->request_bytes);
	table_add_bytes(table, rec->limit_bytes);
	table_add(table, confidence_names[rec->confidence]);
	table_add(table, rec->flags & REC_LEAK ? "leak" : "");
}

/* Profiles without a workload belong to namespaces, or were written by people and have no run yet. */
static int list_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct recommendation sizes = take_profile->parent;
	struct listing *listing = context;
	enum size_by by[2];

	(void)err;
	size_apply(listing->sizing, take_profile->spec, &sizes, by);
	if (*take_profile->workload)
		list_workload(&listing->table, take_profile, &sizes);
	profile_free(take_profile);
	return 0;
}

int run_output_summary(struct store *store, const struct sizing_policy *sizing, const struct engine_result *result,
		       FILE *out, struct err *err)
{
	struct listing listing = {.sizing = sizing};
	const struct store_visitor visitor = {.context = &listing, .profile = list_profile};
	char samples[16];
	int r;

	fprintf(out, "%zu run%s found in %zu of %zu day%s (%zu queries, %s samples, %.1f s)\n", result->n_runs,
		PLURAL(result->n_runs), result->days_done, result->days_total, PLURAL(result->days_total),
		result->n_queries, short_number((double)result->n_samples, samples),
		(double)result->duration_ms / 1000.0);
	table_init(&listing.table, "NAMESPACE,WORKLOAD,CONTAINER,>RUNS,>MEDIAN,>PEAK,>REQUEST,>LIMIT,CONFIDENCE,RISK");
	r = store_visit(store, &visitor, err);
	if (r) {
		table_release(&listing.table);
		return r;
	}
	fprintf(out,
		"%zu profile change%s written; %zu profile%s known, one for each role and container of a workload\n\n",
		result->n_profiles_changed, PLURAL(result->n_profiles_changed), table_rows(&listing.table),
		PLURAL(table_rows(&listing.table)));
	if (!table_rows(&listing.table))
		fprintf(out, "No workloads known yet.\n");
	return table_print(&listing.table, out, 0);
}
