/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/kind_argo.h"

#include "base/limits.h"
#include "k8s/kind_trainer.h"

#include <ctype.h>
#include <errno.h>

/* The containers of a template, while they are collected. */
struct argo_containers {
	struct arena *arena;
	const char *pointer; /* of the template */
	struct doc *containers;
	const char **pointers;
	size_t n;
};

/* The single container of a template has no name; Argo calls it "main". */
static void add_single(struct argo_containers *self, const struct doc *template_, const char *key)
{
	static const char *const name[] = {"name", NULL};
	const struct doc main_name = {.type = DOC_STRING, .text = "main", .n_text = strlen("main")};
	const struct doc *container = doc_member(template_, key);
	struct doc *copy;

	if (!container || container->type != DOC_OBJECT)
		return;
	copy = doc_add(self->containers, NULL, DOC_OBJECT, self->arena);
	doc_add_children(copy, container, name, self->arena);
	(void)doc_add_as(copy, "name", &main_name, self->arena);
	self->pointers[self->n++] = arena_printf(self->arena, "%s/%s", self->pointer, key);
}

static void add_list(struct argo_containers *self, const struct doc *list, const char *path)
{
	size_t i = 0;

	for (const struct doc *item = doc_children(list, DOC_ARRAY); item; item = item->next, i++) {
		STEPS(1);
		if (item->type != DOC_OBJECT)
			continue;
		doc_add_copy(self->containers, item, self->arena);
		self->pointers[self->n++] = arena_printf(self->arena, "%s/%s/%zu", self->pointer, path, i);
	}
}

static const struct doc *set_of(const struct doc *template_)
{
	return doc_member(doc_member(template_, "containerSet"), "containers");
}

static size_t n_items(const struct doc *list)
{
	return list && list->type == DOC_ARRAY ? list->n_items : 0;
}

/* The maximum number of containers; 0: the template only calls others (steps, dag, resource). */
static size_t argo_count(const struct doc *template_)
{
	size_t n = n_items(set_of(template_)) + n_items(doc_member(template_, "sidecars"));

	n += doc_member(template_, "container") != NULL;
	return n + (doc_member(template_, "script") != NULL);
}

/* Containers are in the order: the main ones (container, script, or a set), then sidecars. */
static int make_pod(const struct doc *template_, size_t n, struct arena *arena, struct kind_template *item)
{
	/* These fields of a pod's spec are in the template itself. */
	static const char *const spec_fields[] = {"initContainers", "volumes",	     "nodeSelector",
						  "affinity",	    "schedulerName", "priorityClassName"};
	struct doc *pod = doc_new(arena), *spec = doc_add(pod, "spec", DOC_OBJECT, arena);
	struct argo_containers self = {.arena = arena,
				       .pointer = item->pointer,
				       .containers = doc_add(spec, "containers", DOC_ARRAY, arena),
				       .pointers = arena_array(arena, n, sizeof(*self.pointers))};

	if (!self.pointers)
		return -ENOMEM;
	doc_add_copy(pod, doc_member(template_, "metadata"), arena);
	for (size_t i = 0; i < ARRAY_LEN(spec_fields); i++)
		doc_add_copy(spec, doc_member(template_, spec_fields[i]), arena);
	add_single(&self, template_, "container");
	add_single(&self, template_, "script");
	add_list(&self, set_of(template_), "containerSet/containers");
	add_list(&self, doc_member(template_, "sidecars"), "sidecars");
	item->container_pointers = self.pointers;
	item->n_container_pointers = self.n;
	item->object = pod;
	item->replicas = 1; /* `parallelism` of a workflow is a maximum, not a count */
	return arena->has_failed ? -ENOMEM : self.n ? 0 : KIND_NO_POD;
}

int kind_argo_pod(const struct doc *template_, struct arena *arena, struct kind_template *item)
{
	size_t n = argo_count(template_);

	if (!n)
		return KIND_NO_POD;
	return n > LIMIT_POD_CONTAINERS ? -E2BIG : make_pod(template_, n, arena, item);
}

/* --- Pointers --- */

const char *kind_template_pointer(const struct kind_template *self, const char *pod_pointer, struct arena *arena)
{
	static const char spec[] = "/spec", containers[] = "/spec/containers/";
	size_t index = 0;
	const char *p;

	if (self->owner_kind->has_trainer)
		return kind_trainer_pointer(self, pod_pointer, arena);
	if (!self->container_pointers || !strstarts(pod_pointer, spec))
		return arena_printf(arena, "%s%s", self->pointer, pod_pointer);
	if (!strstarts(pod_pointer, containers)) /* fields of a pod's spec are in the template itself */
		return arena_printf(arena, "%s%s", self->pointer, pod_pointer + sizeof(spec) - 1);
	for (p = pod_pointer + sizeof(containers) - 1; isdigit((unsigned char)*p) && index < LIMIT_POD_CONTAINERS; p++)
		index = index * 10 + (size_t)(*p - '0');
	if (index >= self->n_container_pointers)
		return arena_printf(arena, "%s", self->pointer);
	return arena_printf(arena, "%s%s", self->container_pointers[index], p);
}
