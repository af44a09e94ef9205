/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/evidence.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "k8s/accelerator.h"
#include "k8s/keys.h"
#include "k8s/kinds.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const int evidence_ladder_permille[EVIDENCE_LADDER] = {50, 250, 500, 750, 950};

void evidence_batch_init(struct evidence_batch *self, const struct evidence_window *window)
{
	*self = (struct evidence_batch){.window = *window, .pods = POD_SET_INIT(LIMIT_EVIDENCE_BYTES)};
}

void evidence_batch_release(struct evidence_batch *self)
{
	pod_set_release(&self->pods);
	strmap_release(&self->pods_by_name);
	*self = (struct evidence_batch){.window = self->window};
}

struct pod *evidence_pod_get(const struct evidence_batch *self, const char *namespace_name, const char *name,
			     const char *uid)
{
	char key[EVIDENCE_NAME_BYTES * 2 + 2];

	if (uid && *uid)
		return pod_set_find(&self->pods, namespace_name, name, uid);
	snprintf(key, sizeof(key), "%s/%s", namespace_name, name);
	return strmap_get(&self->pods_by_name, key);
}

struct pod *evidence_pod_put(struct evidence_batch *self, const char *namespace_name, const char *name, const char *uid)
{
	struct pod *pod = evidence_pod_get(self, namespace_name, name, uid), *namesake;
	const char *by_name;

	if (pod)
		return pod;
	by_name = arena_printf(&self->pods.arena, "%s/%s", namespace_name, name);
	pod = by_name ? pod_set_add(&self->pods, namespace_name, name, uid) : NULL;
	if (!pod)
		return NULL;
	pod->activity_sum = -1;
	namesake = strmap_get(&self->pods_by_name, by_name);
	if (namesake)
		pod->is_name_shared = namesake->is_name_shared = true;
	return strmap_put(&self->pods_by_name, by_name, pod) ? NULL : pod;
}

struct evidence_usage *evidence_usage_put(struct evidence_batch *self, struct pod_container *container,
					  const char *cgroup)
{
	struct evidence_usage usage = {0};

	for (size_t i = 0; i < container->usage.n; i++)
		if (streq(container->usage.items[i].cgroup, cgroup))
			return &container->usage.items[i];
	usage.cgroup = pod_set_text(&self->pods, cgroup);
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

static const char *label_of(const struct pod *pod, const char *key)
{
	for (size_t i = 0; i < pod->labels.n; i++)
		if (streq(pod->labels.items[i].key, key))
			return pod->labels.items[i].value;
	return NULL;
}

void evidence_pod_classify(struct pod *pod)
{
	const char *kinds[] = {pod->root_kind, pod->owner_kind};
	bool has_accelerator = false;
	const char *word;

	/* The watch of pods has called the webhook's function, which sees more than metrics contain. */
	if (pod->is_watched)
		return;
	pod->is_training = false;
	word = label_of(pod, KEY_IGNORE);
	if (word && streq(word, "true"))
		return;
	word = label_of(pod, KEY_TRAINING);
	if (word) {
		pod->is_training = streq(word, "true");
		return;
	}
	/* A pod with an unknown owner may be a server. */
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

	if (samples <= 0 || samples > end_ms - start_ms)
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

/* Samples on both sides of an hour's border are dense there. So the first sample is found by counting back from the
 * border, and the last one by counting forward. */
void evidence_usage_settle(struct evidence_usage *self)
{
	const struct evidence_hours *hours = &self->hours;
	int64_t step_ms;

	/* Only an hour between two others is certainly full. Otherwise the few samples of a short run across an hour's
	 * border would be taken for a full hour, and the run would appear much longer. */
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
	int64_t milli = 0;

	if (count <= 0 || !accelerator_is_metric_resource(sanitised))
		return 0;
	if (evidence_resource_name(sanitised, name, sizeof(name)))
		milli = accelerator_milli(name);
	return count * (milli > 0 ? milli : 1000); /* an unknown share counts as a whole device */
}

void evidence_nodes_release(struct evidence_nodes *self)
{
	vec_release(&self->items);
	strmap_release(&self->by_name);
	arena_release(&self->arena);
	*self = (struct evidence_nodes){.arena = ARENA_INIT(LIMIT_EVIDENCE_BYTES)};
}
