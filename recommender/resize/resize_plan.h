/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_plan: what one container of a running pod gets, or why it gets nothing.
 *
 * The size is that of decide(), called as if the pod were created now. Mode, bare pods, queues, Ray, LimitRanges,
 * VerticalPodAutoscalers and quotas (less what the pod already uses of them) therefore apply as for a new pod, and so
 * does each modeCap: of the namespace, of the workload's profile and of the profiles of the pod's other containers.
 *
 * decide() is given the profile's limit. If no profile knows of the kill, it is given twice the killed limit (one step,
 * as in size_base). Before a kill it is given the limit of the forecast, if that is more.
 *
 * Only raises are taken from the answer, of memory that the container has set: the limit, and with it the request if
 * both must stay equal (QoS class Guaranteed) or a LimitRange binds them.
 *
 * Then the node is checked. A request must fit beside the requests of the node's other pods. Before a kill the whole
 * limit must fit beside the memory that they use, so that a raise does not cause node pressure evictions. Pure. Cost:
 * linear in the input. */
#include "base/arena.h"
#include "k8s/pod.h"
#include "model/profile.h"
#include "policy/policy.h"
#include "resize/resize_pod.h"

/** Another pod on the node that has not ended. */
struct resize_neighbour {
	int64_t request_bytes; /* effective request */
	/* Memory that must be left to it: its working set, if that was measured and no resize has raised the pod or is
	 * requested; else its limits; else its requests. At least its request. */
	int64_t needs_bytes;
};

struct resize_input {
	const struct resize_ask *ask;
	/* Objects of the API server. limit_ranges, quotas and vpas (VerticalPodAutoscalers) are arrays of objects;
	 * NULL: none. */
	struct json_object *pod, *namespace_object, *limit_ranges, *quotas, *vpas;
	const struct profile *const *profiles; /* of the namespace: those of the workload, and memtamer-namespace */
	size_t n_profiles;
	int64_t node_bytes; /* allocatable memory; 0: not known */
	const struct resize_neighbour *neighbours;
	size_t n_neighbours;
	const struct policy *policy;
	int64_t now_ms;
};

struct resize_plan {
	enum resize_result verdict; /* RESIZE_APPLIED: apply the plan; else HELD_BACK or GONE */
	char why[256];		    /* the reason, also if the size was capped */
	/* HELD_BACK: what people can do, besides submitting again; static. "": nothing else. NULL: nothing has to be
	 * done, or the pod is none of ours. */
	const char *remedy;
	bool is_init;
	size_t index;		      /* index of the container in its array */
	int64_t from_bytes, to_bytes; /* of the limit */
	bool has_request;
	int64_t request_from_bytes, request_to_bytes;
	bool is_running;   /* whether the container runs now */
	int64_t own_bytes; /* the limit before our first resize */
};

/** Whether a key of this profile names the pod's workload, for any of its containers. Also true for
 * memtamer-namespace. */
bool resize_profile_fits(struct json_object *pod, const char *namespace_name, const struct profile *profile,
			 struct arena *arena);
/** The memory limits of the pod's long-running containers; of a container without a limit its request. */
int64_t resize_limits_of(const struct k8s_pod *pod);
/** Computes the plan. Texts in `ret` are copies. @return 0 (see `verdict`); -EINVAL: an input object is malformed;
 * -ENOMEM. */
int resize_plan(const struct resize_input *input, struct arena *arena, struct resize_plan *ret,
		struct err *err) ATTR_NODISCARD;
