/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/learn.h"

#include "engine/learn_merge.h"

#include <errno.h>

/* The run as it is known: by uid, else by name and time. A start that was only estimated, when the source could not
 * tell it, made another uid of the same run; and so did a first attempt whose pods nobody tells of any more. */
const struct run *learn_history_find(const struct history *history, const struct run *run)
{
	for (size_t i = 0; i < history->runs.n; i++)
		if (streq(history->runs.items[i].uid, run->uid))
			return &history->runs.items[i];
	for (size_t i = 0; i < history->runs.n; i++)
		if (learn_is_one_run(&history->runs.items[i], run))
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
		a->limit_bytes == b->limit_bytes && a->chosen_by == b->chosen_by && a->mode == b->mode &&
		a->own_request_bytes == b->own_request_bytes && a->own_limit_bytes == b->own_limit_bytes &&
		a->revision == b->revision && a->pending_ms == b->pending_ms && a->harm == b->harm;
	same &= a->peak_bytes == b->peak_bytes && a->peak_rss_bytes == b->peak_rss_bytes &&
		a->peak_active_file_bytes == b->peak_active_file_bytes && a->median_bytes == b->median_bytes &&
		a->p95_bytes == b->p95_bytes && a->min_rank_peak_bytes == b->min_rank_peak_bytes &&
		a->peak_ephemeral_bytes == b->peak_ephemeral_bytes;
	same &= a->outcome == b->outcome && a->is_whole == b->is_whole && a->is_cache_bound == b->is_cache_bound &&
		a->is_quantile_exact == b->is_quantile_exact && a->samples == b->samples &&
		a->activity_permille == b->activity_permille && a->shape == b->shape;
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

/* One of those that fell out of the list, perhaps while it ran: of more than the list holds that run at once, some do.
 * Nobody knows which of its harm was told before, so that is news only together with something new. */
static int learn_dropped(struct history *history, const struct run *run, const struct learned_news *news,
			 bool *ret_changed, struct learned_news *ret_news)
{
	if (!history_raise_dropped(history, run))
		return 0;
	*ret_news = *news;
	*ret_changed = true;
	return 0;
}

int learn_history_run(const struct config *config, struct history *history, const struct run_summary *summary,
		      bool *ret_changed, struct learned_news *ret_news, struct err *err)
{
	const struct run *known = learn_history_find(history, &summary->run);
	bool was_whole = known && known->is_whole;
	struct run run = summary->run;
	struct learned_news news;
	int r;

	*ret_news = (struct learned_news){0};
	if (known && (learn_is_watched(known) || summary->is_watched))
		run = learn_merge(known, summary);
	else if (known && is_better(known, &run))
		run = *known;
	else if (known)
		memcpy(run.uid, known->uid, sizeof(run.uid));
	learn_keep_activity(&run, &summary->run);
	if (known) {
		learn_keep_activity(&run, known);
		learn_keep_curve(&run, known);
	}
	news = learn_harm(config, history, summary, &run);
	run.harm |= news.harm | (known ? known->harm : 0);
	if (known && is_same(known, &run))
		return 0;
	if (!known && history_has_dropped(history, &run))
		return learn_dropped(history, &run, &news, ret_changed, ret_news);
	news.harm = (uint8_t)(run.harm & ~(known ? known->harm : 0));
	*ret_news = news;
	r = history_add_run(history, &run);
	r = r ? r : add_aliases(history, summary, ret_changed);
	/* A run is whole once and for ever, so its use is added once, however often it is read. */
	if (!r && run.is_whole && !was_whole)
		r = sketch_merge(&history->usage, &summary->usage);
	*ret_changed = true;
	return r ? err_set(err, r, "no memory left for the history %s", history->name) : 0;
}

bool learn_history_wants_curve(const struct history *history, const struct run *run)
{
	const struct run *known = learn_history_find(history, run);
	int n_newer = 0;

	if (!known || !known->is_whole || known->shape != RUN_SHAPE_UNKNOWN)
		return false;
	for (size_t i = 0; i < history->runs.n; i++)
		n_newer += history->runs.items[i].is_whole && history->runs.items[i].start_ms > known->start_ms;
	return n_newer < LIMIT_HISTORY_CURVES;
}

int learn_history_curve(struct history *history, const struct run *run, bool *ret_changed, struct err *err)
{
	const struct run *known = learn_history_find(history, run);
	struct run with_curve;

	if (run->shape == RUN_SHAPE_UNKNOWN || !learn_history_wants_curve(history, run))
		return 0;
	with_curve = *known;
	learn_keep_curve(&with_curve, run);
	*ret_changed = true;
	return history_add_run(history, &with_curve)
		       ? err_set(err, -ENOMEM, "no memory left for the history %s", history->name)
		       : 0;
}

/* A run that still runs was found, and then it lasts until now. */
bool learn_history_settle(struct history *history, int64_t now_ms)
{
	bool has_changed = false;

	for (size_t i = 0; i < history->runs.n; i++) {
		struct run *run = &history->runs.items[i];

		if (run->outcome != OUTCOME_RUNNING || !learn_is_watched(run) ||
		    run->start_ms + run->duration_ms >= now_ms)
			continue;
		run->outcome = OUTCOME_UNKNOWN;
		has_changed = true;
	}
	return has_changed;
}
