/* SPDX-License-Identifier: Apache-2.0 */
/* history_command: `history` prints what memtamer changed, and what runs asked for and used. */
#include "report/changes.h"
#include "report/output.h"
#include "report/question.h"
#include "report/report_commands.h"

#include "base/str.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>

#define HISTORY_BYTES (GIB)

static int print_object(const struct cli_args *args, const struct changes *changes, const struct ended_runs *runs)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(HISTORY_BYTES);

	if (changes_render_json(changes, runs, time_now_ms(), &buf))
		return buf.status;
	return output_print_object(args, &buf);
}

/* Whether the store is a file. Its recommender does not watch pods, whose annotations say what was changed. */
static bool is_file(const struct cli_args *args, const struct config *config)
{
	if (cli_get(args, "store"))
		return true;
	return cli_get(args, "config") && !cli_get(args, "kubeconfig") && !cli_get(args, "context") &&
	       config->store.kind == STORE_FILE;
}

static void print_none(const struct cli_args *args, const struct knowledge *knowledge)
{
	printf("No changes recorded%s%s\n", knowledge_where(knowledge, (char[KNOWN_WHERE_BYTES]){0}),
	       is_file(args, knowledge->config)
		       ? ": a recommender whose store is a file (store.kind) does not watch pods"
		       : "");
}

static int print_table(const struct cli_args *args, const struct knowledge *knowledge, const struct changes *changes)
{
	int r = changes_print(changes, knowledge, output_is_wide(args), stdout);

	printf("\nThe last %d changes of each workload, role and container are kept, fewer where a history is too "
	       "large.\n",
	       LIMIT_HISTORY_DECISIONS);
	return r;
}

static int print_text(const struct cli_args *args, const struct knowledge *knowledge, const struct changes *changes,
		      const struct ended_runs *runs)
{
	int r = 0;

	if (changes->items.n)
		r = print_table(args, knowledge, changes);
	else
		print_none(args, knowledge);
	if (!r && runs->items.n) {
		printf("\nRuns:\n");
		r = ended_runs_print(runs, knowledge, output_is_wide(args), stdout);
		printf("\nASKED: memory limit. USED: peak, without page cache where that filled the limit.\n"
		       "NEXT TIME: limit recommended in the end (next run: `explain`).%s\n",
		       output_is_wide(args) ? "" : " All columns: -o wide.");
	}
	return r;
}

static int history_run(const struct cli_args *args)
{
	CLEANUP(knowledge_release) struct knowledge knowledge = KNOWLEDGE_INIT;
	struct changes changes = {.items = VEC_INIT};
	struct ended_runs runs = {.items = VEC_INIT};
	int code = question_load(args, &knowledge), r;

	if (code)
		return code;
	r = changes_find(knowledge.items.items, knowledge.items.n, &changes);
	r = r ? r : ended_runs_find(&knowledge, &runs);
	if (!r)
		r = output_is_object(args) ? print_object(args, &changes, &runs)
					   : print_text(args, &knowledge, &changes, &runs);
	vec_release(&changes.items);
	vec_release(&runs.items);
	if (r)
		return cli_fail(args, &(struct err){.msg = "out of memory"}, EXIT_DEPENDENCY);
	return knowledge.n_bad ? EXIT_FINDINGS : EXIT_CLEAN;
}

static const struct cli_option history_options[] = {
	KNOWLEDGE_OPTIONS,
	OUTPUT_OPTION("table|wide|json|yaml", "table"),
	{.name = NULL},
};

const struct cli_command history_command = {
	.name = "history",
	.operands = "[KIND/NAME]",
	.help = "List the changes that were made to pods, and what runs asked for and used",
	.example = "-n ml-team Job/resnet-train",
	.options = history_options,
	.run = history_run,
};
