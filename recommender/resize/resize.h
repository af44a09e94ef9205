/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize: memory of pods that run, raised in place (the subresource pods/resize, Kubernetes 1.33 and newer). The words
 * that the parts share:
 *
 *	resize_scan      main thread: which containers want it, by what was seen of pods and by Prometheus
 *	resize_forecast  pure: will a container reach its limit, and when
 *	resizer          the replica's thread: what the API server is asked and told, and what the kubelet made of it
 *	resize_plan      pure: what is set, by the same decide() as for a new pod
 *
 * Only ever upwards, only memory, only what the pod has already, and never its QoS class. Nothing else of the pod is
 * written, so that no right to patch pods is needed: what was set, and what it was before, stands in the API server's
 * own record (metadata.managedFields) under the name of the field manager, "memtamer-resize-oom-64Mi". */
#include "base/attr.h"
#include "base/limits.h"

#include <stdint.h>

enum resize_kind {
	RESIZE_KIND_OOM,    /* killed at its limit, it restarts in its pod */
	RESIZE_KIND_BEFORE, /* it runs, and will reach its limit */
	RESIZE_KIND_COUNT_,
};
/** "oom", "before": labels of metrics, and in names of field managers. */
extern const char *const resize_kind_names[RESIZE_KIND_COUNT_];

/** What became of an ask. */
enum resize_result {
	RESIZE_APPLIED,	    /* the container's cgroup has it */
	RESIZE_DEFERRED,    /* the node has no room now; the kubelet tries again by itself */
	RESIZE_INFEASIBLE,  /* the node never can; taken back */
	RESIZE_HELD_BACK,   /* the rules allow nothing more here */
	RESIZE_REFUSED,	    /* by the API server */
	RESIZE_UNSUPPORTED, /* this cluster has no pods/resize */
	RESIZE_GONE,	    /* the pod ended, or is another one */
	RESIZE_UNANSWERED,  /* API server or kubelet did not say */
	RESIZE_RESULT_COUNT_,
};
/** "applied", "deferred" ...: labels of metrics. */
extern const char *const resize_result_names[RESIZE_RESULT_COUNT_];

/** What is wanted of one container. Texts are cut where they are longer, and then name nothing that exists. */
struct resize_ask {
	enum resize_kind kind;
	char namespace_name[64], pod[256], uid[64], container[64];
	char node[256]; /* "": not known */
	struct {
		char api_version[128], kind[64], name[256], uid[64];
	} root;		      /* topmost owner, for the Event; kind "": the pod itself */
	int64_t killed_bytes; /* OOM: the greatest limit that it was killed at */
	int64_t want_bytes;   /* before: the limit that the forecast wants; 0 with OOM */
};

/** The field manager of a resize: its kind, and the limit that the container had before the first one. */
#define RESIZE_MANAGER	     "memtamer-resize-"
#define RESIZE_MANAGER_BYTES 64
void resize_manager_name(enum resize_kind kind, int64_t own_bytes, char ret[RESIZE_MANAGER_BYTES]);
/** False for a name that is none of ours. */
bool resize_manager_parse(const char *name, enum resize_kind *ret_kind, int64_t *ret_own_bytes);
