/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* sighting: what the API server has told of one training pod, over all that it said: identity, owners, sizes, how its
 * containers ended, and at which limits the kernel killed them. Heap; owned by pods.h, or by whoever read it.
 *
 * Where the fields of the pod come from: the Pod API (core/v1), and for evictions and preemptions the words of the
 * kubelet and the scheduler, which are in no field (sighting_ends.c has them with their sources). */
#include "base/err.h"
#include "base/vec.h"
#include "evidence/evidence.h"
#include "k8s/pod.h"

#include <stdint.h>

struct arena;

#define SIGHTING_ID_BYTES 72

/** A main container, or a sidecar. Init containers that run to their end are not sized and not kept. */
struct sighting_container {
	char *name, *image;
	int64_t request_bytes, limit_bytes; /* spec, as it is now; 0: none */
	/* What the kubelet has set (status.containerStatuses[].resources); 0: not told. Differs from limit_bytes while
	 * a resize is under way. */
	int64_t live_limit_bytes;
	int64_t ephemeral_request_bytes, ephemeral_limit_bytes;
	int64_t accelerators_milli;
	unsigned int ends; /* enum evidence_end_flag */
	int restarts;
	int64_t killed_limits[RUN_KILLED_LIMITS]; /* distinct; -1: without any limit */
	int n_killed_limits;
	int64_t last_oom_ms; /* 0: never */
	/* By a resize of ours: the limit before the first one, and when the last one was; 0: none. */
	int64_t resized_from_bytes, resized_ms;
	bool is_running;
	int64_t started_ms;	    /* of what runs; 0: nothing does, or it is not told */
	char id[SIGHTING_ID_BYTES]; /* the runtime's, which its cgroup is named by; "" not told */
};

struct sighting_owner {
	char *api_version, *kind, *name, *uid; /* never NULL; "": none */
};

enum sighting_restart { SIGHTING_NEVER, SIGHTING_ON_FAILURE, SIGHTING_ALWAYS };

struct sighting {
	char *namespace_name, *name, *uid, *node, *resource_version; /* node "": not scheduled */
	/* The controller, and the topmost owner that is known: the same until the chain has been followed, and for a
	 * controller that nobody controls. All "": a bare pod. */
	struct sighting_owner owner, root;
	VEC(struct k8s_label) labels;			    /* static keys, heap values: those that identity reads */
	char *decision;					    /* annotation memtamer.io/decision; "" none */
	char *priority_class;				    /* "" none */
	int64_t created_ms, scheduled_ms, start_ms, end_ms; /* 0: not (yet) */
	/* Since when the scheduler says that memory is what no node has, 0: it does not; and for how long it said so
	 * before that. Other waiting (gates, accelerators, volumes) is no matter of size. */
	int64_t memory_since_ms, memory_waited_ms;
	unsigned int ends; /* enum evidence_end_flag, of the pod */
	enum sighting_restart restart_policy;
	enum k8s_qos qos;
	int64_t deleted_ms;  /* deletionTimestamp, or when it was seen to be gone; 0: not deleted */
	int64_t seen_ms;     /* when it was last told */
	int64_t changed_seq; /* grows with what matters for a run: see pods.h */
	uint64_t run_hash;   /* of namespace and run key: pods of one run have the same */
	bool is_gone;	     /* not in the API any more; kept until its run is final and written */
	bool is_root_known;  /* the chain of owners was followed to its end */
	VEC(struct sighting_container) containers;
	/* The pod as JSON text (what allow_pod keeps of it) while it runs, where pods.h was asked to keep it; else
	 * NULL. */
	char *text;
	size_t n_text;
};

/** A pod that was deleted so long ago and is still there has a node that does not answer: it is taken for ended. */
#define SIGHTING_LOST_MS ((int64_t)10 * 60 * 1000)

/** All texts "". NULL: no memory. */
struct sighting *sighting_new(void) ATTR_NODISCARD;
void sighting_free(struct sighting *self);
void sighting_freep(struct sighting **self);

/** How a pod is looked at. */
struct sighting_look {
	/* What was known of the same pod, or NULL: what it has and a pod does not tell again is taken over (limits that
	 * were killed, ends that were seen, the limit in force when a kill is told only now). */
	const struct sighting *before;
	int64_t now_ms;
	bool keeps_text; /* while it runs */
};

/** Read a v1 Pod. @param arena  scratch, reset here. @param ret  NULL: no training pod.
 *  @return 0; -EINVAL with the field; -E2BIG; -ENOMEM. */
int sighting_read(const char *text, size_t n, const struct sighting_look *look, struct arena *arena,
		  struct sighting **ret, struct err *err) ATTR_NODISCARD;
/** Did anything change between the two that a run tells of? `before` may be NULL. */
bool sighting_is_news(const struct sighting *before, const struct sighting *now);
/** And is it something that a profile should know at once: an end, a kill, a restart, a decision? Or was it such that
 *  could not be told, as an owner was not known? */
bool sighting_is_urgent(const struct sighting *before, const struct sighting *now);
/** It is not in the API any more: if it had not ended, it was deleted at `now_ms`. */
void sighting_set_gone(struct sighting *self, int64_t now_ms);
/** After a change of owners or labels: run_hash. */
void sighting_identify(struct sighting *self);
/** It ended: nothing runs any more, or it is gone. */
bool sighting_is_over(const struct sighting *self);
/** How the pod ended, by what is worst in it; OUTCOME_RUNNING while it is not over. */
enum outcome sighting_outcome(const struct sighting *self);
/** Into a batch, as evidence. @return 0 or -ENOMEM. */
int sighting_tell(const struct sighting *self, int64_t now_ms, struct evidence_batch *batch) ATTR_NODISCARD;
