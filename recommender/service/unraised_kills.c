/* SPDX-License-Identifier: Apache-2.0 */
#include "service/unraised_kills.h"

#include "base/hash.h"
#include "base/timefmt.h"
#include "model/identity.h"
#include "policy/size.h"

/* A kill that is reported: copies, because a sighting is only borrowed for the visit. */
struct kill {
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1], owner[RUN_NAME_BYTES], container[LIMIT_NAME_BYTES + 1];
	char queue[LIMIT_NAME_BYTES + 64]; /* "": none */
	int64_t limit_bytes;
	struct identity identity; /* of the pod */
};

struct search {
	struct unraised_kills *kills;
	bool resizes, is_found;
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

static bool search_container(struct search *search, const struct sighting *pod,
			     const struct sighting_container *container)
{
	bool is_queued = *pod->queue && pod->qos == K8S_QOS_GUARANTEED && !is_bare(pod);

	if (container->last_oom_ms <= search->kills->from_ms || !container->limit_bytes || !pod->is_root_known ||
	    (sighting_restarts(container) ? search->resizes : !is_queued) ||
	    !reported_add(&search->kills->reported, hash_of(pod, container)))
		return false;
	copy_kill(pod, container, is_queued, &search->found);
	return true;
}

static bool search_pod(void *context, const struct sighting *pod)
{
	struct search *search = context;

	for (size_t i = 0; i < pod->containers.n && !search->is_found; i++)
		search->is_found = search_container(search, pod, &pod->containers.items[i]);
	return !search->is_found;
}

/* ---- the limit of the profile ---- */

struct reading {
	const struct policy *policy;
	int64_t limit_bytes;
};

static int take_profile(void *context, const struct profile *profile, struct err *err)
{
	struct reading *reading = context;
	struct recommendation sizes = profile->parent;
	enum size_by by[2];

	(void)err;
	size_apply(&reading->policy->sizing, profile->spec ? profile->spec : &profile_spec_none, &sizes, by);
	reading->limit_bytes = sizes.limit_bytes;
	return 0;
}

/* Of the first key that has a profile. 0: not known. */
static int64_t next_limit(struct store *store, const struct policy *policy, const struct kill *kill)
{
	struct reading reading = {.policy = policy};
	const struct store_visitor visitor = {.context = &reading, .borrowed_profile = take_profile};
	struct err err = ERR_INIT;

	for (size_t i = 0; i < kill->identity.n_keys && !reading.limit_bytes; i++) {
		char id[IDENTITY_ID_BYTES];
		const struct store_name name = {kill->namespace_name, id};

		identity_id(kill->namespace_name, kill->identity.keys[i].text, kill->identity.role, kill->container,
			    id);
		if (store_visit_named(store, &visitor, &name, 1, &err))
			break;
	}
	return reading.limit_bytes;
}

void unraised_kills_begin(struct unraised_kills *self, int64_t start_ms, int64_t now_ms)
{
	if (self->start_ms != start_ms)
		*self = (struct unraised_kills){.start_ms = start_ms};
	self->from_ms = MAX(start_ms, now_ms - TIME_HOUR_MS);
}

bool unraised_kills_next(struct unraised_kills *self, struct pods *pods, struct store *store,
			 const struct policy *policy, struct notice *ret)
{
	struct search search = {.kills = self, .resizes = policy->resize != RESIZE_OFF};
	const struct kill *found = &search.found;

	pods_visit(pods, search_pod, &search);
	if (search.is_found)
		notice_of_unraised_kill(found->namespace_name, found->owner, found->container,
					*found->queue ? found->queue : NULL, found->limit_bytes,
					next_limit(store, policy, found), ret);
	return search.is_found;
}
