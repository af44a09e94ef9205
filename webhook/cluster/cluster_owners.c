/* SPDX-License-Identifier: Apache-2.0 */
/* Every owner keeps two sums: of what the pods below it hold, which a change adds to along the chain of parents, and of
 * the full sizes of its children, which counts where it has no template of its own (a TrainJob makes a JobSet). */
#include "cluster/cluster_owners_internal.h"

#include "base/hash.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 8
/* Beyond this it is nonsense; sums of so many stay far from overflow. */
#define PODS_MAX ((int64_t)1 << 30)

static uint64_t hash_one(const char *text)
{
	return hash_seeded(text, strlen(text));
}

static struct owner *owner_of(const struct owners *self, const char *uid)
{
	struct table_node *node = table_find(&self->by_uid, hash_one(uid));
	struct owner *owner = node ? TABLE_OBJECT(node, struct owner, by_uid) : NULL;

	return owner && streq(owner->uid, uid) ? owner : NULL;
}

static void mark(struct owners *self, struct owner *owner)
{
	if (owner->is_dirty)
		return;
	owner->is_dirty = true;
	owner->next_dirty = self->dirty;
	self->dirty = owner;
}

struct owner *owners_at(struct owners *self, const char *uid)
{
	struct owner *owner = owner_of(self, uid);
	size_t size = strlen(uid) + 1;

	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner) + size);
	if (!owner)
		return NULL;
	memcpy(owner->uid, uid, size);
	if (table_add(&self->by_uid, &owner->by_uid, hash_one(uid))) {
		free(owner);
		return NULL;
	}
	mark(self, owner); /* where it is not used after all, the next flush frees it */
	return owner;
}

/* ---- sums ---- */

void owners_add_held(struct owners *self, struct owner *owner, const struct held *held, int sign)
{
	for (; owner; owner = owner->parent) {
		owner->held.seen += sign * held->seen;
		owner->held.pods += sign * held->pods;
		for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
			for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
				owner->held.amounts[f][r] += sign * held->amounts[f][r];
		mark(self, owner);
	}
}

static struct full full_size(const struct owner *owner)
{
	struct full ret = owner->own.pods ? owner->own : owner->children;

	ret.pods = MIN(ret.pods, PODS_MAX);
	return ret;
}

static void add_full(struct full *self, const struct full *other, int sign)
{
	self->pods += sign * other->pods;
	self->declared.pods += sign * other->declared.pods;
	self->declared.variants += sign * other->declared.variants;
	self->declared.names = self->declared.pods ? self->declared.names | other->declared.names : 0;
	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++) {
			self->declared.amounts[f][r] += sign * other->declared.amounts[f][r];
			self->declared.lacking[f][r] += sign * other->declared.lacking[f][r];
		}
}

/* `before`: its full size until now. */
static void size_changed(struct owners *self, struct owner *owner, struct full before)
{
	while (owner) {
		struct owner *parent = owner->parent;
		struct full now = full_size(owner), above;

		mark(self, owner);
		if (!parent || memcmp(&now, &before, sizeof(now)) == 0)
			return;
		above = full_size(parent);
		add_full(&parent->children, &now, 1);
		add_full(&parent->children, &before, -1);
		before = above;
		owner = parent;
	}
}

static void leave_parent(struct owners *self, struct owner *owner)
{
	struct owner *parent = owner->parent;
	struct full before, own = full_size(owner);

	if (!parent)
		return;
	owners_add_held(self, parent, &owner->held, -1);
	before = full_size(parent);
	add_full(&parent->children, &own, -1);
	size_changed(self, parent, before);
	parent->users--;
	owner->parent = NULL;
	mark(self, owner);
}

static bool is_above(const struct owner *owner, const struct owner *below)
{
	for (int i = 0; below; i++, below = below->parent)
		if (below == owner || i == CHAIN_MAX)
			return true;
	return false;
}

static void join_parent(struct owners *self, struct owner *owner, struct owner *parent)
{
	struct full before = full_size(parent), own = full_size(owner);

	owner->parent = parent;
	parent->users++;
	owners_add_held(self, parent, &owner->held, 1);
	add_full(&parent->children, &own, 1);
	size_changed(self, parent, before);
}

/* ---- owners ---- */

static int set_parent(struct owners *self, struct owner *owner, const char *uid)
{
	struct owner *parent = uid ? owners_at(self, uid) : NULL;

	if (uid && !parent)
		return -ENOMEM;
	if (owner->parent == parent && !owner->is_ring)
		return 0;
	leave_parent(self, owner);
	owner->is_ring = parent && is_above(owner, parent);
	if (parent && !owner->is_ring)
		join_parent(self, owner, parent);
	return 0;
}

/* ---- beginnings ---- */

static void end_burst(struct owners *self, struct owner *owner)
{
	bursts_end(&self->bursts, TAKE_PTR(owner->burst));
}

/* Has it begun to make pods with this state, and did somebody see it? Under a quota a burst starts; without memory for
 * that the present counts.
 * @return whether it has: its pods wait for the news of it, with a quota or without. */
static bool note_beginning(struct owners *self, struct owner *owner, const struct owner_object *object, bool was_known)
{
	bool begins = !object->is_suspended && (!was_known || owner->is_suspended);

	if (object->is_suspended || begins)
		end_burst(self, owner);
	owner->is_suspended = object->is_suspended;
	if (!begins || !object->version)
		return false;
	owner->burst = bursts_begin(&self->bursts, object->namespace, object->version, object->heard_ms, owner);
	if (owner->burst)
		burst_set_seen_before(owner->burst, was_known ? owner->held.seen : 0);
	mark(self, owner);
	return true;
}

static void forget(struct owners *self, struct owner *owner)
{
	struct full before = full_size(owner);

	table_remove(&self->by_name, &owner->by_name);
	leave_parent(self, owner);
	owner->is_known = owner->is_ring = owner->is_suspended = false;
	owner->own = (struct full){.pods = 0};
	owner->own_ranks = owner->created_ms = 0;
	end_burst(self, owner);
	size_changed(self, owner, before);
}

static struct owner *owner_named(const struct owners *self, uint64_t name)
{
	struct table_node *node = table_find(&self->by_name, name);

	return node ? TABLE_OBJECT(node, struct owner, by_name) : NULL;
}

int owners_put(struct owners *self, uint64_t name, const struct owner_object *object)
{
	struct owner *named = owner_named(self, name), *owner;
	bool was_known, begins;
	struct full before;
	int r;

	/* deleted and made again while nobody looked */
	if (named && !streq(named->uid, object->uid))
		forget(self, named);
	owner = owners_at(self, object->uid);
	if (!owner)
		return -ENOMEM;
	if (owner->is_known && owner->by_name.hash != name)
		forget(self, owner);
	was_known = owner->is_known;
	if (!was_known && table_add(&self->by_name, &owner->by_name, name))
		return -ENOMEM;
	owner->is_known = true;
	owner->source = object->source;
	before = full_size(owner);
	owner->own = (struct full){.pods = MIN(object->pods, PODS_MAX), .declared = object->declared};
	owner->own_ranks = MIN(object->ranks, PODS_MAX);
	owner->created_ms = object->created_ms;
	owner->parent_kind = object->parent_kind;
	begins = note_beginning(self, owner, object, was_known);
	size_changed(self, owner, before);
	r = set_parent(self, owner, object->parent_uid);
	return !r && begins ? OWNERS_BEGIN : r;
}

bool owners_knows(const struct owners *self, const char *uid)
{
	const struct owner *owner = owner_of(self, uid);

	return owner && owner->is_known;
}

void owners_remove(struct owners *self, uint64_t name)
{
	struct owner *owner = owner_named(self, name);

	if (owner)
		forget(self, owner);
}

void owners_remove_source(struct owners *self, const void *source)
{
	for (struct table_node *node = table_next(&self->by_uid, NULL); node; node = table_next(&self->by_uid, node)) {
		struct owner *owner = TABLE_OBJECT(node, struct owner, by_uid);

		if (owner->is_known && owner->source == source)
			forget(self, owner);
	}
}

/* ---- the snapshot ---- */

bool owners_are_dirty(const struct owners *self)
{
	return self->dirty != NULL;
}

/* All its pods were there: from now on the present counts, for retries. */
static bool is_burst_over(const struct owner *owner)
{
	int64_t pods = full_size(owner).pods;

	return owner->parent || (pods && owner->held.seen - burst_seen_before(owner->burst) >= pods);
}

static int flush_known(const struct owner *owner, struct snapshot_builder *builder)
{
	struct full full = full_size(owner);
	struct owner_facts facts = {
		.uid = owner->uid,
		/* a ring has no root, and what points at itself is one */
		.parent_uid = owner->is_ring  ? owner->uid
			      : owner->parent ? owner->parent->uid
					      : NULL,
		.parent_kind = owner->parent_kind,
		.created_ms = owner->created_ms,
		.pods = full.pods,
		.declared = full.declared,
		.ranks = owner->own.pods ? owner->own_ranks : full.pods,
		.held_pods = owner->held.pods,
		.is_suspended = owner->is_suspended,
	};

	memcpy(facts.held, owner->held.amounts, sizeof(facts.held));
	if (owner->burst)
		facts.bases = burst_bases(owner->burst, &facts.n_bases);
	return snapshot_builder_put_owner(builder, &facts);
}

int owners_flush(struct owners *self, struct snapshot_builder *builder)
{
	int r = 0;

	while (self->dirty && !r) {
		struct owner *owner = self->dirty;

		if (owner->burst && is_burst_over(owner))
			end_burst(self, owner);
		if (owner->is_known)
			r = flush_known(owner, builder);
		else if (owner->is_in_snapshot)
			r = snapshot_builder_remove_owner(builder, owner->uid);
		if (r)
			break;
		self->dirty = owner->next_dirty;
		owner->is_dirty = false;
		owner->is_in_snapshot = owner->is_known;
		if (owner->is_known || owner->users)
			continue;
		table_remove(&self->by_uid, &owner->by_uid);
		free(owner);
	}
	return r;
}

/* ---- quotas ---- */

static void base_changed(void *context, void *owner, bool is_over)
{
	if (is_over)
		end_burst(context, owner);
	mark(context, owner);
}

int owners_put_quota(struct owners *self, const struct k8s_quota *quota, uint64_t version, int64_t now_ms)
{
	return bursts_put_quota(&self->bursts, quota, version, now_ms, base_changed, self);
}

void owners_remove_quota(struct owners *self, const char *namespace, const char *name)
{
	bursts_remove_quota(&self->bursts, namespace, name, base_changed, self);
}

void owners_release(struct owners *self)
{
	bursts_release(&self->bursts);
	owners_release_pods(self);
	for (struct table_node *node = table_next(&self->by_uid, NULL), *next; node; node = next) {
		next = table_next(&self->by_uid, node);
		free(TABLE_OBJECT(node, struct owner, by_uid));
	}
	table_release(&self->by_name);
	table_release(&self->by_uid);
	self->dirty = NULL;
}
