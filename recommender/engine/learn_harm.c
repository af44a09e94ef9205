/* SPDX-License-Identifier: Apache-2.0 */
/* learn_harm: which harm a run came to, as far as its history and the configuration are needed, and which of it is
 * new. */
#include "engine/learn.h"

#include "base/timefmt.h"

#include <errno.h>

struct learned_news learn_harm(const struct config *config, const struct history *history,
			       const struct found_run *found, const struct run *run)
{
	struct learned_news news = {.harm = found->run.harm, .slower = slower_compare(history, run)};

	if (found->harm_waited_ms >= config->harm.pending_after_ms)
		news.harm |= 1U << HARM_PENDING;
	news.by = slower_by(&news.slower, config->harm.slower_by_permille);
	if (news.by != SLOWER_BY_NOTHING)
		news.harm |= 1U << HARM_SLOWER;
	return news;
}

int learn_harm_note(struct learn *self, const struct found_run *found, const struct learned_news *news)
{
	char words[SLOWER_TEXT_BYTES];

	for (int i = 0; i < HARM_COUNT_; i++) {
		enum harm harm = (enum harm)i;
		struct notice notice;

		if (!(news->harm & 1U << i))
			continue;
		notice_of_harm(found->namespace_name, found->identity.run_key, &found->run, harm,
			       harm == HARM_SLOWER ? slower_render(&news->slower, news->by, words) : NULL, &notice);
		if (notices_find(&self->notices, self->notices.n, &notice))
			continue;
		if (vec_push(&self->notices, notice) ||
		    (self->caps && caps_note_harm(self->caps, found->namespace_name)))
			return -ENOMEM;
	}
	return 0;
}

/* An earlier process may have written harm and ended before it checked the namespace. */
int learn_harm_look(struct learn *self, const struct history *history)
{
	for (size_t i = 0; i < history->runs.n; i++) {
		const struct run *run = &history->runs.items[i];

		if (run->harm && run->start_ms + run->duration_ms >= self->now_ms - TIME_DAY_MS)
			return self->caps ? caps_note_harm(self->caps, history->namespace_name) : 0;
	}
	return 0;
}
