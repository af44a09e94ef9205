/* SPDX-License-Identifier: Apache-2.0 */
#include "service/unraised_kills.h"

#include "base/hash.h"

#include <stdio.h>

struct search {
	struct unraised_kills *kills;
	struct notice *ret;
	bool is_found, is_waiting; /* is_waiting: the topmost owner of a killed pod is not known yet */
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

static bool search_container(struct search *search, const struct sighting *pod,
			     const struct sighting_container *container)
{
	bool is_queued = *pod->queue && pod->qos == K8S_QOS_GUARANTEED && !is_bare(pod);
	bool restarts = sighting_restarts(container);
	char owner[RUN_NAME_BYTES];

	if (container->last_oom_ms <= search->kills->start_ms || !container->limit_bytes ||
	    (restarts ? search->kills->resizes : !is_queued))
		return false;
	if (!pod->is_root_known) {
		search->is_waiting = true;
		return false;
	}
	if (!reported_add(&search->kills->reported, hash_of(pod, container)))
		return false;
	notice_owner(is_bare(pod) ? "Pod" : pod->root.kind, is_bare(pod) ? pod->name : pod->root.name, owner);
	notice_of_unraised_kill(pod->namespace_name, owner, container->name, is_queued ? pod->queue : NULL,
				container->limit_bytes, search->ret);
	return true;
}

static bool search_pod(void *context, const struct sighting *pod)
{
	struct search *search = context;

	for (size_t i = 0; i < pod->containers.n && !search->is_found; i++)
		search->is_found = search_container(search, pod, &pod->containers.items[i]);
	return !search->is_found;
}

void unraised_kills_start(struct unraised_kills *self, int64_t now_ms, bool resizes)
{
	*self = (struct unraised_kills){.start_ms = now_ms, .resizes = resizes};
}

bool unraised_kills_next(struct unraised_kills *self, struct pods *pods, uint64_t kills, struct notice *ret)
{
	struct search search = {.kills = self, .ret = ret};

	if (kills == self->seen)
		return false;
	pods_visit(pods, search_pod, &search);
	if (!search.is_found && !search.is_waiting)
		self->seen = kills;
	return search.is_found;
}
