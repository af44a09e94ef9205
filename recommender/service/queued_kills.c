/* SPDX-License-Identifier: Apache-2.0 */
#include "service/queued_kills.h"

#include "base/hash.h"

#include <stdio.h>

struct search {
	struct queued_kills *kills;
	struct notice *ret;
	bool is_found, is_waiting; /* is_waiting: the topmost owner of a killed pod is not known yet */
};

static bool was_reported(const struct queued_kills *self, uint64_t hash)
{
	for (size_t i = 0; i < MIN(self->n_reported, (size_t)QUEUED_KILLS_KEPT); i++)
		if (self->reported[i] == hash)
			return true;
	return false;
}

static uint64_t hash_of(const struct sighting *pod, const struct sighting_container *container)
{
	uint64_t hash = hash_stable_text(HASH_STABLE_INIT, pod->root.uid);

	hash = hash_stable_text(hash, container->name);
	return hash_stable(hash, &container->limit_bytes, sizeof(container->limit_bytes));
}

static bool search_container(struct search *search, const struct sighting *pod,
			     const struct sighting_container *container)
{
	struct queued_kills *self = search->kills;
	uint64_t hash = hash_of(pod, container);
	char owner[RUN_NAME_BYTES];

	if (container->last_oom_ms <= self->start_ms || !container->limit_bytes || was_reported(self, hash))
		return false;
	if (!pod->is_root_known) {
		search->is_waiting = true;
		return false;
	}
	self->reported[self->n_reported++ % QUEUED_KILLS_KEPT] = hash;
	snprintf(owner, sizeof(owner), "%s/%s", pod->root.kind, pod->root.name);
	notice_of_queued_kill(pod->namespace_name, owner, container->name, pod->queue, container->limit_bytes,
			      search->ret);
	return true;
}

static bool search_pod(void *context, const struct sighting *pod)
{
	struct search *search = context;

	if (!*pod->queue || pod->qos != K8S_QOS_GUARANTEED || !*pod->owner.uid)
		return true;
	for (size_t i = 0; i < pod->containers.n && !search->is_found; i++)
		search->is_found = search_container(search, pod, &pod->containers.items[i]);
	return !search->is_found;
}

void queued_kills_start(struct queued_kills *self, int64_t now_ms)
{
	*self = (struct queued_kills){.start_ms = now_ms};
}

bool queued_kills_next(struct queued_kills *self, struct pods *pods, uint64_t kills, struct notice *ret)
{
	struct search search = {.kills = self, .ret = ret};

	if (kills == self->seen)
		return false;
	pods_visit(pods, search_pod, &search);
	if (!search.is_found && !search.is_waiting)
		self->seen = kills;
	return search.is_found;
}
