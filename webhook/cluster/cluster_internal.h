/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster_internal: shared by the files of the cluster. */
#include "base/arena.h"
#include "base/log.h"
#include "base/vec.h"
#include "cluster/cluster.h"
#include "cluster/cluster_owners.h"
#include "kube/reflector.h"

struct watch;

/** A kind of object that is watched. */
struct watch_kind {
	enum cluster_watch_id id;
	struct kube_resource resource;
	bool is_necessary; /* no snapshot before its first list is complete */
	bool wants_text;   /* `put` reads text, not json */
	/** An object was added or changed. The cluster's scratch arena is empty. @return 0; -EINVAL with the field in
	 * err; -ENOMEM. */
	int (*put)(struct watch *watch, const struct kube_object *object, struct err *err);
	/** An object was deleted; its content may be unknown. @return 0; -ENOMEM. */
	int (*remove)(struct watch *watch, const struct kube_object *object);
	/** Objects were deleted between two lists: call reflector_has for each known name. NULL: `remove` is called for
	 * each. @return 0; -ENOMEM. */
	int (*remove_gone)(struct watch *watch);
};

/** One reflector. */
struct watch {
	struct watch *next;
	struct cluster *cluster;
	struct watch_kind kind; /* the texts of its resource may only be used by watch_start */
	struct reflector *reflector;
	bool is_synced;	 /* the first list is complete */
	bool is_failing; /* the failure was logged */
	struct err why;	 /* the last failure; code 0: none since the watch recovered */
};

/** A kind that does not own pods, and is watched only if the cluster serves it. */
struct optional_kind {
	const char *group, *name;
	struct watch_kind watch; /* without its resource */
	/** The kind is not served any more, or in another version: remove its objects. @return 0; -ENOMEM. */
	int (*forget)(struct cluster *cluster);
};

/** A ClusterQueue as read. */
struct cluster_queues {
	struct hashtable by_name;
	bool is_dirty;	  /* the amounts that queues can admit must be recomputed */
	bool is_too_many; /* this was logged */
};

/** VerticalPodAutoscalers as read. */
struct cluster_vpas {
	struct hashtable by_name;
	bool is_dirty;	  /* the list in the snapshot is not current */
	bool is_too_many; /* this was logged */
};

/** Namespaces with ResourceQuotas. */
struct cluster_quotas {
	struct hashtable namespaces; /* struct quota_namespace, by name */
	size_t n_watched;	     /* of which pods are watched */
	bool is_dirty;		     /* the snapshot has other figures of one of them */
	bool is_too_many;	     /* this was logged */
};

/** Discovery of the kinds that the API server serves (cluster_kinds.c). */
struct owner_kind;
struct discovery {
	struct owner_kind *kinds; /* the rows of the table of kinds, then the optional kinds */
	struct kube_timer timer;
	struct kube_call *call; /* in progress; NULL: none */
	struct arena arena;
	VEC(const char *) paths; /* to be requested in this discovery */
	size_t at;		 /* number of paths that were requested */
	bool has_failed;
	int64_t asked_ms; /* start of the last discovery, monotonic */
};

struct cluster {
	struct kube_client *client;
	struct cluster_config config;
	struct watch *watches;
	uint64_t past_restarts[CLUSTER_WATCH_COUNT_]; /* of watches that were freed */
	struct snapshot *current;		      /* the last snapshot, which changes start from */
	struct snapshot_builder *builder;	      /* NULL: no change since */
	bool has_no_memory;			      /* the builder is incomplete for lack of memory */
	struct kube_timer timer;
	int64_t build_ms, built_at_ms; /* duration of the last build; its end, monotonic */
	int64_t swept_ms;	       /* when superseded recommendations were last removed, monotonic */
	struct arena scratch;
	VEC(struct node_shape) shapes; /* as in the API server */
	bool has_new_shapes;	       /* the builder has outdated shapes */
	struct cluster_quotas quotas;
	struct owners owners;
	struct discovery discovery;
	struct cluster_queues queues;
	struct cluster_vpas vpas;
	struct log_gate skipped, unapplied; /* rate limits of the lines that objects can cause */
};

/** Rate limit of lines that whoever writes objects can cause, as of those that clients can (serve/client_log.c): 20 at
 * once, then 2 a second. */
#define CLUSTER_OBJECT_LINES 20, 500

/* cluster_feed.c */
/** The builder for changes, which is started if there is none. NULL: out of memory. */
struct snapshot_builder *cluster_builder(struct cluster *self);
/** Something changed: `changed` is called soon. */
void cluster_note_change(struct cluster *self);
/** Sets err. @return -ENOMEM. */
int cluster_no_memory(struct err *err);
/** Starts a discovery soon, but not too often, because the served kinds may have changed. */
void cluster_look_for_kinds(struct cluster *cluster);

/** cluster_watch.c. Starts a reflector. `namespace` NULL: all. `ret` may be NULL. @return 0; -EINVAL; -ENOMEM. */
int watch_start(struct cluster *cluster, const struct watch_kind *kind, const char *namespace, struct watch **ret,
		struct err *err) ATTR_NODISCARD;
/** Stops a watch. NULL is allowed. Must not be called from one of its own callbacks. */
void watch_free(struct watch *self);
/** Logs which watches recovered. */
void watches_look(struct cluster *cluster);

/** cluster_objects.c: the kinds that are always watched. */
extern const struct watch_kind cluster_kinds[];
extern const size_t cluster_kinds_n;

/** cluster_quotas.c: ResourceQuotas and what pods use of them. Pods are watched only in namespaces where a quota counts
 * memory or ephemeral storage. quotas_put: a quota was added or changed. @return 0; -EINVAL; -ENOMEM. */
int quotas_put(struct cluster *cluster, const struct k8s_quota *quota, struct err *err) ATTR_NODISCARD;
/** A quota was deleted. */
void quotas_remove(struct cluster *cluster, const char *namespace, const char *name);
/** Puts the quotas of each namespace whose quotas or pods changed into the builder, at most LIMIT_NAMESPACE_QUOTAS + 1
 * of each. Cost: the number of namespaces with quotas, and for each one that changed these quotas times its pods.
 * @return 0; -ENOMEM. */
int quotas_flush(struct cluster *cluster, struct snapshot_builder *builder) ATTR_NODISCARD;
void quotas_release(struct cluster *cluster);

/** cluster_queues.c: Kueue's LocalQueues and ClusterQueues. */
extern const struct optional_kind local_queue_kind, cluster_queue_kind;
/** Puts the figures of all ClusterQueues into the builder if a spec has changed. Cost: n log n in all
 * their quotas in that case. @return 0; -ENOMEM. */
int queues_flush(struct cluster *cluster, struct snapshot_builder *builder) ATTR_NODISCARD;
void queues_release(struct cluster *cluster);

/** cluster_vpas.c: VerticalPodAutoscalers. */
extern const struct optional_kind vpa_kind;
/** Puts all of them into the builder if one has changed. Cost: n log n in that case. @return 0; -ENOMEM. */
int vpas_flush(struct cluster *cluster, struct snapshot_builder *builder) ATTR_NODISCARD;
/** Removes all of them. @return 0. */
int vpas_forget(struct cluster *cluster);

/** cluster_kinds.c: watches of the kinds that own pods, if the API server serves them. */
void kinds_start(struct cluster *cluster);
void kinds_stop(struct cluster *cluster);
/** A pod with an owner of this kind was seen: starts a discovery soon if the kind is not watched yet. */
void kinds_seen(struct cluster *cluster, const char *api_version, const char *kind);
