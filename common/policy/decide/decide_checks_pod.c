/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks_pod: the pod compared with its nodes, its volumes and its past. */
#include "policy/decide/decide_checks.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/strmap.h"
#include "k8s/keys.h"
#include "policy/size_math.h"

#include <errno.h>
#include <string.h>

enum { SHM_ACCELERATORS_MILLI = 2000, VOLUMES_MAX = 128 };

static int add_over_share(const struct deciding *self, struct findings *list, enum check_id check,
			  const struct sized *item, enum sized_resource resource, int f, const char *now, int64_t share,
			  const struct sized *part_of)
{
	const char *name = k8s_resource_names[sized_resource_of(resource)];

	return finding_add_field(self, list, check, item, resource, f,
				 arena_printf(self->arena, "%s %s %s exceeds %s, the share of %s", name,
					      f == SIZE_LIMIT ? "limit" : "request", now, HUMAN(share),
					      text_part(self, part_of)),
				 "");
}

/* The pod's request, as it is written if one value alone makes it. */
static const char *request_text(const struct deciding *self, enum sized_resource resource, int64_t request,
				bool is_final)
{
	const struct k8s_amount *of_pod = &self->facts->pod.resources.requests[sized_resource_of(resource)];
	const struct sized *first = &self->items[0];
	const struct field *field = &first->fields[resource][SIZE_REQUEST];

	if (of_pod->text && *of_pod->text && of_pod->value == request)
		return text_clean(self->arena, of_pod->text, TEXT_VALUE_CHARS);
	if (request == (is_final ? field_final(field) : field->now_bytes))
		return (is_final ? text_final : text_value)(self, first, resource, SIZE_REQUEST);
	return arena_printf(self->arena, "%s", EXACT(request));
}

/* Compares the limit of each main container with its part of the share; without limits, the pod's request with the
 * whole share. */
static int over_share(const struct deciding *self, struct findings *list, enum check_id check,
		      enum sized_resource resource, int64_t share)
{
	int64_t request = k8s_pod_effective_request(&self->facts->pod, sized_resource_of(resource));
	int32_t permille = self->policy->sizing.over_share_permille;
	bool is_said = false;
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		int64_t now = item->fields[resource][SIZE_LIMIT].now_bytes, part = decide_part_of(item, share);

		if (part <= 0 || now <= size_scale_permille(part, permille))
			continue;
		is_said = true;
		r = add_over_share(self, list, check, item, resource, SIZE_LIMIT,
				   text_value(self, item, resource, SIZE_LIMIT), part, item);
	}
	if (r || is_said || share <= 0 || request <= size_scale_permille(share, permille))
		return r;
	return add_over_share(self, list, check, &self->items[0], resource, SIZE_REQUEST,
			      request_text(self, resource, request, false), share, NULL);
}

int check_over_share(const struct deciding *self, struct findings *list)
{
	return over_share(self, list, CHECK_MEMORY_OVER_GPU_SHARE, SIZED_MEMORY, self->facts->nodes.share_memory_bytes);
}

int check_ephemeral_over_share(const struct deciding *self, struct findings *list)
{
	return over_share(self, list, CHECK_EPHEMERAL_STORAGE_OVER_GPU_SHARE, SIZED_EPHEMERAL,
			  self->facts->nodes.share_ephemeral_bytes);
}

int check_usage_over_share(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		int64_t peak = item->rec.peak_bytes,
			share = decide_part_of(item, self->facts->nodes.share_memory_bytes);

		if (share <= 0 || peak <= size_scale_permille(share, self->policy->sizing.over_share_permille))
			continue;
		r = finding_add(self, list, CHECK_USAGE_OVER_GPU_SHARE, false, item->container,
				finding_pointer(self, item, SIZED_MEMORY, SIZE_LIMIT),
				arena_printf(self->arena, "%s peaked at %s, above %s, the share of %s",
					     text_runs(self, MAX(item->rec.whole_runs, 1)), HUMAN(peak), HUMAN(share),
					     text_part(self, item)));
	}
	return r;
}

int check_gpu_memory(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct gpu_memory *gpu = &item->rec.gpu;

		if (!item->rec.is_gpu_full)
			continue;
		r = finding_add(
			self, list, CHECK_GPU_MEMORY_NEAR_CAPACITY, false, item->container,
			arena_printf(self->arena, "/spec/%s/%zu", k8s_container_array(item->container),
				     item->container->index),
			arena_printf(self->arena,
				     "%d %% of the GPU's %s was in use when the last run failed: triage its log",
				     gpu_memory_permille(gpu) / 10, HUMAN(gpu->capacity_bytes)));
	}
	return r;
}

int check_oom_history(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct recommendation *rec = &item->rec;

		if (rec->oom_kills <= 0)
			continue;
		r = finding_add(self, list, CHECK_OOM_HISTORY, false, item->container,
				finding_pointer(self, item, SIZED_MEMORY, SIZE_LIMIT),
				arena_printf(self->arena, "%d of %s %s OOM-killed%s%s", rec->oom_kills,
					     text_runs(self, MAX(rec->runs, rec->oom_kills)),
					     rec->oom_kills == 1 ? "was" : "were",
					     rec->proven_bytes > 0 ? ", at limits up to " : "",
					     rec->proven_bytes > 0 ? EXACT(rec->proven_bytes) : ""));
	}
	return r;
}

/* Whether the container may be OOM-killed and then restarts in its pod. A template without a restart policy is checked
 * when its pods are created: kinds such as PyTorchJob have the policy beside the template, and controllers such as
 * Argo's decide themselves. */
static bool restarts_when_killed(const struct deciding *self, const struct sized *item)
{
	const struct k8s_pod *pod = &self->facts->pod;
	bool is_open = self->input->subject == SUBJECT_TEMPLATE && !pod->restart_policy[0];

	return item->is_main && item->rec.oom_kills > 0 && item->after->resources.limits[K8S_MEMORY].text &&
	       !(is_open && !*item->container->restart_policy) && k8s_container_restarts(pod, item->container);
}

/* Always is mostly used where the API allows nothing else. */
static int find_pod_restarts(const struct deciding *self, struct findings *list)
{
	const char *policy = self->facts->pod.restart_policy;
	bool is_always = !*policy || streq(policy, "Always");

	return finding_add(self, list, CHECK_OOM_NOT_RETRIABLE, false, NULL, *policy ? "/spec/restartPolicy" : "/spec",
			   arena_printf(self->arena,
					"restartPolicy %s restarts an OOM-killed container with the same limit%s",
					is_always ? "Always" : policy, is_always ? "" : "; use Never"));
}

static int find_container_restarts(const struct deciding *self, struct findings *list, const struct sized *item)
{
	const struct k8s_container *container = item->container;
	const char *field = container->has_restart_rule ? "restartPolicyRules" : "restartPolicy";

	return finding_add(
		self, list, CHECK_OOM_NOT_RETRIABLE, false, container,
		arena_printf(self->arena, "/spec/%s/%zu/%s", k8s_container_array(container), container->index, field),
		arena_printf(self->arena, "an OOM kill restarts it with the same limit (%s)", field));
}

int check_oom_not_retriable(const struct deciding *self, struct findings *list)
{
	bool has_found = false; /* that of the pod */
	int r = 0;

	if (resize_mode_of(self->policy->resize, &self->facts->pod.annotations) != RESIZE_OFF)
		return 0;
	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];

		if (!restarts_when_killed(self, item))
			continue;
		if (*item->container->restart_policy) {
			r = find_container_restarts(self, list, item);
		} else if (!has_found) {
			has_found = true;
			r = find_pod_restarts(self, list);
		}
	}
	return r;
}

/* Adds a finding about the shape of past runs of a container, with their greatest peak. */
static int find_shape(const struct deciding *self, struct findings *list, enum check_id check,
		      enum recommendation_flag flag, const char *head, const char *tail)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];

		if (item->rec.flags & flag && item->rec.peak_bytes > 0)
			r = finding_add(self, list, check, false, item->container,
					finding_pointer(self, item, SIZED_MEMORY, SIZE_LIMIT),
					arena_printf(self->arena, "%s%s%s", head, HUMAN(item->rec.peak_bytes), tail));
	}
	return r;
}

int check_leak(const struct deciding *self, struct findings *list)
{
	return find_shape(self, list, CHECK_MEMORY_LEAK_SUSPECTED, REC_LEAK, "memory grew until runs ended (",
			  "): possible leak, a limit only delays the OOM");
}

int check_unstable(const struct deciding *self, struct findings *list)
{
	return find_shape(self, list, CHECK_MEMORY_UNSTABLE, REC_UNSTABLE, "peaks of past runs differ widely, up to ",
			  "; sizes follow the largest");
}

static int unschedulable(const struct deciding *self, struct findings *list, enum sized_resource resource,
			 int64_t largest)
{
	enum k8s_resource r = sized_resource_of(resource);
	int64_t effective = k8s_pod_effective_request(&self->after, r);

	if (largest <= 0 || effective <= largest)
		return 0;
	return finding_add(self, list, CHECK_UNSCHEDULABLE_SIZE, false, NULL,
			   finding_pointer(self, &self->items[0], resource, SIZE_REQUEST),
			   arena_printf(self->arena, "the pod requests %s of %s; the largest node%s has %s",
					request_text(self, resource, effective, true), k8s_resource_names[r],
					self->facts->nodes.is_complete ? "" : " seen so far", HUMAN(largest)));
}

int check_unschedulable(const struct deciding *self, struct findings *list)
{
	int r = unschedulable(self, list, SIZED_MEMORY, self->facts->nodes.largest_memory_bytes);

	return r ? r : unschedulable(self, list, SIZED_EPHEMERAL, self->facts->nodes.largest_ephemeral_bytes);
}

static bool has_shm_mount(const struct deciding *self, const struct k8s_container *container)
{
	if (self->input->has_shm && container->type == K8S_CONTAINER_MAIN && container->index == 0)
		return true;
	STEPS(container->n_mounts);
	for (size_t i = 0; i < container->n_mounts; i++)
		if (streq(container->mounts[i].path, "/dev/shm") || streq(container->mounts[i].path, "/dev/shm/"))
			return true;
	return false;
}

/* One process drives all TPUs of a host, which are connected to each other. */
static bool is_tpu(const struct sized *item)
{
	return streq(item->ask.resource, "google.com/tpu");
}

/* Each container has its own /dev/shm. */
int check_shm_small(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		int64_t milli = decide_part_of(item, self->facts->ask.milli);

		if (milli < SHM_ACCELERATORS_MILLI || (self->facts->is_trainer && !self->input->has_runtime) ||
		    self->facts->pod.is_host_ipc || has_shm_mount(self, item->container) || is_tpu(item))
			continue;
		r = finding_add(self, list, CHECK_SHM_SMALL, false, item->container,
				arena_printf(self->arena, "/spec/%s/%zu", k8s_container_array(item->container),
					     item->container->index),
				arena_printf(self->arena,
					     "/dev/shm is 64Mi for %lld accelerators; mount a memory emptyDir there",
					     (long long)(milli / 1000)));
	}
	return r;
}

static bool is_unbounded(const struct k8s_volume *volume, bool is_memory)
{
	return volume->is_emptydir && volume->is_memory == is_memory && !k8s_amount_is_set(&volume->size_limit);
}

/* Collects the names of volumes that a container mounts. */
static int gather_mounted(const struct k8s_pod *pod, struct strmap *ret)
{
	int r = 0;

	for (size_t i = 0; i < pod->n_containers; i++) {
		STEPS(1 + pod->containers[i].n_mounts);
		for (size_t k = 0; k < pod->containers[i].n_mounts && !r; k++)
			r = strmap_put(ret, pod->containers[i].mounts[k].volume, NULL);
	}
	return r;
}

/* Finds emptyDirs of one medium without a size limit, the first VOLUMES_MAX. A volume that no container mounts stays
 * empty. */
static int find_unbounded(const struct deciding *self, struct findings *list, enum check_id check, bool is_memory,
			  const char *what)
{
	CLEANUP(strmap_release) struct strmap mounted = STRMAP_INIT;
	bool is_gathered = false;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < self->facts->pod.n_volumes && n < VOLUMES_MAX && !r; i++) {
		const struct k8s_volume *volume = &self->facts->pod.volumes[i];

		STEPS(1);
		if (!is_unbounded(volume, is_memory))
			continue;
		if (!is_gathered)
			r = gather_mounted(&self->facts->pod, &mounted);
		is_gathered = true;
		if (r || !strmap_has(&mounted, volume->name))
			continue;
		r = finding_add(self, list, check, false, NULL,
				arena_printf(self->arena, "/spec/volumes/%zu/emptyDir", i),
				arena_printf(self->arena, "volume \"%s\": %s",
					     text_clean(self->arena, volume->name, TEXT_VALUE_CHARS), what));
		n++;
	}
	return r;
}

int check_shm_unbounded(const struct deciding *self, struct findings *list)
{
	return find_unbounded(self, list, CHECK_SHM_UNBOUNDED, true,
			      "memory emptyDir without sizeLimit can fill the memory limit");
}

/* The kubelet evicts a pod that uses more than the sum of its containers' limits. Containers without a limit add
 * nothing, and one limit is enough for a sum. */
int check_emptydir_unbounded(const struct deciding *self, struct findings *list)
{
	for (size_t i = 0; i < self->n_items; i++)
		if (self->items[i].fields[SIZED_EPHEMERAL][SIZE_LIMIT].has)
			return 0;
	return find_unbounded(self, list, CHECK_EMPTYDIR_UNBOUNDED, false,
			      "emptyDir without sizeLimit can fill the node's disk");
}

int check_critical(const struct deciding *self, struct findings *list)
{
	const char *why;
	bool is_patched = k8s_pod_qos(&self->after) == K8S_QOS_GUARANTEED;

	if (!decide_is_critical(self->facts, &why) || self->facts->qos == K8S_QOS_GUARANTEED)
		return 0;
	return finding_add(self, list, CHECK_CRITICAL_NOT_GUARANTEED, is_patched, NULL, "/spec",
			   arena_printf(self->arena, "critical pod (%s) is %s, not Guaranteed%s%s", why,
					k8s_qos_names[self->facts->qos], self->critical_why ? "; " : "",
					self->critical_why   ? self->critical_why
					: !is_patched	     ? ""
					: is_set_later(self) ? "; requests will equal limits"
							     : "; requests set to limits"));
}

/* Containers other than main containers are sized only by a history of their own. */
int check_sized_by_vpa(const struct deciding *self, struct findings *list)
{
	int r = 0;

	if (decide_has_unknown_vpa(self->facts))
		return finding_add(self, list, CHECK_SIZED_BY_VPA, false, NULL, "/metadata/annotations",
				   "memory is left to a VerticalPodAutoscaler (annotation " KEY_VPA_UPDATES ")");
	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];

		if (item->vpa && (item->is_main || item->profile))
			r = finding_add(self, list, CHECK_SIZED_BY_VPA, false, item->container,
					finding_pointer(self, item, SIZED_MEMORY, SIZE_REQUEST),
					arena_printf(self->arena, "memory is left to VerticalPodAutoscaler %s",
						     text_clean(self->arena, item->vpa->name, TEXT_VALUE_CHARS)));
	}
	return r;
}
