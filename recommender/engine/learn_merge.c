/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/learn_merge.h"

#include "base/timefmt.h"

#include <string.h>

static int64_t end_of(const struct run *run)
{
	return run->start_ms + run->duration_ms;
}

static bool overlap(const struct run *a, const struct run *b)
{
	return a->start_ms < b->start_ms + MAX(b->duration_ms, 1) && b->start_ms < a->start_ms + MAX(a->duration_ms, 1);
}

bool learn_is_watched(const struct run *run)
{
	return run->chosen_by != CHOSEN_BY_UNKNOWN;
}

bool learn_is_one_run(const struct run *known, const struct run *found)
{
	if (!streq(known->name, found->name))
		return false;
	if (overlap(known, found))
		return true;
	/* It was running when it was last seen; or it failed, and this is its next attempt. Of what the fold sees whole
	 * it is the fold that says so. */
	return (learn_is_watched(known) || learn_is_watched(found)) && known->outcome != OUTCOME_COMPLETED &&
	       found->start_ms >= end_of(known) && found->start_ms - end_of(known) <= FOLD_RETRY_MS;
}

static bool has_use(const struct run *run)
{
	return run->samples > 0 || run->peak_bytes > 0;
}

void learn_keep_activity(struct run *run, const struct run *other)
{
	if (run->activity_permille < 0)
		run->activity_permille = other->activity_permille;
}

void learn_keep_curve(struct run *run, const struct run *other)
{
	run->shape = other->shape;
	run->n_curve = other->n_curve;
	memcpy(run->curve_max, other->curve_max, sizeof(run->curve_max));
	memcpy(run->curve_mean, other->curve_mean, sizeof(run->curve_mean));
}

static bool is_decisive(enum outcome outcome)
{
	return outcome != OUTCOME_RUNNING && outcome != OUTCOME_UNKNOWN;
}

static void keep_use(struct run *run, const struct run *known)
{
	run->median_bytes = known->median_bytes;
	run->p95_bytes = known->p95_bytes;
	run->min_rank_peak_bytes = known->min_rank_peak_bytes;
	run->is_cache_bound = known->is_cache_bound;
	run->is_quantile_exact = known->is_quantile_exact;
	run->samples = known->samples;
	if (known->activity_permille >= 0)
		run->activity_permille = known->activity_permille;
}

static void keep_peaks(struct run *run, const struct run *known)
{
	run->peak_bytes = MAX(run->peak_bytes, known->peak_bytes);
	run->peak_rss_bytes = MAX(run->peak_rss_bytes, known->peak_rss_bytes);
	run->peak_active_file_bytes = MAX(run->peak_active_file_bytes, known->peak_active_file_bytes);
	run->peak_ephemeral_bytes = MAX(run->peak_ephemeral_bytes, known->peak_ephemeral_bytes);
}

static void keep_choice(struct run *run, const struct run *known)
{
	run->chosen_by = known->chosen_by;
	run->mode = known->mode;
	run->revision = known->revision;
	run->own_request_bytes = known->own_request_bytes;
	run->own_limit_bytes = known->own_limit_bytes;
	run->request_bytes = known->request_bytes;
	run->limit_bytes = known->limit_bytes;
}

/* Sources that told of the one or the other. */
static const char *both_sources(const struct run *known, const struct run *found)
{
	static const char *const pairs[][2] = {{"query", "query+pods"}, {"remote-read", "remote-read+pods"}};
	const struct run *used = has_use(found) ? found : known;

	if (!has_use(used))
		return found->source;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		if (strstarts(used->source, pairs[i][0]))
			return learn_is_watched(known) || learn_is_watched(found) ? pairs[i][1] : pairs[i][0];
	return used->source;
}

/* The known one began earlier, with pods that nobody tells of any more: what is found now are its later attempts. */
static void join_attempts(struct run *run, const struct run *known)
{
	int64_t end_ms = end_of(run);

	if (!known->attempts)
		return; /* it only waited for a node */
	if (known->start_ms >= run->start_ms) {
		run->attempts = MAX(run->attempts, known->attempts);
		return;
	}
	run->attempts = run->start_ms >= end_of(known) ? known->attempts + run->attempts
						       : MAX(known->attempts, run->attempts + 1);
	run->start_ms = known->start_ms;
	run->duration_ms = MAX(end_ms, end_of(known)) - run->start_ms;
}

static void join_kills(struct run *run, const struct run *known)
{
	for (int i = 0; i < known->n_killed_limits; i++)
		run_add_killed_limit(run->killed_limits, &run->n_killed_limits, known->killed_limits[i]);
}

/* By pods, an end is an end. Prometheus alone, which finds the run later, knows it less well. */
static void keep_end(struct run *run, const struct run *known)
{
	run->outcome = known->outcome;
	run->duration_ms = known->duration_ms;
	memcpy(run->killed_limits, known->killed_limits, sizeof(run->killed_limits));
	run->n_killed_limits = known->n_killed_limits;
}

/* Who saw more of its pods, or the pods themselves (`is_watched`), knows better what it is. */
static void keep_world(struct run *run, const struct run *known, bool is_watched)
{
	if (*known->variant &&
	    (known->world_size > run->world_size || (is_watched && known->world_size == run->world_size)))
		memcpy(run->variant, known->variant, sizeof(run->variant));
	run->world_size = MAX(run->world_size, known->world_size);
}

/* Whose figures of use are the better ones? A partial answer must not replace a whole one. */
static bool has_better_use(const struct run *known, const struct run_summary *found)
{
	if (!has_use(known) || !has_use(&found->run))
		return has_use(known);
	return known->is_whole ? !found->is_seen : known->samples > found->run.samples;
}

struct run learn_merge(const struct run *known, const struct run_summary *found)
{
	bool is_known_better = has_better_use(known, found);
	bool is_less_told = learn_is_watched(known) && !learn_is_watched(&found->run);
	struct run run = found->run;

	memcpy(run.uid, known->uid, sizeof(run.uid));
	run.source = both_sources(known, &found->run);
	if (is_less_told) {
		keep_choice(&run, known);
		/* Of a later attempt only Prometheus knows. */
		if (is_decisive(known->outcome) && found->run.start_ms <= end_of(known))
			keep_end(&run, known);
	}
	/* It was running at a time before its end: that was seen earlier, and is only told late. */
	if (run.outcome == OUTCOME_RUNNING && is_decisive(known->outcome) && end_of(&found->run) < end_of(known))
		keep_end(&run, known);
	join_kills(&run, known);
	join_attempts(&run, known);
	run.pending_ms = MAX(run.pending_ms, known->pending_ms);
	run.harm |= known->harm;
	keep_world(&run, known, is_less_told);
	if (is_known_better)
		keep_use(&run, known);
	learn_keep_activity(&run, known);
	/* What was seen whole while it ran is whole when it is told that it completed. */
	run.is_whole = run.outcome == OUTCOME_COMPLETED && (is_known_better ? known->is_whole : found->is_seen);
	keep_peaks(&run, known);
	return run;
}
