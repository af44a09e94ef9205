/* SPDX-License-Identifier: Apache-2.0 */
/* Bad ends that would not have come at the workload's own values, as far as the pods of one run tell. What needs other
 * runs (slower) or the configuration (how long is too long) is judged where these are known: engine/learn_harm.c.
 *
 * Only what we took away or added is our doing: a container that dies at a limit that we had raised would have died at
 * its own limit before, and one that had a limit of its own would have met that. */
#include "runs/fold_internal.h"

#include "policy/decide.h"

static bool was_killed_at(const struct pod_container *container, int64_t limit_bytes)
{
	for (int i = 0; i < container->n_killed_limits; i++)
		if (container->killed_limits[i] == limit_bytes)
			return true;
	return !container->n_killed_limits && container->limit_bytes == limit_bytes &&
	       container->ends & (END_OOM_KILLED | END_OOM_RESTARTED);
}

/* The limit may have been raised in place since the kill; that it was killed at ours shows that it carried it. */
static bool is_killed_by(const struct pod *pod, const struct pod_container *container)
{
	struct annotation_container set;
	struct annotation annotation;
	const struct annotation_value *limit = &set.values[SIZE_LIMIT][ANNOTATION_MEMORY];

	if (!*pod->decision || !annotation_read(pod->decision, container->name, &annotation, &set))
		return false;
	return limit->is_set && was_killed_at(container, limit->to_bytes) &&
	       (!limit->has_from || limit->from_bytes > limit->to_bytes);
}

/* The kubelet evicts first who uses more than was requested. Where use was not measured, it may have. */
static bool is_evicted_by(const struct pod *pod, const struct pod_container *container,
			  const struct annotation_value *request)
{
	bool is_for_memory = pod->ends & END_EVICTED && member_outcome(pod, container, false) == OUTCOME_EVICTED_MEMORY;

	return is_for_memory && request->is_set && request->has_from && request->from_bytes > request->to_bytes &&
	       (!container->peak_bytes || container->peak_bytes > request->to_bytes);
}

static bool is_above_own(const struct annotation_value *value)
{
	return value->is_set && value->to_bytes > value->from_bytes && !streq(value->rule, "default");
}

void fold_add_harm(struct run_summary *summary, const struct member *member, const struct pod_container *container)
{
	const struct pod *pod = member->pod;
	struct annotation_container set;
	struct annotation annotation;
	const struct annotation_value *request = &set.values[SIZE_REQUEST][ANNOTATION_MEMORY];
	const struct annotation_value *limit = &set.values[SIZE_LIMIT][ANNOTATION_MEMORY];
	unsigned int harm = 0;

	if (is_killed_by(pod, container))
		harm |= 1U << HARM_OOM;
	if (fold_read_set(pod, container, &annotation, &set)) {
		if (is_evicted_by(pod, container, request))
			harm |= 1U << HARM_EVICTED;
		if (pod->ends & END_QUOTA && (is_above_own(request) || (limit->has_from && is_above_own(limit))))
			harm |= 1U << HARM_QUOTA;
		if (pod->ends & END_UNSCHEDULABLE_MEMORY && is_above_own(request))
			summary->harm_waited_ms = MAX(summary->harm_waited_ms, pod->memory_wait_ms);
	}
	summary->run.harm |= (uint8_t)harm;
}
