/* SPDX-License-Identifier: Apache-2.0 */
#include "service/run_output.h"

#include "k8s/quantity.h"
#include "report/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static double rate_of(int64_t n, int64_t ms)
{
	return ms > 0 ? (double)n * 1000.0 / (double)ms : 0;
}

/* "1.2M", "940k", "312". */
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
		short_number(rate_of(progress->n_samples, progress->elapsed_ms), rate));
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
	static const char *const heads[] = {"METRIC", "STATE", "WITHOUT IT"};
	struct table table;
	size_t missing = 0;

	table_init(&table, heads, ARRAY_LEN(heads));
	for (size_t i = 0; i < reader->n_findings; i++) {
		const struct evidence_finding *finding = &reader->findings[i];
		const char *cells[] = {finding->metric, "missing",
				       finding->without ? finding->without : "nothing can be learned"};

		if (finding->is_present)
			continue;
		table_add(&table, cells);
		missing++;
	}
	if (missing) {
		fprintf(out, "%zu of %zu metrics are there; missing:\n", reader->n_findings - missing,
			reader->n_findings);
		if (table_print(&table, out, 2) == 0)
			fputc('\n', out);
	}
	table_release(&table);
}

struct listing {
	struct table table;
	size_t n;
};

static const char *size_text(int64_t bytes, char buf[QUANTITY_TEXT_BYTES])
{
	return bytes ? quantity_render_human(bytes, buf) : "-";
}

static int list_profile(void *context, struct profile *take_profile, struct err *err)
{
	const struct recommendation *rec = &take_profile->parent;
	struct listing *listing = context;
	char workload[512], runs[64], median[QUANTITY_TEXT_BYTES], peak[QUANTITY_TEXT_BYTES];
	char request[QUANTITY_TEXT_BYTES], limit[QUANTITY_TEXT_BYTES];
	const char *cells[] = {take_profile->namespace_name,
			       workload,
			       take_profile->container,
			       runs,
			       size_text(rec->median_bytes, median),
			       size_text(rec->peak_bytes, peak),
			       size_text(rec->request_bytes, request),
			       size_text(rec->limit_bytes, limit),
			       confidence_names[rec->confidence]};

	(void)err;
	snprintf(workload, sizeof(workload), "%s%s%s", take_profile->workload, *take_profile->role ? " " : "",
		 take_profile->role);
	if (rec->oom_kills)
		snprintf(runs, sizeof(runs), "%d (%d OOM)", rec->runs, rec->oom_kills);
	else
		snprintf(runs, sizeof(runs), "%d", rec->runs);
	table_add(&listing->table, cells);
	listing->n++;
	profile_free(take_profile);
	return 0;
}

int run_output_summary(struct store *store, const struct engine_result *result, FILE *out, struct err *err)
{
	static const char *const heads[] = {"NAMESPACE", "WORKLOAD", "CONTAINER", ">RUNS",     ">MEDIAN",
					    ">PEAK",	 ">REQUEST", ">LIMIT",	  "CONFIDENCE"};
	struct listing listing = {.n = 0};
	const struct store_visitor visitor = {.context = &listing, .profile = list_profile};
	char samples[16];
	int r;

	fprintf(out, "%zu runs found in %zu of %zu days (%zu queries, %s samples, %.1f s)\n", result->n_runs,
		result->days_done, result->days_total, result->n_queries,
		short_number((double)result->n_samples, samples), (double)result->duration_ms / 1000.0);
	fprintf(out, "%zu profiles changed\n\n", result->n_profiles_changed);
	table_init(&listing.table, heads, ARRAY_LEN(heads));
	r = store_visit(store, &visitor, err);
	if (!r && listing.n > 0)
		r = table_print(&listing.table, out, 0);
	else if (!r)
		fprintf(out, "No workloads known yet.\n");
	table_release(&listing.table);
	return r;
}
