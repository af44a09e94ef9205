/* SPDX-License-Identifier: Apache-2.0 */
#include "report/changes.h"
#include "report/figures.h"
#include "report/plain.h"
#include "report/question.h"
#include "report/report_commands.h"
#include "report/table.h"

#include "base/timefmt.h"
#include "model/slower.h"

#include <errno.h>
#include <stdlib.h>

static void print_percent(char *buf, size_t size, int32_t permille)
{
	if (permille % 10)
		snprintf(buf, size, "%d.%d %%", permille / 10, permille % 10);
	else
		snprintf(buf, size, "%d %%", permille / 10);
}

static void explain_request(const struct recommendation *rec, const struct profile_spec *spec)
{
	char size[QUANTITY_TEXT_BYTES], median[QUANTITY_TEXT_BYTES], share[16];

	if (!rec->request_bytes) {
		printf("  request     none: too little is known\n");
		return;
	}
	print_percent(share, sizeof(share), rec->over_request_permille);
	printf("  request     %-9s ", quantity_render_human(rec->request_bytes, size));
	if (spec->pin_request_bytes)
		printf("pinned by a person; ");
	printf("median of use over time is %s; use is above the request for %s of run time\n",
	       quantity_render_human(rec->median_bytes, median), share);
}

static void explain_limit(const struct recommendation *rec, const struct profile_spec *spec)
{
	char size[QUANTITY_TEXT_BYTES], peak[QUANTITY_TEXT_BYTES], killed[QUANTITY_TEXT_BYTES], buffer[16];

	if (!rec->limit_bytes) {
		printf("  limit       none: too little is known\n");
		return;
	}
	print_percent(buffer, sizeof(buffer), rec->buffer_permille);
	printf("  limit       %-9s ", quantity_render_human(rec->limit_bytes, size));
	if (spec->pin_limit_bytes)
		printf("pinned by a person; ");
	printf("peak of %d whole run%s is %s, buffer %s", rec->whole_runs, rec->whole_runs == 1 ? "" : "s",
	       quantity_render_human(rec->peak_bytes, peak), buffer);
	if (rec->proven_bytes)
		printf("; a run was OOM-killed at %s", quantity_render_human(rec->proven_bytes, killed));
	printf("\n");
}

static void explain_ephemeral(const struct recommendation *rec)
{
	char request[QUANTITY_TEXT_BYTES], limit[QUANTITY_TEXT_BYTES], peak[QUANTITY_TEXT_BYTES];

	if (!rec->ephemeral_peak_bytes) {
		printf("  disk        no use was measured\n");
		return;
	}
	printf("  disk        request %s, limit %s: peak %s\n",
	       quantity_render_human(rec->ephemeral_request_bytes, request),
	       quantity_render_human(rec->ephemeral_limit_bytes, limit),
	       quantity_render_human(rec->ephemeral_peak_bytes, peak));
}

static const struct {
	enum recommendation_flag flag;
	const char *text;
} flag_texts[] = {
	{REC_CACHE_BOUND, "cache-bound: the working set near the limit is page cache, not need"},
	{REC_LEAK, "grows until it ends (leak): a larger limit does not help"},
	{REC_UNSTABLE, "peaks differ widely between runs: not lowered"},
	{REC_NO_LOWER, "not lowered at present"},
	{REC_HARM, "harm was counted: the workload's own value is restored"},
};

static void explain_recommendation(const struct profile *profile)
{
	const struct recommendation *rec = &profile->parent;

	explain_request(rec, profile->spec);
	explain_limit(rec, profile->spec);
	explain_ephemeral(rec);
	printf("  confidence  %s: %d run%s, %d of them whole, %d OOM-killed\n", confidence_names[rec->confidence],
	       rec->runs, rec->runs == 1 ? "" : "s", rec->whole_runs, rec->oom_kills);
	for (size_t i = 0; i < ARRAY_LEN(flag_texts); i++)
		if (rec->flags & flag_texts[i].flag)
			printf("  note        %s\n", flag_texts[i].text);
	if (profile->spec->mode_cap[0])
		printf("  mode        at most %s: spec.modeCap, a person's word (`undo --release` takes back an "
		       "undo)\n",
		       profile->spec->mode_cap);
	for (size_t i = 0; i < profile->n_reasons; i++) {
		printf("  %-11s ", i ? "" : "because");
		plain_print(profile->reasons[i], stdout);
		printf("\n");
	}
	for (size_t i = 0; i < profile->n_variants; i++) {
		const struct recommendation *v = &profile->variants[i];
		char request[QUANTITY_TEXT_BYTES], limit[QUANTITY_TEXT_BYTES], variant[PLAIN_BYTES];

		printf("  variant     %s: request %s, limit %s (%d whole runs)\n", plain_text(v->variant, variant),
		       quantity_render_human(v->request_bytes, request), quantity_render_human(v->limit_bytes, limit),
		       v->whole_runs);
	}
}

/* Which harm it came to, behind its outcome; the figures stand in their columns. */
static void add_harm(const struct history *history, const struct run *run, char *outcome, size_t size)
{
	static const char *const by[] = {"", " (duration)", " (activity)"};
	char words[SLOWER_TEXT_BYTES];

	for (int i = 0; i < HARM_COUNT_; i++) {
		size_t n = strlen(outcome);

		if (run->harm & 1U << i)
			snprintf(outcome + n, size - n, ", harm: %s%s", harm_names[i],
				 i == HARM_SLOWER ? by[slower_tell(history, run, words)] : "");
	}
}

static void add_run(struct table *table, const struct history *history, const struct run *run)
{
	char start[TIME_TEXT_BYTES], duration[TIME_TEXT_BYTES], ranks[32], sizes[5][QUANTITY_TEXT_BYTES], outcome[128];
	char active[16] = "";
	const char *cells[] = {start,	 run->name, duration, ranks,  sizes[0], sizes[1],
			       sizes[2], sizes[3],  sizes[4], active, outcome};
	const int64_t bytes[] = {run->request_bytes, run->limit_bytes, run->median_bytes, run->peak_rss_bytes,
				 run->peak_bytes};

	time_render(run->start_ms - run->start_ms % TIME_SECOND_MS, start);
	duration_render(run->duration_ms - run->duration_ms % TIME_SECOND_MS, duration);
	snprintf(ranks, sizeof(ranks), run->attempts > 1 ? "%d, %d attempts" : "%d", run->ranks, run->attempts);
	for (size_t i = 0; i < ARRAY_LEN(bytes); i++)
		snprintf(sizes[i], sizeof(sizes[i]), "%s", bytes[i] ? quantity_render_human(bytes[i], outcome) : "");
	/* merged from the quantiles of several days: not exact */
	if (run->median_bytes && !run->is_quantile_exact)
		snprintf(sizes[2], sizeof(sizes[2]), "~%s", quantity_render_human(run->median_bytes, outcome));
	snprintf(outcome, sizeof(outcome), "%s%s%s", outcome_names[run->outcome],
		 run->outcome == OUTCOME_COMPLETED && !run->is_whole ? ", not seen whole" : "",
		 run->is_cache_bound ? ", cache-bound" : "");
	add_harm(history, run, outcome, sizeof(outcome));
	if (run->activity_permille >= 0)
		print_percent(active, sizeof(active), run->activity_permille);
	table_add(table, cells);
}

static int explain_runs(const struct history *history)
{
	static const char *const heads[] = {"START",   "RUN",	    ">DURATION", ">RANKS",  ">REQUEST", ">LIMIT",
					    ">MEDIAN", ">RSS PEAK", ">PEAK",	 ">ACTIVE", "OUTCOME"};
	struct table table;
	int r;

	printf("  runs%s\n", history->aggregate.runs > (int64_t)history->runs.n ? " (the last ones)" : "");
	table_init(&table, heads, ARRAY_LEN(heads));
	for (size_t i = 0; i < history->runs.n; i++)
		add_run(&table, history, &history->runs.items[i]);
	r = table_print(&table, stdout, 4);
	table_release(&table);
	return r;
}

enum { SHAPE_PARTS = 8 };

/* Flat, rising or with a spike, at a glance: greatest mean of each eighth of the newest run that has a curve. */
static void explain_shape(const struct history *history)
{
	const struct run *run = NULL;

	for (size_t i = 0; i < history->runs.n; i++)
		if (history->runs.items[i].n_curve >= SHAPE_PARTS && history->runs.items[i].peak_bytes > 0)
			run = &history->runs.items[i];
	if (!run)
		return;
	printf("  shape       ");
	for (int part = 0; part < SHAPE_PARTS; part++) {
		int64_t top = 0;

		for (int i = part * run->n_curve / SHAPE_PARTS; i < (part + 1) * run->n_curve / SHAPE_PARTS; i++)
			top = MAX(top, run->curve_mean[i]);
		printf("%.0f ", (double)top * 100 / (double)run->peak_bytes);
	}
	printf("%% of its peak without page cache, in the eighths of ");
	plain_print(run->name, stdout);
	printf("\n");
}

static int explain_changes(const struct known *known)
{
	struct changes changes = {.items = VEC_INIT};
	int r = changes_add(&changes, known);

	changes_sort(&changes);
	if (!r && changes.items.n) {
		printf("  changed pods\n");
		r = changes_print(&changes, false, stdout, 4);
	}
	vec_release(&changes.items);
	return r;
}

static int explain_known(const struct known *known)
{
	char text[PLAIN_BYTES];

	printf("%s  %s", known_namespace(known), plain_text(known_workload(known), text));
	if (known_role(known)[0])
		printf("  role %s", plain_text(known_role(known), text));
	printf("  container %s\n", plain_text(known_container(known), text));
	if (known->profile) {
		printf("  profile     %s, revision %lld\n", known->profile->name, (long long)known->profile->revision);
		explain_recommendation(known->profile);
	}
	if (known->history && explain_runs(known->history))
		return -ENOMEM;
	if (known->history)
		explain_shape(known->history);
	return explain_changes(known);
}

static int explain_run(const struct cli_args *args)
{
	CLEANUP(knowledge_release) struct knowledge knowledge = KNOWLEDGE_INIT;
	struct question question;
	size_t found = 0;
	int code;

	if (args->n_operands != 1)
		return cli_usage_error("memtamer-recommender explain",
				       "expected one KIND/NAME, as in Job/resnet-train");
	code = question_load(&question, "memtamer-recommender explain", args, args->operands[0], &knowledge);
	if (code)
		return code;
	for (size_t i = 0; i < knowledge.items.n; i++) {
		const struct known *known = &knowledge.items.items[i];

		if (!question_is_of(&question, known))
			continue;
		if (found++)
			printf("\n");
		if (explain_known(known))
			return EXIT_DEPENDENCY;
	}
	if (found)
		return EXIT_CLEAN;
	return question_unknown(&question, "memtamer-recommender explain");
}

static const struct cli_option explain_options[] = {
	KNOWLEDGE_OPTIONS,
	{.name = NULL},
};

const struct cli_command explain_command = {
	.name = "explain",
	.operands = "KIND/NAME",
	.help = "every number of a workload's profile in words: which runs, which rule",
	.options = explain_options,
	.run = explain_run,
};
