/* SPDX-License-Identifier: Apache-2.0 */
#include "service/unraised_kills.h"

#include "base/hash.h"
#include "model/identity.h"
#include "policy/size.h"

#include <errno.h>

/* A kill that is reported: copies, because a sighting is only borrowed for the visit. */
struct kill {
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1], owner[RUN_NAME_BYTES], container[LIMIT_NAME_BYTES + 1];
	char queue[LIMIT_NAME_BYTES + 64]; /* "": none */
	int64_t limit_bytes;
	struct identity identity; /* of the pod */
};

/* The search for the kill of the pod that changed first. */
struct search {
	const struct unraised_kills *kills;
	bool resizes, is_found;
	int64_t seq; /* of the pod of `found`; without one, of the last change of all pods */
	uint64_t hash;
	struct kill found;
};

static bool is_bare(const struct sighting *pod)
{
	return !*pod->owner.uid;
}

static uint64_t hash_of(const struct sighting *pod, const struct sighting_container *container)
{
	uint64_t hash = hash_stable_text(HASH_STABLE_INIT, is_bare(pod) ? pod->uid : pod->root.uid);

	hash = hash_stable_text(hash, container->name);
	return hash_stable(hash, &container->limit_bytes, sizeof(container->limit_bytes));
}

static void copy_kill(const struct sighting *pod, const struct sighting_container *container, bool is_queued,
		      struct kill *ret)
{
	str_copy(ret->namespace_name, sizeof(ret->namespace_name), pod->namespace_name);
	str_copy(ret->container, sizeof(ret->container), container->name);
	str_copy(ret->queue, sizeof(ret->queue), is_queued ? pod->queue : "");
	notice_owner(is_bare(pod) ? "Pod" : pod->root.kind, is_bare(pod) ? pod->name : pod->root.name, ret->owner);
	ret->limit_bytes = container->limit_bytes;
	sighting_identity(pod, &ret->identity);
}

/* A pod whose root is not known counts as changed once it is. */
static bool is_unraised(const struct search *search, const struct sighting *pod,
			const struct sighting_container *container, bool is_queued)
{
	return container->last_oom_ms > search->kills->start_ms && container->limit_bytes && pod->is_root_known &&
	       (sighting_restarts(container) ? !search->resizes : is_queued) &&
	       !reported_has(&search->kills->reported, hash_of(pod, container));
}

static bool search_pod(void *context, const struct sighting *pod)
{
	bool is_queued = *pod->queue && pod->qos == K8S_QOS_GUARANTEED && !is_bare(pod);
	struct search *search = context;

	if (pod->changed_seq <= search->kills->seen_seq || (search->is_found && pod->changed_seq > search->seq))
		return true;
	for (size_t i = 0; i < pod->containers.n; i++) {
		const struct sighting_container *container = &pod->containers.items[i];

		if (!is_unraised(search, pod, container, is_queued))
			continue;
		search->is_found = true;
		search->seq = pod->changed_seq;
		search->hash = hash_of(pod, container);
		copy_kill(pod, container, is_queued, &search->found);
		return true;
	}
	if (!search->is_found)
		search->seq = MAX(search->seq, pod->changed_seq);
	return true;
}

/* ---- the limit of the profile ---- */

static int add_profile(void *context, const struct profile *profile, struct err *err)
{
	return snapshot_builder_put_copy(context, profile) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* The profiles of a namespace (a file has those of all). NULL: they cannot be read. */
static struct snapshot *read_profiles(struct store *store, const char *namespace_name)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	const struct store_visitor visitor = {.context = builder, .borrowed_profile = add_profile};
	struct err err = ERR_INIT;
	int r = builder ? store_set_namespace(store, namespace_name) : -ENOMEM;

	if (!r)
		r = store_visit(store, &visitor, &err);
	if (!store_set_namespace(store, NULL) && !r)
		return snapshot_builder_finish(builder, 0);
	snapshot_builder_free(builder);
	return NULL;
}

/* Reads the profiles of a namespace unless they are those that were read last. NULL: they cannot be read. */
static const struct snapshot *profiles_of(struct unraised_kills *self, struct store *store, const char *namespace_name)
{
	if (self->profiles && streq(self->profiles_of, namespace_name))
		return self->profiles;
	unraised_kills_end(self);
	str_copy(self->profiles_of, sizeof(self->profiles_of), namespace_name);
	self->profiles = read_profiles(store, namespace_name);
	return self->profiles;
}

/* As admission finds it: the spec may be that of another profile, which names the workload. 0: not known. */
static int64_t next_limit(struct unraised_kills *self, struct store *store, const struct policy *policy,
			  const struct kill *kill)
{
	const struct snapshot *profiles = profiles_of(self, store, kill->namespace_name);
	struct recommendation sizes = {.limit_bytes = 0};
	struct snapshot_found found;
	enum size_by by[2];

	if (!profiles)
		return 0;
	found = snapshot_find(profiles, kill->namespace_name, &kill->identity, kill->container,
			      !pod_container_is_helper(kill->container));
	if (found.learned)
		sizes = found.learned->parent;
	size_apply(&policy->sizing, found.decided ? found.decided->spec : &profile_spec_none, &sizes, by);
	return sizes.limit_bytes;
}

void unraised_kills_begin(struct unraised_kills *self, int64_t start_ms)
{
	unraised_kills_end(self);
	if (self->start_ms != start_ms)
		*self = (struct unraised_kills){.start_ms = start_ms};
}

void unraised_kills_end(struct unraised_kills *self)
{
	self->profiles = snapshot_unref(self->profiles);
}

bool unraised_kills_next(struct unraised_kills *self, struct pods *pods, struct store *store,
			 const struct policy *policy, struct notice *ret)
{
	struct search search = {.kills = self, .resizes = policy->resize != RESIZE_OFF, .seq = self->seen_seq};
	const struct kill *found = &search.found;

	pods_visit(pods, search_pod, &search);
	/* another container of this pod may have been killed, too */
	self->seen_seq = search.is_found ? search.seq - 1 : search.seq;
	if (!search.is_found)
		return false;
	(void)reported_add(&self->reported, search.hash);
	notice_of_unraised_kill(found->namespace_name, found->owner, found->container,
				*found->queue ? found->queue : NULL, found->limit_bytes,
				next_limit(self, store, policy, found), ret);
	return true;
}
