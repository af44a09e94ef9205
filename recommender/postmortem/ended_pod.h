/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* ended_pod: what the object of a pod says of the ends of its containers. A container that was restarted counts by its
 * last failure. Pure; cost: linear in the object. */
#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

enum container_place { PLACE_MAIN, PLACE_INIT, PLACE_SIDECAR };

/** Texts are borrowed from the pod's object; "": absent. */
struct ended_container {
	const char *name;
	enum container_place place;
	struct json_object *status;
	bool has_ended, has_failed;
	bool is_previous; /* the end of the start before the current one: its log is the previous one */
	bool is_running;
	const char *reason, *message; /* of the end */
	const char *waiting, *waiting_message;
	int64_t exit_code, finished_ms, restarts;
	int64_t limit_bytes, request_bytes; /* of memory, FIGURE_NONE: none */
};

#define ENDED_POD_SLOT_BYTES 512

struct ended_pod {
	struct json_object *json; /* owned */
	const char *name, *namespace, *uid, *node, *phase;
	int64_t created_ms;
	int64_t ended_ms;		 /* of the first failure; INT64_MAX: nothing has failed */
	int64_t limit_bytes;		 /* memory limit of the pod as a whole (spec.resources); FIGURE_NONE */
	int rank;			 /* RANK_NONE */
	bool is_master;			 /* rank 0 of a job that counts its workers on their own */
	bool is_worker_index;		 /* `rank` is the index among workers, see ended_pods_rank_workers */
	char slot[ENDED_POD_SLOT_BYTES]; /* what pods of one rank and role have in common, apart from the attempt; "":
					  * not known */
	size_t group;			 /* in the facts; 0: none */
	const char *accelerator;	 /* resource name; "" */
	int64_t n_accelerators;
	VEC(struct ended_container) containers; /* init containers first */
};

/** Takes the object, also on failure. @return 0; -EINVAL no object of a pod; -ENOMEM. Call ended_pod_release in any
 *  case. */
int ended_pod_read(struct json_object *take_json, struct ended_pod *ret, struct err *err) ATTR_NODISCARD;
void ended_pod_release(struct ended_pod *self);
/** Ranks the workers of one job behind its master, if one of the pods is it: operators count workers from 0 in labels
 * and give them their index and one as rank. */
void ended_pods_rank_workers(struct ended_pod *pods, size_t n);
/** Whether the pod still runs. */
static inline bool ended_pod_is_running(const struct ended_pod *self)
{
	return streq(self->phase, "Running");
}
/** Whether one of its containers has failed. */
bool ended_pod_has_failed(const struct ended_pod *self);
/** Whether the pod has failed for good: no container of it runs or will be started again. */
bool ended_pod_is_over(const struct ended_pod *self);
