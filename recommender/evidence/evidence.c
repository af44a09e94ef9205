/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/evidence.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "k8s/accelerator.h"
#include "k8s/kinds.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const int evidence_ladder_permille[EVIDENCE_LADDER] = {50, 250, 500, 750, 950};

void evidence_batch_init(struct evidence_batch *self, const struct evidence_window *window)
{
	*self = (struct evidence_batch){.window = *window, .arena = ARENA_INIT(LIMIT_EVIDENCE_BYTES)};
}

void evidence_batch_release(struct evidence_batch *self)
{
	for (size_t i = 0; i < self->pods.n; i++) {
		struct evidence_pod *pod = self->pods.items[i];

		for (size_t k = 0; k < pod->containers.n; k++)
			vec_release(&pod->containers.items[k].usage);
		vec_release(&pod->containers);
		vec_release(&pod->labels);
	}
	vec_release(&self->pods);
	strmap_release(&self->pods_by_id);
	strmap_release(&self->pods_by_name);
	strmap_release(&self->texts);
	arena_release(&self->arena);
	*self = (struct evidence_batch){.window = self->window};
}

const char *evidence_intern(struct evidence_batch *self, const char *text)
{
	char *copy;

	if (!text || !*text)
		return "";
	copy = strmap_get(&self->texts, text);
	if (copy)
		return copy;
	copy = arena_strdup(&self->arena, text);
	return copy && strmap_put(&self->texts, copy, copy) == 0 ? copy : NULL;
}

/* Keys are told apart by a byte that no name holds. */
static char *key_of(struct arena *arena, const char *namespace_name, const char *name, const char *uid)
{
	return uid ? arena_printf(arena, "%s/%s/%s", namespace_name, name, uid)
		   : arena_printf(arena, "%s/%s", namespace_name, name);
}

struct evidence_pod *evidence_pod_get(const struct evidence_batch *self, const char *namespace_name, const char *name,
				      const char *uid)
{
	char key[EVIDENCE_NAME_BYTES * 3 + 3];
	bool has_uid = uid && *uid;

	/* No allocation: a failed one must not look like an absent pod. */
	snprintf(key, sizeof(key), has_uid ? "%s/%s/%s" : "%s/%s", namespace_name, name, uid);
	return strmap_get(has_uid ? &self->pods_by_id : &self->pods_by_name, key);
}

static struct evidence_pod *pod_new(struct evidence_batch *self, const char *namespace_name, const char *name,
				    const char *uid)
{
	struct evidence_pod *pod = arena_alloc(&self->arena, sizeof(*pod));
	char *id = key_of(&self->arena, namespace_name, name, uid);
	char *by_name = key_of(&self->arena, namespace_name, name, NULL);

	if (!pod || !id || !by_name)
		return NULL;
	*pod = (struct evidence_pod){.namespace_name = evidence_intern(self, namespace_name),
				     .name = evidence_intern(self, name),
				     .uid = evidence_intern(self, uid),
				     .owner_kind = "",
				     .owner_name = "",
				     .owner_uid = "",
				     .root_kind = "",
				     .root_name = "",
				     .activity_sum = -1,
				     .decision = ""};
	if (strmap_has(&self->pods_by_name, by_name)) {
		pod->is_name_shared = true;
		((struct evidence_pod *)strmap_get(&self->pods_by_name, by_name))->is_name_shared = true;
	}
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what it holds */
	if (!pod->namespace_name || !pod->name || !pod->uid || vec_push(&self->pods, pod))
		return NULL;
	if (strmap_put(&self->pods_by_id, id, pod) || strmap_put(&self->pods_by_name, by_name, pod))
		return NULL;
	return pod;
}

struct evidence_pod *evidence_pod_put(struct evidence_batch *self, const char *namespace_name, const char *name,
				      const char *uid)
{
	struct evidence_pod *pod;

	uid = uid ? uid : "";
	pod = evidence_pod_get(self, namespace_name, name, uid);
	if (pod && streq(pod->uid, *uid ? uid : pod->uid))
		return pod;
	return pod_new(self, namespace_name, name, uid);
}

struct evidence_container *evidence_container_put(struct evidence_batch *self, struct evidence_pod *pod,
						  const char *name)
{
	struct evidence_container container = {.image = ""};

	for (size_t i = 0; i < pod->containers.n; i++)
		if (streq(pod->containers.items[i].name, name))
			return &pod->containers.items[i];
	container.name = evidence_intern(self, name);
	if (!container.name || pod->containers.n == LIMIT_POD_CONTAINERS || vec_push(&pod->containers, container))
		return NULL;
	return &pod->containers.items[pod->containers.n - 1];
}

struct evidence_usage *evidence_usage_put(struct evidence_batch *self, struct evidence_container *container,
					  const char *cgroup)
{
	struct evidence_usage usage = {0};

	for (size_t i = 0; i < container->usage.n; i++)
		if (streq(container->usage.items[i].cgroup, cgroup))
			return &container->usage.items[i];
	usage.cgroup = evidence_intern(self, cgroup);
	if (!usage.cgroup || vec_push(&container->usage, usage))
		return NULL;
	return &container->usage.items[container->usage.n - 1];
}

enum { UID_CHARS = 36 };

/* 8-4-4-4-12 hex digits; systemd's slice names have `_` for `-`. */
static bool uid_at(const char *text, char ret[40])
{
	for (int i = 0; i < UID_CHARS; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? text[i] != '-' && text[i] != '_' : !isxdigit((unsigned char)text[i]))
			return false;
		ret[i] = is_dash ? '-' : text[i];
	}
	ret[UID_CHARS] = '\0';
	return !isxdigit((unsigned char)text[UID_CHARS]);
}

bool evidence_cgroup_uid(const char *cgroup, char ret[40])
{
	for (const char *p = strstr(cgroup, "pod"); p; p = strstr(p + 1, "pod"))
		if (strlen(p + 3) >= UID_CHARS && uid_at(p + 3, ret))
			return true;
	return false;
}

void evidence_pod_classify(struct evidence_pod *pod)
{
	const char *kinds[] = {pod->root_kind, pod->owner_kind};
	bool has_accelerator = false;

	/* Who watches pods has asked the function of admission, which sees more than metrics tell. */
	if (pod->is_watched)
		return;
	pod->is_training = false;
	for (size_t i = 0; i < pod->labels.n; i++)
		if (streq(pod->labels.items[i].key, "memtamer.io/training")) {
			pod->is_training = streq(pod->labels.items[i].value, "true");
			return;
		}
	/* Whatever is not known to be a bare pod may be a server. */
	if (!pod->is_owner_known)
		return;
	for (size_t i = 0; i < pod->containers.n; i++)
		has_accelerator |= pod->containers.items[i].accelerators_milli > 0;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct kind *kind = *kinds[i] ? kind_find(NULL, kinds[i]) : NULL;

		if (kind && kind->class_ != KIND_BATCH) {
			pod->is_training = kind->class_ == KIND_TRAINING;
			return;
		}
	}
	pod->is_training = has_accelerator;
}

void evidence_usage_add_hour(struct evidence_usage *self, int64_t start_ms, int64_t end_ms, int64_t samples)
{
	struct evidence_hours *hours = &self->hours;

	if (samples <= 0)
		return;
	self->samples += samples;
	if (end_ms - start_ms == TIME_HOUR_MS)
		self->hour_samples = MAX(self->hour_samples, samples);
	if (!hours->first_samples || start_ms < hours->first_ms) {
		hours->first_ms = start_ms;
		hours->first_end_ms = end_ms;
		hours->first_samples = samples;
	}
	if (!hours->last_samples || start_ms > hours->last_ms) {
		hours->last_ms = start_ms;
		hours->last_samples = samples;
	}
}

/* Samples that reach over an hour's border are dense on both sides of it, so counting back from the border finds the
 * first one, and counting on the last one. */
void evidence_usage_settle(struct evidence_usage *self)
{
	const struct evidence_hours *hours = &self->hours;
	int64_t step_ms;

	/* Only an hour between two others is sure to be full: a short run over an hour's border would else count for as
	 * long as if its few samples had filled an hour. */
	if (hours->last_ms - hours->first_ms < 2 * TIME_HOUR_MS)
		self->hour_samples = 0;
	self->first_ms = hours->first_ms;
	self->last_ms = hours->first_end_ms;
	self->is_coarse = hours->first_ms == hours->last_ms || !self->hour_samples;
	if (hours->last_ms != hours->first_ms)
		self->last_ms = hours->last_ms + TIME_HOUR_MS;
	if (self->is_coarse)
		return;
	step_ms = MAX(TIME_HOUR_MS / self->hour_samples, 1);
	self->first_ms = MAX(hours->first_ms, hours->first_end_ms - hours->first_samples * step_ms);
	self->last_ms = MIN(self->last_ms, hours->last_ms + hours->last_samples * step_ms);
}

bool evidence_resource_name(const char *sanitised, char *ret, size_t size)
{
	static const char *const domains[] = {"_com_", "_ai_", "_io_", "_org_", "_sh_"};
	size_t n = strlen(sanitised), slash = 0;

	if (n >= size || !accelerator_is_metric_resource(sanitised))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
		const char *p = strstr(sanitised, domains[i]);

		if (p && (!slash || (size_t)(p - sanitised) + strlen(domains[i]) - 1 < slash))
			slash = (size_t)(p - sanitised) + strlen(domains[i]) - 1;
	}
	if (!slash)
		return false;
	memcpy(ret, sanitised, n + 1);
	for (size_t i = 0; i < n; i++)
		if (ret[i] == '_')
			ret[i] = i == slash ? '/' : '.';
	if (strstarts(ret + slash + 1, "mig."))
		ret[slash + 4] = '-';
	return accelerator_is_resource(ret);
}

int64_t evidence_accelerators_milli(const char *sanitised, int64_t count)
{
	char name[128];
	struct k8s_extended extended = {.name = name, .count = count};
	struct k8s_container container = {.resources = {.is_present = true, .extended = &extended, .n_extended = 1}};
	struct accelerator_ask ask;

	if (count <= 0 || !accelerator_is_metric_resource(sanitised))
		return 0;
	if (!evidence_resource_name(sanitised, name, sizeof(name)) || !accelerator_of_container(&container, &ask))
		return 1000 * count; /* an accelerator whose share is not known */
	return ask.milli > 0 ? ask.milli : 1000 * count;
}

void evidence_nodes_release(struct evidence_nodes *self)
{
	vec_release(&self->items);
	arena_release(&self->arena);
	*self = (struct evidence_nodes){.arena = ARENA_INIT(LIMIT_EVIDENCE_BYTES)};
}
