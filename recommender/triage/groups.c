/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/groups.h"

/* How well a verdict explains why a run ended; less is better. */
static int standing(const struct verdict *verdict)
{
	enum signal_id signal = verdict->rule->signal;

	/* What was measured, and nobody said. */
	if (signal == SIGNAL_PEAK)
		return 2;
	if (verdict->kind != KIND_NOT_OOM && verdict->kind != KIND_UNKNOWN)
		return 0;
	/* Controllers delete the pods that are left of a run that has failed. */
	if (signal == SIGNAL_DISRUPTED && verdict->fact->reading.value == STOP_DELETED)
		return 3;
	switch (signal) {
	case SIGNAL_DISRUPTED:
	case SIGNAL_PROBE_KILLED:
	case SIGNAL_WORKER_KILLED:
	case SIGNAL_CHILD_KILLED:
		return 1;
	case SIGNAL_STATUS_UNKNOWN:
	case SIGNAL_EXIT_CODE:
	case SIGNAL_TERMINATED:
		return 3;
	case SIGNAL_COLLECTIVE_TIMEOUT:
		return 4;
	case SIGNAL_DONE:
	case SIGNAL_COUNT_:
		return 5;
	default:
		return 2;
	}
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

void groups_decide(struct facts *facts, struct verdict *ret)
{
	struct verdict next;

	if (facts->n_groups < 2 || decide_group(facts, 1, ret)) {
		rules_decide(facts, ret);
		return;
	}
	for (size_t group = 2; group <= facts->n_groups; group++)
		if (decide_group(facts, group, &next) == 0 && standing(&next) < standing(ret))
			*ret = next;
	rules_add_context(facts, ret);
}
