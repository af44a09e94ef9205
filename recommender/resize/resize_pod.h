/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_pod: what a running pod says that matters to a resize: sizes as they are in its spec and in its cgroup, what
 * the kubelet has made of the last resize, and what we did before. Sources: KEP-1287 (conditions PodResizePending,
 * PodResizeInProgress; status.containerStatuses[].resources), core/v1. Texts are borrowed from the JSON. Pure. */
#include "base/err.h"
#include "base/json.h"
#include "resize/resize.h"

enum resize_pending {
	RESIZE_PENDING_NONE,
	RESIZE_PENDING_IN_PROGRESS, /* allocated, and being set */
	RESIZE_PENDING_ERROR,	    /* allocated, and could not be set; tried again */
	RESIZE_PENDING_DEFERRED,
	RESIZE_PENDING_INFEASIBLE,
};

struct resize_pod {
	const char *name, *uid, *resource_version, *node; /* "" when absent */
	bool is_ended, is_deleted, is_static;
	enum resize_pending pending;
	const char *pending_why; /* the kubelet's words; "" */
};

struct resize_container {
	bool is_init; /* a sidecar: spec.initContainers */
	size_t index;
	int64_t request_bytes, limit_bytes; /* spec; 0: none */
	int64_t live_limit_bytes;	    /* of the cgroup; 0: not told */
	bool is_running;
	bool restarts_for_memory; /* resizePolicy: RestartContainer */
	/* Of an earlier resize of ours, still in force: the limit before the first one; 0: none. */
	int64_t own_bytes;
	enum resize_kind own_kind; /* of the last one */
	const char *own_time;	   /* when that was, RFC 3339; "" not told */
};

/** @return 0; -EINVAL (no pod). */
int resize_pod_read(struct json_object *pod, struct resize_pod *ret, struct err *err) ATTR_NODISCARD;
/** False when there is no such container that runs as long as the pod. */
bool resize_container_read(struct json_object *pod, const char *name, struct resize_container *ret);
