/* SPDX-License-Identifier: Apache-2.0 */
/* history: what memtamer changed. */
#include "report/changes.h"
#include "report/question.h"
#include "report/report_commands.h"

#include "base/timefmt.h"
#include "policy/policy.h"

#include <errno.h>
#include <stdio.h>

#define COMMAND	      "memtamer-recommender history"
#define HISTORY_BYTES (GIB)

static void add_text(struct strbuf *buf, const char *key, const char *value)
{
	strbuf_addf(buf, ",\"%s\":", key);
	strbuf_add_json_string(buf, value);
}

static void add_bytes(struct strbuf *buf, const char *key, int64_t bytes)
{
	if (bytes)
		strbuf_addf(buf, ",\"%s\":%lld", key, (long long)bytes);
	else
		strbuf_addf(buf, ",\"%s\":null", key);
}

static void add_change(struct strbuf *buf, const struct change *change)
{
	const struct history_decision *decision = change->decision;
	bool has_mode = decision->mode >= 0 && decision->mode < MODE_COUNT_;
	char when[TIME_TEXT_BYTES];

	strbuf_addf(buf, "{\"time\":\"%s\"", time_render(decision->time_ms, when));
	add_text(buf, "namespace", known_namespace(change->known));
	add_text(buf, "workload", known_workload(change->known));
	add_text(buf, "role", known_role(change->known));
	add_text(buf, "container", known_container(change->known));
	add_text(buf, "owner", decision->owner);
	add_text(buf, "firstPod", decision->pod);
	strbuf_addf(buf, ",\"pods\":%d", decision->pods);
	add_bytes(buf, "requestFrom", decision->request_from_bytes);
	add_bytes(buf, "requestTo", decision->request_to_bytes);
	add_bytes(buf, "limitFrom", decision->limit_from_bytes);
	add_bytes(buf, "limitTo", decision->limit_to_bytes);
	add_bytes(buf, "ephemeralRequestTo", decision->ephemeral_request_to_bytes);
	add_bytes(buf, "ephemeralLimitTo", decision->ephemeral_limit_to_bytes);
	add_text(buf, "rule", decision->rule);
	add_text(buf, "mode", has_mode ? mode_names[decision->mode] : NULL);
	strbuf_addf(buf, ",\"revision\":%lld", (long long)decision->revision);
	add_text(buf, "cap", decision->cap);
	strbuf_addc(buf, '}');
}

static int print_json(const struct changes *changes)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(HISTORY_BYTES);
	char now[TIME_TEXT_BYTES];

	strbuf_addf(&buf,
		    "{\n  \"apiVersion\":\"history.memtamer.io/v1alpha1\",\n  \"kind\":\"ChangeList\",\n"
		    "  \"generated\":\"%s\",\n  \"changes\":[",
		    time_render(time_now_ms(), now));
	for (size_t i = 0; i < changes->items.n; i++) {
		strbuf_adds(&buf, i ? ",\n    " : "\n    ");
		add_change(&buf, &changes->items.items[i]);
	}
	if (strbuf_adds(&buf, "]\n}\n"))
		return buf.status;
	fwrite(strbuf_text(&buf), 1, buf.len, stdout);
	return 0;
}

static int print_table(const struct changes *changes)
{
	int r;

	if (!changes->items.n) {
		printf("No pod is known that memtamer changed.\n");
		return 0;
	}
	r = changes_print(changes, true, stdout, 0);
	printf("\nThe last %d changes of each workload, role and container are kept, fewer where a history grows too "
	       "large.\n",
	       LIMIT_HISTORY_DECISIONS);
	return r;
}

/* What is asked for. `ret_found`: is there such a workload at all? */
static int gather(const struct knowledge *knowledge, const struct question *question, struct changes *ret,
		  bool *ret_found)
{
	int r = 0;

	*ret_found = false;
	for (size_t i = 0; i < knowledge->items.n && !r; i++) {
		const struct known *known = &knowledge->items.items[i];

		if (question->operand
			    ? !question_is_of(question, known)
			    : question->namespace_name && !streq(question->namespace_name, known_namespace(known)))
			continue;
		*ret_found = true;
		r = changes_add(ret, known);
	}
	changes_sort(ret);
	return r;
}

static int show(const struct knowledge *knowledge, const struct question *question, bool is_json)
{
	struct changes changes = {.items = VEC_INIT};
	bool is_found;
	int r = gather(knowledge, question, &changes, &is_found);

	if (!r && question->operand && !is_found) {
		vec_release(&changes.items);
		return question_unknown(question, COMMAND);
	}
	if (!r)
		r = (is_json ? print_json : print_table)(&changes);
	vec_release(&changes.items);
	if (!r)
		return knowledge->n_bad ? EXIT_FINDINGS : EXIT_CLEAN;
	fprintf(stderr, COMMAND ": out of memory\n");
	return EXIT_DEPENDENCY;
}

static int history_run(const struct cli_args *args)
{
	CLEANUP(knowledge_release) struct knowledge knowledge = KNOWLEDGE_INIT;
	struct question question;
	int code;

	if (args->n_operands > 1)
		return cli_usage_error(COMMAND, "expected at most one KIND/NAME, as in Job/resnet-train");
	code = question_load(&question, COMMAND, args, args->n_operands ? args->operands[0] : NULL, &knowledge);
	return code ? code : show(&knowledge, &question, streq(cli_get(args, "output"), "json"));
}

static const struct cli_option history_options[] = {
	KNOWLEDGE_OPTIONS,
	{"output", 'o', CLI_STRING, "table|json", "format", "table"},
	{.name = NULL},
};

const struct cli_command history_command = {
	.name = "history",
	.operands = "[KIND/NAME]",
	.help = "what was changed in pods: when, from what, to what, by which rule",
	.options = history_options,
	.run = history_run,
};
