/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster_bursts.h"

#include "base/str.h"
#include "base/timefmt.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of each quota: as many pods may be created while the news of their owner is on its way. */
#define STATES 8
/* The pods of a burst that takes longer are judged by the present, which is known by then. */
#define BURST_MS (5 * TIME_MINUTE_MS)

struct state {
	uint64_t version;
	struct quota_base base; /* without its name */
};

struct quota_states {
	char *name;
	size_t n;
	struct state items[STATES]; /* the oldest first */
};

struct space {
	struct table_node by_name;
	VEC(struct quota_states *) quotas;
};

struct burst {
	struct burst *next;
	uint64_t namespace_hash, version;
	int64_t heard_ms, seen_before;
	void *owner;
	VEC(struct quota_base) bases; /* own their names */
	VEC(uint64_t) versions;	      /* of these */
};

uint64_t bursts_version(const char *text)
{
	unsigned long long version;
	char *end;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	version = strtoull(text, &end, 10);
	return errno || *end ? 0 : version;
}

static uint64_t hash_name(const char *namespace)
{
	return table_hash(&namespace, 1);
}

static struct space *space_of(const struct bursts *self, uint64_t hash)
{
	struct table_node *node = table_find(&self->spaces, hash);

	return node ? TABLE_OBJECT(node, struct space, by_name) : NULL;
}

static void space_free(struct space *self)
{
	for (size_t i = 0; i < self->quotas.n; i++) {
		free(self->quotas.items[i]->name);
		free(self->quotas.items[i]);
	}
	vec_release(&self->quotas);
	free(self);
}

static struct space *space_at(struct bursts *self, uint64_t hash)
{
	struct space *space = space_of(self, hash);

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (space && table_add(&self->spaces, &space->by_name, hash)) {
		free(space);
		return NULL;
	}
	return space;
}

static size_t place_of(const struct space *space, const char *name)
{
	size_t i = 0;

	while (i < space->quotas.n && !streq(space->quotas.items[i]->name, name))
		i++;
	return i;
}

static struct quota_states *states_at(struct space *space, const char *name)
{
	size_t at = place_of(space, name);
	struct quota_states *states;

	if (at < space->quotas.n)
		return space->quotas.items[at];
	states = calloc(1, sizeof(*states));
	if (states)
		states->name = strdup(name);
	if (!states || !states->name || vec_push(&space->quotas, states)) {
		if (states)
			free(states->name);
		free(states);
		return NULL;
	}
	return states;
}

static void push_state(struct quota_states *self, const struct state *state)
{
	if (self->n == STATES) {
		memmove(self->items, self->items + 1, (STATES - 1) * sizeof(*self->items));
		self->n--;
	}
	self->items[self->n++] = *state;
}

/* ---- bursts ---- */

static void burst_free(struct burst *self)
{
	for (size_t i = 0; i < self->bases.n; i++)
		free((void *)(uintptr_t)self->bases.items[i].name);
	vec_release(&self->bases);
	vec_release(&self->versions);
	free(self);
}

static size_t base_of(const struct burst *self, const char *name)
{
	size_t i = 0;

	while (i < self->bases.n && !streq(self->bases.items[i].name, name))
		i++;
	return i;
}

/* @return 1: it is a better one than what was known; 0: it is not; -ENOMEM. */
static int take_state(struct burst *self, const char *name, const struct state *state)
{
	size_t at = base_of(self, name);
	struct quota_base base = state->base;

	if (state->version > self->version || !state->version)
		return 0;
	if (at < self->bases.n) {
		if (self->versions.items[at] >= state->version)
			return 0;
		base.name = self->bases.items[at].name;
		self->bases.items[at] = base;
		self->versions.items[at] = state->version;
		return 1;
	}
	base.name = strdup(name);
	if (!base.name || vec_push(&self->versions, state->version) || vec_push(&self->bases, base)) {
		self->versions.n = self->bases.n;
		free((void *)(uintptr_t)base.name);
		return -ENOMEM;
	}
	return 1;
}

struct burst *bursts_begin(struct bursts *self, const char *namespace, uint64_t version, int64_t heard_ms, void *owner)
{
	uint64_t hash = hash_name(namespace);
	const struct space *space = space_of(self, hash);
	struct burst *burst = space ? calloc(1, sizeof(*burst)) : NULL;
	int r = 0;

	if (!burst)
		return NULL;
	burst->namespace_hash = hash;
	burst->version = version;
	burst->heard_ms = heard_ms;
	burst->owner = owner;
	for (size_t i = 0; i < space->quotas.n && r >= 0; i++)
		for (size_t k = 0; k < space->quotas.items[i]->n && r >= 0; k++)
			r = take_state(burst, space->quotas.items[i]->name, &space->quotas.items[i]->items[k]);
	if (r < 0) {
		burst_free(burst);
		return NULL;
	}
	burst->next = self->first;
	self->first = burst;
	return burst;
}

void bursts_end(struct bursts *self, struct burst *burst)
{
	struct burst **at = &self->first;

	if (!burst)
		return;
	while (*at != burst)
		at = &(*at)->next;
	*at = burst->next;
	burst_free(burst);
}

const struct quota_base *burst_bases(const struct burst *self, size_t *ret_n)
{
	*ret_n = self->bases.n;
	return self->bases.items;
}

void burst_set_seen_before(struct burst *self, int64_t pods)
{
	self->seen_before = pods;
}

int64_t burst_seen_before(const struct burst *self)
{
	return self->seen_before;
}

/* ---- quotas ---- */

int bursts_put_quota(struct bursts *self, const struct k8s_quota *quota, uint64_t version, int64_t now_ms,
		     bursts_changed_fn *changed, void *context)
{
	struct state state = {.version = version, .base = {.pods = quota->pods}};
	uint64_t hash = hash_name(quota->namespace_name);
	struct space *space = space_at(self, hash);
	struct quota_states *states = space ? states_at(space, quota->name) : NULL;

	if (!states)
		return -ENOMEM;
	memcpy(state.base.amounts, quota->amounts, sizeof(state.base.amounts));
	push_state(states, &state);
	for (struct burst *burst = self->first, *next; burst; burst = next) {
		int r = 0;

		next = burst->next;
		if (burst->namespace_hash != hash)
			continue;
		if (now_ms >= burst->heard_ms + BURST_MS) {
			changed(context, burst->owner, true); /* ends it */
			continue;
		}
		r = take_state(burst, quota->name, &state);
		if (r < 0)
			return r;
		if (r)
			changed(context, burst->owner, false);
	}
	return 0;
}

/* @return whether there was one. */
static bool remove_base(struct burst *self, const char *name)
{
	size_t at = base_of(self, name);

	if (at == self->bases.n)
		return false;
	free((void *)(uintptr_t)self->bases.items[at].name);
	self->bases.items[at] = self->bases.items[--self->bases.n];
	self->versions.items[at] = self->versions.items[--self->versions.n];
	return true;
}

void bursts_remove_quota(struct bursts *self, const char *namespace, const char *name, bursts_changed_fn *changed,
			 void *context)
{
	uint64_t hash = hash_name(namespace);
	struct space *space = space_of(self, hash);
	size_t at = space ? place_of(space, name) : 0;

	if (!space || at == space->quotas.n)
		return;
	for (struct burst *burst = self->first; burst; burst = burst->next)
		if (burst->namespace_hash == hash && remove_base(burst, name))
			changed(context, burst->owner, false);
	free(space->quotas.items[at]->name);
	free(space->quotas.items[at]);
	space->quotas.items[at] = space->quotas.items[--space->quotas.n];
	if (space->quotas.n)
		return;
	table_remove(&self->spaces, &space->by_name);
	space_free(space);
}

void bursts_release(struct bursts *self)
{
	while (self->first)
		bursts_end(self, self->first);
	for (struct table_node *node = table_next(&self->spaces, NULL), *next; node; node = next) {
		next = table_next(&self->spaces, node);
		space_free(TABLE_OBJECT(node, struct space, by_name));
	}
	table_release(&self->spaces);
}
