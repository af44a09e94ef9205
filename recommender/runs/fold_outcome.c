/* SPDX-License-Identifier: Apache-2.0 */
/* fold_outcome: how a container of a pod ended, and whether its working set was mostly page cache. */
#include "runs/fold_internal.h"

enum {
	SUSPECT_PERMILLE = 950,	    /* an error this close to the limit may have been an OOM kill */
	NEAR_LIMIT_PERMILLE = 900,  /* the working set is at the limit */
	CACHE_NEED_PERMILLE = 750,  /* ... and at most this share of it is needed */
	CACHE_SHARE_PERMILLE = 500, /* or page cache is half of it, whatever the limit is */
	RSS_ONLY_PERMILLE = 500,    /* if page cache was not measured: rss is at most half */
	EPHEMERAL_NEAR_PERMILLE = 800,
};

static bool is_share(int64_t part, int64_t whole, int permille)
{
	return whole > 0 && (__int128)part * 1000 >= (__int128)whole * permille;
}

bool container_is_cache_bound(const struct pod_container *container)
{
	int64_t peak = container->peak_bytes, active = container->peak_active_file_bytes;
	int64_t need = MAX(container->peak_rss_bytes, peak - active);
	bool is_near = is_share(peak, container->limit_bytes, NEAR_LIMIT_PERMILLE);

	if (peak <= 0)
		return false;
	if (active > 0)
		return (is_near && !is_share(need, peak, CACHE_NEED_PERMILLE)) ||
		       is_share(active, peak, CACHE_SHARE_PERMILLE);
	return is_near && container->peak_rss_bytes > 0 &&
	       !is_share(container->peak_rss_bytes, peak, RSS_ONLY_PERMILLE);
}

/* Only the message says which resource caused an eviction, and no metric contains it. Without the message, the resource
 * that was nearly exhausted is assumed. */
static enum outcome eviction(const struct pod *pod, const struct pod_container *container)
{
	int64_t bound = container->ephemeral_limit_bytes ? container->ephemeral_limit_bytes
							 : container->ephemeral_request_bytes;

	if (pod->ends & (END_EVICTED_MEMORY | END_EVICTED_EPHEMERAL))
		return pod->ends & END_EVICTED_MEMORY ? OUTCOME_EVICTED_MEMORY : OUTCOME_EVICTED_EPHEMERAL;
	if (is_share(pod->peak_ephemeral_bytes, container->ephemeral_limit_bytes, EPHEMERAL_NEAR_PERMILLE))
		return OUTCOME_EVICTED_EPHEMERAL;
	if (pod->peak_ephemeral_bytes > bound && container->peak_bytes <= container->request_bytes)
		return OUTCOME_EVICTED_EPHEMERAL;
	return OUTCOME_EVICTED_MEMORY;
}

/* The kernel killed a process of the container, and Kubernetes reports no OOM kill of it: a child was killed, such as a
 * DataLoader worker, and the first process went on or ended by itself. So most likely the limit was needed, unless the
 * use was far below it: the kernel also counts kills when the node or the pod has no memory left. */
bool container_has_lost_child(const struct pod_container *container)
{
	return container->ends & END_OOM_EVENTS && !(container->ends & (END_OOM_KILLED | END_OOM_RESTARTED)) &&
	       container->limit_bytes > 0 &&
	       !run_is_far_below(container->samples, container->covered_ms, container->peak_bytes,
				 container->limit_bytes);
}

static enum outcome completion(const struct pod_container *container)
{
	return container_has_lost_child(container) ? OUTCOME_SUSPECTED_OOM : OUTCOME_COMPLETED;
}

static enum outcome failure(const struct pod_container *container)
{
	if (container_has_lost_child(container) ||
	    (is_share(container->peak_bytes, container->limit_bytes, SUSPECT_PERMILLE) &&
	     !container_is_cache_bound(container)))
		return OUTCOME_SUSPECTED_OOM;
	return OUTCOME_FAILED;
}

enum outcome member_outcome(const struct pod *pod, const struct pod_container *container, bool is_running)
{
	unsigned int ends = container->ends;

	if (pod->ends & END_EVICTED)
		return eviction(pod, container);
	if (pod->ends & END_PREEMPTED)
		return OUTCOME_PREEMPTED;
	if (pod->ends & END_SUCCEEDED)
		return completion(container);
	if (is_running)
		return OUTCOME_RUNNING;
	if (ends & END_OOM_KILLED)
		return OUTCOME_OOM_KILLED;
	if (pod->ends & END_DELETED)
		return OUTCOME_DELETED;
	if (ends & END_ERROR)
		return failure(container);
	if (ends & END_COMPLETED)
		return completion(container);
	if (ends & END_OOM_RESTARTED)
		return OUTCOME_OOM_KILLED;
	if (pod->ends & END_FAILED || ends & END_ERROR_RESTARTED)
		return failure(container);
	return pod->completion_ms ? OUTCOME_UNKNOWN : OUTCOME_DELETED;
}
