/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_gather: what resize_plan must know of a pod's namespace and node, asked of the API server at this moment: the
 * pod, its namespace, the workload's profiles, LimitRanges, ResourceQuotas, the node and its pods. One request after
 * the other; what does not exist is left out. Threads: the client's. */
#include "base/vec.h"
#include "kube/kube_list.h"
#include "resize/resize_plan.h"

/** The working set of a pod as it was measured lately; -1: not known. Called in the client's thread. */
typedef int64_t resize_used_fn(void *context, const char *namespace_name, const char *pod);
/** Is a resize of this pod asked for, or under way? Called in the client's thread. */
typedef bool resize_rises_fn(void *context, const char *namespace_name, const char *pod);
/** The end. `code` 0; KUBE_NOT_FOUND: there is no such pod; other kube_condition; -errno. May begin it again. */
typedef void resize_gather_done_fn(void *context, int code, const struct err *why);

/** What stands first is set by who embeds it, and borrowed; the rest zero. */
struct resize_gather {
	struct kube_client *client;
	const struct resize_ask *ask;
	resize_used_fn *used; /* NULL: nothing is known */
	resize_rises_fn *rises;
	resize_gather_done_fn *done;
	void *context; /* of all */

	struct arena arena;
	struct kube_call *call;
	struct kube_list *list;
	struct json_object *pod, *namespace_object, *limit_ranges, *quotas;
	VEC(struct profile *) profiles;
	VEC(struct resize_neighbour) neighbours;
	int64_t node_bytes;
	char node[256];
	int step;
};

/** Forget what is known and ask again; `done` is told later. */
void resize_gather_begin(struct resize_gather *self);
/** Tells nothing any more, and frees what it holds. */
void resize_gather_release(struct resize_gather *self);
/** After `done` with 0: point `input` at what was found; the caller has set the rest. */
void resize_gather_input(const struct resize_gather *self, struct resize_input *input);
