/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks: one function for each check, called through a table in the order of checks.def. */
#include "policy/decide/decide_checks.h"

static const struct {
	int (*find)(const struct deciding *self, struct findings *list);
	bool is_size;	 /* about values that an earlier round has settled */
	bool is_missing; /* about absent values; in a runtime, the TrainJob sets them */
} table[CHECK_COUNT_] = {
	[CHECK_QUANTITY_INVALID] = {check_quantity, false, false},
	[CHECK_REQUEST_ABOVE_LIMIT] = {check_request_above_limit, false, false},
	[CHECK_MEMORY_LIMIT_BELOW_PEAK] = {check_limit_below_peak, true, false},
	[CHECK_MEMORY_LIMIT_NEAR_PEAK] = {check_limit_near_peak, true, false},
	[CHECK_BESTEFFORT_QOS] = {check_besteffort, true, true},
	[CHECK_MEMORY_LIMIT_MISSING] = {check_limit_missing, true, true},
	[CHECK_MEMORY_REQUEST_MISSING] = {check_request_missing, true, true},
	[CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING] = {check_ephemeral_missing, true, true},
	[CHECK_MEMORY_OVER_GPU_SHARE] = {check_over_share, true, false},
	[CHECK_EPHEMERAL_STORAGE_OVER_GPU_SHARE] = {check_ephemeral_over_share, true, false},
	[CHECK_USAGE_OVER_GPU_SHARE] = {check_usage_over_share, false, false},
	[CHECK_MEMORY_REQUEST_BELOW_MEDIAN] = {check_request_below_median, true, false},
	[CHECK_MEMORY_REQUEST_TOKEN] = {check_request_token, true, false},
	[CHECK_MEMORY_OVER_PROVISIONED] = {check_over_provisioned, true, false},
	[CHECK_GPU_MEMORY_NEAR_CAPACITY] = {check_gpu_memory, false, false},
	[CHECK_OOM_HISTORY] = {check_oom_history, false, false},
	[CHECK_OOM_NOT_RETRIABLE] = {check_oom_not_retriable, false, false},
	[CHECK_MEMORY_LEAK_SUSPECTED] = {check_leak, false, false},
	[CHECK_MEMORY_UNSTABLE] = {check_unstable, false, false},
	[CHECK_UNSCHEDULABLE_SIZE] = {check_unschedulable, false, false},
	[CHECK_MEMORY_UNIT_SUSPICIOUS] = {check_unit, true, false},
	[CHECK_SHM_SMALL] = {check_shm_small, false, false},
	[CHECK_SHM_UNBOUNDED] = {check_shm_unbounded, false, false},
	[CHECK_EMPTYDIR_UNBOUNDED] = {check_emptydir_unbounded, false, false},
	[CHECK_SIZED_BY_VPA] = {check_sized_by_vpa, false, false},
	[CHECK_DATASET_EXCEEDS_MEMORY] = {check_dataset, false, false},
	[CHECK_ALLOCATOR] = {check_allocator, false, false},
	[CHECK_CRITICAL_NOT_GUARANTEED] = {check_critical, true, false},
};

bool decide_is_about_size(enum check_id check)
{
	return table[check].is_size;
}

int decide_checks(const struct deciding *self, struct findings *ret)
{
	int r = 0;

	STEPS(CHECK_COUNT_ * self->n_items);
	for (size_t i = 0; i < CHECK_COUNT_ && !r; i++)
		if (self->policy->actions[i] != ACTION_OFF && !(self->mode->is_settled && table[i].is_size) &&
		    !(self->facts->is_runtime && table[i].is_missing))
			r = table[i].find(self, ret);
	return r;
}
