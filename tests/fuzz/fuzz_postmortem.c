/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON is what an API server answers about pods: the answer is a verdict of the table, and JSON that can be read
 * back. The input is a case of tests/triage/pods. */
#include "postmortem/known_workload.h"
#include "support/cluster_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_output(const struct triage *triage)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES), text = json;
	CLEANUP(json_putp) struct json_object *answer = NULL;

	require(triage->verdict.rule && triage->verdict.why[0] && triage->facts.items.n <= LIMIT_TRIAGE_FACTS);
	require(triage_json(triage, &json) == 0 && triage_text(triage, &text) == 0);
	require(json_parse(strbuf_text(&json), json.len, 32, &answer, NULL) == 0);
}

static void read_case(struct json_object *object, const struct owner *owner)
{
	const struct postmortem_source source = {.fetch = cluster_case_fetch, .context = object};
	struct triage *triage = malloc(sizeof(*triage));
	struct known_workload known;
	struct postmortem postmortem;
	struct err err = ERR_INIT;
	int r;

	require(triage && triage_init(triage) == 0);
	postmortem_init(&postmortem, triage, &source, "ml");
	r = postmortem_read(&postmortem, owner, &err);
	require(!r || err.msg[0]);
	if (!r) {
		require(known_workload_read(&postmortem, NULL, &known) == 0 && known.n <= KNOWN_PROFILES_MAX);
		require(known_workload_read(&postmortem, owner->name, &known) == 0 && known.n <= KNOWN_PROFILES_MAX);
		triage_decide(triage);
		known_workload_apply(&postmortem, &known);
		postmortem_conclude(&postmortem);
		check_output(triage);
	}
	postmortem_release(&postmortem);
	triage_release(triage);
	free(triage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct err err = ERR_INIT;
	struct owner owner;

	if (size > 256 * KIB || json_parse((const char *)data, size, LIMIT_REVIEW_DEPTH, &object, &err))
		return 0;
	if (owner_parse(object_text(object, "ask"), &owner, &err) == 0)
		read_case(object, &owner);
	return 0;
}
