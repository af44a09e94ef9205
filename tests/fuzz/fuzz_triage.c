/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are a log or the settings of a node: triage decides, quotes only lines that exist, and prints JSON in
 * bounded space. */
#include "triage/triage.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct triage *triage = malloc(sizeof(*triage));
	struct strbuf json = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES), text = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES);

	if (!triage || triage_init(triage))
		abort();
	if (facts_read_bytes(&triage->facts, "fuzz-rank3.log", (enum input)(size % (INPUT_NODE + 1)),
			     (const char *)data, size))
		abort();
	triage_decide(triage);
	if (!triage->verdict.rule || !triage->verdict.why[0] || triage->facts.items.n > LIMIT_TRIAGE_FACTS)
		abort();
	for (size_t i = 0; i < triage->n_evidence; i++)
		if (!triage->evidence[i]->number ||
		    triage->evidence[i]->number > triage->facts.sources.items[0].n_lines + 1)
			abort();
	if (triage_json(triage, &json) || triage_text(triage, &text))
		abort();
	strbuf_release(&json);
	strbuf_release(&text);
	triage_release(triage);
	free(triage);
	return 0;
}
