/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_pod: reads from a running pod what matters for a resize: the sizes in its spec and in its cgroup, the
 * kubelet's result of the last resize, and our earlier resizes. Sources: KEP-1287 (conditions PodResizePending,
 * PodResizeInProgress; status.containerStatuses[].resources), core/v1. Texts are borrowed from the JSON. Pure. */
#include "base/err.h"
#include "base/json.h"
#include "resize/resize.h"

enum resize_pending {
	RESIZE_PENDING_NONE,
	RESIZE_PENDING_IN_PROGRESS, /* allocated; the kubelet is applying it */
	RESIZE_PENDING_ERROR,	    /* allocated; applying it failed and is retried */
	RESIZE_PENDING_DEFERRED,
	RESIZE_PENDING_INFEASIBLE,
};

struct resize_pod {
	const char *name, *uid, *resource_version, *node; /* "" if absent */
	bool is_ended, is_deleted, is_static;
	enum resize_pending pending;
	const char *pending_why; /* message of the kubelet; "": none */
};

struct resize_container {
	bool is_init; /* a sidecar, in spec.initContainers */
	size_t index;
	int64_t request_bytes, limit_bytes; /* spec; 0: none */
	int64_t live_limit_bytes;	    /* limit of the cgroup; 0: not reported */
	bool is_running;
	bool restarts_for_memory; /* resizePolicy of memory is RestartContainer */
	/* Of our resizes that are still in force: the limit before the first one; 0: none. */
	int64_t own_bytes;
	enum resize_kind own_kind; /* kind of the last one */
	const char *own_time;	   /* time of the last one, RFC 3339; "": not recorded */
};

/** @return 0; -EINVAL: not a pod. */
int resize_pod_read(struct json_object *pod, struct resize_pod *ret, struct err *err) ATTR_NODISCARD;
/** @return false: the pod has no such container, or it is an init container that runs to completion. */
bool resize_container_read(struct json_object *pod, const char *name, struct resize_container *ret);
