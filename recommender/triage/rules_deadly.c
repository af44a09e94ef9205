/* SPDX-License-Identifier: Apache-2.0 */
/* Which failed allocation on a GPU ended the run: programs catch some of them and go on. */
#include "triage/rules.h"

/* What the file says behind a fact. */
struct after {
	bool is_failed;	  /* an exception that a launcher reports, a killed child */
	bool has_found;	  /* a search for the largest batch, which meets a failure on purpose */
	bool is_retrying; /* the program says that it goes on */
	bool is_well;	  /* it is done, or a server has started */
};

static struct after look_after(const struct facts *facts, const struct fact *fact)
{
	struct after after = {false};

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *other = &facts->items.items[i];
		enum signal_id signal = other->signal;
		bool is_exact = other->reading.is_exact;

		if (other->source != fact->source || other->order < fact->order)
			continue;
		after.is_failed = after.is_failed || (signal == SIGNAL_EXCEPTION && is_exact) ||
				  signal == SIGNAL_CHILD_KILLED;
		after.has_found = after.has_found || (signal == SIGNAL_RETRY && is_exact);
		after.is_retrying = after.is_retrying || signal == SIGNAL_RETRY;
		after.is_well = after.is_well || signal == SIGNAL_DONE || signal == SIGNAL_SERVING;
	}
	return after;
}

/* A program that goes on for two steps has caught the error; one step is enough where it says so. */
bool rules_is_recovered(const struct facts *facts, const struct fact *fact)
{
	struct after after = look_after(facts, fact);
	bool is_said = fact->reading.is_caught || after.is_retrying;
	uint64_t n;

	if (after.is_failed)
		return false;
	if (after.has_found)
		return true;
	n = facts_progress_since(facts, fact);
	return n >= 2 || (n && is_said) || (is_said && after.is_well);
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
