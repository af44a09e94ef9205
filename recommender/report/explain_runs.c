/* SPDX-License-Identifier: Apache-2.0 */
/* explain_runs: the runs of a workload, as a table, and how the memory of the newest one grew. */
#include "report/explain_internal.h"
#include "report/figures.h"

#include "base/plain.h"
#include "base/timefmt.h"
#include "model/slower.h"

#include <errno.h>

/* How a run ended, and the kinds of harm; the figures of harm are in the columns. */
static void add_outcome(struct table *table, const struct history *history, const struct run *run)
{
	static const char *const by[] = {"", " (duration)", " (activity)"};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KIB);
	char words[SLOWER_TEXT_BYTES];

	strbuf_addf(&text, "%s%s%s", outcome_names[run->outcome],
		    run->outcome == OUTCOME_COMPLETED && !run->is_whole ? ", partly measured" : "",
		    run->is_cache_bound ? ", cache-bound" : "");
	for (int i = 0; i < HARM_COUNT_; i++)
		if (run->harm & 1U << i)
			strbuf_addf(&text, ", harm: %s%s", harm_names[i],
				    i == HARM_SLOWER ? by[slower_tell(history, run, words)] : "");
	table_add(table, strbuf_text(&text));
}

/* The median is merged from the quantiles of several days or attempts, so not exact. */
static bool is_about(const struct run *run)
{
	return run->median_bytes && !run->is_quantile_exact;
}

static void add_run(struct table *table, const struct history *history, const struct run *run)
{
	char start[TIME_TEXT_BYTES], duration[TIME_TEXT_BYTES];

	table_add(table, time_render(run->start_ms - run->start_ms % TIME_SECOND_MS, start));
	table_add(table, run->name);
	table_add(table, duration_render(run->duration_ms - run->duration_ms % TIME_SECOND_MS, duration));
	table_addf(table, run->attempts > 1 ? "%d, %d attempts" : "%d", run->ranks, run->attempts);
	table_add_bytes(table, run->request_bytes);
	table_add_bytes(table, run->limit_bytes);
	table_addf(table, "%s%s", is_about(run) ? "~" : "", run->median_bytes ? HUMAN(run->median_bytes) : "");
	table_add_bytes(table, run->peak_rss_bytes);
	table_add_bytes(table, run->peak_bytes);
	table_add(table, gpu_memory_permille(&run->gpu) ? PERCENT(gpu_memory_permille(&run->gpu)) : "");
	table_add(table, run->activity_permille >= 0 ? PERCENT(run->activity_permille) : "");
	add_outcome(table, history, run);
}

/* "runs (the last ones; ~: approximate; all columns: -o wide)". */
static void print_head(bool has_more_runs, bool has_about, bool has_more_columns)
{
	const char *const notes[] = {has_more_runs ? "the last ones" : NULL, has_about ? "~: approximate" : NULL,
				     has_more_columns ? "all columns: -o wide" : NULL};
	const char *before = " (";

	printf("  runs");
	for (size_t i = 0; i < ARRAY_LEN(notes); i++)
		if (notes[i]) {
			printf("%s%s", before, notes[i]);
			before = "; ";
		}
	printf("%s\n", has_more_runs || has_about || has_more_columns ? ")" : "");
}

int explain_runs(const struct history *history, bool is_wide)
{
	bool has_about = false;
	struct table table;

	for (size_t i = 0; i < history->runs.n; i++)
		has_about |= is_about(&history->runs.items[i]);
	print_head(history->aggregate.runs > (int64_t)history->runs.n, has_about, !is_wide && history->runs.n);
	table_init(&table,
		   "START,~RUN,>DURATION,>RANKS,>REQUEST,>LIMIT,>MEDIAN,+>RSS,>PEAK,+>GPU MEMORY,+>ACTIVE,~OUTCOME");
	table.is_wide = is_wide;
	for (size_t i = 0; i < history->runs.n; i++)
		add_run(&table, history, &history->runs.items[i]);
	return table_print(&table, stdout, 4);
}

/* The greatest mean of a part of the curve, in permille of the run's peak. */
static int64_t part_permille(const struct run *run, int part)
{
	int64_t top = 0;

	for (int i = part * run->n_curve / GROWTH_PARTS; i < (part + 1) * run->n_curve / GROWTH_PARTS; i++)
		top = MAX(top, run->curve_mean[i]);
	return (int64_t)((double)top * 1000 / (double)run->peak_bytes);
}

const struct run *explain_growth(const struct history *history, int64_t ret_permille[GROWTH_PARTS])
{
	const struct run *run = NULL;

	for (size_t i = 0; i < history->runs.n; i++)
		if (history->runs.items[i].n_curve >= GROWTH_PARTS && history->runs.items[i].peak_bytes > 0)
			run = &history->runs.items[i];
	for (int part = 0; run && part < GROWTH_PARTS; part++)
		ret_permille[part] = part_permille(run, part);
	return run;
}

void explain_print_growth(const struct history *history)
{
	static const char *const bars[] = {"\u2581", "\u2582", "\u2583", "\u2584",
					   "\u2585", "\u2586", "\u2587", "\u2588"};
	const int64_t n_bars = (int64_t)ARRAY_LEN(bars);
	int64_t permille[GROWTH_PARTS];
	const struct run *run = explain_growth(history, permille);

	if (!run)
		return;
	printf("  growth      ");
	for (int part = 0; part < GROWTH_PARTS; part++)
		printf("%s", bars[MIN(permille[part] * n_bars / 1000, n_bars - 1)]);
	printf(" from %lld %% to %lld %% of its peak (", (long long)permille[0] / 10,
	       (long long)permille[GROWTH_PARTS - 1] / 10);
	plain_print(run->name, stdout);
	printf(", without page cache)\n");
}
