/* SPDX-License-Identifier: Apache-2.0 */
/* Which failure ended the run: programs catch some of them and go on, and some come when the run is over. */
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

/* A launcher's report of the end of a child. */
static bool is_reported_after(const struct facts *facts, const struct fact *fact)
{
	return is_after(facts, fact, SIGNAL_EXCEPTION, true) || is_after(facts, fact, SIGNAL_CHILD_KILLED, false);
}

static bool is_well_after(const struct facts *facts, const struct fact *fact)
{
	return is_after(facts, fact, SIGNAL_DONE, false) || is_after(facts, fact, SIGNAL_EXIT_ZERO, false);
}

/* A program that goes on for two steps has caught the error; one step is enough where it says so, or ends well. */
bool rules_is_recovered(const struct facts *facts, const struct fact *fact)
{
	uint64_t n = facts_progress_since(facts, fact);
	bool is_said = fact->reading.is_caught || is_after(facts, fact, SIGNAL_RETRY, false);
	bool is_well = is_well_after(facts, fact);

	if (fact->reading.is_taken_back)
		return true;
	if (is_reported_after(facts, fact))
		return false;
	/* A search for the largest batch meets a failure on purpose. */
	if (is_after(facts, fact, SIGNAL_RETRY, true))
		return true;
	return n >= 2 || (n && (is_said || is_well)) ||
	       (is_said && (is_well || is_after(facts, fact, SIGNAL_SERVING, false)));
}

bool rules_is_survived(const struct facts *facts, const struct fact *fact)
{
	return facts_progress_since(facts, fact) && is_well_after(facts, fact) && !is_reported_after(facts, fact);
}

static bool is_deadly(const struct facts *facts, const struct fact *fact)
{
	return !rules_is_recovered(facts, fact);
}

const struct fact *rules_find_deadly(const struct facts *facts)
{
	return facts_first_that(facts, SIGNAL_GPU_OOM, is_deadly);
}

static bool is_not_survived(const struct facts *facts, const struct fact *fact)
{
	return !rules_is_survived(facts, fact);
}

const struct fact *rules_find_refused(const struct facts *facts)
{
	return facts_first_that(facts, SIGNAL_REFUSED, is_not_survived);
}

static bool is_not_taken_back(const struct facts *facts, const struct fact *fact)
{
	(void)facts;
	return !fact->reading.is_taken_back;
}

bool rule_gpu_recovered(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first_that(facts, SIGNAL_GPU_OOM, is_not_taken_back);
	if (!ret->fact || rules_find_deadly(facts))
		return false;
	ret->figures = ret->fact->reading.figures;
	return true;
}

bool rule_refused_recovered(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_REFUSED);
	if (!ret->fact || rules_find_refused(facts))
		return false;
	ret->figures = ret->fact->reading.figures;
	return true;
}

/* Words prove less than an exception: the run need not say that it ended well, if it went on. */
static bool is_deadly_error(const struct facts *facts, const struct fact *fact)
{
	return !rules_is_survived(facts, fact) &&
	       (fact->reading.is_exact || (facts_progress_since(facts, fact) < 2 && !is_well_after(facts, fact)));
}

bool rule_memory_error(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first_that(facts, SIGNAL_MEMORY_ERROR, is_deadly_error);
	return ret->fact != NULL;
}

/* Whether the run had come to its last step, or said that it is done, before the fact. */
static bool is_at_end(const struct facts *facts, const struct fact *fact)
{
	const struct fact *done = facts_first(facts, SIGNAL_DONE);

	if (done && done->source == fact->source && done->order < fact->order)
		return true;
	for (size_t i = 0; i < facts->positions.n; i++) {
		const struct position *position = &facts->positions.items[i];

		if (position->source == fact->source && position->furthest.step > 0 &&
		    position->furthest.step == position->furthest.n_steps && position->furthest.number < fact->number)
			return true;
	}
	return false;
}

bool rule_killed_at_end(const struct facts *facts, struct verdict *ret)
{
	static const enum signal_id kills[] = {SIGNAL_WORKER_KILLED, SIGNAL_CHILD_KILLED};

	for (size_t i = 0; i < ARRAY_LEN(kills); i++) {
		const struct fact *first = facts_first(facts, kills[i]), *last = facts_last(facts, kills[i]);

		if (first && (!is_at_end(facts, first) || !is_well_after(facts, last)))
			return false;
		if (first && (!ret->fact || first->order < ret->fact->order))
			ret->fact = first;
	}
	return ret->fact != NULL;
}

bool rule_no_failure(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_NO_FAILURE);
	return ret->fact && (facts_progress_since(facts, ret->fact) >= 2 || is_well_after(facts, ret->fact));
}
