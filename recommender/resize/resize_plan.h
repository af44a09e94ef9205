/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_plan: what one container of a running pod gets, or why it gets nothing.
 *
 * The size is that of decide(), asked as if the pod were created now: mode, bare pods, queues, Ray, LimitRanges and
 * quotas (less what the pod holds of them already) say here what they say there, and so does each modeCap: of the
 * namespace, of the workload's profile and of those of the pod's other containers. It is asked for the
 * profile's limit; where there is no profile that knows of the kill, for twice the killed limit (one step, as in
 * size_base), and before a kill for what the forecast wants, if that is more. Of the answer only raises of memory are
 * taken that the container has already: the limit, and with it the request where they must stay equal (QoS class
 * Guaranteed) or a LimitRange binds them. Then the node: a request must fit beside the others' requests, and before a
 * kill the whole limit must fit beside what the others use, so that a raise does not push the node into eviction. Pure.
 */
#include "base/arena.h"
#include "model/profile.h"
#include "policy/policy.h"
#include "resize/resize_pod.h"

/** Another pod of the node that has not ended. */
struct resize_neighbour {
	int64_t request_bytes; /* effective */
	/* What it must be left with: its working set where that was measured and no resize raised it or is asked for,
	 * else its limits, else its requests; at least its request. */
	int64_t needs_bytes;
};

struct resize_input {
	const struct resize_ask *ask;
	/* As the API server has them; limit_ranges and quotas are arrays of objects; NULL: none. */
	struct json_object *pod, *namespace_object, *limit_ranges, *quotas;
	const struct profile *const *profiles; /* of the namespace: those of this workload, and memtamer-namespace */
	size_t n_profiles;
	int64_t node_bytes; /* allocatable memory; 0: not known */
	const struct resize_neighbour *neighbours;
	size_t n_neighbours;
	const struct policy *policy;
	int64_t now_ms;
};

struct resize_plan {
	enum resize_result verdict; /* RESIZE_APPLIED: to be done; else HELD_BACK or GONE */
	char why[256];		    /* words, also of a cap */
	bool is_init;
	size_t index;		      /* of the container in its array */
	int64_t from_bytes, to_bytes; /* limit */
	bool has_request;
	int64_t request_from_bytes, request_to_bytes;
	bool is_running;   /* the container, at this moment */
	int64_t own_bytes; /* limit before the first resize of ours */
};

/** Do the keys of this profile name the pod's workload (for whichever of its containers)? Also true for
 *  memtamer-namespace. */
bool resize_profile_fits(struct json_object *pod, const char *namespace_name, const struct profile *profile,
			 struct arena *arena);
/** @return 0 (look at the verdict); -EINVAL (an object that is none); -ENOMEM. */
int resize_plan(const struct resize_input *input, struct arena *arena, struct resize_plan *ret,
		struct err *err) ATTR_NODISCARD;
