/* SPDX-License-Identifier: Apache-2.0 */
/* fold_harm: bad ends that would not have happened at the workload's own values, as far as the pods of one run show.
 * Kinds of harm that need other runs (slower) or the configuration (waited too long) are found in engine/learn_harm.c.
 *
 * Only values that we lowered or added count: a container that dies at a limit that we had raised would have died at
 * its own limit before. */
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

static bool was_killed_at_any(const struct pod_container *container)
{
	for (int i = 0; i < container->n_killed_limits; i++)
		if (container->killed_limits[i] > 0)
			return true;
	return !container->n_killed_limits && container->limit_bytes > 0 &&
	       was_killed_at(container, container->limit_bytes);
}

/* Whether the container was killed at a limit of ours. A kill at our limit shows that the container had it, even if the
 * limit was raised in place since. A limit that we added to a pod of the owner named in the annotation would not exist
 * without us, even if another system, such as a VerticalPodAutoscaler, has scaled it since. */
static bool is_killed_by(const struct pod *pod, const struct pod_container *container)
{
	struct annotation_container set;
	struct annotation annotation;
	const struct annotation_value *limit = &set.values[SIZE_LIMIT][ANNOTATION_MEMORY];

	if (!*pod->decision || !annotation_read(pod->decision, container->name, &annotation, &set))
		return false;
	if (limit->is_set && !limit->has_from && annotation.has_owner)
		return was_killed_at_any(container);
	return limit->is_set && was_killed_at(container, limit->to_bytes) &&
	       (!limit->has_from || limit->from_bytes > limit->to_bytes);
}

/* The kubelet first evicts pods that use more than they request. Where use was not measured, this is assumed. */
static bool is_evicted_by(const struct pod *pod, const struct pod_container *container,
			  const struct annotation_value *request)
{
	bool is_for_memory = pod->ends & END_EVICTED && member_outcome(pod, container, false) == OUTCOME_EVICTED_MEMORY;

	return is_for_memory && request->is_set && request->has_from && request->from_bytes > request->to_bytes &&
	       (!container->peak_bytes || container->peak_bytes > request->to_bytes);
}

/* The kubelet evicts a pod that uses more disk than its containers' limits. */
static bool is_evicted_at_disk_limit(const struct pod *pod, const struct annotation_value *limit)
{
	return pod->ends & END_DISK_LIMIT && limit->is_set && !limit->has_from;
}

static bool is_above_own(const struct annotation_value *value)
{
	return value->is_set && value->to_bytes > value->from_bytes && !streq(value->rule, "default");
}

/* Whether the pod waited because of a request that we raised or added. */
static bool waited_for_ours(unsigned int ends, const struct annotation_container *set)
{
	return (ends & END_UNSCHEDULABLE_MEMORY && is_above_own(&set->values[SIZE_REQUEST][ANNOTATION_MEMORY])) ||
	       (ends & END_UNSCHEDULABLE_EPHEMERAL && is_above_own(&set->values[SIZE_REQUEST][ANNOTATION_EPHEMERAL]));
}

void fold_add_harm(struct found_run *found, const struct member *member, const struct pod_container *container)
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
		if (is_evicted_by(pod, container, request) ||
		    is_evicted_at_disk_limit(pod, &set.values[SIZE_LIMIT][ANNOTATION_EPHEMERAL]))
			harm |= 1U << HARM_EVICTED;
		if (pod->ends & END_QUOTA && (is_above_own(request) || (limit->has_from && is_above_own(limit))))
			harm |= 1U << HARM_QUOTA;
		if (waited_for_ours(pod->ends, &set))
			found->harm_waited_ms = MAX(found->harm_waited_ms, pod->room_wait_ms);
	}
	found->run.harm |= (uint8_t)harm;
}
