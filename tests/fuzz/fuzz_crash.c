/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are a saved answer of triage, and any a log of the run after it: the crash is refused with a place, or
 * compared, and the answer is bounded and JSON that can be read back. The log stands behind the first NUL byte. */
#include "base/json.h"
#include "triage/verify.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void compare(const struct crash *crash, const char *log, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES), text = json;
	CLEANUP(strbuf_release) struct strbuf markdown = json;
	CLEANUP(json_putp) struct json_object *answer = NULL;
	struct triage *triage = malloc(sizeof(*triage));
	struct verification verification;

	require(triage && triage_init(triage) == 0);
	require(facts_read_bytes(&triage->facts, "run.log", INPUT_LOG, log, n) == 0);
	triage_decide(triage);
	triage->crash = crash;
	verify_init(&verification, triage);
	require(verification.why[0] && verification.lever < (int)crash->n_levers);
	require(verify_json(&verification, &json) == 0 && verify_text(&verification, &text) == 0);
	require(verify_markdown(&verification, &markdown) == 0);
	require(json_parse(strbuf_text(&json), json.len, 16, &answer, NULL) == 0);
	verify_release(&verification);
	triage_release(triage);
	free(triage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t n = strnlen(text, size), rest = n < size ? n + 1 : n;
	struct err err = ERR_INIT;
	struct crash crash;
	int r = crash_read("crash.json", text, n, &crash, &err);

	require(!r || (err.msg[0] && strstarts(err.where, "crash.json:")));
	if (!r)
		compare(&crash, text + rest, size - rest);
	return 0;
}
