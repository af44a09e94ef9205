/* SPDX-License-Identifier: Apache-2.0 */
/* learn_decisions: keeps the audit in a history, what was set, in order of time. Pods are reported many times, and all
 * of them after every restart. An entry is identified by its owner, its run and its values; its count of pods only
 * grows. */
#include "engine/learn.h"

#include "base/timefmt.h"

#include <errno.h>

/* The encoder keeps at least this many entries: if there are as many, an older decision was in the list before and was
 * dropped. */
enum { KEPT_DECISIONS = LIMIT_HISTORY_DECISIONS / 8 };

#define SLACK_MS (5 * TIME_MINUTE_MS)

/* Kubernetes keeps Events for an hour; older decisions get no Event. */
#define NOTICE_MS TIME_HOUR_MS

/* The earliest time at which a pod of the run may have been created, from all findings, with tolerance for clock
 * differences. */
static int64_t made_since_ms(const struct history *history, const struct run *found)
{
	const struct run *known = learn_history_find(history, found);
	int64_t start_ms = known ? MIN(known->start_ms, found->start_ms) : found->start_ms;

	return start_ms - MAX(found->pending_ms, known ? known->pending_ms : 0) - SLACK_MS;
}

/* An owner that is deleted and created again, for example every night, has the same name and often the same values. It
 * is a different owner if the entry is older than all pods of this run. */
static bool is_entry_of(const struct history_decision *known, const struct history_decision *found, int64_t since_ms)
{
	return history_decision_is_same(known, found) &&
	       (known->time_ms >= since_ms || known->time_ms / TIME_SECOND_MS == found->time_ms / TIME_SECOND_MS);
}

/* The index of the entry, or the number of entries if there is none. */
static size_t find(const struct history *history, const struct history_decision *decision, int64_t since_ms)
{
	size_t at = 0;

	while (at < history->decisions.n && !is_entry_of(&history->decisions.items[at], decision, since_ms))
		at++;
	return at;
}

static void drop_oldest(struct history *history)
{
	memmove(history->decisions.items, history->decisions.items + 1,
		(history->decisions.n - 1) * sizeof(*history->decisions.items));
	history->decisions.n--;
}

static int insert(struct history *history, const struct history_decision *decision)
{
	struct history_decision *items;
	size_t at = 0, n;

	if (history->decisions.n == LIMIT_HISTORY_DECISIONS)
		drop_oldest(history);
	n = history->decisions.n;
	if (vec_push(&history->decisions, *decision))
		return -ENOMEM;
	items = history->decisions.items;
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): vec_push has kept the n items */
	while (at < n && items[at].time_ms <= decision->time_ms)
		at++;
	memmove(&items[at + 1], &items[at], (n - at) * sizeof(*items));
	items[at] = *decision;
	return 0;
}

static bool has_fallen_out(const struct history *history, const struct history_decision *decision)
{
	return history->decisions.n >= KEPT_DECISIONS && decision->time_ms < history->decisions.items[0].time_ms;
}

static int tell(struct learn *self, const struct history *history, const struct history_decision *decision,
		bool is_update)
{
	struct notice notice;

	/* Resizes are reported at once by the resizer itself. */
	if (decision->time_ms < self->now_ms - NOTICE_MS || strstarts(decision->rule, "resize-"))
		return 0;
	notice_of_decision(history->namespace_name, history->container, decision, is_update, &notice);
	return vec_push(&self->notices, notice);
}

static int update(struct learn *self, struct history *history, size_t at, const struct history_decision *decision,
		  bool *ret_changed)
{
	struct history_decision *known = &history->decisions.items[at];

	if (known->pods >= decision->pods)
		return 0;
	known->pods = decision->pods;
	*ret_changed = true;
	return tell(self, history, known, true);
}

static int add(struct learn *self, struct history *history, const struct history_decision *decision, bool *ret_changed)
{
	if (has_fallen_out(history, decision))
		return 0;
	*ret_changed = true;
	if (insert(history, decision))
		return -ENOMEM;
	return tell(self, history, decision, false);
}

int learn_decisions(struct learn *self, struct history *history, const struct found_run *found, bool *ret_changed)
{
	int64_t since_ms = made_since_ms(history, &found->run);
	int r = 0;

	for (size_t i = 0; i < found->decisions.n && !r; i++) {
		const struct history_decision *decision = &found->decisions.items[i];
		size_t at = find(history, decision, since_ms);

		r = at < history->decisions.n ? update(self, history, at, decision, ret_changed)
					      : add(self, history, decision, ret_changed);
	}
	return r;
}
