/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_vpas: VerticalPodAutoscalers by their targets: one immutable list, which snapshots share until a builder
 * replaces it. */
#include "base/str.h"
#include "model/snapshot_internal.h"

#include <errno.h>
#include <stdlib.h>

/* Sorted by target; of several with the same target the one that counts is first. Targets are compared only by their
 * seeded 64-bit hashes. */
struct vpa_list {
	struct fact fact;
	size_t n;
	struct k8s_vpa *items[];
};

static void list_release(struct fact *fact)
{
	struct vpa_list *self = (struct vpa_list *)fact;

	for (size_t i = 0; i < self->n; i++)
		free(self->items[i]);
}

/* ---- reading ---- */

static const struct k8s_vpa *find(const struct vpa_list *self, uint64_t target)
{
	size_t low = 0, high = self->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		STEPS(1);
		if (self->items[middle]->target < target)
			low = middle + 1;
		else
			high = middle;
	}
	return low < self->n && self->items[low]->target == target ? self->items[low] : NULL;
}

const struct k8s_vpa *snapshot_vpa(const struct snapshot *self, const char *namespace_name,
				   const struct k8s_owner *controller)
{
	const struct vpa_list *vpas = (const struct vpa_list *)self->sets.items[SET_VPAS];
	const struct k8s_vpa *found, *above;
	const struct owner_facts *owner;
	uint64_t parent;

	if (!vpas)
		return NULL;
	owner = sets_owner(&self->sets, controller->uid);
	found = find(vpas, k8s_vpa_target(namespace_name, controller->kind, controller->name));
	/* An object that is not created yet has no uid, and no controller chose its name. */
	parent = owner		    ? owner->parent_target
		 : *controller->uid ? k8s_vpa_target_of_maker(namespace_name, controller->kind, controller->name)
				    : 0;
	for (int i = 0; parent && i < PARENTS_MAX; i++) {
		above = find(vpas, parent);
		found = above ? above : found;
		owner = owner && owner->parent_uid ? sets_owner(&self->sets, owner->parent_uid) : NULL;
		parent = owner ? owner->parent_target : 0;
	}
	return found;
}

/* ---- building ---- */

static int compare(const void *a, const void *b)
{
	const struct k8s_vpa *x = *(const struct k8s_vpa *const *)a, *y = *(const struct k8s_vpa *const *)b;

	if (x->target != y->target)
		return x->target < y->target ? -1 : 1;
	if (x->created_ms != y->created_ms)
		return x->created_ms < y->created_ms ? -1 : 1;
	return strcmp(x->name, y->name);
}

static struct fact *list_new(const struct k8s_vpa *const *vpas, size_t n)
{
	struct fact *fact = fact_new(sizeof(struct vpa_list) + n * sizeof(struct k8s_vpa *), "", NULL, NULL);
	struct vpa_list *self = (struct vpa_list *)fact;

	if (!self)
		return NULL;
	fact->release = list_release;
	for (size_t i = 0; i < n; i++) {
		if (vpas[i]->is_off)
			continue;
		self->items[self->n] = k8s_vpa_dup(vpas[i]);
		if (!self->items[self->n++]) {
			fact_unref(fact);
			return NULL;
		}
	}
	qsort(self->items, self->n, sizeof(self->items[0]), compare);
	return fact;
}

int snapshot_builder_set_vpas(struct snapshot_builder *self, const struct k8s_vpa *const *vpas, size_t n)
{
	struct fact *list = n ? list_new(vpas, n) : NULL;

	if (n && !list)
		return -ENOMEM;
	snapshot_replace_set(self, SET_VPAS, list);
	return 0;
}
