/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of the cluster share. */
#include "base/arena.h"
#include "base/vec.h"
#include "cluster/cluster.h"
#include "cluster/cluster_owners.h"
#include "kube/reflector.h"

struct watch;
struct quota_namespace;

/** One sort of object. */
struct watch_kind {
	enum cluster_watch_id id;
	struct kube_resource resource;
	bool is_necessary; /* no snapshot before its first list */
	bool wants_text;   /* `put` reads text, not json */
	/** @return 0; -EINVAL with the field in err; -ENOMEM. */
	int (*put)(struct watch *watch, const struct kube_object *object, struct err *err);
	/** Gone; perhaps only its name is known. @return 0; -ENOMEM. */
	int (*remove)(struct watch *watch, const struct kube_object *object);
	/** Some have gone unseen: ask reflector_has of each. NULL: each is told to `remove`. @return 0; -ENOMEM. */
	int (*remove_gone)(struct watch *watch);
};

/** One reflector. */
struct watch {
	struct watch *next;
	struct cluster *cluster;
	struct watch_kind kind; /* its resource's texts are not to be read after the start */
	struct reflector *reflector;
	bool is_synced;	 /* its first list was told */
	bool is_failing; /* and that was said */
	struct err why;	 /* of the last failure; code 0: none since it went on */
};

/** The owner kinds that the API server serves (cluster_kinds.c). */
struct owner_kind;
struct discovery {
	struct owner_kind *kinds; /* as many as the table of kinds has rows */
	struct kube_timer timer;
	struct kube_call *call; /* under way; NULL: none */
	struct arena arena;
	VEC(const char *) paths; /* to be asked for in this look */
	size_t at;		 /* so many were */
	bool has_failed;
	int64_t asked_ms; /* monotonic: when the last look began */
};

struct cluster {
	struct kube_client *client;
	struct cluster_config config;
	struct watch *watches;
	uint64_t past_restarts[CLUSTER_WATCH_COUNT_]; /* of watches that are no more */
	struct snapshot *current;		      /* what changes start from */
	struct snapshot_builder *builder;	      /* NULL: no change since */
	bool has_no_memory;			      /* the builder is broken */
	struct kube_timer timer;
	int64_t build_ms, built_at_ms; /* what the last one took; when it was done, monotonic */
	int64_t swept_ms;	       /* monotonic: when what counted before was last dropped */
	struct arena scratch;
	VEC(struct node_shape) shapes; /* as the API server has them */
	bool has_new_shapes;	       /* the builder's are old */
	VEC(struct quota_namespace *) quota_namespaces;
	bool has_too_many_quotas; /* and that was said */
	struct owners owners;
	struct discovery discovery;
	uint64_t owner_kinds; /* as the last snapshot has them */
};

/** The builder for changes; the first of them starts it. NULL: out of memory. */
struct snapshot_builder *cluster_builder(struct cluster *self);
/** Something changed: `changed` is called soon. */
void cluster_note_change(struct cluster *self);
/** The same for what cannot wait for others to gather: an owner whose pods are about to come. */
void cluster_note_urgent_change(struct cluster *self);
int cluster_no_memory(struct err *err);

/** cluster_watch.c. `namespace`: NULL: all. `ret` may be NULL. */
int watch_start(struct cluster *cluster, const struct watch_kind *kind, const char *namespace, struct watch **ret,
		struct err *err) ATTR_NODISCARD;
/** NULL allowed. Not from a callback of its own. */
void watch_free(struct watch *self);
/** Is what is told now an event, not an item of a list? */
bool watch_is_told_as_it_happens(const struct watch *self);
/** Say which watches go on after a failure. */
void watches_look(struct cluster *cluster);

/** cluster_objects.c: the kinds that are always watched. */
extern const struct watch_kind cluster_kinds[];
extern const size_t cluster_kinds_n;

/** cluster_quotas.c: namespaces that have a ResourceQuota of memory or ephemeral storage; in these pods are watched.
 *  A quota that is there, or changed: does it count such an amount? */
int quotas_put(struct cluster *cluster, const struct k8s_quota *quota, struct err *err) ATTR_NODISCARD;
void quotas_remove(struct cluster *cluster, const char *namespace, const char *name);
void quotas_release(struct cluster *cluster);

/** cluster_kinds.c: watches of the kinds that own pods, as far as the API server serves them. */
void kinds_start(struct cluster *cluster);
void kinds_stop(struct cluster *cluster);
/** kind_bit() of those whose owners are told as they come about. */
uint64_t kinds_told(const struct cluster *cluster);
/** Something says that others are served now: look, but not all the time. */
void kinds_look_soon(struct cluster *cluster);
/** A pod with an owner of this kind was seen: is it time to look what is served? */
void kinds_seen(struct cluster *cluster, const char *api_version, const char *kind);
