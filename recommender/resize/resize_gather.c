/* SPDX-License-Identifier: Apache-2.0 */
#include "resize/resize_gather.h"

#include "k8s/limits.h"
#include "k8s/node.h"

#include <errno.h>
#include <stdio.h>

#define TIMEOUT_MS 10000

enum step { STEP_POD, STEP_NAMESPACE, STEP_NODE, STEP_PROFILES, STEP_LIMIT_RANGES, STEP_QUOTAS, STEP_PODS, STEP_END };

static const struct kube_resource pods = {"", "v1", "pods"}, nodes = {"", "v1", "nodes"},
				  namespaces = {"", "v1", "namespaces"}, limit_ranges = {"", "v1", "limitranges"},
				  quotas = {"", "v1", "resourcequotas"},
				  profiles = {"memtamer.io", "v1alpha1", "memoryprofiles"};

static void go_on(struct resize_gather *self);

static void forget(struct resize_gather *self)
{
	kube_client_cancel(self->client, TAKE_PTR(self->call));
	kube_list_free(TAKE_PTR(self->list));
	json_object_put(TAKE_PTR(self->pod));
	json_object_put(TAKE_PTR(self->namespace_object));
	json_object_put(TAKE_PTR(self->limit_ranges));
	json_object_put(TAKE_PTR(self->quotas));
	for (size_t i = 0; i < self->profiles.n; i++)
		profile_free(self->profiles.items[i]);
	vec_release(&self->profiles);
	vec_release(&self->neighbours);
	self->node_bytes = 0;
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

/* ---- single objects ---- */

static int take_object(struct resize_gather *self, struct json_object *object, struct err *err)
{
	struct json_object *name;
	struct k8s_node node;
	int r;

	switch (self->step) {
	case STEP_POD:
		self->pod = json_object_get(object);
		name = json_member(json_member(object, "spec"), "nodeName");
		snprintf(self->node, sizeof(self->node), "%s", name ? json_object_get_string(name) : "");
		return 0;
	case STEP_NAMESPACE:
		self->namespace_object = json_object_get(object);
		return 0;
	default:
		r = k8s_node_read(object, &node, err);
		self->node_bytes = r ? 0 : node.memory_bytes;
		return 0; /* without a node there is no cap by it */
	}
}

static void object_done(void *context, const struct kube_result *result)
{
	struct resize_gather *self = context;
	struct err err = ERR_INIT;
	int r = result->code;

	self->call = NULL;
	if (!r)
		r = take_object(self, result->object, &err);
	else
		err = result->err;
	if (r == KUBE_NOT_FOUND && self->step == STEP_NODE)
		r = 0;
	if (r) {
		end(self, r, &err);
		return;
	}
	self->step++;
	go_on(self);
}

static int get(struct resize_gather *self, const struct kube_resource *resource, const char *namespace_name,
	       const char *name, struct err *err)
{
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = *resource,
		.namespace = namespace_name,
		.name = name,
		.timeout_ms = TIMEOUT_MS,
		.done = object_done,
		.context = self,
	};

	return kube_client_submit(self->client, &request, &self->call, err);
}

/* ---- lists ---- */

static int take_profile(struct resize_gather *self, struct json_object *object)
{
	struct profile *profile;
	int r = profile_decode(object, &profile, NULL);

	if (r)
		return r == -ENOMEM ? r : 0; /* one that nobody can read says nothing */
	if (resize_profile_fits(self->pod, self->ask->namespace_name, profile, &self->arena))
		r = vec_push(&self->profiles, profile);
	else
		r = 1;
	if (r)
		profile_free(profile);
	return MIN(r, 0);
}

static int keep(struct json_object **list, struct json_object *object)
{
	if (!*list)
		*list = json_object_new_array();
	return *list ? json_append(*list, json_object_get(object)) : -ENOMEM;
}

static int64_t limits_of(const struct k8s_pod *pod)
{
	int64_t sum = 0;

	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct k8s_container *one = &pod->containers[i];
		const struct k8s_amount *limit = &one->resources.limits[K8S_MEMORY];

		if (one->type != K8S_CONTAINER_INIT)
			sum += limit->text ? limit->value : one->resources.requests[K8S_MEMORY].value;
	}
	return sum;
}

/* By a resize of ours that is still in force. */
static bool was_raised(struct json_object *object, const struct k8s_pod *pod)
{
	struct resize_container container;

	for (size_t i = 0; i < pod->n_containers; i++)
		if (resize_container_read(object, pod->containers[i].name, &container) && container.own_bytes &&
		    container.own_bytes != container.limit_bytes)
			return true;
	return false;
}

/* What was raised, or is about to be, will use what it was given: it was not raised for what it uses now. */
static bool needs_limits(const struct resize_gather *self, const struct kube_object *object, const struct k8s_pod *pod)
{
	return (self->rises && self->rises(self->context, object->namespace, object->name)) ||
	       was_raised(object->json, pod);
}

static int take_neighbour(struct resize_gather *self, const struct kube_object *object)
{
	struct resize_neighbour neighbour;
	struct k8s_pod pod;
	int64_t used = self->used ? self->used(self->context, object->namespace, object->name) : -1;

	if (streq(object->uid, self->ask->uid) || k8s_pod_decode(object->json, &self->arena, &pod, NULL))
		return 0;
	neighbour.request_bytes = k8s_pod_effective_request(&pod, K8S_MEMORY);
	if (used < 0 || needs_limits(self, object, &pod))
		used = MAX(used, limits_of(&pod));
	neighbour.needs_bytes = MAX(used, neighbour.request_bytes);
	return vec_push(&self->neighbours, neighbour);
}

static int on_item(void *context, const struct kube_object *object, struct err *err)
{
	struct resize_gather *self = context;
	int r;

	switch (self->step) {
	case STEP_PROFILES:
		r = take_profile(self, object->json);
		break;
	case STEP_LIMIT_RANGES:
		r = keep(&self->limit_ranges, object->json);
		break;
	case STEP_QUOTAS:
		r = keep(&self->quotas, object->json);
		break;
	default:
		r = take_neighbour(self, object);
		break;
	}
	arena_reset(&self->arena);
	return r ? err_set(err, r, "out of memory") : 0;
}

static void list_done(void *context, const struct kube_result *result, const char *resource_version)
{
	struct resize_gather *self = context;
	struct err err = result->err;
	int r = result->code;

	(void)resource_version;
	kube_list_free(TAKE_PTR(self->list));
	if (r == KUBE_NOT_FOUND && self->step == STEP_PROFILES)
		r = 0; /* not installed: then nothing is known */
	if (r) {
		end(self, r, &err);
		return;
	}
	self->step++;
	go_on(self);
}

static int list(struct resize_gather *self, const struct kube_resource *resource, const char *namespace_name,
		const char *field_selector, struct err *err)
{
	const struct kube_list_request request = {
		.selection = {.resource = *resource, .namespace = namespace_name, .field_selector = field_selector},
		.page_timeout_ms = TIMEOUT_MS,
		.item = on_item,
		.done = list_done,
		.context = self,
	};

	return kube_list_start(self->client, &request, &self->list, err);
}

/* ---- in turn ---- */

static int list_neighbours(struct resize_gather *self, struct err *err)
{
	char selector[512];

	snprintf(selector, sizeof(selector), "spec.nodeName=%s,status.phase!=Succeeded,status.phase!=Failed",
		 self->node);
	return list(self, &pods, NULL, selector, err);
}

static int start_step(struct resize_gather *self, struct err *err)
{
	const char *namespace_name = self->ask->namespace_name;

	switch (self->step) {
	case STEP_POD:
		return get(self, &pods, namespace_name, self->ask->pod, err);
	case STEP_NAMESPACE:
		return get(self, &namespaces, NULL, namespace_name, err);
	case STEP_NODE:
		return get(self, &nodes, NULL, self->node, err);
	case STEP_PROFILES:
		return list(self, &profiles, namespace_name, NULL, err);
	case STEP_LIMIT_RANGES:
		return list(self, &limit_ranges, namespace_name, NULL, err);
	case STEP_QUOTAS:
		return list(self, &quotas, namespace_name, NULL, err);
	default:
		return list_neighbours(self, err);
	}
}

/* A pod that is on no node yet has none to fit. */
static void go_on(struct resize_gather *self)
{
	struct err err = ERR_INIT;
	int r;

	if (self->step == STEP_NODE && !self->node[0])
		self->step++;
	if (self->step == STEP_PODS && !self->node[0])
		self->step++;
	if (self->step == STEP_END) {
		end(self, 0, NULL);
		return;
	}
	r = start_step(self, &err);
	if (r)
		end(self, r, &err);
}

void resize_gather_begin(struct resize_gather *self)
{
	forget(self);
	self->arena.max_bytes = LIMIT_OBJECT_DOC_BYTES;
	self->step = STEP_POD;
	go_on(self);
}

void resize_gather_input(const struct resize_gather *self, struct resize_input *input)
{
	input->pod = self->pod;
	input->namespace_object = self->namespace_object;
	input->limit_ranges = self->limit_ranges;
	input->quotas = self->quotas;
	input->profiles = (const struct profile *const *)self->profiles.items;
	input->n_profiles = self->profiles.n;
	input->node_bytes = self->node_bytes;
	input->neighbours = self->neighbours.items;
	input->n_neighbours = self->neighbours.n;
}
