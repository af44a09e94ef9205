/* SPDX-License-Identifier: Apache-2.0 */
#include "resize/resize_gather.h"

#include "k8s/limits.h"
#include "k8s/node.h"
#include "resize/resizer_internal.h"

#include <errno.h>
#include <stdio.h>

#define TIMEOUT_MS 10000

static void go_on(struct resize_gather *self);

static void forget_profiles(struct resize_gather *self)
{
	for (size_t i = 0; i < self->profiles.n; i++)
		profile_free(self->profiles.items[i]);
	vec_release(&self->profiles);
}

static void forget_neighbours(struct resize_gather *self)
{
	vec_release(&self->neighbours);
}

static void forget(struct resize_gather *self)
{
	kube_client_cancel(self->client, TAKE_PTR(self->call));
	kube_list_free(TAKE_PTR(self->list));
	json_object_put(self->input.pod);
	json_object_put(self->input.namespace_object);
	json_object_put(self->input.limit_ranges);
	json_object_put(self->input.quotas);
	json_object_put(self->input.vpas);
	self->input = (struct resize_input){.ask = self->ask};
	forget_profiles(self);
	forget_neighbours(self);
	self->node[0] = '\0';
}

void resize_gather_release(struct resize_gather *self)
{
	forget(self);
	arena_release(&self->arena);
}

static void end(struct resize_gather *self, int code, const struct err *why)
{
	self->done(self->context, code, why);
}

/* ---- what comes ---- */

static int take_pod(struct resize_gather *self, const struct kube_object *object)
{
	struct json_object *name = json_member(json_member(object->json, "spec"), "nodeName");

	self->input.pod = json_object_get(object->json);
	snprintf(self->node, sizeof(self->node), "%s", name ? json_object_get_string(name) : "");
	return 0;
}

static int take_namespace(struct resize_gather *self, const struct kube_object *object)
{
	self->input.namespace_object = json_object_get(object->json);
	return 0;
}

/* Without a node that can be read nothing limits the size. */
static int take_node(struct resize_gather *self, const struct kube_object *object)
{
	struct k8s_node node;

	self->input.node_bytes = k8s_node_read(object->json, &node, NULL) ? 0 : node.memory_bytes;
	return 0;
}

/* A profile that cannot be read is ignored. */
static int take_profile(struct resize_gather *self, const struct kube_object *object)
{
	struct profile *profile;
	int r = profile_decode(object->json, &profile, NULL);

	if (r)
		return r == -ENOMEM ? r : 0;
	if (resize_profile_fits(self->input.pod, self->ask->namespace_name, profile, &self->arena))
		r = vec_push(&self->profiles, profile);
	else
		r = 1;
	if (r)
		profile_free(profile);
	return MIN(r, 0);
}

/* Whether one of our resizes is in force in the pod. */
static bool was_raised(struct json_object *object, const struct k8s_pod *pod)
{
	struct resize_container container;

	for (size_t i = 0; i < pod->n_containers; i++)
		if (resize_container_read(object, pod->containers[i].name, &container) && container.own_bytes &&
		    container.own_bytes != container.limit_bytes)
			return true;
	return false;
}

/* A pod that was raised, or is about to be, will use what it was given; its current use does not count. */
static bool needs_limits(const struct resize_gather *self, const struct kube_object *object, const struct k8s_pod *pod)
{
	return resizer_rises(self->owner, object->namespace, object->name) || was_raised(object->json, pod);
}

static int take_neighbour(struct resize_gather *self, const struct kube_object *object)
{
	struct resize_neighbour neighbour;
	struct k8s_pod pod;
	int64_t used = resizer_used_bytes(self->owner, object->namespace, object->name);

	if (streq(object->uid, self->ask->uid) || k8s_pod_decode(object->json, &self->arena, &pod, NULL))
		return 0;
	neighbour.request_bytes = k8s_pod_effective_request(&pod, K8S_MEMORY);
	if (used < 0 || needs_limits(self, object, &pod))
		used = MAX(used, resize_limits_of(&pod));
	neighbour.needs_bytes = MAX(used, neighbour.request_bytes);
	return vec_push(&self->neighbours, neighbour);
}

/* ---- one request after the other ---- */

/* Which object a step reads. */
enum named { NAMED_NONE, NAMED_POD, NAMED_NAMESPACE, NAMED_NODE };

static const struct step {
	struct kube_resource resource;
	/* NULL: the objects are added to the list at this offset of struct resize_input. */
	int (*take)(struct resize_gather *self, const struct kube_object *object);
	void (*forget)(struct resize_gather *self); /* what `take` took of a list */
	size_t list;
	enum named named; /* NAMED_NONE: all objects are listed */
	bool is_namespaced;
	bool needs_node;    /* left out for a pod without a node */
	bool may_be_absent; /* the object, or the kind */
	bool may_be_forbidden;
} steps[] = {
	{{"", "v1", "pods"}, take_pod, .named = NAMED_POD, .is_namespaced = true},
	{{"", "v1", "namespaces"}, take_namespace, .named = NAMED_NAMESPACE},
	{{"", "v1", "nodes"}, take_node, .named = NAMED_NODE, .needs_node = true, .may_be_absent = true},
	{{"memtamer.io", "v1alpha1", "memoryprofiles"},
	 take_profile,
	 forget_profiles,
	 .is_namespaced = true,
	 .may_be_absent = true},
	{{"", "v1", "limitranges"}, .list = offsetof(struct resize_input, limit_ranges), .is_namespaced = true},
	{{"", "v1", "resourcequotas"}, .list = offsetof(struct resize_input, quotas), .is_namespaced = true},
	/* where they are not installed, the right to list them may be missing too */
	{{"autoscaling.k8s.io", "v1", "verticalpodautoscalers"},
	 .list = offsetof(struct resize_input, vpas),
	 .is_namespaced = true,
	 .may_be_absent = true,
	 .may_be_forbidden = true},
	{{"", "v1", "pods"}, take_neighbour, forget_neighbours, .needs_node = true},
};

static const char *name_of(const struct resize_gather *self, const struct step *step)
{
	const char *const names[] = {
		[NAMED_NONE] = NULL,
		[NAMED_POD] = self->ask->pod,
		[NAMED_NAMESPACE] = self->ask->namespace_name,
		[NAMED_NODE] = self->node,
	};

	return names[step->named];
}

/* The request under way has ended. */
static void end_step(struct resize_gather *self, int code, const struct err *why)
{
	const struct step *step = &steps[self->step];

	if ((code == KUBE_NOT_FOUND && step->may_be_absent) || (code == KUBE_FORBIDDEN && step->may_be_forbidden))
		code = 0;
	if (code) {
		end(self, code, why);
		return;
	}
	self->step++;
	go_on(self);
}

static void object_done(void *context, const struct kube_result *result)
{
	struct resize_gather *self = context;
	const struct kube_object object = {.json = result->object};

	self->call = NULL;
	end_step(self, result->code ? result->code : steps[self->step].take(self, &object), &result->err);
}

static struct json_object **list_of(struct resize_gather *self, const struct step *step)
{
	return (struct json_object **)(void *)((char *)&self->input + step->list);
}

static int add_to_list(struct resize_gather *self, const struct step *step, const struct kube_object *object)
{
	struct json_object **list = list_of(self, step);

	if (!*list)
		*list = json_object_new_array();
	return *list ? json_append(*list, json_object_get(object->json)) : -ENOMEM;
}

static int on_item(void *context, const struct kube_object *object, struct err *err)
{
	struct resize_gather *self = context;
	const struct step *step = &steps[self->step];
	int r = step->take ? step->take(self, object) : add_to_list(self, step, object);

	arena_reset(&self->arena);
	return r ? err_set(err, r, "out of memory") : 0;
}

/* All objects of the list follow again. */
static void list_restarted(void *context)
{
	struct resize_gather *self = context;
	const struct step *step = &steps[self->step];

	if (step->forget) {
		step->forget(self);
	} else {
		json_object_put(*list_of(self, step));
		*list_of(self, step) = NULL;
	}
}

static void list_done(void *context, const struct kube_result *result, const char *resource_version)
{
	struct resize_gather *self = context;
	struct err err = result->err;
	int r = result->code;

	(void)resource_version;
	kube_list_free(TAKE_PTR(self->list));
	end_step(self, r, &err);
}

static int start_step(struct resize_gather *self, const struct step *step, struct err *err)
{
	const char *of = step->is_namespaced ? self->ask->namespace_name : NULL;
	const char *name = name_of(self, step);
	char on_node[512];
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = step->resource,
		.namespace = of,
		.name = name,
		.timeout_ms = TIMEOUT_MS,
		.done = object_done,
		.context = self,
	};
	const struct kube_list_request list = {
		.selection = {step->resource, of, .field_selector = step->needs_node ? on_node : NULL},
		.page_timeout_ms = TIMEOUT_MS,
		.item = on_item,
		.restarted = list_restarted,
		.done = list_done,
		.context = self,
	};

	if (name)
		return kube_client_submit(self->client, &request, &self->call, err);
	snprintf(on_node, sizeof(on_node), "spec.nodeName=%s,status.phase!=Succeeded,status.phase!=Failed", self->node);
	return kube_list_start(self->client, &list, &self->list, err);
}

static void go_on(struct resize_gather *self)
{
	struct err err = ERR_INIT;
	int r = 0;

	while (self->step < ARRAY_LEN(steps) && steps[self->step].needs_node && !self->node[0])
		self->step++;
	if (self->step < ARRAY_LEN(steps))
		r = start_step(self, &steps[self->step], &err);
	if (!r && self->step < ARRAY_LEN(steps))
		return;
	self->input.profiles = (const struct profile *const *)self->profiles.items;
	self->input.n_profiles = self->profiles.n;
	self->input.neighbours = self->neighbours.items;
	self->input.n_neighbours = self->neighbours.n;
	end(self, r, &err);
}

void resize_gather_begin(struct resize_gather *self)
{
	forget(self);
	self->arena.max_bytes = LIMIT_OBJECT_DOC_BYTES;
	self->step = 0;
	go_on(self);
}
