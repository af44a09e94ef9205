/* SPDX-License-Identifier: Apache-2.0 */
#include "resize/resize_pod.h"

#include "k8s/keys.h"
#include "k8s/quantity.h"

#include <errno.h>
#include <stdio.h>

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* A memory quantity; 0: absent or malformed. */
static int64_t memory_of(struct json_object *resources, const char *field)
{
	const char *text = text_of(json_member(resources, field), "memory");
	struct quantity quantity;

	return *text && quantity_parse(text, strlen(text), &quantity, NULL) == 0 ? MAX(quantity_value(&quantity), 0)
										 : 0;
}

static struct json_object *items_of(struct json_object *object, const char *key)
{
	struct json_object *items = json_member(object, key);

	return json_object_is_type(items, json_type_array) ? items : NULL;
}

static size_t count(struct json_object *items)
{
	return items ? json_object_array_length(items) : 0;
}

static struct json_object *named(struct json_object *items, const char *name, size_t *ret_index)
{
	for (size_t i = 0; i < count(items); i++)
		if (streq(text_of(json_object_array_get_idx(items, i), "name"), name)) {
			*ret_index = i;
			return json_object_array_get_idx(items, i);
		}
	return NULL;
}

static void read_condition(struct json_object *condition, struct resize_pod *ret)
{
	const char *type = text_of(condition, "type"), *reason = text_of(condition, "reason");

	if (!streq(text_of(condition, "status"), "True"))
		return;
	if (streq(type, "PodResizePending")) {
		ret->pending = streq(reason, "Infeasible") ? RESIZE_PENDING_INFEASIBLE : RESIZE_PENDING_DEFERRED;
		ret->pending_why = text_of(condition, "message");
	} else if (streq(type, "PodResizeInProgress") && ret->pending < RESIZE_PENDING_DEFERRED) {
		ret->pending = streq(reason, "Error") ? RESIZE_PENDING_ERROR : RESIZE_PENDING_IN_PROGRESS;
		ret->pending_why = text_of(condition, "message");
	}
}

int resize_pod_read(struct json_object *pod, struct resize_pod *ret, struct err *err)
{
	struct json_object *metadata = json_member(pod, "metadata"), *status = json_member(pod, "status");
	struct json_object *conditions = items_of(status, "conditions");
	const char *phase = text_of(status, "phase");

	if (!metadata || !json_member(pod, "spec"))
		return err_set(err, -EINVAL, "not a pod");
	*ret = (struct resize_pod){
		.name = text_of(metadata, "name"),
		.uid = text_of(metadata, "uid"),
		.resource_version = text_of(metadata, "resourceVersion"),
		.node = text_of(json_member(pod, "spec"), "nodeName"),
		.is_ended = streq(phase, "Succeeded") || streq(phase, "Failed"),
		.is_deleted = json_member(metadata, "deletionTimestamp") != NULL,
		.is_static = *text_of(json_member(metadata, "annotations"), KEY_MIRROR) != '\0',
		.pending_why = "",
	};
	for (size_t i = 0; i < count(conditions); i++)
		read_condition(json_object_array_get_idx(conditions, i), ret);
	return 0;
}

/* Whether this manager's field set contains the container's memory limit. */
static bool owns_limit(struct json_object *fields, bool is_init, const char *container)
{
	char key[320];
	struct json_object *list = json_member(json_member(fields, "f:spec"),
					       is_init ? "f:initContainers" : "f:containers");

	snprintf(key, sizeof(key), "k:{\"name\":\"%.255s\"}", container);
	return json_member(json_member(json_member(json_member(list, key), "f:resources"), "f:limits"), "f:memory");
}

static void read_own(struct json_object *pod, const char *name, struct resize_container *ret)
{
	struct json_object *managers = items_of(json_member(pod, "metadata"), "managedFields");

	for (size_t i = 0; i < count(managers); i++) {
		struct json_object *manager = json_object_array_get_idx(managers, i);
		enum resize_kind kind;
		int64_t own_bytes;

		if (!streq(text_of(manager, "subresource"), "resize") ||
		    !resize_manager_parse(text_of(manager, "manager"), &kind, &own_bytes) ||
		    !owns_limit(json_member(manager, "fieldsV1"), ret->is_init, name))
			continue;
		ret->own_bytes = own_bytes;
		ret->own_kind = kind;
		ret->own_time = text_of(manager, "time");
	}
}

static bool restarts_for_memory(struct json_object *container)
{
	struct json_object *policies = items_of(container, "resizePolicy");

	for (size_t i = 0; i < count(policies); i++) {
		struct json_object *policy = json_object_array_get_idx(policies, i);

		if (streq(text_of(policy, "resourceName"), "memory"))
			return !streq(text_of(policy, "restartPolicy"), "NotRequired");
	}
	return false;
}

bool resize_container_read(struct json_object *pod, const char *name, struct resize_container *ret)
{
	struct json_object *spec = json_member(pod, "spec"), *status = json_member(pod, "status");
	struct json_object *container, *told;
	size_t told_index;

	*ret = (struct resize_container){.is_init = false};
	container = named(items_of(spec, "containers"), name, &ret->index);
	if (!container) {
		ret->is_init = true;
		container = named(items_of(spec, "initContainers"), name, &ret->index);
		if (!streq(text_of(container, "restartPolicy"), "Always"))
			return false;
	}
	ret->request_bytes = memory_of(json_member(container, "resources"), "requests");
	ret->limit_bytes = memory_of(json_member(container, "resources"), "limits");
	ret->restarts_for_memory = restarts_for_memory(container);
	told = named(items_of(status, ret->is_init ? "initContainerStatuses" : "containerStatuses"), name, &told_index);
	ret->live_limit_bytes = memory_of(json_member(told, "resources"), "limits");
	ret->is_running = json_member(json_member(told, "state"), "running") != NULL;
	read_own(pod, name, ret);
	return true;
}
