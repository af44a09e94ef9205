/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/keys.h"
#include "policy/render.h"
#include "policy/size_math.h"
#include "resize/resize_plan_internal.h"

#include <stdio.h>

/* ---- the pod ---- */

static void drop_annotation(struct k8s_labels *annotations, const char *key)
{
	size_t n = 0;

	for (size_t i = 0; i < annotations->n; i++)
		if (!streq(annotations->items[i].key, key))
			annotations->items[n++] = annotations->items[i];
	annotations->n = n;
}

static int decode_pod(struct json_object *pod, const char *namespace_name, struct arena *arena, struct k8s_pod *ret,
		      struct identity *ret_identity, struct err *err)
{
	struct identity_facts facts;
	int r = k8s_pod_decode(pod, arena, ret, err);

	if (r || !ret->n_containers)
		return r;
	ret->namespace_name = namespace_name;
	drop_annotation(&ret->annotations, KEY_DECISION);
	identity_facts_of_pod(ret, ret->containers[pod_main_container(ret)].name, &facts);
	facts.namespace_name = namespace_name;
	workload_identify(&facts, ret_identity);
	return 0;
}

static bool has_key(const struct profile *profile, const char *key)
{
	if (streq(profile->workload, key) || streq(profile->spec->ref.key, key) ||
	    streq(profile->spec->ref.made_key, key))
		return true;
	for (size_t i = 0; i < profile->n_aliases; i++)
		if (streq(profile->aliases[i], key))
			return true;
	return false;
}

bool resize_profile_fits(struct json_object *pod, const char *namespace_name, const struct profile *profile,
			 struct arena *arena)
{
	struct identity identity = {.n_keys = 0};
	struct k8s_pod decoded;

	if (streq(profile->name, PROFILE_OF_NAMESPACE))
		return true;
	if (decode_pod(pod, namespace_name, arena, &decoded, &identity, NULL))
		return false;
	for (size_t i = 0; i < identity.n_keys; i++)
		if (has_key(profile, identity.keys[i].text))
			return true;
	return false;
}

/* If a pod is a Kueue workload of its own, Kueue compares its spec.containers with the Workload that it made, and
 * deletes the pod if they differ. It does not compare pods of a group, or of Jobs and other owners. */
static bool is_compared_by_kueue(const struct k8s_pod *pod)
{
	return streq(k8s_label_get(&pod->labels, "kueue.x-k8s.io/managed"), "true") &&
	       !k8s_label_get(&pod->labels, "kueue.x-k8s.io/pod-group-name");
}

/* Whether the pod itself allows the resize. */
static bool may_resize(struct planning *self)
{
	const struct resize_ask *ask = self->input->ask;
	const struct resize_container *container = &self->container;
	enum resize_mode needs = ask->kind == RESIZE_KIND_OOM ? RESIZE_ON_OOM : RESIZE_BEFORE_OOM;

	if (resize_mode_of(self->policy.resize, &self->pod.annotations) < needs)
		resize_plan_hold(self, "remove that annotation",
				 "the pod's annotation " KEY_RESIZE " does not allow it");
	else if (self->facts.is_static)
		resize_plan_hold(self, "", "a static pod is never resized");
	else if (is_compared_by_kueue(&self->pod))
		resize_plan_hold(self, "", "Kueue deletes a single pod whose containers change");
	else if (!container->limit_bytes)
		resize_plan_hold(self, NULL, "the container has no memory limit");
	else if (container->restarts_for_memory)
		resize_plan_hold(self, "", "its resizePolicy restarts the container when memory is resized");
	else if (ask->kind == RESIZE_KIND_OOM && container->limit_bytes > ask->killed_bytes)
		resize_plan_hold(self, NULL, "its limit was raised since it was killed");
	else if (self->facts.pending == RESIZE_PENDING_DEFERRED || self->facts.pending == RESIZE_PENDING_INFEASIBLE)
		resize_plan_hold(self, "", "another resize of the pod waits: %.160s", self->facts.pending_why);
	return self->ret->verdict != RESIZE_HELD_BACK;
}

static const struct k8s_container *decoded_container(const struct planning *self)
{
	for (size_t i = 0; i < self->pod.n_containers; i++)
		if (streq(self->pod.containers[i].name, self->input->ask->container))
			return &self->pod.containers[i];
	return NULL;
}

static int read_pod(struct planning *self, struct err *err)
{
	const struct resize_input *input = self->input;
	int r = resize_pod_read(input->pod, &self->facts, err);

	if (r)
		return r;
	if (!streq(self->facts.uid, input->ask->uid) || self->facts.is_ended || self->facts.is_deleted) {
		self->ret->verdict = RESIZE_GONE;
		snprintf(self->ret->why, sizeof(self->ret->why), "the pod has ended");
		return 0;
	}
	r = decode_pod(input->pod, input->ask->namespace_name, self->arena, &self->pod, &self->identity, err);
	if (r)
		return r;
	self->decoded = decoded_container(self);
	if (!self->decoded || !resize_container_read(input->pod, input->ask->container, &self->container)) {
		resize_plan_hold(self, NULL, "it has no such container that runs as long as the pod");
		return 0;
	}
	self->ret->is_init = self->container.is_init;
	self->ret->index = self->container.index;
	self->ret->is_running = self->container.is_running;
	self->ret->from_bytes = self->ret->to_bytes = self->container.limit_bytes;
	self->ret->request_from_bytes = self->ret->request_to_bytes = self->container.request_bytes;
	self->ret->own_bytes = self->container.own_bytes ? self->container.own_bytes : self->container.limit_bytes;
	return 0;
}

/* ---- the node ---- */

int64_t resize_limits_of(const struct k8s_pod *pod)
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

static void cap(struct planning *self, int64_t *bytes, int64_t room, const char *why)
{
	room = size_round_down_mi(MAX(room, 0));
	if (*bytes <= room)
		return;
	*bytes = room;
	snprintf(self->ret->why, sizeof(self->ret->why), "%s", why);
}

/* Memory of the pod's other containers, which does not change. */
static int64_t rest_of_pod(const struct planning *self, bool is_limit)
{
	return is_limit ? resize_limits_of(&self->pod) - self->container.limit_bytes
			: k8s_pod_effective_request(&self->pod, K8S_MEMORY) - self->container.request_bytes;
}

static void fit_node(struct planning *self)
{
	const struct resize_input *input = self->input;
	struct resize_plan *ret = self->ret;
	int64_t requested = 0, needed = 0;

	if (input->node_bytes <= 0)
		return;
	for (size_t i = 0; i < input->n_neighbours; i++) {
		requested += input->neighbours[i].request_bytes;
		needed += input->neighbours[i].needs_bytes;
	}
	cap(self, &ret->to_bytes, input->node_bytes, "capped by the node's memory");
	if (input->ask->kind == RESIZE_KIND_BEFORE)
		cap(self, &ret->to_bytes, input->node_bytes - needed - rest_of_pod(self, true),
		    "capped by what the node's other pods leave");
	if (ret->has_request)
		cap(self, &ret->request_to_bytes, input->node_bytes - requested - rest_of_pod(self, false),
		    "capped by what the node's other pods request");
}

/* ---- the plan ---- */

/* Explains why decide() set nothing. */
static void hold_by_decision(struct planning *self, const struct decision *decision)
{
	if (decision->skip) {
		resize_plan_hold(self, NULL, "the pod is left alone: %s", decision->skip);
		return;
	}
	if (decision->mode < MODE_RAISE) {
		resize_plan_hold(self, "change that", "mode %s (%s)", mode_names[decision->mode], decision->mode_why);
		return;
	}
	for (size_t i = 0; i < decision->n_findings; i++)
		if (decision->findings[i].check == CHECK_MEMORY_LIMIT_BELOW_PEAK) {
			resize_plan_hold(self, "change that", "%.200s", decision->findings[i].text);
			return;
		}
	resize_plan_hold(self, "", "the rules for new pods allow no more");
}

/* In a Guaranteed pod limit and request are raised to the same value, or not at all. */
static bool keep_equal(struct planning *self)
{
	struct resize_plan *ret = self->ret;
	int64_t both = MIN(ret->to_bytes, ret->request_to_bytes);

	if (k8s_pod_qos(&self->pod) != K8S_QOS_GUARANTEED) {
		ret->request_to_bytes = MIN(ret->request_to_bytes, ret->to_bytes);
		ret->has_request &= ret->request_to_bytes > ret->request_from_bytes;
		return true;
	}
	if (!ret->has_request)
		return false;
	ret->to_bytes = ret->request_to_bytes = both;
	return true;
}

static void take(struct planning *self, const struct decision *decision)
{
	struct resize_plan *ret = self->ret;

	ret->to_bytes = resize_plan_raised(self, decision, SIZE_LIMIT);
	ret->request_to_bytes = resize_plan_raised(self, decision, SIZE_REQUEST);
	ret->has_request = ret->request_to_bytes > ret->request_from_bytes;
	if (ret->to_bytes <= ret->from_bytes) {
		hold_by_decision(self, decision);
		return;
	}
	fit_node(self);
	if (!keep_equal(self))
		resize_plan_hold(self, "", "request and limit cannot rise together");
	else if (ret->to_bytes <= ret->from_bytes)
		resize_plan_hold(self, RESIZE_REMEDY_NODE, "%s has no room for more",
				 *self->facts.node ? self->facts.node : "its node");
	else
		ret->verdict = RESIZE_APPLIED;
}

/* The first decision contains all decisions of people: if they hold the resize back, no limit is asked for. */
static bool is_held_by_mode(struct planning *self, const struct decision *decision)
{
	if (!decision->skip && decision->mode >= MODE_RAISE)
		return false;
	hold_by_decision(self, decision);
	return true;
}

static int plan(struct planning *self, struct snapshot **ret_second, struct err *err)
{
	struct decision decision;
	int64_t want;
	int r = read_pod(self, err);

	if (r || self->ret->verdict != RESIZE_RESULT_COUNT_ || !may_resize(self))
		return r;
	r = resize_plan_decide(self, &decision, &self->snapshot, err);
	if (r || is_held_by_mode(self, &decision))
		return r;
	want = resize_plan_want(self, &decision);
	if (!want)
		return 0;
	r = resize_plan_decide_for(self, want, &decision, ret_second, err);
	if (!r)
		take(self, &decision);
	return r;
}

int resize_plan(const struct resize_input *input, struct arena *arena, struct resize_plan *ret, struct err *err)
{
	struct planning self = {.input = input, .arena = arena, .policy = *input->policy, .ret = ret};
	struct snapshot *second = NULL;
	int r;

	*ret = (struct resize_plan){.verdict = RESIZE_RESULT_COUNT_};
	/* The QoS class is decided for new pods and cannot change in a running one. */
	self.policy.actions[CHECK_CRITICAL_NOT_GUARANTEED] = ACTION_OFF;
	r = plan(&self, &second, err);
	snapshot_unref(second);
	snapshot_unref(self.snapshot);
	return r;
}
