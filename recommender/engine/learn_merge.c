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
	/* The run was running when it was last seen, or it failed and this is the next attempt. For runs that only
	 * Prometheus knows, the fold has joined attempts already. */
	return (learn_is_watched(known) || learn_is_watched(found)) && known->outcome != OUTCOME_COMPLETED &&
	       found->start_ms >= end_of(known) && found->start_ms - end_of(known) <= FOLD_RETRY_MS;
}

static bool has_use(const struct run *run)
{
	return run->samples > 0 || run->peak_bytes > 0;
}

/* Only `known` has what the API server reported. */
static bool is_only_known_watched(const struct run *known, const struct run *found)
{
	return learn_is_watched(known) && !learn_is_watched(found);
}

static bool is_decisive(enum outcome outcome)
{
	return outcome != OUTCOME_RUNNING && outcome != OUTCOME_UNKNOWN;
}

/* The name of the sources of both findings. */
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

/* `known` began earlier, with pods that are not reported any more: the found run consists of later attempts. */
static void join_attempts(struct run *run, const struct run *known)
{
	int64_t end_ms = end_of(run);

	if (!known->attempts)
		return; /* the known run has no attempt, it only waited for a node */
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

/* Keeps the variant of the finding with more pods; with equally many, that of the watch of pods (`is_watched`). */
static void keep_world(struct run *run, const struct run *known, bool is_watched)
{
	if (*known->variant &&
	    (known->world_size > run->world_size || (is_watched && known->world_size == run->world_size)))
		memcpy(run->variant, known->variant, sizeof(run->variant));
	run->world_size = MAX(run->world_size, known->world_size);
}

/* Whether the known figures of use are better. A partial answer must not replace a whole one. */
static bool has_better_use(const struct run *known, const struct found_run *found)
{
	if (!has_use(known) || !has_use(&found->run))
		return has_use(known);
	return known->is_whole ? !found->is_seen : known->samples > found->run.samples;
}

/* Whether the finding describes a time before the known end, but arrived late: so does a closed day, which is read
 * after the minutes that follow it. */
static bool is_from_before_end(const struct run *known, const struct run *found)
{
	return is_decisive(known->outcome) && found->outcome == OUTCOME_RUNNING && end_of(found) < end_of(known);
}

/* Whether the known end was learned with the figures of Prometheus, which know of killed children and of the distance
 * to the limit, and the finding has none: a quick cycle reports the same end again when the pods are deleted. */
static bool knows_less_of_end(const struct run *known, const struct run *found)
{
	return known->outcome == OUTCOME_SUSPECTED_OOM && !has_use(found) && end_of(found) <= end_of(known) &&
	       (found->outcome == OUTCOME_COMPLETED || found->outcome == OUTCOME_FAILED);
}

/* Whether the known end is better: pods reported it, and Prometheus, which finds the run later, knows it less
 * precisely; or the finding is older. A later attempt is known to Prometheus only. */
static bool has_better_end(const struct run *known, const struct run *found)
{
	if (is_from_before_end(known, found) || knows_less_of_end(known, found))
		return true;
	return is_decisive(known->outcome) && is_only_known_watched(known, found) && found->start_ms <= end_of(known);
}

/* Each part of a run comes from the source that knows it better. */
static struct run merge_sources(const struct run *known, const struct found_run *found)
{
	const struct {
		enum run_part part;
		bool is_known_better;
	} precedence[] = {
		{RUN_PART_USE, has_better_use(known, found)},
		{RUN_PART_CHOICE, is_only_known_watched(known, &found->run)},
		{RUN_PART_END, has_better_end(known, &found->run)},
		{RUN_PART_MAXIMA, true},
	};
	struct run run = found->run;

	for (size_t i = 0; i < ARRAY_LEN(precedence); i++)
		if (precedence[i].is_known_better)
			run_take_part(&run, known, precedence[i].part);
	run.source = both_sources(known, &found->run);
	join_kills(&run, known);
	join_attempts(&run, known);
	keep_world(&run, known, is_only_known_watched(known, &found->run));
	/* A run that was observed completely becomes whole when its completion is reported. */
	run.is_whole = run.outcome == OUTCOME_COMPLETED &&
		       (has_better_use(known, found) ? known->is_whole : found->is_seen);
	return run;
}

/* Whether the known run is better than the found one, if both are from the same source. A partial answer must not
 * replace a whole one. */
static bool is_better(const struct run *known, const struct run *found)
{
	if (known->is_whole != found->is_whole)
		return known->is_whole;
	if (is_from_before_end(known, found))
		return true;
	return known->outcome == found->outcome && known->samples > found->samples;
}

static void keep_activity(struct run *run, const struct run *other)
{
	if (run->activity_permille < 0)
		run->activity_permille = other->activity_permille;
}

struct run learn_merge(const struct run *known, const struct found_run *found)
{
	bool has_two_sources = learn_is_watched(known) || found->is_watched;
	struct run run = has_two_sources		 ? merge_sources(known, found)
			 : is_better(known, &found->run) ? *known
							 : found->run;

	keep_activity(&run, &found->run);
	keep_activity(&run, known);
	gpu_memory_raise(&run.gpu, &found->run.gpu);
	gpu_memory_raise(&run.gpu, &known->gpu);
	run_take_part(&run, known, RUN_PART_CURVE);
	memcpy(run.uid, known->uid, sizeof(run.uid));
	run.harm |= known->harm;
	return run;
}
