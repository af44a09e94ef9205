/* SPDX-License-Identifier: Apache-2.0 */
/* Harm of one run, with what only its history and the configuration tell; and which of it is new. */
#include "engine/learn.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>

struct learned_news learn_harm(const struct config *config, const struct history *history,
			       const struct run_summary *summary, const struct run *run)
{
	struct learned_news news = {.harm = summary->run.harm, .slower = slower_compare(history, run)};

	if (summary->harm_waited_ms >= config->harm.pending_after_ms)
		news.harm |= 1U << HARM_PENDING;
	news.by = slower_by(&news.slower, config->harm.slower_by_permille);
	if (news.by != SLOWER_BY_NOTHING)
		news.harm |= 1U << HARM_SLOWER;
	return news;
}

bool learned_harm_is_same(const struct learned_harm *a, const struct learned_harm *b)
{
	return a->harm == b->harm && streq(a->uid, b->uid) && streq(a->namespace_name, b->namespace_name);
}

static bool is_told(const struct learn *self, const struct learned_harm *harm)
{
	for (size_t i = 0; i < self->harms.n; i++)
		if (learned_harm_is_same(&self->harms.items[i], harm))
			return true;
	return false;
}

int learn_harm_tell(struct learn *self, const struct found_run *run, const char *uid, const struct learned_news *news)
{
	char words[SLOWER_TEXT_BYTES];

	for (int i = 0; i < HARM_COUNT_; i++) {
		struct learned_harm harm = {.harm = (enum harm)i};
		struct notice notice;

		snprintf(harm.namespace_name, sizeof(harm.namespace_name), "%s", run->namespace_name);
		snprintf(harm.uid, sizeof(harm.uid), "%s", uid);
		if (!(news->harm & 1U << i) || is_told(self, &harm))
			continue;
		notice_of_harm(run->namespace_name, run->summary.identity.run_key, &run->summary.run, harm.harm,
			       harm.harm == HARM_SLOWER ? slower_render(&news->slower, news->by, words) : NULL,
			       &notice);
		if (vec_push(&self->harms, harm) || vec_push(&self->notices, notice))
			return -ENOMEM;
	}
	return 0;
}

/* Whoever was here before may have written harm, and ended before its namespace was looked at. */
int learn_harm_look(struct learn *self, const struct history *history)
{
	for (size_t i = 0; i < history->runs.n; i++) {
		const struct run *run = &history->runs.items[i];

		if (run->harm && run->start_ms + run->duration_ms >= self->now_ms - TIME_DAY_MS)
			return due_put(&self->harmed, history->namespace_name);
	}
	return 0;
}
