/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks_pod: the pod beside its nodes, its volumes, its units and its past. */
#include "policy/decide_checks.h"

#include "base/limits.h"
#include "base/str.h"
#include "policy/size_math.h"

#include <errno.h>
#include <string.h>

enum { UNIT_RATIO = 100, SHM_ACCELERATORS_MILLI = 2000 };

/* The limit of the main container, else the pod's request, against the share that goes with its accelerators. */
static int over_share(struct deciding *self, enum check_id check, enum sized_resource resource, int64_t share,
		      const char *what)
{
	const struct sized *item = &self->items[0];
	const struct field *fields = item->fields[resource];
	int64_t bar = size_scale_permille(share, self->policy->sizing.over_share_permille);
	int f = fields[SIZE_LIMIT].now_bytes > bar ? SIZE_LIMIT : SIZE_REQUEST;
	int64_t now = fields[SIZE_LIMIT].now_bytes;
	const char *part;

	if (f == SIZE_REQUEST)
		now = k8s_pod_effective_request(&self->pod, sized_resource_of(resource));
	if (share <= 0 || now <= bar)
		return 0;
	part = text_part(self);
	if (!part)
		return -ENOMEM;
	return finding_add_field(self, check, item, resource, f,
				 arena_printf(self->arena, "%s %s %s exceeds the %s share of %s", what,
					      f == SIZE_LIMIT ? "limit" : "request", EXACT(now), HUMAN(share), part),
				 "");
}

int check_over_share(struct deciding *self)
{
	return over_share(self, CHECK_MEMORY_OVER_GPU_SHARE, SIZED_MEMORY, self->nodes.share_memory_bytes, "memory");
}

int check_ephemeral_over_share(struct deciding *self)
{
	return over_share(self, CHECK_EPHEMERAL_STORAGE_OVER_GPU_SHARE, SIZED_EPHEMERAL,
			  self->nodes.share_ephemeral_bytes, "ephemeral-storage");
}

int check_usage_over_share(struct deciding *self)
{
	const struct sized *item = &self->items[0];
	int64_t share = self->nodes.share_memory_bytes;
	const char *runs, *part;

	if (share <= 0 || item->rec.peak_bytes <= size_scale_permille(share, self->policy->sizing.over_share_permille))
		return 0;
	runs = text_runs(self, MAX(item->rec.whole_runs, 1));
	part = text_part(self);
	if (!runs || !part)
		return -ENOMEM;
	return finding_add(self, CHECK_USAGE_OVER_GPU_SHARE, false, item->container,
			   finding_pointer(self, item, SIZED_MEMORY, SIZE_LIMIT),
			   arena_printf(self->arena, "%s peaked at %s, above the %s share of %s", runs,
					HUMAN(item->rec.peak_bytes), HUMAN(share), part));
}

int check_oom_history(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct recommendation *rec = &item->rec;
		const char *runs;

		if (rec->oom_kills <= 0)
			continue;
		runs = text_runs(self, MAX(rec->runs, rec->oom_kills));
		if (!runs)
			return -ENOMEM;
		r = finding_add(self, CHECK_OOM_HISTORY, false, item->container,
				finding_pointer(self, item, SIZED_MEMORY, SIZE_LIMIT),
				arena_printf(self->arena, "%d of %s OOM-killed%s%s", rec->oom_kills, runs,
					     rec->proven_bytes > 0 ? ", at a limit of up to " : "",
					     rec->proven_bytes > 0 ? EXACT(rec->proven_bytes) : ""));
	}
	return r;
}

/* Nothing in the pod: Always. */
static bool restarts_in_place(const struct k8s_pod *pod)
{
	return !streq(pod->restart_policy, "Never");
}

/* A template that says nothing is judged when its pods are made: kinds as PyTorchJob say it beside the template, and
 * controllers as Argo's decide themselves. Always is of pods whose API wants nothing else, most of the time. */
int check_oom_not_retriable(struct deciding *self)
{
	const struct sized *item = &self->items[0];
	bool has_limit = item->after->resources.limits[K8S_MEMORY].text != NULL;
	bool is_always = !self->pod.restart_policy[0] || streq(self->pod.restart_policy, "Always");

	if (self->input->subject == SUBJECT_TEMPLATE && !self->pod.restart_policy[0])
		return 0;
	if (item->rec.oom_kills <= 0 || !has_limit || !restarts_in_place(&self->pod) ||
	    resize_mode_of(self->policy->resize, &self->pod.annotations) != RESIZE_OFF)
		return 0;
	return finding_add(
		self, CHECK_OOM_NOT_RETRIABLE, false, NULL,
		self->pod.restart_policy[0] ? "/spec/restartPolicy" : "/spec",
		arena_printf(self->arena,
			     "restartPolicy %s: a container that is OOM-killed restarts with the same limit; %s",
			     is_always ? "Always" : self->pod.restart_policy,
			     is_always ? "only a new pod gets more" : "use Never"));
}

/* What the shape of past runs says of a container, with their greatest peak in the middle. */
static int find_shape(struct deciding *self, enum check_id check, enum recommendation_flag flag, const char *head,
		      const char *tail)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];

		if (item->rec.flags & flag && item->rec.peak_bytes > 0)
			r = finding_add(self, check, false, item->container,
					finding_pointer(self, item, SIZED_MEMORY, SIZE_LIMIT),
					arena_printf(self->arena, "%s%s%s", head, HUMAN(item->rec.peak_bytes), tail));
	}
	return r;
}

int check_leak(struct deciding *self)
{
	return find_shape(self, CHECK_MEMORY_LEAK_SUSPECTED, REC_LEAK, "past runs grew until they ended, to ",
			  ": looks like a leak, which no limit cures");
}

int check_unstable(struct deciding *self)
{
	return find_shape(self, CHECK_MEMORY_UNSTABLE, REC_UNSTABLE, "peaks of past runs differ widely, up to ",
			  ": sizes follow the largest");
}

static int unschedulable(struct deciding *self, enum sized_resource resource, int64_t largest)
{
	enum k8s_resource r = sized_resource_of(resource);
	int64_t effective = k8s_pod_effective_request(&self->after, r);

	if (largest <= 0 || effective <= largest)
		return 0;
	return finding_add(self, CHECK_UNSCHEDULABLE_SIZE, false, NULL,
			   finding_pointer(self, &self->items[0], resource, SIZE_REQUEST),
			   arena_printf(self->arena, "%s request %s of the pod is above the largest node%s, %s",
					k8s_resource_names[r], EXACT(effective),
					self->nodes.is_complete ? "" : " seen so far", HUMAN(largest)));
}

int check_unschedulable(struct deciding *self)
{
	int r = unschedulable(self, SIZED_MEMORY, self->nodes.largest_memory_bytes);

	return r ? r : unschedulable(self, SIZED_EPHEMERAL, self->nodes.largest_ephemeral_bytes);
}

/* One that LimitRanger sets is written nowhere yet. */
static const char *limit_as_written(const struct deciding *self, const struct sized *item)
{
	const char *text = item->container->resources.limits[K8S_MEMORY].text;

	return text ? text_clean(self->arena, text, FINDING_NAME_CHARS)
		    : arena_printf(self->arena, "%s", EXACT(item->fields[SIZED_MEMORY][SIZE_LIMIT].now_bytes));
}

static const char *unit_trouble(const struct deciding *self, const struct sized *item, int f)
{
	const struct k8s_resources *resources = &item->container->resources;
	const struct k8s_amount *amount = f == SIZE_LIMIT ? &resources->limits[K8S_MEMORY]
							  : &resources->requests[K8S_MEMORY];
	const struct field *fields = item->fields[SIZED_MEMORY];
	size_t n = amount->text ? strlen(amount->text) : 0;
	const char *said;

	if (!n || amount->is_invalid)
		return "";
	said = text_clean(self->arena, amount->text, FINDING_NAME_CHARS);
	if (!said)
		return NULL;
	if (amount->text[n - 1] == 'm')
		return arena_printf(self->arena, "memory %s %s is in thousandths of a byte; is %.*sM meant?",
				    f == SIZE_LIMIT ? "limit" : "request", said, (int)MIN(n - 1, 20), said);
	if (amount->value > 0 && amount->value < (int64_t)MIB)
		return arena_printf(self->arena, "memory %s %s is less than 1Mi; is the unit missing?",
				    f == SIZE_LIMIT ? "limit" : "request", said);
	if (f == SIZE_REQUEST && fields[SIZE_LIMIT].has && !fields[SIZE_LIMIT].is_invalid && amount->value > 0 &&
	    amount->value < fields[SIZE_LIMIT].now_bytes / UNIT_RATIO)
		return arena_printf(self->arena, "memory request %s next to a limit of %s; is the unit right?", said,
				    limit_as_written(self, item));
	return "";
}

int check_unit(struct deciding *self)
{
	for (size_t i = 0; i < self->n_items; i++) {
		for (int f = 0; f < 2; f++) {
			const char *text = unit_trouble(self, &self->items[i], f);
			int r = 0;

			if (!text || text[0])
				r = finding_add(self, CHECK_MEMORY_UNIT_SUSPICIOUS, false, self->items[i].container,
						finding_pointer(self, &self->items[i], SIZED_MEMORY, f), text);
			if (r)
				return r;
		}
	}
	return 0;
}

static bool has_shm_mount(const struct k8s_container *container)
{
	for (size_t i = 0; i < container->n_mounts; i++)
		if (streq(container->mounts[i].path, "/dev/shm") || streq(container->mounts[i].path, "/dev/shm/"))
			return true;
	return false;
}

int check_shm_small(struct deciding *self)
{
	const struct sized *item = &self->items[0];

	if (self->ret->ask.milli < SHM_ACCELERATORS_MILLI || self->is_trainer || self->pod.is_host_ipc ||
	    has_shm_mount(item->container))
		return 0;
	return finding_add(
		self, CHECK_SHM_SMALL, false, item->container,
		arena_printf(self->arena, "/spec/%s/%zu", k8s_container_array(item->container), item->container->index),
		arena_printf(self->arena, "%lld accelerators share 64Mi of /dev/shm; mount a memory emptyDir there",
			     (long long)(self->ret->ask.milli / 1000)));
}

static int add_volume(struct deciding *self, enum check_id check, size_t index, const char *what)
{
	const char *name = text_clean(self->arena, self->pod.volumes[index].name, FINDING_NAME_CHARS);

	return finding_add(self, check, false, NULL, arena_printf(self->arena, "/spec/volumes/%zu/emptyDir", index),
			   name ? arena_printf(self->arena, "volume \"%s\": %s", name, what) : NULL);
}

int check_shm_unbounded(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->pod.n_volumes && !r; i++) {
		const struct k8s_volume *volume = &self->pod.volumes[i];

		if (volume->is_emptydir && volume->is_memory && !volume->size_limit.text)
			r = add_volume(self, CHECK_SHM_UNBOUNDED, i,
				       "memory emptyDir without sizeLimit may fill the memory limit");
	}
	return r;
}

/* Limits of ephemeral storage on all containers bound what volumes may take. */
int check_emptydir_unbounded(struct deciding *self)
{
	bool is_bounded = true;
	int r = 0;

	for (size_t i = 0; i < self->n_items; i++)
		is_bounded &= self->items[i].container->type == K8S_CONTAINER_INIT ||
			      self->items[i].fields[SIZED_EPHEMERAL][SIZE_LIMIT].has;
	for (size_t i = 0; i < self->pod.n_volumes && !r && !is_bounded; i++) {
		const struct k8s_volume *volume = &self->pod.volumes[i];

		if (volume->is_emptydir && !volume->is_memory && !volume->size_limit.text)
			r = add_volume(self, CHECK_EMPTYDIR_UNBOUNDED, i,
				       "emptyDir without sizeLimit may fill the node's disk");
	}
	return r;
}

int check_critical(struct deciding *self)
{
	const char *why;
	bool is_patched = k8s_pod_qos(&self->after) == K8S_QOS_GUARANTEED;

	if (!decide_is_critical(self, &why) || self->qos == K8S_QOS_GUARANTEED)
		return 0;
	return finding_add(self, CHECK_CRITICAL_NOT_GUARANTEED, is_patched, NULL, "/spec",
			   arena_printf(self->arena, "critical pod (%s) is %s, not Guaranteed%s%s", why,
					k8s_qos_names[self->qos], self->critical_why ? "; " : "",
					self->critical_why   ? self->critical_why
					: !is_patched	     ? ""
					: is_set_later(self) ? "; memory request will be set to the limit"
							     : "; memory request set to the limit"));
}
