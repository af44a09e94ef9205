/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_owners: every owner has two sums: what the pods below it use, which a change updates along the chain of
 * parents; and the full sizes of its children, which count if the owner has no template of its own (a TrainJob creates
 * a JobSet). */
#include "cluster/cluster_owners.h"

#include "base/hash.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 8 /* owners above each other; more count as a ring */
/* Larger values are not plausible; sums of so many cannot overflow. */
#define PODS_MAX ((int64_t)1 << 30)

/* An owner's pods at its full size, and the resources in their templates. */
struct full {
	int64_t pods;
	struct k8s_declared declared;
};

struct owner {
	struct hashtable_node by_uid, by_name;
	struct owner *parent, *next_dirty;
	const void *source;
	bool is_known, is_dirty, is_in_snapshot, is_ring, is_queued;
	size_t users;		       /* number of children and pods */
	uint32_t below[CHAIN_MAX - 1]; /* number of children by how many owners are below them, at most */
	struct full own, children;
	int64_t own_ranks, created_ms;
	uint64_t parent_target; /* from the object; 0: none */
	struct quota_use held;
	char uid[];
};

static uint64_t hash_one(const char *text)
{
	return hash_seeded(text, strlen(text));
}

static struct owner *owner_of(const struct owners *self, const char *uid)
{
	struct hashtable_node *node = hashtable_find(&self->by_uid, hash_one(uid));
	struct owner *owner = node ? HASHTABLE_OBJECT(node, struct owner, by_uid) : NULL;

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

static struct owner *owner_at(struct owners *self, const char *uid)
{
	struct owner *owner = owner_of(self, uid);
	size_t size = strlen(uid) + 1;

	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner) + size);
	if (!owner)
		return NULL;
	memcpy(owner->uid, uid, size);
	if (hashtable_add(&self->by_uid, &owner->by_uid, hash_one(uid))) {
		free(owner);
		return NULL;
	}
	mark(self, owner); /* if it stays unused, the next flush frees it */
	return owner;
}

/* ---- sums ---- */

void quota_use_add(struct quota_use *self, const struct quota_use *other, int sign)
{
	self->pods += sign * other->pods;
	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			self->amounts[f][r] += sign * other->amounts[f][r];
}

/* Adds `held` to `owner` and all owners above it; with `sign` -1 subtracts it. */
static void add_held(struct owners *self, struct owner *owner, const struct quota_use *held, int sign)
{
	for (; owner; owner = owner->parent) {
		STEPS(1);
		quota_use_add(&owner->held, held, sign);
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

/* Updates the sums above `owner`. `before`: its full size before the change. */
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

/* ---- chains ---- */

/* How many owners are below `owner`, in the longest chain. */
static unsigned int height_of(const struct owner *owner)
{
	unsigned int height = CHAIN_MAX - 1;

	while (height && !owner->below[height - 1])
		height--;
	return height;
}

/* Updates the heights above `owner`. `before`: its height before the change. */
static void height_changed(const struct owner *owner, unsigned int before)
{
	for (struct owner *parent = owner->parent; parent; owner = parent, parent = parent->parent) {
		unsigned int now = height_of(owner), above = height_of(parent);

		if (now == before)
			return;
		parent->below[before]--;
		parent->below[now]++;
		before = above;
	}
}

static void leave_parent(struct owners *self, struct owner *owner)
{
	struct owner *parent = owner->parent;
	struct full before, own = full_size(owner);
	unsigned int height;

	if (!parent)
		return;
	add_held(self, parent, &owner->held, -1);
	before = full_size(parent);
	add_full(&parent->children, &own, -1);
	size_changed(self, parent, before);
	height = height_of(parent);
	parent->below[height_of(owner)]--;
	height_changed(parent, height);
	parent->users--;
	owner->parent = NULL;
	mark(self, owner);
}

/* Whether the owners below `owner`, itself and those from `parent` on upwards would be a ring, or a chain too long to
 * follow, whichever part of it arrived first. */
static bool makes_ring(const struct owner *owner, const struct owner *parent)
{
	unsigned int n = height_of(owner) + 1;

	for (; parent; parent = parent->parent)
		if (parent == owner || ++n > CHAIN_MAX)
			return true;
	return false;
}

static void join_parent(struct owners *self, struct owner *owner, struct owner *parent)
{
	struct full before = full_size(parent), own = full_size(owner);
	unsigned int height = height_of(parent);

	owner->parent = parent;
	parent->users++;
	parent->below[height_of(owner)]++;
	height_changed(parent, height);
	add_held(self, parent, &owner->held, 1);
	add_full(&parent->children, &own, 1);
	size_changed(self, parent, before);
}

/* ---- owners ---- */

static int set_parent(struct owners *self, struct owner *owner, const char *uid)
{
	struct owner *parent = uid ? owner_at(self, uid) : NULL;

	if (uid && !parent)
		return -ENOMEM;
	if (owner->parent == parent && !owner->is_ring)
		return 0;
	leave_parent(self, owner);
	owner->is_ring = parent && makes_ring(owner, parent);
	if (parent && !owner->is_ring)
		join_parent(self, owner, parent);
	return 0;
}

static void forget(struct owners *self, struct owner *owner)
{
	struct full before = full_size(owner);

	hashtable_remove(&self->by_name, &owner->by_name);
	leave_parent(self, owner);
	owner->is_known = owner->is_ring = owner->is_queued = false;
	owner->own = (struct full){.pods = 0};
	owner->own_ranks = owner->created_ms = 0;
	owner->parent_target = 0;
	size_changed(self, owner, before);
}

static struct owner *owner_named(const struct owners *self, uint64_t name)
{
	struct hashtable_node *node = hashtable_find(&self->by_name, name);

	return node ? HASHTABLE_OBJECT(node, struct owner, by_name) : NULL;
}

int owners_put(struct owners *self, uint64_t name, const struct owner_object *object)
{
	struct owner *named = owner_named(self, name), *owner;
	struct full before;

	/* deleted and created again without a report of the deletion */
	if (named && !streq(named->uid, object->uid))
		forget(self, named);
	owner = owner_at(self, object->uid);
	if (!owner)
		return -ENOMEM;
	if (owner->is_known && owner->by_name.hash != name)
		forget(self, owner);
	if (!owner->is_known && hashtable_add(&self->by_name, &owner->by_name, name))
		return -ENOMEM;
	owner->is_known = true;
	owner->source = object->source;
	before = full_size(owner);
	owner->own = (struct full){.pods = MIN(object->pods, PODS_MAX), .declared = object->declared};
	owner->own_ranks = MIN(object->ranks, PODS_MAX);
	owner->created_ms = object->created_ms;
	owner->is_queued = object->is_queued;
	owner->parent_target = object->parent_target;
	size_changed(self, owner, before);
	return set_parent(self, owner, object->parent_uid);
}

void owners_remove(struct owners *self, uint64_t name)
{
	struct owner *owner = owner_named(self, name);

	if (owner)
		forget(self, owner);
}

void owners_remove_source(struct owners *self, const void *source)
{
	for (struct hashtable_node *node = hashtable_next(&self->by_uid, NULL); node;
	     node = hashtable_next(&self->by_uid, node)) {
		struct owner *owner = HASHTABLE_OBJECT(node, struct owner, by_uid);

		if (owner->is_known && owner->source == source)
			forget(self, owner);
	}
}

/* ---- pods ---- */

struct owner *owners_add_pod(struct owners *self, const char *controller_uid, const struct quota_use *use)
{
	struct owner *owner = owner_at(self, controller_uid);

	if (!owner)
		return NULL;
	owner->users++;
	add_held(self, owner, use, 1);
	return owner;
}

void owners_remove_pod(struct owners *self, struct owner *controller, const struct quota_use *use)
{
	add_held(self, controller, use, -1);
	controller->users--;
}

const char *owner_uid(const struct owner *self)
{
	return self->uid;
}

/* ---- the snapshot ---- */

bool owners_are_dirty(const struct owners *self)
{
	return self->dirty != NULL;
}

static int flush_known(const struct owner *owner, struct snapshot_builder *builder)
{
	struct full full = full_size(owner);
	struct owner_facts facts = {
		.uid = owner->uid,
		/* a ring has no root, so each of its owners is its own parent */
		.parent_uid = owner->is_ring  ? owner->uid
			      : owner->parent ? owner->parent->uid
					      : NULL,
		.created_ms = owner->created_ms,
		.parent_target = owner->parent_target,
		.pods = full.pods,
		.declared = full.declared,
		.ranks = owner->own.pods ? owner->own_ranks : full.pods,
		.is_queued = owner->is_queued,
		.held_pods = owner->held.pods,
	};

	memcpy(facts.held, owner->held.amounts, sizeof(facts.held));
	return snapshot_builder_put_owner(builder, &facts);
}

int owners_flush(struct owners *self, struct snapshot_builder *builder)
{
	int r = 0;

	while (self->dirty && !r) {
		struct owner *owner = self->dirty;

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
		hashtable_remove(&self->by_uid, &owner->by_uid);
		free(owner);
	}
	return r;
}

void owners_release(struct owners *self)
{
	for (struct hashtable_node *node = hashtable_next(&self->by_uid, NULL), *next; node; node = next) {
		next = hashtable_next(&self->by_uid, node);
		free(HASHTABLE_OBJECT(node, struct owner, by_uid));
	}
	hashtable_release(&self->by_name);
	hashtable_release(&self->by_uid);
	self->dirty = NULL;
}
