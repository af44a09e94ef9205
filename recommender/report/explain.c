/* SPDX-License-Identifier: Apache-2.0 */
/* explain: `explain` prints what will be set in the next run of a workload, and from which runs and by which rules. */
#include "report/changes.h"
#include "report/explain_internal.h"
#include "report/figures.h"
#include "report/output.h"
#include "report/question.h"
#include "report/report_commands.h"

#include "base/plain.h"
#include "base/timefmt.h"
#include "policy/decide.h"

#include <errno.h>

#define EXPLAIN_BYTES	 (GIB)
#define NEXT_RUN_COLUMNS 106 /* of a line of 120 */

/* A recommendation, and the sizes after what people decided. */
struct explained {
	const struct sizing_policy *sizing;
	const struct profile *profile;
	const struct recommendation *learned;
	size_t reasons[2]; /* those that the lines of the sizes have; n_reasons: none */
	struct recommendation sizes;
	enum size_by by[2]; /* indexed by enum size_field */
};

static const char *const field_names[] = {[SIZE_REQUEST] = "request", [SIZE_LIMIT] = "limit"};

/* The part of a reason behind "limit 1600Mi = " or "limit 1600Mi: "; NULL: it is not about this size. */
static const char *reason_part(const char *reason, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(reason, name, n) != 0 || reason[n] != ' ')
		return NULL;
	reason += n + 1;
	reason += strcspn(reason, " :");
	if (strncmp(reason, " = ", 3) == 0)
		return reason + 3;
	return strncmp(reason, ": ", 2) == 0 ? reason + 2 : NULL;
}

/* The last reason of a size led to its value. @return n_reasons: none is about this size. */
static size_t find_reason(const struct profile *profile, int field)
{
	size_t found = profile->n_reasons;

	for (size_t i = 0; i < profile->n_reasons; i++)
		if (reason_part(profile->reasons[i], field_names[field]))
			found = i;
	return found;
}

/* NULL: none is about this size. */
static const char *size_reason(const struct explained *self, int field)
{
	size_t i = self->reasons[field];

	return i < self->profile->n_reasons ? reason_part(self->profile->reasons[i], field_names[field]) : NULL;
}

/* Prints the beginning of the line of a size: "limit 2Gi", and "pinned by spec.pinLimit; learned 712Mi: " if a person
 * decided the size. @return whether there is a size. */
static bool explain_size(const struct explained *self, int field)
{
	bool is_limit = field == SIZE_LIMIT;
	int64_t bytes = is_limit ? self->sizes.limit_bytes : self->sizes.request_bytes;
	int64_t learned_bytes = is_limit ? self->learned->limit_bytes : self->learned->request_bytes;
	enum size_by by = self->by[field];

	printf("  %-11s ", field_names[field]);
	if (!bytes) {
		printf("none: %d of %d complete runs are known\n", self->learned->whole_runs, self->sizing->min_runs);
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
	const char *reason = size_reason(self, SIZE_REQUEST);

	if (!explain_size(self, SIZE_REQUEST))
		return;
	if (reason)
		plain_print(reason, stdout);
	else if (rec->request_bytes && rec->median_bytes)
		printf("median of use over time is %s", HUMAN(rec->median_bytes));
	if (rec->request_bytes && rec->median_bytes)
		printf("; use is above the request for %s%s of run time", rec->over_request_permille ? "about " : "",
		       PERCENT(rec->over_request_permille));
	printf("\n");
}

static void explain_limit(const struct explained *self)
{
	const struct recommendation *rec = self->learned;
	const char *reason = size_reason(self, SIZE_LIMIT);
	bool is_doubled = rec->proven_bytes && !rec->whole_runs && rec->limit_bytes == 2 * rec->proven_bytes;

	if (!explain_size(self, SIZE_LIMIT))
		return;
	if (rec->limit_bytes && !rec->whole_runs)
		printf("no complete run yet%s", reason && !is_doubled ? ": " : "");
	if (reason && !is_doubled)
		plain_print(reason, stdout);
	else if (rec->limit_bytes && rec->whole_runs)
		printf("peak of %d complete run%s is %s, buffer %s", rec->whole_runs, PLURAL(rec->whole_runs),
		       HUMAN(rec->peak_bytes), PERCENT(rec->buffer_permille));
	if (is_doubled)
		printf("; doubled from the killed %s", HUMAN(rec->proven_bytes));
	else if (rec->proven_bytes && !(reason && strstr(reason, "OOM-killed")))
		printf("; a run was OOM-killed at %s", HUMAN(rec->proven_bytes));
	if ((self->by[SIZE_LIMIT] == SIZE_BY_CEILING || self->by[SIZE_LIMIT] == SIZE_BY_SPEC_CEILING) &&
	    self->sizes.limit_bytes < rec->peak_bytes)
		printf("; not set, because a run used %s", HUMAN(rec->peak_bytes));
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

static void explain_gpu(const struct recommendation *rec)
{
	int32_t permille = gpu_memory_permille(&rec->gpu);

	if (permille)
		printf("  gpu memory  at most %s of %s (%s) in use on one GPU%s\n", HUMAN(rec->gpu.used_bytes),
		       HUMAN(rec->gpu.capacity_bytes), PERCENT(permille),
		       rec->is_gpu_full ? ", when the last run failed" : "");
}

static const struct {
	enum recommendation_flag flag;
	const char *text;
} flag_texts[] = {
	{REC_CACHE_BOUND, "cache-bound: much of the working set is page cache, so no limit is lowered or added"},
	{REC_LEAK, "memory grows steadily until the run ends: possible leak; a larger limit only delays the OOM kill"},
	{REC_UNSTABLE, "peaks differ widely between runs"},
	{REC_HARM, "harm was counted: nothing is lowered for ten runs"},
};

/* ", epoch 3, step 1240 of 5000" */
static const char *render_place(const struct diagnosis *diagnosis, char buf[96])
{
	int n = 0;

	buf[0] = '\0';
	if (diagnosis->epoch != DIAGNOSIS_NONE)
		n = snprintf(buf, 96, ", epoch %lld", (long long)diagnosis->epoch);
	if (diagnosis->step != DIAGNOSIS_NONE)
		n += snprintf(buf + n, 96 - (size_t)n, ", step %lld", (long long)diagnosis->step);
	if (diagnosis->step != DIAGNOSIS_NONE && diagnosis->n_steps != DIAGNOSIS_NONE)
		snprintf(buf + n, 96 - (size_t)n, " of %lld", (long long)diagnosis->n_steps);
	return buf;
}

static void explain_since(const struct known *known)
{
	const struct run *later;
	enum diagnosis_since since = known_since(known, &later);
	char when[TIME_TEXT_BYTES];

	if (!since)
		return;
	time_render(later->start_ms - later->start_ms % TIME_SECOND_MS, when);
	printf("  %-11s %s run %s of %s\n", "",
	       since == SINCE_HELD ? "held since" : "completed since:", PLAIN(later->name), when);
}

static void explain_diagnosis(const struct known *known)
{
	const struct diagnosis *diagnosis = known->profile->diagnosis;
	char when[TIME_TEXT_BYTES];

	if (!diagnosis)
		return;
	time_render(diagnosis->time_ms - diagnosis->time_ms % TIME_SECOND_MS, when);
	if (*diagnosis->kind)
		printf("  diagnosis   %s%s%s, confidence %s: run %s, %s%s\n", PLAIN(diagnosis->kind),
		       *diagnosis->cause ? ": " : "", PLAIN(diagnosis->cause), PLAIN(diagnosis->confidence),
		       PLAIN(diagnosis->run), when, render_place(diagnosis, (char[96]){0}));
	if (*diagnosis->evidence)
		printf("  %-11s %s\n", "", PLAIN(diagnosis->evidence));
	explain_since(known);
	if (*diagnosis->variable)
		printf("  allocator   %s=" ALLOCATOR_SETTING "%s\n", diagnosis->variable,
		       streq(diagnosis->helped, DIAGNOSIS_HELPED)	? " helped"
		       : streq(diagnosis->helped, DIAGNOSIS_HELPED_NOT) ? " did not help"
									: ": see check allocator");
}

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
		printf("  mode        capped at %s (spec.modeCap, set by a person)\n", spec->mode_cap);
	}
}

/* Prints the reasons that the lines of the sizes do not have. */
static void explain_other_reasons(const struct explained *self)
{
	const char *head = "because";

	for (size_t i = 0; i < self->profile->n_reasons; i++) {
		if (i == self->reasons[SIZE_REQUEST] || i == self->reasons[SIZE_LIMIT])
			continue;
		printf("  %-11s ", head);
		plain_print(self->profile->reasons[i], stdout);
		printf("\n");
		head = "";
	}
}

static void explain_recommendation(const struct knowledge *knowledge, const struct known *known)
{
	const struct profile *profile = known->profile;
	const struct recommendation *rec = &profile->parent;
	struct explained explained = {.sizing = &knowledge->config->policy.sizing,
				      .profile = profile,
				      .learned = rec,
				      .reasons = {[SIZE_REQUEST] = find_reason(profile, SIZE_REQUEST),
						  [SIZE_LIMIT] = find_reason(profile, SIZE_LIMIT)}};
	const char *kept = figures_not_lowered(knowledge, known);

	explained.sizes = known_sizes(knowledge, known, rec, explained.by);
	explain_request(&explained);
	explain_limit(&explained);
	explain_ephemeral(rec);
	explain_gpu(rec);
	printf("  confidence  %s: %d run%s, %d of them complete, %d OOM-killed\n", confidence_names[rec->confidence],
	       rec->runs, PLURAL(rec->runs), rec->whole_runs, rec->oom_kills);
	for (size_t i = 0; i < ARRAY_LEN(flag_texts); i++)
		if (rec->flags & flag_texts[i].flag)
			printf("  note        %s\n", flag_texts[i].text);
	if (kept)
		printf("  note        will not be lowered: %s\n", kept);
	explain_spec(profile, known_decided(knowledge, known));
	explain_other_reasons(&explained);
	explain_diagnosis(known);
	for (size_t i = 0; i < profile->n_variants; i++) {
		enum size_by by[2];
		const struct recommendation v = known_sizes(knowledge, known, &profile->variants[i], by);

		printf("  variant     %s: request %s, limit %s (%d complete run%s)\n", PLAIN(v.variant),
		       HUMAN(v.request_bytes), HUMAN(v.limit_bytes), v.whole_runs, PLURAL(v.whole_runs));
	}
}

static int explain_changes(const struct known *known, bool is_wide)
{
	struct changes changes = {.items = VEC_INIT};
	int r = changes_find(known, 1, &changes);

	if (!r && changes.items.n) {
		printf("  changed pods%s\n", is_wide ? "" : " (all columns: -o wide)");
		r = changes_print_of_one(&changes, is_wide, stdout, 4);
	}
	vec_release(&changes.items);
	return r;
}

/* A change of the limit has a line of its own where both changes are too long for one. */
static void explain_next(const char *text)
{
	const char *limit = strlen(text) > NEXT_RUN_COLUMNS ? strstr(text, ", limit ") : NULL;

	if (limit)
		printf("\n  next run    %.*s\n              %s\n", (int)(limit - text) + 1, text, limit + 2);
	else
		printf("\n  next run    %s\n", text);
}

static int explain_known(const struct knowledge *knowledge, const struct known *known)
{
	bool is_wide = output_is_wide(knowledge->args);
	struct verdict verdict = VERDICT_INIT;
	int r = explain_verdict(knowledge, known, &verdict);

	if (!r) {
		known_print(known, stdout);
		explain_next(strbuf_text(&verdict.text));
	}
	strbuf_release(&verdict.text);
	if (r)
		return r;
	if (known->profile) {
		printf("  profile     %s, revision %lld\n", known->profile->name, (long long)known->profile->revision);
		explain_recommendation(knowledge, known);
	}
	if (known->history && explain_runs(known->history, is_wide))
		return -ENOMEM;
	if (known->history)
		explain_print_growth(known->history);
	r = explain_changes(known, is_wide);
	if (known->profile)
		explain_manifest(knowledge, known);
	return r;
}

static int print_object(const struct knowledge *knowledge)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(EXPLAIN_BYTES);
	int r = explain_write_json(knowledge, &buf);

	return r ? r : output_print_object(knowledge->args, &buf);
}

static int print_text(const struct knowledge *knowledge)
{
	int r = 0;

	for (size_t i = 0; i < knowledge->items.n && !r; i++) {
		printf("%s", i ? "\n" : "");
		r = explain_known(knowledge, &knowledge->items.items[i]);
	}
	return r;
}

static int explain_run(const struct cli_args *args)
{
	CLEANUP(knowledge_release) struct knowledge knowledge = KNOWLEDGE_INIT;
	int code;

	knowledge.keeps_store = true;
	code = question_load(args, &knowledge);
	if (code)
		return code;
	knowledge_read_shapes(&knowledge);
	if ((output_is_object(args) ? print_object : print_text)(&knowledge))
		return cli_fail(args, &(struct err){.msg = "out of memory"}, EXIT_DEPENDENCY);
	return EXIT_CLEAN;
}

static const struct cli_option explain_options[] = {
	KNOWLEDGE_OPTIONS,
	OUTPUT_OPTION("text|wide|json|yaml", "text"),
	{.name = NULL},
};

const struct cli_command explain_command = {
	.name = "explain",
	.operands = "KIND/NAME",
	.help = "Explain each number of a workload's recommendation: its runs and its rule",
	.example = "-n ml-team Job/resnet-train",
	.options = explain_options,
	.run = explain_run,
};
