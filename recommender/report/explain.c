/* SPDX-License-Identifier: Apache-2.0 */
#include "report/changes.h"
#include "report/figures.h"
#include "report/question.h"
#include "report/report_commands.h"

#include "base/plain.h"
#include "base/timefmt.h"
#include "model/slower.h"
#include "policy/decide.h"

#include <errno.h>
#include <stdlib.h>

#define PERCENT(permille) percent_text((permille), (char[16]){0})

static const char *percent_text(int32_t permille, char buf[16])
{
	if (permille % 10)
		snprintf(buf, 16, "%d.%d %%", permille / 10, permille % 10);
	else
		snprintf(buf, 16, "%d %%", permille / 10);
	return buf;
}

/* A recommendation, and the sizes after what people decided. */
struct explained {
	const struct recommendation *learned;
	struct recommendation sizes;
	enum size_by by[2]; /* indexed by enum size_field */
};

/* Prints the beginning of the line of a size: "limit 2Gi", and "pinned by spec.pinLimit; learned 712Mi: " if a person
 * decided the size. @return whether there is a size. */
static bool explain_size(const struct explained *self, int field)
{
	bool is_limit = field == SIZE_LIMIT;
	int64_t bytes = is_limit ? self->sizes.limit_bytes : self->sizes.request_bytes;
	int64_t learned_bytes = is_limit ? self->learned->limit_bytes : self->learned->request_bytes;
	enum size_by by = self->by[field];

	printf("  %-11s ", is_limit ? "limit" : "request");
	if (!bytes) {
		printf("none: too little is known\n");
		return false;
	}
	printf("%-9s ", HUMAN(bytes));
	if (by == SIZE_BY_RUNS)
		return true;
	printf("%s %s",
	       by >= SIZE_BY_PIN_REQUEST ? "pinned by"
	       : by == SIZE_BY_LIMIT	 ? "equal to"
					 : "by",
	       size_by_names[by]);
	if (learned_bytes)
		printf("; learned %s: ", HUMAN(learned_bytes));
	return true;
}

static void explain_request(const struct explained *self)
{
	const struct recommendation *rec = self->learned;

	if (!explain_size(self, SIZE_REQUEST))
		return;
	if (rec->request_bytes)
		printf("median of use over time is %s; use is above the request for %s of run time",
		       HUMAN(rec->median_bytes), PERCENT(rec->over_request_permille));
	printf("\n");
}

static void explain_limit(const struct explained *self)
{
	const struct recommendation *rec = self->learned;

	if (!explain_size(self, SIZE_LIMIT))
		return;
	if (rec->limit_bytes)
		printf("peak of %d whole run%s is %s, buffer %s", rec->whole_runs, rec->whole_runs == 1 ? "" : "s",
		       HUMAN(rec->peak_bytes), PERCENT(rec->buffer_permille));
	if (rec->proven_bytes)
		printf("; a run was OOM-killed at %s", HUMAN(rec->proven_bytes));
	printf("\n");
}

static void explain_ephemeral(const struct recommendation *rec)
{
	if (rec->ephemeral_peak_bytes)
		printf("  disk        request %s, limit %s: peak %s\n", HUMAN(rec->ephemeral_request_bytes),
		       HUMAN(rec->ephemeral_limit_bytes), HUMAN(rec->ephemeral_peak_bytes));
	else
		printf("  disk        no use was measured\n");
}

static const struct {
	enum recommendation_flag flag;
	const char *text;
} flag_texts[] = {
	{REC_CACHE_BOUND, "cache-bound: the working set near the limit is page cache, not need"},
	{REC_LEAK, "grows until it ends (leak): a larger limit only delays the OOM kill"},
	{REC_UNSTABLE, "peaks differ widely between runs: not lowered"},
	{REC_NO_LOWER, "not lowered at present"},
	{REC_HARM, "harm was counted: the workload's own value is restored"},
};

/* Prints whose spec applies, and what it says about the mode. */
static void explain_spec(const struct profile *profile, const struct profile *decided)
{
	const struct profile_spec *spec = decided ? decided->spec : &profile_spec_none;

	if (decided && decided != profile)
		printf("  spec        of profile %s, whose workloadRef names this workload%s\n", decided->name,
		       profile_has_more_than_cap(profile) ? "; this spec is not applied" : "");
	if (spec->invalid) {
		printf("  spec        not applied, and the mode is at most %s until it is corrected: ", spec->mode_cap);
		plain_print(spec->invalid, stdout);
		printf("\n");
	} else if (spec->mode_cap[0]) {
		printf("  mode        at most %s: spec.modeCap, a person's word (`undo --release` takes back an "
		       "undo)\n",
		       spec->mode_cap);
	}
}

static void explain_recommendation(const struct knowledge *knowledge, const struct known *known)
{
	const struct profile *profile = known->profile;
	const struct recommendation *rec = &profile->parent;
	struct explained explained = {.learned = rec};

	explained.sizes = known_sizes(knowledge, known, rec, explained.by);
	explain_request(&explained);
	explain_limit(&explained);
	explain_ephemeral(rec);
	printf("  confidence  %s: %d run%s, %d of them whole, %d OOM-killed\n", confidence_names[rec->confidence],
	       rec->runs, rec->runs == 1 ? "" : "s", rec->whole_runs, rec->oom_kills);
	for (size_t i = 0; i < ARRAY_LEN(flag_texts); i++)
		if (rec->flags & flag_texts[i].flag)
			printf("  note        %s\n", flag_texts[i].text);
	explain_spec(profile, known_decided(knowledge, known));
	for (size_t i = 0; i < profile->n_reasons; i++) {
		printf("  %-11s ", i ? "" : "because");
		plain_print(profile->reasons[i], stdout);
		printf("\n");
	}
	for (size_t i = 0; i < profile->n_variants; i++) {
		enum size_by by[2];
		const struct recommendation v = known_sizes(knowledge, known, &profile->variants[i], by);

		printf("  variant     %s: request %s, limit %s (%d whole runs)\n", PLAIN(v.variant),
		       HUMAN(v.request_bytes), HUMAN(v.limit_bytes), v.whole_runs);
	}
}

/* How a run ended, and the kinds of harm; the figures of harm are in the columns. */
static void add_outcome(struct table *table, const struct history *history, const struct run *run)
{
	static const char *const by[] = {"", " (duration)", " (activity)"};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KIB);
	char words[SLOWER_TEXT_BYTES];

	strbuf_addf(&text, "%s%s%s", outcome_names[run->outcome],
		    run->outcome == OUTCOME_COMPLETED && !run->is_whole ? ", not seen whole" : "",
		    run->is_cache_bound ? ", cache-bound" : "");
	for (int i = 0; i < HARM_COUNT_; i++)
		if (run->harm & 1U << i)
			strbuf_addf(&text, ", harm: %s%s", harm_names[i],
				    i == HARM_SLOWER ? by[slower_tell(history, run, words)] : "");
	table_add(table, strbuf_text(&text));
}

static void add_run(struct table *table, const struct history *history, const struct run *run)
{
	/* merged from the quantiles of several days, so not exact */
	bool is_about = run->median_bytes && !run->is_quantile_exact;
	char start[TIME_TEXT_BYTES], duration[TIME_TEXT_BYTES];

	table_add(table, time_render(run->start_ms - run->start_ms % TIME_SECOND_MS, start));
	table_add(table, run->name);
	table_add(table, duration_render(run->duration_ms - run->duration_ms % TIME_SECOND_MS, duration));
	table_addf(table, run->attempts > 1 ? "%d, %d attempts" : "%d", run->ranks, run->attempts);
	table_add_bytes(table, run->request_bytes);
	table_add_bytes(table, run->limit_bytes);
	table_addf(table, "%s%s", is_about ? "~" : "", run->median_bytes ? HUMAN(run->median_bytes) : "");
	table_add_bytes(table, run->peak_rss_bytes);
	table_add_bytes(table, run->peak_bytes);
	table_add(table, run->activity_permille >= 0 ? PERCENT(run->activity_permille) : "");
	add_outcome(table, history, run);
}

static int explain_runs(const struct history *history)
{
	struct table table;

	printf("  runs%s\n", history->aggregate.runs > (int64_t)history->runs.n ? " (the last ones)" : "");
	table_init(&table, "START,RUN,>DURATION,>RANKS,>REQUEST,>LIMIT,>MEDIAN,>RSS PEAK,>PEAK,>ACTIVE,OUTCOME");
	for (size_t i = 0; i < history->runs.n; i++)
		add_run(&table, history, &history->runs.items[i]);
	return table_print(&table, stdout, 4);
}

enum { SHAPE_PARTS = 8 };

/* Shows whether use was flat, rising or had a spike: the greatest mean of each eighth of the newest run with a
 * curve. */
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
	int r = changes_find(known, 1, &changes);

	if (!r && changes.items.n) {
		printf("  changed pods\n");
		r = changes_print(&changes, false, stdout, 4);
	}
	vec_release(&changes.items);
	return r;
}

static int explain_known(const struct knowledge *knowledge, const struct known *known)
{
	known_print(known, stdout);
	printf("\n");
	if (known->profile) {
		printf("  profile     %s, revision %lld\n", known->profile->name, (long long)known->profile->revision);
		explain_recommendation(knowledge, known);
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
	int code = question_load(args, &knowledge);

	for (size_t i = 0; i < knowledge.items.n && !code; i++) {
		printf("%s", i ? "\n" : "");
		if (explain_known(&knowledge, &knowledge.items.items[i]))
			code = EXIT_DEPENDENCY;
	}
	return code;
}

static const struct cli_option explain_options[] = {
	KNOWLEDGE_OPTIONS,
	{.name = NULL},
};

const struct cli_command explain_command = {
	.name = "explain",
	.operands = "KIND/NAME",
	.help = "Explain each number of a workload's profile: runs and rule",
	.example = "-n ml-team Job/resnet-train",
	.options = explain_options,
	.run = explain_run,
};
