/* SPDX-License-Identifier: Apache-2.0 */
#include "postmortem/ended_pod.h"

#include "base/limits.h"
#include "k8s/accelerator.h"
#include "k8s/pod.h"
#include "postmortem/object.h"
#include "triage/figures.h"
#include "triage/line.h"

#include <stdio.h>

/* ---- containers ---- */

static struct json_object *find_by_name(struct json_object *list, const char *name)
{
	for (size_t i = 0; i < object_count(list) && i < LIMIT_POD_CONTAINERS; i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (streq(object_text(item, "name"), name))
			return item;
	}
	return NULL;
}

/* If the kubelet restarts all containers of a pod, the status does not say any more whether this one had failed. */
static bool is_failure(struct json_object *ended)
{
	if (streq(object_text(ended, "reason"), K8S_REASON_RESTARTED_WITH_POD))
		return false;
	return object_int(ended, "exitCode", 0) != 0 || streq(object_text(ended, "reason"), "OOMKilled");
}

/* The last failure, else the last end. */
static struct json_object *find_end(struct json_object *status, bool *ret_is_previous)
{
	struct json_object *now = object_at(status, "state.terminated");
	struct json_object *before = object_at(status, "lastState.terminated");

	*ret_is_previous = !now || (before && is_failure(before) && !is_failure(now));
	return *ret_is_previous ? before : now;
}

static void read_end(struct ended_container *self)
{
	struct json_object *ended = find_end(self->status, &self->is_previous);

	self->reason = object_text(ended, "reason");
	self->message = object_text(ended, "message");
	self->exit_code = object_int(ended, "exitCode", 0);
	self->finished_ms = object_time_ms(ended, "finishedAt");
	self->has_ended = json_object_is_type(ended, json_type_object);
	self->has_failed = self->has_ended && is_failure(ended);
}

/* What the kubelet has set, where the status says it, else what the spec asks for. */
static int64_t memory_of(struct json_object *status, struct json_object *spec, const char *path)
{
	int64_t bytes = object_bytes(status, path);

	return bytes != FIGURE_NONE ? bytes : object_bytes(spec, path);
}

static int add_container(struct ended_pod *pod, struct json_object *status, struct json_object *specs, bool is_init)
{
	struct ended_container container = {.name = object_text(status, "name"), .status = status};
	struct json_object *spec = find_by_name(specs, container.name);

	if (is_init)
		container.place = streq(object_text(spec, "restartPolicy"), "Always") ? PLACE_SIDECAR : PLACE_INIT;
	container.is_running = object_at(status, "state.running") != NULL;
	container.waiting = object_text(status, "state.waiting.reason");
	container.waiting_message = object_text(status, "state.waiting.message");
	container.restarts = object_int(status, "restartCount", 0);
	container.limit_bytes = memory_of(status, spec, "resources.limits.memory");
	container.request_bytes = memory_of(status, spec, "resources.requests.memory");
	read_end(&container);
	return vec_push(&pod->containers, container);
}

static int add_containers(struct ended_pod *pod, const char *statuses_path, const char *specs_path, bool is_init)
{
	struct json_object *statuses = object_at(pod->json, statuses_path), *specs = object_at(pod->json, specs_path);
	int r = 0;

	for (size_t i = 0; i < object_count(statuses) && i < LIMIT_POD_CONTAINERS && !r; i++)
		r = add_container(pod, json_object_array_get_idx(statuses, i), specs, is_init);
	return r;
}

/* ---- rank ---- */

static const char *const rank_keys[] = {
	"batch.kubernetes.io/job-completion-index", "leaderworkerset.sigs.k8s.io/worker-index",
	"training.kubeflow.org/replica-index", "volcano.sh/task-index", "apps.kubernetes.io/pod-index"};

static bool read_index(const char *text, int *ret)
{
	int64_t number;
	size_t n = text_number(text, &number);

	if (!n || text[n] || number < 0 || number > INT16_MAX)
		return false;
	*ret = (int)number;
	return true;
}

/* What operators tell the program itself; ranks by label differ from it where there is a master beside the workers. */
static bool rank_of_env(struct json_object *pod, int *ret)
{
	static const char *const names[] = {"NODE_RANK", "PET_NODE_RANK", "RANK"};
	struct json_object *containers = object_at(pod, "spec.containers");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t k = 0; k < object_count(containers) && k < LIMIT_POD_CONTAINERS; k++) {
			struct json_object *env = object_at(json_object_array_get_idx(containers, k), "env");

			if (read_index(object_text(find_by_name(env, names[i]), "value"), ret))
				return true;
		}
	return false;
}

static const char *mark_of(struct json_object *pod, const char *key)
{
	const char *value = object_label(object_at(pod, "metadata.labels"), key);

	return *value ? value : object_label(object_at(pod, "metadata.annotations"), key);
}

/* What a pod does in its job: the kind of its replicas, tasks or Jobs. */
static const char *role_of(struct json_object *pod)
{
	static const char *const keys[] = {"training.kubeflow.org/replica-type", "volcano.sh/task-spec",
					   "jobset.sigs.k8s.io/replicatedjob-name"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (*mark_of(pod, keys[i]))
			return mark_of(pod, keys[i]);
	return "";
}

/* Roles that take no part in collectives: the launcher of an MPIJob, parameter servers, a TrainJob's initializers. */
static bool is_without_rank(const char *role)
{
	static const char *const roles[] = {"launcher", "mpimaster", "ps", "evaluator", "scheduler", "server"};

	for (size_t i = 0; i < ARRAY_LEN(roles); i++)
		if (strcasecmp(role, roles[i]) == 0)
			return true;
	return strstr(role, "-initializer") != NULL;
}

static int rank_of_labels(struct json_object *pod)
{
	int rank;

	/* Several Jobs of a JobSet each count from 0. */
	if (*mark_of(pod, "jobset.sigs.k8s.io/job-index") && !streq(mark_of(pod, "jobset.sigs.k8s.io/job-index"), "0"))
		return RANK_NONE;
	for (size_t i = 0; i < ARRAY_LEN(rank_keys); i++)
		if (read_index(mark_of(pod, rank_keys[i]), &rank))
			return rank;
	return RANK_NONE;
}

static void find_rank(struct ended_pod *self)
{
	const char *role = role_of(self->json);

	self->is_master = strcasecmp(role, "master") == 0 || strcasecmp(role, "chief") == 0;
	self->rank = RANK_NONE;
	/* Ray's workers have no rank of their own: a number in their names is that of a group. */
	if (rank_of_env(self->json, &self->rank) || is_without_rank(role) || *mark_of(self->json, "ray.io/cluster"))
		return;
	self->rank = rank_of_labels(self->json);
	/* The names of a Job's pods end at random, so a number at their end is no rank. */
	if (self->rank == RANK_NONE && !*object_text(self->json, "metadata.generateName"))
		self->rank = rank_of_name(self->name, false);
	self->is_worker_index = self->rank != RANK_NONE && strcasecmp(role, "worker") == 0;
}

void ended_pods_rank_workers(struct ended_pod *pods, size_t n)
{
	bool has_master = false;

	for (size_t i = 0; i < n; i++)
		has_master = has_master || pods[i].is_master;
	for (size_t i = 0; i < n && has_master; i++) {
		pods[i].rank += pods[i].is_worker_index;
		pods[i].is_worker_index = false;
	}
}

static bool has_index(const struct ended_pod *self)
{
	bool has = *mark_of(self->json, "jobset.sigs.k8s.io/job-index") != '\0';

	for (size_t i = 0; i < ARRAY_LEN(rank_keys) && !has; i++)
		has = *mark_of(self->json, rank_keys[i]) != '\0';
	return has;
}

static void find_slot(struct ended_pod *self)
{
	static const char *const keys[] = {"training.kubeflow.org/replica-type",
					   "jobset.sigs.k8s.io/replicatedjob-name", "jobset.sigs.k8s.io/job-index",
					   "volcano.sh/task-spec", "ray.io/group"};
	size_t n = 0, size = sizeof(self->slot);

	if (self->rank == RANK_NONE && !has_index(self))
		return;
	for (size_t i = 0; i < ARRAY_LEN(keys) && n < size; i++)
		n += (size_t)snprintf(self->slot + n, size - n, "%s/", mark_of(self->json, keys[i]));
	for (size_t i = 0; i < ARRAY_LEN(rank_keys) && n < size; i++)
		n += (size_t)snprintf(self->slot + n, size - n, "%s/", mark_of(self->json, rank_keys[i]));
	if (n < size)
		snprintf(self->slot + n, size - n, "%d", self->rank);
}

/* ---- the pod ---- */

static void count_accelerators(struct ended_pod *self)
{
	struct json_object *containers = object_at(self->json, "spec.containers");

	for (size_t i = 0; i < object_count(containers) && i < LIMIT_POD_CONTAINERS; i++) {
		struct json_object *limits = object_at(json_object_array_get_idx(containers, i), "resources.limits");

		if (!json_object_is_type(limits, json_type_object))
			continue;
		json_object_object_foreach(limits, key, value)
		{
			(void)value;
			if (strlen(key) > LIMIT_QUALIFIED_NAME_BYTES || !accelerator_is_resource(key))
				continue;
			if (!*self->accelerator)
				self->accelerator = key;
			if (streq(self->accelerator, key)) {
				const char *count = object_label(limits, key);
				int64_t n;

				self->n_accelerators += text_number(count, &n) && n <= INT16_MAX ? n : 0;
			}
		}
	}
}

static int64_t find_condition_ms(struct json_object *pod, const char *type)
{
	return object_time_ms(object_find(object_at(pod, "status.conditions"), "type", type), "lastTransitionTime");
}

bool ended_pod_has_failed(const struct ended_pod *self)
{
	for (size_t i = 0; i < self->containers.n; i++)
		if (self->containers.items[i].has_failed)
			return true;
	return false;
}

/* When the first container failed; of an evicted pod when the kubelet wanted its end. */
static int64_t find_end_ms(const struct ended_pod *self)
{
	int64_t first_ms = INT64_MAX, told_ms;

	for (size_t i = 0; i < self->containers.n; i++)
		/* The time is missing where the kubelet lost the container. */
		if (self->containers.items[i].has_failed && self->containers.items[i].finished_ms)
			first_ms = MIN(first_ms, self->containers.items[i].finished_ms);
	if (first_ms == INT64_MAX && !streq(self->phase, "Failed") && !ended_pod_has_failed(self))
		return first_ms;
	told_ms = find_condition_ms(self->json, "DisruptionTarget");
	if (told_ms)
		first_ms = MIN(first_ms, told_ms);
	return first_ms != INT64_MAX ? first_ms : find_condition_ms(self->json, "Ready");
}

int ended_pod_read(struct json_object *take_json, struct ended_pod *ret, struct err *err)
{
	*ret = (struct ended_pod){.json = take_json,
				  .name = object_text(take_json, "metadata.name"),
				  .namespace = object_text(take_json, "metadata.namespace"),
				  .uid = object_text(take_json, "metadata.uid"),
				  .node = object_text(take_json, "spec.nodeName"),
				  .phase = object_text(take_json, "status.phase"),
				  .created_ms = object_time_ms(take_json, "metadata.creationTimestamp"),
				  .limit_bytes = object_bytes(take_json, "spec.resources.limits.memory"),
				  .accelerator = ""};
	if (!object_is_name(ret->name))
		return err_set(err, -EINVAL, "the API server sent a pod without a name");
	if (!object_is_name(ret->node))
		ret->node = "";
	find_rank(ret);
	find_slot(ret);
	if (add_containers(ret, "status.initContainerStatuses", "spec.initContainers", true) ||
	    add_containers(ret, "status.containerStatuses", "spec.containers", false))
		return err_set(err, -ENOMEM, "no memory left");
	count_accelerators(ret);
	ret->ended_ms = find_end_ms(ret);
	return 0;
}

void ended_pod_release(struct ended_pod *self)
{
	vec_release(&self->containers);
	json_putp(&self->json);
}

bool ended_pod_is_over(const struct ended_pod *self)
{
	if (streq(self->phase, "Failed"))
		return true;
	for (size_t i = 0; i < self->containers.n; i++)
		if (self->containers.items[i].place == PLACE_MAIN &&
		    (self->containers.items[i].is_running || *self->containers.items[i].waiting))
			return false;
	return self->ended_ms != INT64_MAX;
}
