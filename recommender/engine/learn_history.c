/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/learn.h"

#include "engine/learn_merge.h"

#include <errno.h>

/* Finds the run by uid, else by name and time. The uid may differ if the start was only estimated because the source
 * did not know it, or if the pods of the first attempt are not reported any more. */
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

static int add_aliases(struct history *history, const struct found_run *found, bool *ret_changed)
{
	size_t before = history->n_aliases;
	int r = 0;

	for (size_t i = 0; i < found->identity.n_keys && !r; i++)
		r = history_add_alias(history, found->identity.keys[i].text);
	*ret_changed |= history->n_aliases != before;
	return r;
}

/* The run dropped out of the list, or it is one of too many active ones. It is not known which of its harm was reported
 * before, so the harm counts as new only if the run also raises a value of the history. */
static int learn_left_out(struct history *history, const struct run *run, const struct learned_news *news,
			  bool *ret_changed, struct learned_news *ret_news)
{
	if (!history_raise_left_out(history, run))
		return 0;
	*ret_news = *news;
	*ret_changed = true;
	return 0;
}

int learn_history_run(const struct config *config, struct history *history, const struct found_run *found,
		      bool *ret_changed, struct learned_news *ret_news, struct err *err)
{
	const struct run *known = learn_history_find(history, &found->run);
	struct run run = known ? learn_merge(known, found) : found->run;
	struct learned_news news;
	int r;

	*ret_news = (struct learned_news){0};
	news = learn_harm(config, history, found, &run);
	run.harm |= news.harm;
	if (known && run_same(known, &run))
		return 0;
	if (!known && history_leaves_out(history, &run))
		return learn_left_out(history, &run, &news, ret_changed, ret_news);
	news.harm = (uint8_t)(run.harm & ~(known ? known->harm : 0));
	*ret_news = news;
	r = history_add_run(history, &run);
	r = r ? r : add_aliases(history, found, ret_changed);
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
	run_take_part(&with_curve, run, RUN_PART_CURVE);
	*ret_changed = true;
	return history_add_run(history, &with_curve)
		       ? err_set(err, -ENOMEM, "no memory left for the history %s", history->name)
		       : 0;
}

/* Runs that are still running were found and last until now. */
bool learn_history_settle(struct history *history, int64_t before_ms, int64_t lost_before_ms)
{
	bool has_changed = false;

	for (size_t i = 0; i < history->runs.n; i++) {
		struct run *run = &history->runs.items[i];
		int64_t seen_ms = run->start_ms + run->duration_ms;
		bool is_gone = seen_ms < lost_before_ms || (learn_is_watched(run) && seen_ms < before_ms);

		if (run->outcome != OUTCOME_RUNNING || !is_gone)
			continue;
		run->outcome = OUTCOME_UNKNOWN;
		has_changed = true;
	}
	return has_changed;
}
