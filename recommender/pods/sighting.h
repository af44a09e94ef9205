/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* sighting: the state of one training pod, merged from everything that the API server reported of it: identity, owners,
 * sizes, how its containers ended, and at which limits the kernel killed them. On the heap; owned by the table in
 * pods.h or by the caller of sighting_read.
 *
 * The fields come from the Pod API (core/v1). Evictions and missing resources are not in fields, only in messages of
 * the kubelet and the scheduler: sighting_status.c and sighting_lacks.c list these messages with their sources. */
#include "base/err.h"
#include "base/hashtable.h"
#include "base/vec.h"
#include "evidence/evidence.h"
#include "k8s/pod.h"

#include <stdint.h>

struct arena;
struct identity;

#define SIGHTING_ID_BYTES 72

/** A main container or a sidecar. Init containers that run to completion are not sized and not kept. */
struct sighting_container {
	char *name, *image;
	int64_t request_bytes, limit_bytes; /* current values of the spec; 0: none */
	/* The limit that the kubelet has applied (status.containerStatuses[].resources); 0: not reported. It differs
	 * from limit_bytes while a resize is in progress. */
	int64_t live_limit_bytes;
	int64_t ephemeral_request_bytes, ephemeral_limit_bytes;
	int64_t accelerators_milli;
	unsigned int ends; /* enum evidence_end_flag */
	int restarts;
	int64_t killed_limits[RUN_KILLED_LIMITS]; /* limits in force at OOM kills, distinct; -1: no limit */
	int n_killed_limits;
	int64_t last_oom_ms; /* 0: never */
	/* The last failure, an OOM kill or an error: its time, and when this start of the container began; 0: never,
	 * not reported. */
	int64_t failed_ms, failed_from_ms;
	/* Of our resizes: the limit before the first one, and the time of the last one; 0: none. */
	int64_t resized_from_bytes, resized_ms;
	bool restarts_killed; /* as k8s_container_restarts */
	bool is_running;
	int64_t started_ms;	    /* start of the running container; 0: not running, or not reported */
	char id[SIGHTING_ID_BYTES]; /* container id of the runtime, which names its cgroup; "": not reported */
};

struct sighting_owner {
	char *api_version, *kind, *name, *uid; /* never NULL; "": none */
};

struct sighting {
	char *namespace_name, *name, *uid, *node, *resource_version; /* node "": not scheduled */
	/* The controller, and the topmost owner that is known. `root` equals `owner` until the owner chain has been
	 * followed, and for a controller without an owner. All texts "": a bare pod. */
	struct sighting_owner owner, root;
	VEC(struct k8s_label) labels; /* the labels that identity reads; static keys, values on the heap */
	char *decision;		      /* annotation memtamer.io/decision, with our resizes added; "": none */
	char *priority_class;	      /* "": none */
	/* The queue that counted the pod's requests through its owner: "ClusterQueue research", "LocalQueue team", "its
	 * queue" (name not known). "": none. */
	char *queue;
	int64_t created_ms, scheduled_ms, start_ms, end_ms; /* 0: not (yet) */
	/* room_since_ms: since when the scheduler or an autoscaler reports that no node has enough memory or ephemeral
	 * storage; 0: the pod does not wait for that now. room_waited_ms: how long the pod waited for that before.
	 * Other reasons for waiting (scheduling gates, accelerators, volumes) do not depend on memory sizes and are not
	 * counted. */
	int64_t room_since_ms, room_waited_ms;
	/* bits of END_UNSCHEDULABLE: resources that new nodes would lack too, according to Events */
	unsigned int autoscaler_lacks;
	int64_t events_asked_ms; /* when Events of this pod or another pod of its run were read; 0: never */
	unsigned int ends;	 /* enum evidence_end_flag, of the pod itself */
	enum k8s_qos qos;
	int64_t deleted_ms;  /* when deletion was requested, or when the pod was found to be gone; 0: not deleted */
	int64_t seen_ms;     /* when the pod was last read */
	int64_t changed_seq; /* grows with each change that matters for a run (pods_batch) */
	uint64_t run_hash;   /* hash of namespace and run key: equal for all pods of a run */
	bool is_gone;	     /* not in the API any more; kept until its run is final and written */
	bool is_root_known;  /* the owner chain was followed to its end */
	bool is_independent; /* of a Job with a backoffLimitPerIndex, whose pods do not need each other */
	VEC(struct sighting_container) containers;
	struct hashtable_node by_name; /* in a pod_list */
	/* The pod as JSON text with the fields of allow_pod, if it runs and keeps_text was set; else NULL. */
	char *text;
	size_t n_text;
};

/** A pod that still exists so long after its deletion is on a node that does not respond, and counts as ended. */
#define SIGHTING_LOST_MS ((int64_t)10 * 60 * 1000)

/** A sighting with all texts "". Free it with sighting_free. NULL: out of memory. */
struct sighting *sighting_new(void) ATTR_NODISCARD;
/** NULL is allowed. */
void sighting_free(struct sighting *self);
void sighting_freep(struct sighting **self);

/** How to read a pod. */
struct sighting_look {
	/* The previous sighting of the same name, or NULL. What the API server does not report again is copied from it
	 * if the uid is the same: limits at earlier kills, earlier ends, and the limit in force before a kill that is
	 * reported only now. */
	const struct sighting *before;
	int64_t now_ms;
	bool keeps_text; /* keep the JSON text if the pod runs */
};

/** Reads a v1 Pod from JSON text of `n` bytes. Cost: linear in `n`; most pods do not train and are walked only once.
 * @param arena  scratch memory, reset here.
 * @param ret  owned by the caller; NULL: not a training pod.
 * @return 0; -EINVAL with the field; -E2BIG; -ENOMEM. */
int sighting_read(const char *text, size_t n, const struct sighting_look *look, struct arena *arena,
		  struct sighting **ret, struct err *err) ATTR_NODISCARD;
/** Which resources a pod cannot get, according to a message: the PodScheduled condition of the scheduler, or an Event
 * of the scheduler, Cluster Autoscaler or Karpenter. Karpenter lists all resources that the pod requests, whichever of
 * them is too large, so the result may contain both. Cost: linear in the message.
 * @return bits of END_UNSCHEDULABLE. */
unsigned int sighting_lacks(const char *message);
/** Whether something changed that is part of the evidence of a run. `before` may be NULL (always true). */
bool sighting_is_news(const struct sighting *before, const struct sighting *now);
/** Whether a profile should reflect the change at once: an end, an OOM kill, a restart or a decision, or the owner
 * became known of a pod that has one of these. `before` may be NULL. */
bool sighting_is_urgent(const struct sighting *before, const struct sighting *now);
/** The pod is not in the API any more. If it had not ended, it ends as deleted: at its deletion, or at `now_ms` if that
 * is earlier or the deletion was not seen. */
void sighting_set_gone(struct sighting *self, int64_t now_ms);
/** The identity of the pod by its owners and labels, without a container. */
void sighting_identity(const struct sighting *self, struct identity *ret);
/** The run_hash of pods of a run. */
uint64_t sighting_run_hash(const char *namespace_name, const char *run_key);
/** Computes run_hash. Call it after owners or labels changed. */
void sighting_identify(struct sighting *self);
/** Whether an OOM kill of the container is followed by a restart in its pod: by the restart policies and rules, or
 * because it has restarted before, as another container's rule (RestartAllContainers) may restart it. */
bool sighting_restarts(const struct sighting_container *container);
/** Whether the pod succeeded, failed, or is gone. */
bool sighting_is_over(const struct sighting *self);
/** How the pod ended. If several reasons apply, the first one counts: eviction, preemption, success, OOM kill,
 * deletion, failure. OUTCOME_RUNNING while the pod is not over. */
enum outcome sighting_outcome(const struct sighting *self);
/** Adds the pod to a batch as evidence. @return 0 or -ENOMEM. */
int sighting_tell(const struct sighting *self, int64_t now_ms, struct evidence_batch *batch) ATTR_NODISCARD;
