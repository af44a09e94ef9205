/* SPDX-License-Identifier: Apache-2.0 */
/* size_variant: a history lists LIMIT_HISTORY_RUNS runs, so those of one variant may lack what comes rarely, such as a
 * large run once a week under images that are built every day. Only the aggregate of all runs remembers that. */
#include "policy/size.h"

/* Whether a run near the maximum would have been among the whole runs of the variant, if it had such runs as often as
 * all others: LIKELY_RUNS of them are expected, and none comes with a probability of 5 %. */
static bool would_have_come(const struct history_maximum *maximum, int64_t of_all, int64_t of_variant)
{
	enum { LIKELY_RUNS = 3 };

	return !maximum->bytes || of_variant * maximum->near_runs >= LIKELY_RUNS * of_all;
}

static bool is_known_well(const struct history *history, const struct recommendation *variant)
{
	const struct history_aggregate *all = &history->aggregate;

	return would_have_come(&all->peak, all->whole_runs, variant->whole_runs) &&
	       would_have_come(&all->killed, all->whole_runs, variant->whole_runs);
}

void size_cover_variant(const struct history *history, const struct recommendation *parent, struct recommendation *ret)
{
	const struct history_aggregate *all = &history->aggregate;

	if (parent->limit_bytes > ret->limit_bytes && !is_known_well(history, ret)) {
		ret->limit_bytes = parent->limit_bytes;
		ret->buffer_permille = parent->buffer_permille;
		ret->peak_bytes = MAX(ret->peak_bytes, parent->peak_bytes);
		ret->proven_bytes = MAX(ret->proven_bytes, parent->proven_bytes);
	}
	if (parent->ephemeral_limit_bytes > ret->ephemeral_limit_bytes &&
	    !would_have_come(&all->ephemeral, all->whole_runs, ret->whole_runs)) {
		ret->ephemeral_limit_bytes = parent->ephemeral_limit_bytes;
		ret->ephemeral_peak_bytes = MAX(ret->ephemeral_peak_bytes, parent->ephemeral_peak_bytes);
	}
}
