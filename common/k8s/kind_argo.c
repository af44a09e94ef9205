/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/kind_argo.h"

#include "base/limits.h"

#include <ctype.h>
#include <errno.h>

/* --- A pod template put together from a template's parts --- */

/* Docs hang together by their `next`: a node that stands in a second list is a copy, what is inside is shared. */
static struct doc *add_copy(struct doc *parent, const struct doc *node, struct arena *arena)
{
	struct doc *copy = arena_alloc(arena, sizeof(*copy)), **tail = &parent->first;

	if (!copy)
		return NULL;
	while (*tail)
		tail = &(*tail)->next;
	*copy = *node;
	copy->next = NULL;
	*tail = copy;
	parent->n_items++;
	return copy;
}

static struct doc *add_new(struct doc *parent, const char *key, enum doc_type type, struct arena *arena)
{
	struct doc node = {.type = type, .key = key, .n_key = key ? strlen(key) : 0};

	return add_copy(parent, &node, arena);
}

/* Add a container; the one of a template has no name of its own, and Argo calls it "main". */
static int argo_add_container(struct doc *containers, const struct doc *container, bool is_main, struct arena *arena)
{
	struct doc *copy, *name;

	copy = add_new(containers, NULL, DOC_OBJECT, arena);
	if (!copy)
		return -ENOMEM;
	for (const struct doc *item = container->first; item; item = item->next)
		if (!(is_main && streq(item->key, "name")) && !add_copy(copy, item, arena))
			return -ENOMEM;
	if (!is_main)
		return 0;
	name = add_new(copy, "name", DOC_STRING, arena);
	if (!name)
		return -ENOMEM;
	name->text = "main";
	name->n_text = strlen(name->text);
	return 0;
}

/* The containers of a template as they are put together. */
struct argo_containers {
	struct arena *arena;
	const struct doc *template_;
	const char *pointer; /* of the template */
	struct doc *containers;
	const char **pointers;
	size_t n;
};

static int argo_add(struct argo_containers *self, const struct doc *container, bool is_main, const char *pointer)
{
	if (container->type != DOC_OBJECT)
		return 0;
	if (self->n == LIMIT_POD_CONTAINERS)
		return -E2BIG;
	if (!pointer)
		return -ENOMEM;
	self->pointers[self->n++] = pointer;
	return argo_add_container(self->containers, container, is_main, self->arena);
}

static int argo_add_single(struct argo_containers *self, const char *key)
{
	const struct doc *container = doc_member(self->template_, key);

	return container ? argo_add(self, container, true, arena_printf(self->arena, "%s/%s", self->pointer, key)) : 0;
}

static int argo_add_list(struct argo_containers *self, const struct doc *list, const char *path)
{
	size_t i = 0;
	int r = 0;

	if (!list || list->type != DOC_ARRAY)
		return 0;
	for (const struct doc *item = list->first; !r && item; item = item->next, i++)
		r = argo_add(self, item, false, arena_printf(self->arena, "%s/%s/%zu", self->pointer, path, i));
	return r;
}

/* Main containers of a template: container or script, or a set; then its sidecars. */
static int argo_containers(const struct doc *template_, struct arena *arena, struct doc *containers,
			   struct kind_template *item)
{
	struct argo_containers self = {
		.arena = arena,
		.template_ = template_,
		.pointer = item->pointer,
		.containers = containers,
		.pointers = arena_array(arena, LIMIT_POD_CONTAINERS, sizeof(*self.pointers)),
	};
	int r = self.pointers ? argo_add_single(&self, "container") : -ENOMEM;

	if (!r)
		r = argo_add_single(&self, "script");
	if (!r)
		r = argo_add_list(&self, doc_member(doc_member(template_, "containerSet"), "containers"),
				  "containerSet/containers");
	if (!r)
		r = argo_add_list(&self, doc_member(template_, "sidecars"), "sidecars");
	item->container_pointers = self.pointers;
	item->n_container_pointers = self.n;
	return r;
}

/* Fields of a pod's spec that stand in the template itself. */
static int argo_spec(struct doc *spec, const struct doc *template_, struct arena *arena)
{
	static const char *const fields[] = {"initContainers", "volumes",	"nodeSelector",
					     "affinity",       "schedulerName", "priorityClassName"};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct doc *value = doc_member(template_, fields[i]);

		if (value && !add_copy(spec, value, arena))
			return -ENOMEM;
	}
	return 0;
}

static int argo_parts(const struct doc *template_, struct arena *arena, struct doc *pod, struct kind_template *item)
{
	const struct doc *metadata = doc_member(template_, "metadata");
	struct doc *spec = add_new(pod, "spec", DOC_OBJECT, arena);
	struct doc *containers = spec ? add_new(spec, "containers", DOC_ARRAY, arena) : NULL;

	if (!containers || (metadata && !add_copy(pod, metadata, arena)))
		return -ENOMEM;
	if (argo_spec(spec, template_, arena))
		return -ENOMEM;
	return argo_containers(template_, arena, containers, item);
}

int kind_argo_pod(const struct doc *template_, struct arena *arena, struct kind_template *item)
{
	struct doc *pod = arena_alloc(arena, sizeof(*pod));
	int r;

	if (!pod)
		return -ENOMEM;
	pod->type = DOC_OBJECT;
	r = argo_parts(template_, arena, pod, item);
	if (r)
		return r;
	if (!item->n_container_pointers) /* steps, dag, resource: no pod of its own shape */
		return KIND_ARGO_NO_POD;
	item->object = pod;
	item->replicas = 1; /* `parallelism` of a workflow is a cap, not a count */
	return 0;
}

/* --- A TrainJob's trainer --- */

static int add_container(const struct doc *trainer, struct arena *arena, struct doc *containers)
{
	static const char *const fields[] = {"image", "command", "args", "env"};
	struct doc *container = add_new(containers, NULL, DOC_OBJECT, arena);
	struct doc *name = container ? add_new(container, "name", DOC_STRING, arena) : NULL;
	struct doc *resources = name ? add_copy(container, doc_member(trainer, "resourcesPerNode"), arena) : NULL;

	if (!resources)
		return -ENOMEM;
	name->text = "node";
	name->n_text = strlen(name->text);
	resources->key = "resources";
	resources->n_key = strlen(resources->key);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct doc *value = doc_member(trainer, fields[i]);

		if (value && !add_copy(container, value, arena))
			return -ENOMEM;
	}
	return 0;
}

int kind_trainer_pod(const struct doc *trainer, struct arena *arena, struct kind_template *item)
{
	const struct doc *resources = doc_member(trainer, "resourcesPerNode");
	struct doc *pod, *spec, *containers;

	if (!resources || resources->type != DOC_OBJECT || !resources->first)
		return KIND_ARGO_NO_POD;
	pod = arena_alloc(arena, sizeof(*pod));
	if (!pod)
		return -ENOMEM;
	pod->type = DOC_OBJECT;
	spec = add_new(pod, "spec", DOC_OBJECT, arena);
	containers = spec ? add_new(spec, "containers", DOC_ARRAY, arena) : NULL;
	if (!containers || add_container(trainer, arena, containers))
		return -ENOMEM;
	item->object = pod;
	item->role = "node";
	return 0;
}

static const char *trainer_pointer(const struct kind_template *self, const char *pod_pointer, struct arena *arena)
{
	static const char container[] = "/spec/containers/0", resources[] = "/resources";
	const char *rest = pod_pointer + sizeof(container) - 1;

	if (!strstarts(pod_pointer, container))
		return arena_printf(arena, "%s", self->pointer);
	if (!strstarts(rest, resources))
		return arena_printf(arena, "%s%s", self->pointer, rest);
	return arena_printf(arena, "%s/resourcesPerNode%s", self->pointer, rest + sizeof(resources) - 1);
}

/* --- Pointers --- */

const char *kind_template_pointer(const struct kind_template *self, const char *pod_pointer, struct arena *arena)
{
	static const char spec[] = "/spec", containers[] = "/spec/containers/";
	size_t index = 0;
	const char *p;

	if (self->owner_kind->has_trainer)
		return trainer_pointer(self, pod_pointer, arena);
	if (!self->container_pointers || !strstarts(pod_pointer, spec))
		return arena_printf(arena, "%s%s", self->pointer, pod_pointer);
	if (!strstarts(pod_pointer, containers)) /* what a pod has in its spec stands in the template itself */
		return arena_printf(arena, "%s%s", self->pointer, pod_pointer + sizeof(spec) - 1);
	for (p = pod_pointer + sizeof(containers) - 1; isdigit((unsigned char)*p) && index < LIMIT_POD_CONTAINERS; p++)
		index = index * 10 + (size_t)(*p - '0');
	if (index >= self->n_container_pointers)
		return arena_printf(arena, "%s", self->pointer);
	return arena_printf(arena, "%s%s", self->container_pointers[index], p);
}
