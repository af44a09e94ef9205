/* SPDX-License-Identifier: Apache-2.0 */
/* Which failed allocation on a GPU ended the run: programs catch some of them and go on. */
#include "triage/rules.h"

/* Whether the file has such a line behind the fact; of errors and retries only those in their whole form. */
static bool is_after(const struct facts *facts, const struct fact *fact, enum signal_id signal, bool is_exact)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *other = &facts->items.items[i];

		if (other->signal == signal && other->source == fact->source && other->order >= fact->order &&
		    (!is_exact || other->reading.is_exact))
			return true;
	}
	return false;
}

/* A program that goes on for two steps has caught the error; one step is enough where it says so. */
bool rules_is_recovered(const struct facts *facts, const struct fact *fact)
{
	uint64_t n = facts_progress_since(facts, fact);
	bool is_said = fact->reading.is_caught || is_after(facts, fact, SIGNAL_RETRY, false);

	if (is_after(facts, fact, SIGNAL_EXCEPTION, true) || is_after(facts, fact, SIGNAL_CHILD_KILLED, false))
		return false;
	/* A search for the largest batch meets a failure on purpose. */
	if (is_after(facts, fact, SIGNAL_RETRY, true))
		return true;
	return n >= 2 || (n && is_said) ||
	       (is_said && (is_after(facts, fact, SIGNAL_DONE, false) || is_after(facts, fact, SIGNAL_SERVING, false)));
}

const struct fact *rules_find_deadly(const struct facts *facts)
{
	const struct fact *found = NULL;

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_GPU_OOM && (!found || fact->order < found->order) &&
		    !rules_is_recovered(facts, fact))
			found = fact;
	}
	return found;
}

bool rule_gpu_recovered(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_GPU_OOM);
	if (!ret->fact || rules_find_deadly(facts))
		return false;
	ret->figures = ret->fact->reading.figures;
	return true;
}
