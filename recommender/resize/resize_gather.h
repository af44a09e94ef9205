/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_gather: reads from the API server what resize_plan needs: the pod, its namespace, the workload's profiles,
 * LimitRanges, ResourceQuotas, VerticalPodAutoscalers, the node and the node's pods. It sends one request after the
 * other; objects that do not exist are left out. Threads: the client's. Cost: the namespace's objects of these kinds,
 * and the pods of one node. */
#include "base/vec.h"
#include "kube/kube_list.h"
#include "resize/resize_plan.h"

/** Called once at the end. `code`: 0; KUBE_NOT_FOUND: there is no such pod; another kube_condition; -errno. The
 * callback may call resize_gather_begin again. */
typedef void resize_gather_done_fn(void *context, int code, const struct err *why);

struct resizer;
/** The caller sets the fields up to `context`, which are borrowed; all others must be zero. */
struct resize_gather {
	struct kube_client *client;
	const struct resize_ask *ask;
	struct resizer *owner; /* knows the use of pods, and which of them are resized */
	resize_gather_done_fn *done;
	void *context;

	/* What was read; complete when `done` is called with code 0. The caller sets `policy` and `now_ms`. */
	struct resize_input input;
	struct arena arena;
	struct kube_call *call;
	struct kube_list *list;
	VEC(struct profile *) profiles;
	VEC(struct resize_neighbour) neighbours;
	char node[256];
	size_t step; /* the request under way, of a table */
};

/** Discards what was read and reads everything again; `done` is called later. */
void resize_gather_begin(struct resize_gather *self);
/** Cancels open requests without calling `done`, and frees what was read. */
void resize_gather_release(struct resize_gather *self);
