/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/pod.h"

#include "base/limits.h"

#include <errno.h>
#include <stdio.h>

const struct pod_number pod_numbers[POD_NUMBERS] = {
	{offsetof(struct pod, start_ms), POD_MERGE_LATEST},
	{offsetof(struct pod, completion_ms), POD_MERGE_LATEST},
	{offsetof(struct pod, seen_from_ms), POD_MERGE_OWN},
	{offsetof(struct pod, peak_ephemeral_bytes), POD_MERGE_GREATEST},
	{offsetof(struct pod, pending_ms), POD_MERGE_LATEST},
	{offsetof(struct pod, room_wait_ms), POD_MERGE_LATEST},
	{offsetof(struct pod, activity_sum), POD_MERGE_OWN},
	{offsetof(struct pod, activity_samples), POD_MERGE_OWN},
};

const struct pod_number pod_container_numbers[POD_CONTAINER_NUMBERS] = {
	{offsetof(struct pod_container, limit_bytes), POD_MERGE_LATEST},
	{offsetof(struct pod_container, request_bytes), POD_MERGE_LATEST},
	{offsetof(struct pod_container, ephemeral_limit_bytes), POD_MERGE_LATEST},
	{offsetof(struct pod_container, ephemeral_request_bytes), POD_MERGE_LATEST},
	{offsetof(struct pod_container, accelerators_milli), POD_MERGE_LATEST},
	{offsetof(struct pod_container, peak_bytes), POD_MERGE_OWN},
	{offsetof(struct pod_container, peak_rss_bytes), POD_MERGE_OWN},
	{offsetof(struct pod_container, peak_active_file_bytes), POD_MERGE_OWN},
	{offsetof(struct pod_container, median_bytes), POD_MERGE_OWN},
	{offsetof(struct pod_container, p95_bytes), POD_MERGE_OWN},
	{offsetof(struct pod_container, samples), POD_MERGE_OWN},
	{offsetof(struct pod_container, covered_ms), POD_MERGE_OWN},
	{offsetof(struct pod_container, step_ms), POD_MERGE_OWN},
	{offsetof(struct pod_container, first_ms), POD_MERGE_OWN},
	{offsetof(struct pod_container, last_ms), POD_MERGE_OWN},
	{offsetof(struct pod_container, gpu.used_bytes), POD_MERGE_OWN},
	{offsetof(struct pod_container, gpu.capacity_bytes), POD_MERGE_OWN},
};

const size_t pod_texts[POD_TEXTS] = {
	offsetof(struct pod, namespace_name), offsetof(struct pod, name),	offsetof(struct pod, uid),
	offsetof(struct pod, owner_kind),     offsetof(struct pod, owner_name), offsetof(struct pod, root_kind),
	offsetof(struct pod, root_name),      offsetof(struct pod, decision),
};

int64_t *pod_number_of(void *object, const struct pod_number *number)
{
	return (int64_t *)(void *)((char *)object + number->offset);
}

const char **pod_text_of(struct pod *pod, size_t text)
{
	return (const char **)(void *)((char *)pod + pod_texts[text]);
}

void pod_numbers_merge(const struct pod_number *numbers, size_t n, void *to, const void *from)
{
	for (size_t i = 0; i < n; i++) {
		int64_t *figure = pod_number_of(to, &numbers[i]);
		int64_t newer = *(const int64_t *)(const void *)((const char *)from + numbers[i].offset);

		if (numbers[i].merge == POD_MERGE_GREATEST ? newer > *figure
							   : numbers[i].merge == POD_MERGE_LATEST && newer)
			*figure = newer;
	}
}

static void container_release(struct pod_container *container)
{
	vec_release(&container->usage);
	sketch_release(&container->sketch);
}

static void pod_release(struct pod *pod)
{
	for (size_t i = 0; i < pod->containers.n; i++)
		container_release(&pod->containers.items[i]);
	vec_release(&pod->containers);
	vec_release(&pod->labels);
}

void pod_set_release(struct pod_set *self)
{
	for (size_t i = 0; i < self->n; i++)
		if (self->items[i])
			pod_release(self->items[i]);
	container_release(&self->left_out);
	vec_release(self);
	strmap_release(&self->by_id);
	strmap_release(&self->texts);
	arena_release(&self->arena);
}

const char *pod_set_text(struct pod_set *self, const char *text)
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

struct pod *pod_set_find(const struct pod_set *self, const char *namespace_name, const char *name, const char *uid)
{
	char key[EVIDENCE_NAME_BYTES * 3 + 3];

	/* No allocation, because its failure would look like an absent pod. */
	snprintf(key, sizeof(key), "%s/%s/%s", namespace_name, name, uid);
	return strmap_get(&self->by_id, key);
}

int pod_set_index(struct pod_set *self, struct pod *pod)
{
	const char *key = arena_printf(&self->arena, "%s/%s/%s", pod->namespace_name, pod->name, pod->uid);

	return key ? strmap_put(&self->by_id, key, pod) : -ENOMEM;
}

struct pod *pod_set_add(struct pod_set *self, const char *namespace_name, const char *name, const char *uid)
{
	struct pod *pod = arena_alloc(&self->arena, sizeof(*pod));

	if (!pod)
		return NULL;
	*pod = (struct pod){.namespace_name = namespace_name, .name = name, .uid = uid};
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what it holds */
	if (pod_set_own_texts(self, pod) || vec_push(self, pod))
		return NULL;
	return pod_set_index(self, pod) ? NULL : pod;
}

static int own(struct pod_set *self, const char **text)
{
	*text = pod_set_text(self, *text);
	return *text ? 0 : -ENOMEM;
}

int pod_set_own_texts(struct pod_set *self, struct pod *pod)
{
	int r = own(self, &pod->owner_uid);

	for (size_t i = 0; i < POD_TEXTS && !r; i++)
		r = own(self, pod_text_of(pod, i));
	for (size_t i = 0; i < pod->labels.n && !r; i++)
		r = own(self, &pod->labels.items[i].key) || own(self, &pod->labels.items[i].value) ? -ENOMEM : 0;
	for (size_t i = 0; i < pod->containers.n && !r; i++)
		r = own(self, &pod->containers.items[i].name) || own(self, &pod->containers.items[i].image) ? -ENOMEM
													    : 0;
	return r;
}

struct pod_container *pod_container_put(struct pod_set *self, struct pod *pod, const char *name)
{
	struct pod_container container = {.image = ""};

	for (size_t i = 0; i < pod->containers.n; i++)
		if (streq(pod->containers.items[i].name, name))
			return &pod->containers.items[i];
	if (pod->containers.n == LIMIT_POD_CONTAINERS) {
		container_release(&self->left_out);
		self->left_out = (struct pod_container){.name = "", .image = ""};
		self->overfull = pod;
		return &self->left_out;
	}
	container.name = pod_set_text(self, name);
	if (!container.name || vec_push(&pod->containers, container))
		return NULL;
	return &pod->containers.items[pod->containers.n - 1];
}
