/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about reasons that somebody states in words: runtimes, schedulers, the program itself. */
#include "triage/rules.h"

#include <stdio.h>

/* The first fact, unless an ordinary error comes before it. */
static bool take_first(const struct facts *facts, struct verdict *ret, enum signal_id signal)
{
	ret->fact = facts_first(facts, signal);
	return ret->fact && !rules_has_error_before(facts, ret->fact);
}

/* The nanny starts a new worker, and the run may go on. */
bool rule_dask(const struct facts *facts, struct verdict *ret)
{
	const struct fact *done = facts_last(facts, SIGNAL_DONE);

	ret->fact = facts_first(facts, SIGNAL_DASK);
	return ret->fact && !(done && done->order > facts_last(facts, SIGNAL_DASK)->order);
}

bool rule_worker_lost(const struct facts *facts, struct verdict *ret)
{
	return take_first(facts, ret, SIGNAL_WORKER_LOST);
}
