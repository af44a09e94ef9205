/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/metrics_internal.h"

#define KSM(last_or_max, metric, labels_, matchers)                                                                    \
	"max by ($N,$P,uid" labels_ ")(" last_or_max "_over_time(" metric "{$P!=\"\"" matchers "$M}[$W]))"
#define CADVISOR(function, metric) "max by ($N,$P,$C,id)(" function metric "{$C!=\"\",$C!=\"POD\",$P!=\"\"$M}[$W]))"
/* Each device counts once, even if several targets export it or it has a series for each process; then devices of a pod
 * are combined. Sums and counts are added over devices and windows. */
#define DCGM(function, metric)                                                                                         \
	"sum by ($N,$P,pod_uid)(max by ($N,$P,pod_uid,UUID,gpu,GPU_I_ID)(" function "_over_time(" metric               \
	"{$P!=\"\"$M}[$W])))"
/* The use of a device is greatest when its free memory is least, and their sum is what processes can use. The greatest
 * values of a container's devices are those of the fullest one, as its devices have the same size. */
#define DEVICE(function, metric)                                                                                       \
	function " by ($N,$P,$C,pod_uid,UUID,gpu,GPU_I_ID)(" function "_over_time(" metric "{$P!=\"\"$M}[$W]))"
#define OF_CONTAINER(expression) "max by ($N,$P,$C,pod_uid)(" expression ")"

#define FB_USED		 "DCGM_FI_DEV_FB_USED"
#define FB_FREE		 "DCGM_FI_DEV_FB_FREE"
#define GR_ENGINE_ACTIVE "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
#define GPU_UTIL	 "DCGM_FI_DEV_GPU_UTIL"
#define WORKING_SET	 CADVISOR_WORKING_SET
#define OOM_EVENTS	 CADVISOR_OOM_EVENTS
#define QUANTILE(q)	 CADVISOR("quantile_over_time(" q ",", WORKING_SET)

const struct metric_row metric_rows[] = {
	{"kube_pod_owner", FAMILY_KSM, PHASE_PODS,
	 KSM("last", "kube_pod_owner", ",owner_kind,owner_name,owner_is_controller", ""), metric_take_owner, 0, NULL},
	{"kube_job_owner", FAMILY_KSM, PHASE_PODS,
	 "max by ($N,job_name,owner_kind,owner_name)(last_over_time(kube_job_owner{job_name!=\"\"$M}[$W]))",
	 metric_take_job_owner, 0, "Jobs of CronJobs, JobSets and similar owners are distinguished only by name"},
	{"kube_pod_container_resource_limits", FAMILY_KSM, PHASE_PODS,
	 KSM("last", "kube_pod_container_resource_limits", ",$C,resource", ",resource!=\"cpu\""), metric_take_size,
	 TARGET_LIMIT, "limits of runs, what an OOM kill proves and GPUs of pods are not known"},
	{"kube_pod_container_resource_requests", FAMILY_KSM, PHASE_PODS,
	 KSM("last", "kube_pod_container_resource_requests", ",$C,resource", ",resource!=\"cpu\""), metric_take_size,
	 TARGET_REQUEST, "requests of runs are not known"},
	{"kube_pod_labels", FAMILY_KSM, PHASE_PODS, "last_over_time(kube_pod_labels{$P!=\"\"$M}[$W])",
	 metric_take_pod_labels, 0,
	 "owners and names are used (kube-state-metrics: --metric-labels-allowlist=pods=[...])"},
	{"kube_pod_container_info", FAMILY_KSM, PHASE_FACTS,
	 KSM("last", "kube_pod_container_info", ",$C,image,image_spec", ""), metric_take_image, 0,
	 "images are not known, so variants of a workload are not distinguished"},
	{"kube_pod_start_time", FAMILY_KSM, PHASE_FACTS, KSM("last", "kube_pod_start_time", "", ""), metric_take_time,
	 TARGET_START, "starts of runs are not exact: a run of under an hour does not count as a complete run"},
	{"kube_pod_completion_time", FAMILY_KSM, PHASE_FACTS, KSM("last", "kube_pod_completion_time", "", ""),
	 metric_take_time, TARGET_COMPLETION, "ends of runs are not exact"},
	{"kube_pod_status_phase", FAMILY_KSM, PHASE_FACTS,
	 KSM("last", "kube_pod_status_phase", ",phase", ",phase=~\"Succeeded|Failed\""), metric_take_pod_end, 0,
	 "ends of containers are used in place of those of pods"},
	{"kube_pod_status_reason", FAMILY_KSM, PHASE_FACTS, KSM("max", "kube_pod_status_reason", ",reason", ""),
	 metric_take_pod_end, 0, "evictions and preemptions look like failures"},
	{"kube_pod_container_status_terminated_reason", FAMILY_KSM, PHASE_FACTS,
	 KSM("max", "kube_pod_container_status_terminated_reason", ",$C,reason", ""), metric_take_container_end,
	 TARGET_LAST_END, "OOM kills of containers that are not restarted are not seen"},
	{"kube_pod_container_status_last_terminated_reason", FAMILY_KSM, PHASE_FACTS,
	 KSM("max", "kube_pod_container_status_last_terminated_reason", ",$C,reason", ""), metric_take_container_end,
	 TARGET_EARLIER_END, "OOM kills of containers that are restarted are not seen"},
	{"kube_pod_container_status_restarts_total", FAMILY_KSM, PHASE_FACTS,
	 KSM("max", "kube_pod_container_status_restarts_total", ",$C", ""), metric_take_restarts, 0,
	 "restarts of containers are not counted"},
	{WORKING_SET, FAMILY_CADVISOR, PHASE_FACTS, CADVISOR("max_over_time(", WORKING_SET), metric_take_peak,
	 TARGET_WORKING_SET, NULL},
	{WORKING_SET, FAMILY_CADVISOR, PHASE_FACTS, QUANTILE("0.05"), metric_take_ladder, 0, ""},
	{WORKING_SET, FAMILY_CADVISOR, PHASE_FACTS, QUANTILE("0.25"), metric_take_ladder, 1, ""},
	{WORKING_SET, FAMILY_CADVISOR, PHASE_FACTS, QUANTILE("0.5"), metric_take_ladder, 2, ""},
	{WORKING_SET, FAMILY_CADVISOR, PHASE_FACTS, QUANTILE("0.75"), metric_take_ladder, 3, ""},
	{WORKING_SET, FAMILY_CADVISOR, PHASE_FACTS, QUANTILE("0.95"), metric_take_ladder, 4, ""},
	{WORKING_SET, FAMILY_CADVISOR, PHASE_HOURS, CADVISOR("count_over_time(", WORKING_SET), metric_take_hours, 0,
	 ""},
	{CADVISOR_RSS, FAMILY_CADVISOR, PHASE_FACTS, CADVISOR("max_over_time(", CADVISOR_RSS), metric_take_peak,
	 TARGET_RSS, "page cache counts as need"},
	{CADVISOR_ACTIVE_FILE, FAMILY_CADVISOR, PHASE_FACTS, CADVISOR("max_over_time(", CADVISOR_ACTIVE_FILE),
	 metric_take_peak, TARGET_ACTIVE_FILE,
	 "page cache is recognised by rss, and not subtracted from the working set"},
	/* The counter begins at 0 with each start of a container. */
	{OOM_EVENTS, FAMILY_CADVISOR, PHASE_FACTS, CADVISOR("max_over_time(", OOM_EVENTS) " > 0",
	 metric_take_oom_events, 0, ""},
	{"ephemeral_storage_pod_usage", FAMILY_EPHEMERAL, PHASE_FACTS,
	 "max by ($N,$P)(max_over_time(ephemeral_storage_pod_usage{$P!=\"\"$M}[$W]))", metric_take_ephemeral, 0,
	 "disk use of pods is not known (no exporter of it is scraped)"},
	{GR_ENGINE_ACTIVE, FAMILY_DCGM, PHASE_FACTS, DCGM("sum", GR_ENGINE_ACTIVE), metric_take_activity, TARGET_RATIO,
	 ""},
	{GR_ENGINE_ACTIVE, FAMILY_DCGM, PHASE_FACTS, DCGM("count", GR_ENGINE_ACTIVE), metric_take_activity,
	 TARGET_SAMPLES, ""},
	{GPU_UTIL, FAMILY_DCGM, PHASE_FACTS, DCGM("sum", GPU_UTIL), metric_take_activity, TARGET_PERCENT,
	 "runs count as slower by duration alone, not by GPU activity (DCGM exporter with pod labels)"},
	{GPU_UTIL, FAMILY_DCGM, PHASE_FACTS, DCGM("count", GPU_UTIL), metric_take_activity, TARGET_SAMPLES, ""},
	{FB_USED, FAMILY_DCGM, PHASE_FACTS, OF_CONTAINER(DEVICE("max", FB_USED)), metric_take_gpu_memory,
	 TARGET_GPU_USED, ""},
	{FB_FREE, FAMILY_DCGM, PHASE_FACTS, OF_CONTAINER(DEVICE("max", FB_USED) "+" DEVICE("min", FB_FREE)),
	 metric_take_gpu_memory, TARGET_GPU_CAPACITY,
	 "memory use of GPUs is not known (DCGM exporter with pod labels, with DCGM_FI_DEV_FB_USED)"},
	{"kube_pod_status_phase", FAMILY_KSM, PHASE_OPEN,
	 "max by ($N,$P,uid)(kube_pod_status_phase{phase=~\"Pending|Running\"$M})", metric_take_alive, 0, ""},
	{"kube_node_status_allocatable", FAMILY_KSM, PHASE_NODES,
	 "max by (node,resource)(last_over_time(kube_node_status_allocatable{resource!~\"cpu|pods\"}[$W]))",
	 metric_take_allocatable, 0, "shapes of nodes are not known, so shares of a node are not checked"},
	{"kube_node_labels", FAMILY_KSM, PHASE_NODES, "last_over_time(kube_node_labels{node!=\"\"}[$W])",
	 metric_take_node_labels, 0, "accelerator models and instance types of nodes are not known"},
};
const size_t metric_row_count = ARRAY_LEN(metric_rows);

const char *metric_better(const struct metric_row *row)
{
	return streq(row->metric, GPU_UTIL) ? GR_ENGINE_ACTIVE : NULL;
}
