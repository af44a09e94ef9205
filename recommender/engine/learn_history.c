/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/learn.h"

#include "base/timefmt.h"

#include <errno.h>

static bool overlap(const struct run *a, const struct run *b)
{
	return a->start_ms < b->start_ms + MAX(b->duration_ms, 1) && b->start_ms < a->start_ms + MAX(a->duration_ms, 1);
}

/* The run as it is known: by uid, else the one of the same name at the same time. A start that was only estimated, when
 * the source could not tell it, made another uid of the same run. */
static const struct run *find_run(const struct history *history, const struct run *run)
{
	for (size_t i = 0; i < history->runs.n; i++)
		if (streq(history->runs.items[i].uid, run->uid))
			return &history->runs.items[i];
	for (size_t i = 0; i < history->runs.n; i++)
		if (streq(history->runs.items[i].name, run->name) && overlap(&history->runs.items[i], run))
			return &history->runs.items[i];
	return NULL;
}

/* Is what is known better than what was found now? A partial answer must not replace a whole one. */
static bool is_better(const struct run *known, const struct run *found)
{
	if (known->is_whole != found->is_whole)
		return known->is_whole;
	return known->outcome == found->outcome && known->samples > found->samples;
}

static bool is_same(const struct run *a, const struct run *b)
{
	bool same = streq(a->uid, b->uid) && streq(a->name, b->name) && streq(a->variant, b->variant) &&
		    streq(a->source, b->source) && a->n_killed_limits == b->n_killed_limits;

	same &= a->attempts == b->attempts && a->ranks == b->ranks && a->world_size == b->world_size;
	same &= a->start_ms == b->start_ms && a->duration_ms == b->duration_ms;
	same &= a->accelerators_milli == b->accelerators_milli && a->request_bytes == b->request_bytes &&
		a->limit_bytes == b->limit_bytes && a->chosen_by == b->chosen_by;
	same &= a->peak_bytes == b->peak_bytes && a->peak_rss_bytes == b->peak_rss_bytes &&
		a->peak_active_file_bytes == b->peak_active_file_bytes && a->median_bytes == b->median_bytes &&
		a->p95_bytes == b->p95_bytes && a->min_rank_peak_bytes == b->min_rank_peak_bytes &&
		a->peak_ephemeral_bytes == b->peak_ephemeral_bytes;
	same &= a->outcome == b->outcome && a->is_whole == b->is_whole && a->is_cache_bound == b->is_cache_bound &&
		a->is_quantile_exact == b->is_quantile_exact && a->samples == b->samples;
	for (int i = 0; same && i < a->n_killed_limits; i++)
		same = a->killed_limits[i] == b->killed_limits[i];
	return same;
}

static int add_aliases(struct history *history, const struct run_summary *summary, bool *ret_changed)
{
	size_t before = history->n_aliases;
	int r = 0;

	for (size_t i = 0; i < summary->identity.n_keys && !r; i++)
		r = history_add_alias(history, summary->identity.keys[i].text);
	*ret_changed |= history->n_aliases != before;
	return r;
}

int learn_history_run(struct history *history, const struct run_summary *summary, bool *ret_changed, struct err *err)
{
	const struct run *known = find_run(history, &summary->run);
	bool was_whole = known && known->is_whole;
	struct run run = summary->run;
	int r;

	if (known)
		memcpy(run.uid, known->uid, sizeof(run.uid));
	if (known && (is_same(known, &run) || is_better(known, &run)))
		return 0;
	if (!known && history_has_dropped(history, &run))
		return 0; /* one of those that fell out of the list */
	r = history_add_run(history, &run);
	r = r ? r : add_aliases(history, summary, ret_changed);
	/* A run is whole once and for ever, so its use is added once, however often it is read. */
	if (!r && run.is_whole && !was_whole)
		r = sketch_merge(&history->usage, &summary->usage);
	*ret_changed = true;
	return r ? err_set(err, r, "no memory left for the history %s", history->name) : 0;
}

static int day_of(int64_t time_ms)
{
	return (int)(time_ms / TIME_DAY_MS);
}

static struct history_day *day_put(struct history *history, int day)
{
	size_t at = 0;

	while (at < history->days.n && history->days.items[at].day < day)
		at++;
	if (at < history->days.n && history->days.items[at].day == day)
		return &history->days.items[at];
	if (vec_push(&history->days, ((struct history_day){.day = day, .mode = -1})))
		return NULL;
	memmove(&history->days.items[at + 1], &history->days.items[at],
		(history->days.n - 1 - at) * sizeof(*history->days.items));
	history->days.items[at] = (struct history_day){.day = day, .mode = -1};
	return &history->days.items[at];
}

/* Days with runs that fell out of the list keep their counts; all later ones are counted from the list. */
int learn_history_days(struct history *history)
{
	int first = history->dropped_until_ms ? day_of(history->dropped_until_ms) + 1 : 0;
	size_t kept = 0, drop;

	while (kept < history->days.n && history->days.items[kept].day < first)
		kept++;
	history->days.n = kept;
	for (size_t i = 0; i < history->runs.n; i++) {
		const struct run *run = &history->runs.items[i];
		struct history_day *day;

		if (day_of(run->start_ms) < first)
			continue;
		day = day_put(history, day_of(run->start_ms));
		if (!day)
			return -ENOMEM;
		day->runs++;
		day->oom_kills += run->n_killed_limits > 0 || run->outcome == OUTCOME_OOM_KILLED;
		day->evictions += run->outcome == OUTCOME_EVICTED_MEMORY || run->outcome == OUTCOME_EVICTED_EPHEMERAL;
	}
	if (history->days.n <= LIMIT_HISTORY_DAYS)
		return 0;
	drop = history->days.n - LIMIT_HISTORY_DAYS;
	memmove(history->days.items, history->days.items + drop, LIMIT_HISTORY_DAYS * sizeof(*history->days.items));
	history->days.n = LIMIT_HISTORY_DAYS;
	return 0;
}
