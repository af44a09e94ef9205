/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figures.h"
#include "report/report_commands.h"
#include "report/table.h"

#include "base/timefmt.h"
#include "model/identity.h"

#include <stdlib.h>

/* The operand as the keys of the model have it: the name stemmed, "Job/resnet-train-20261101" -> "Job/resnet-train". */
static void wanted_key(const char *operand, char *ret, size_t size)
{
	const char *slash = strchr(operand, '/');
	char stem[IDENTITY_KEY_BYTES];

	identity_stem(slash ? slash + 1 : operand, stem, sizeof(stem));
	if (slash)
		snprintf(ret, size, "%.*s/%s", (int)(slash - operand), operand, stem);
	else
		snprintf(ret, size, "%s", stem);
}

/* "Job/resnet-train" matches itself, "resnet-train" any kind, "job/..." in any case. */
static bool key_matches(const char *key, const char *wanted)
{
	const char *slash = strchr(key, '/');

	return strcasecmp(key, wanted) == 0 || (!strchr(wanted, '/') && slash && strcmp(slash + 1, wanted) == 0);
}

static bool known_matches(const struct known *known, const char *operand, const char *wanted)
{
	const char *const *aliases = known->profile ? known->profile->aliases
						    : (const char *const *)known->history->aliases;
	size_t n = known->profile ? known->profile->n_aliases : known->history->n_aliases;

	if (key_matches(known_workload(known), wanted) || key_matches(known_workload(known), operand))
		return true;
	for (size_t i = 0; i < n; i++)
		if (key_matches(aliases[i], wanted) || key_matches(aliases[i], operand))
			return true;
	return false;
}

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

	explain_request(rec, &profile->spec);
	explain_limit(rec, &profile->spec);
	explain_ephemeral(rec);
	printf("  confidence  %s: %d run%s, %d of them whole, %d OOM-killed\n", confidence_names[rec->confidence],
	       rec->runs, rec->runs == 1 ? "" : "s", rec->whole_runs, rec->oom_kills);
	for (size_t i = 0; i < ARRAY_LEN(flag_texts); i++)
		if (rec->flags & flag_texts[i].flag)
			printf("  note        %s\n", flag_texts[i].text);
	for (size_t i = 0; i < profile->n_reasons; i++)
		printf("  %-11s %s\n", i ? "" : "because", profile->reasons[i]);
	for (size_t i = 0; i < profile->n_variants; i++) {
		const struct recommendation *v = &profile->variants[i];
		char request[QUANTITY_TEXT_BYTES], limit[QUANTITY_TEXT_BYTES];

		printf("  variant     %s: request %s, limit %s (%d whole runs)\n", v->variant,
		       quantity_render_human(v->request_bytes, request), quantity_render_human(v->limit_bytes, limit),
		       v->whole_runs);
	}
}

static void add_run(struct table *table, const struct run *run)
{
	char start[TIME_TEXT_BYTES], duration[TIME_TEXT_BYTES], ranks[32], sizes[5][QUANTITY_TEXT_BYTES], outcome[64];
	const char *cells[] = {start,	 run->name, duration, ranks,	sizes[0],
			       sizes[1], sizes[2],  sizes[3], sizes[4], outcome};
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
	table_add(table, cells);
}

static int explain_runs(const struct history *history)
{
	static const char *const heads[] = {"START",  "RUN",	 ">DURATION", ">RANKS", ">REQUEST",
					    ">LIMIT", ">MEDIAN", ">RSS PEAK", ">PEAK",	"OUTCOME"};
	struct table table;
	int r;

	printf("  runs%s\n", history->aggregate.runs > (int64_t)history->runs.n ? " (the last ones)" : "");
	table_init(&table, heads, ARRAY_LEN(heads));
	for (size_t i = 0; i < history->runs.n; i++)
		add_run(&table, &history->runs.items[i]);
	r = table_print(&table, stdout, 4);
	table_release(&table);
	return r;
}

static int explain_known(const struct known *known)
{
	printf("%s  %s", known_namespace(known), known_workload(known));
	if (known_role(known)[0])
		printf("  role %s", known_role(known));
	printf("  container %s\n", known_container(known));
	if (known->profile) {
		printf("  profile     %s, revision %lld\n", known->profile->name, (long long)known->profile->revision);
		explain_recommendation(known->profile);
	}
	return known->history ? explain_runs(known->history) : 0;
}

static int explain_run(const struct cli_args *args)
{
	CLEANUP(knowledge_release) struct knowledge knowledge = KNOWLEDGE_INIT;
	const char *namespace_name = cli_get(args, "namespace"), *operand = args->n_operands ? args->operands[0] : NULL;
	char wanted[2 * IDENTITY_KEY_BYTES];
	size_t found = 0;
	int code;

	if (args->n_operands != 1)
		return cli_usage_error("memtamer-recommender explain",
				       "expected one KIND/NAME, as in Job/resnet-train");
	wanted_key(operand, wanted, sizeof(wanted));
	code = knowledge_load("memtamer-recommender explain", args, &knowledge);
	if (code)
		return code;
	for (size_t i = 0; i < knowledge.items.n; i++) {
		const struct known *known = &knowledge.items.items[i];

		if ((namespace_name && !streq(namespace_name, known_namespace(known))) ||
		    !known_matches(known, operand, wanted))
			continue;
		if (found++)
			printf("\n");
		if (explain_known(known))
			return EXIT_DEPENDENCY;
	}
	if (found)
		return EXIT_CLEAN;
	fprintf(stderr, "memtamer-recommender explain: nothing is known of %s%s%s; `report` lists what is\n", operand,
		namespace_name ? " in namespace " : "", namespace_name ? namespace_name : "");
	return EXIT_USAGE;
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
