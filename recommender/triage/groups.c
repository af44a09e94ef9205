/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/groups.h"

static enum standing standing_of(const struct verdict *verdict)
{
	enum signal_id signal = verdict->rule->signal;

	/* What was measured, and nobody said. */
	if (signal == SIGNAL_PEAK)
		return STANDING_ERROR;
	if (verdict->kind != KIND_NOT_OOM && verdict->kind != KIND_UNKNOWN)
		return STANDING_MEMORY;
	/* Controllers delete the pods that are left of a run that has failed. */
	if (signal == SIGNAL_DISRUPTED && verdict->fact->reading.value == STOP_DELETED)
		return STANDING_END;
	switch (signal) {
	case SIGNAL_DISRUPTED:
	case SIGNAL_PROBE_KILLED:
	case SIGNAL_WORKER_KILLED:
	case SIGNAL_CHILD_KILLED:
	case SIGNAL_WORKER_LOST:
	case SIGNAL_SHELL_KILLED:
		return STANDING_KILL;
	case SIGNAL_STATUS_UNKNOWN:
	case SIGNAL_EXIT_CODE:
	case SIGNAL_TERMINATED:
		return STANDING_END;
	case SIGNAL_COLLECTIVE_TIMEOUT:
		return STANDING_FOLLOWER;
	case SIGNAL_DONE:
	case SIGNAL_COUNT_:
		return STANDING_NOTHING;
	default:
		return STANDING_ERROR;
	}
}

static bool has_log(const struct facts *facts, size_t group)
{
	for (size_t i = 0; i < facts->sources.n; i++)
		if (facts->sources.items[i].input == INPUT_LOG && facts->sources.items[i].origin.group == group)
			return true;
	return false;
}

static bool is_of(const struct facts *facts, const struct fact *fact, size_t group)
{
	size_t own = facts_group_of(facts, fact);

	return own == group || own == 0;
}

/* The same fact in the list of all. */
static const struct fact *find_original(const struct facts *facts, const struct fact *copy)
{
	for (size_t i = 0; copy && i < facts->items.n; i++)
		if (facts->items.items[i].order == copy->order)
			return &facts->items.items[i];
	return NULL;
}

static int decide_group(struct facts *facts, size_t group, struct verdict *ret)
{
	__typeof__(facts->items) all = facts->items, own = VEC_INIT;
	const struct fact *copy;

	for (size_t i = 0; i < all.n; i++)
		if (is_of(facts, &all.items[i], group) && vec_push(&own, all.items[i])) {
			vec_release(&own);
			return -ENOMEM;
		}
	facts->items = own;
	rules_decide(facts, ret);
	facts->items = all;
	copy = ret->fact;
	ret->fact = find_original(facts, copy);
	vec_release(&own);
	return 0;
}

/* Decides a group, and how well that explains the end of the run. */
static int weigh_group(struct facts *facts, size_t group, struct verdict *ret, enum standing *ret_standing)
{
	if (decide_group(facts, group, ret))
		return -ENOMEM;
	*ret_standing = standing_of(ret);
	/* A log that was not read may say anything. */
	if (*ret_standing == STANDING_END && !has_log(facts, group))
		*ret_standing = STANDING_UNREAD;
	return 0;
}

enum standing groups_standing(struct facts *facts, size_t group)
{
	enum standing standing;
	struct verdict verdict;

	return weigh_group(facts, group, &verdict, &standing) ? STANDING_NOTHING : standing;
}

void groups_decide(struct facts *facts, struct verdict *ret)
{
	enum standing standing, best;
	struct verdict next;

	if (facts->n_groups < 2 || weigh_group(facts, 1, ret, &best)) {
		rules_decide(facts, ret);
		return;
	}
	for (size_t group = 2; group <= facts->n_groups; group++) {
		if (weigh_group(facts, group, &next, &standing) || standing >= best)
			continue;
		*ret = next;
		best = standing;
	}
	rules_add_context(facts, ret);
}
