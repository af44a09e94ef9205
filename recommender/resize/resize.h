/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize: raises the memory of running pods in place (the subresource pods/resize, Kubernetes 1.33 and newer).
 *
 *	resize_scan      main thread: finds containers that need a resize, from watched pods and Prometheus
 *	resize_forecast  pure: whether and when a container will reach its limit
 *	resizer          the replica's thread: sends the resize to the API server and follows the kubelet
 *	resize_plan      pure: computes the new values, by the same decide() as for a new pod
 *
 * A resize only raises memory that the container has set already, and never changes the QoS class. Nothing else
 * of the pod is written, so that no right to patch pods is needed. The new values, and the value before the
 * first resize, are recorded by the API server itself: in metadata.managedFields, under the field manager
 * "memtamer-resize-oom-64Mi". */
#include "base/attr.h"
#include "base/limits.h"

#include <stdint.h>

enum resize_kind {
	RESIZE_KIND_OOM,    /* the container was killed at its limit and restarts in its pod */
	RESIZE_KIND_BEFORE, /* the container runs and will reach its limit */
	RESIZE_KIND_COUNT_,
};
/** "oom", "before": labels of metrics, and parts of the names of field managers. */
extern const char *const resize_kind_names[RESIZE_KIND_COUNT_];

/** The result of a request for a resize. */
enum resize_result {
	RESIZE_APPLIED,	    /* the container's cgroup has the new limit */
	RESIZE_DEFERRED,    /* the node has no room now; the kubelet tries again by itself */
	RESIZE_INFEASIBLE,  /* the node can never provide it; the resize was reverted */
	RESIZE_HELD_BACK,   /* the rules do not allow more */
	RESIZE_REFUSED,	    /* rejected by the API server */
	RESIZE_UNSUPPORTED, /* this cluster has no pods/resize */
	RESIZE_GONE,	    /* the pod ended or was replaced */
	RESIZE_UNANSWERED,  /* API server or kubelet did not respond */
	RESIZE_RESULT_COUNT_,
};
/** "applied", "deferred" ...: labels of metrics. */
extern const char *const resize_result_names[RESIZE_RESULT_COUNT_];

/** What people can do if the node has no room for a larger limit. */
#define RESIZE_REMEDY_NODE "delete the pod, so that its next try can run on another node"

/** A request to resize one container. Texts that do not fit are truncated, and then name no existing object. */
struct resize_ask {
	enum resize_kind kind;
	char namespace_name[64], pod[256], uid[64], container[64];
	char node[256]; /* "": not known */
	struct {
		char api_version[128], kind[64], name[256], uid[64];
	} root;		      /* topmost owner, for the Event; kind "": the pod itself */
	int64_t killed_bytes; /* RESIZE_KIND_OOM: the greatest limit at which the container was killed */
	int64_t want_bytes;   /* RESIZE_KIND_BEFORE: the limit that the forecast asks for; else 0 */
};

/** The field manager of a resize: the kind, and the limit that the container had before the first resize. */
#define RESIZE_MANAGER	     "memtamer-resize-"
#define RESIZE_MANAGER_BYTES 64
void resize_manager_name(enum resize_kind kind, int64_t own_bytes, char ret[RESIZE_MANAGER_BYTES]);
/** Parses the name of a field manager. @return false: not one of ours; nothing is set. */
bool resize_manager_parse(const char *name, enum resize_kind *ret_kind, int64_t *ret_own_bytes);
