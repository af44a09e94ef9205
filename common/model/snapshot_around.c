/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_around: node shapes, namespaces and owners of a snapshot. */
#include "model/snapshot_internal.h"

#include "base/hash.h"
#include "base/str.h"
#include "k8s/kinds.h"

enum { PARENTS_MAX = 8 }; /* Pod <- Job <- JobSet <- TrainJob is three; a loop must end */

/* ---- sets ---- */

static void shapes_unref(struct shape_list *self)
{
	if (!self || atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
		return;
	vec_release(&self->items);
	free(self);
}

void around_release(struct around *self)
{
	shapes_unref(self->shapes);
	fact_table_unref(self->critical_classes);
	fact_table_unref(self->namespaces);
	for (size_t i = 0; i < OWNER_SHARDS; i++)
		fact_table_unref(self->owners[i]);
	*self = (struct around){.shapes = NULL};
}

void around_share(const struct around *self, struct around *ret)
{
	*ret = *self;
	if (ret->shapes)
		atomic_fetch_add_explicit(&ret->shapes->refs, 1, memory_order_relaxed);
	fact_table_ref(ret->critical_classes);
	fact_table_ref(ret->namespaces);
	for (size_t i = 0; i < OWNER_SHARDS; i++)
		fact_table_ref(ret->owners[i]);
}

/* ---- reading ---- */

const struct node_shape *snapshot_node_shapes(const struct snapshot *self, size_t *ret_n)
{
	const struct shape_list *shapes = self->around.shapes;

	*ret_n = shapes ? shapes->items.n : 0;
	return shapes ? shapes->items.items : NULL;
}

bool snapshot_shapes_complete(const struct snapshot *self, const char *resource)
{
	size_t n;
	const struct node_shape *shapes = snapshot_node_shapes(self, &n);

	for (size_t i = 0; i < n; i++)
		if (shapes[i].is_declared && streq(shapes[i].resource, resource))
			return true;
	return false;
}

const struct namespace_facts *snapshot_namespace(const struct snapshot *self, const char *name)
{
	const struct fact *fact = fact_table_get(self->around.namespaces, name);

	return fact ? &((const struct namespace_entry *)fact)->facts : NULL;
}

bool snapshot_is_critical_class(const struct snapshot *self, const char *name)
{
	return fact_table_get(self->around.critical_classes, name) != NULL;
}

static size_t owner_shard(const char *uid)
{
	return hash_seeded(uid, strlen(uid)) % OWNER_SHARDS;
}

static const struct owner_facts *owner_of(const struct snapshot *self, const char *uid)
{
	const struct fact *fact = fact_table_get(self->around.owners[owner_shard(uid)], uid);

	return fact ? &((const struct owner_entry *)fact)->facts : NULL;
}

const struct owner_facts *snapshot_root_owner(const struct snapshot *self, const char *uid)
{
	for (int i = 0; i < PARENTS_MAX; i++) {
		const struct owner_facts *facts = owner_of(self, uid);

		if (!facts || !facts->parent_uid)
			return facts;
		uid = facts->parent_uid;
	}
	return NULL;
}

bool snapshot_awaits_owner(const struct snapshot *self, const struct k8s_owner *owner)
{
	const struct kind *kind = kind_find_api_version(owner->api_version, owner->kind);
	uint64_t bit = kind ? kind_bit(kind) : 0;
	const char *uid = owner->uid[0] ? owner->uid : NULL;

	for (int i = 0; i < PARENTS_MAX && uid; i++) {
		const struct owner_facts *facts = owner_of(self, uid);

		if (!facts || (facts->is_suspended && !facts->parent_uid))
			return self->around.owner_kinds & bit;
		bit = facts->parent_kind;
		uid = facts->parent_uid;
	}
	return false;
}

/* ---- building: shapes ---- */

static struct shape_list *own_shapes(struct snapshot_builder *self)
{
	const struct shape_list *from = self->around.shapes;
	struct shape_list *copy;
	int r = 0;

	if (self->is_own_shapes)
		return self->around.shapes;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return NULL;
	atomic_init(&copy->refs, 1);
	for (size_t i = 0; from && !r && i < from->items.n; i++)
		r = vec_push(&copy->items, from->items.items[i]);
	if (r) {
		shapes_unref(copy);
		return NULL;
	}
	shapes_unref(self->around.shapes);
	self->around.shapes = copy;
	self->is_own_shapes = true;
	return copy;
}

int snapshot_builder_put_shape(struct snapshot_builder *self, const struct node_shape *shape)
{
	struct shape_list *shapes = own_shapes(self);

	if (!shapes)
		return -ENOMEM;
	for (size_t i = 0; i < shapes->items.n; i++) {
		if (streq(shapes->items.items[i].name, shape->name)) {
			shapes->items.items[i] = *shape;
			return 0;
		}
	}
	return vec_push(&shapes->items, *shape);
}

int snapshot_builder_clear_shapes(struct snapshot_builder *self)
{
	struct shape_list *shapes = own_shapes(self);

	if (!shapes)
		return -ENOMEM;
	shapes->items.n = 0;
	return 0;
}

/* ---- building: tables of facts ---- */

/* Put `take_fact` into a table, or with NULL remove `key`. The table becomes the builder's own. */
static int change_table(struct fact_table **table, bool *is_own, struct fact *take_fact, const char *key)
{
	if (!take_fact && !fact_table_get(*table, key))
		return 0;
	if (!*is_own || !take_fact) {
		struct fact_table *copy = fact_table_copy(*table, key);

		if (!copy) {
			fact_unref(take_fact);
			return -ENOMEM;
		}
		fact_table_unref(*table);
		*table = copy;
		*is_own = true;
	}
	return take_fact ? fact_table_put(*table, take_fact) : 0;
}

static bool says_something(const struct fact *fact)
{
	const struct namespace_facts *facts = &((const struct namespace_entry *)fact)->facts;

	return facts->mode || facts->is_ignored || facts->n_limit_ranges || facts->n_quotas;
}

/* An entry that says nothing is none: most namespaces have no label of ours, and clusters make and delete them without
 * end. */
static int change_namespace(struct snapshot_builder *self, const char *name, const struct namespace_change *change)
{
	const struct fact *old = fact_table_get(self->around.namespaces, name);
	struct fact *fact = namespace_entry_new(name, old ? &((const struct namespace_entry *)old)->facts : NULL,
						change);

	if (!fact)
		return -ENOMEM;
	if (!says_something(fact)) {
		fact_unref(fact);
		fact = NULL;
	}
	return change_table(&self->around.namespaces, &self->is_own_namespaces, fact, name);
}

int snapshot_builder_put_namespace(struct snapshot_builder *self, const struct namespace_facts *facts)
{
	return change_namespace(self, facts->name, &(struct namespace_change){.labels = facts});
}

int snapshot_builder_remove_namespace(struct snapshot_builder *self, const char *name)
{
	return change_table(&self->around.namespaces, &self->is_own_namespaces, NULL, name);
}

int snapshot_builder_put_limit_range(struct snapshot_builder *self, const struct k8s_limit_range *range)
{
	return change_namespace(self, range->namespace_name, &(struct namespace_change){.limit_range = range});
}

int snapshot_builder_put_quota(struct snapshot_builder *self, const struct k8s_quota *quota)
{
	return change_namespace(self, quota->namespace_name, &(struct namespace_change){.quota = quota});
}

int snapshot_builder_remove_limit_range(struct snapshot_builder *self, const char *namespace_name, const char *name)
{
	if (!fact_table_get(self->around.namespaces, namespace_name))
		return 0;
	return change_namespace(self, namespace_name, &(struct namespace_change){.without_limit_range = name});
}

int snapshot_builder_remove_quota(struct snapshot_builder *self, const char *namespace_name, const char *name)
{
	if (!fact_table_get(self->around.namespaces, namespace_name))
		return 0;
	return change_namespace(self, namespace_name, &(struct namespace_change){.without_quota = name});
}

int snapshot_builder_put_critical_class(struct snapshot_builder *self, const char *name)
{
	struct fact *fact = name_entry_new(name);

	return fact ? change_table(&self->around.critical_classes, &self->is_own_classes, fact, name) : -ENOMEM;
}

int snapshot_builder_remove_critical_class(struct snapshot_builder *self, const char *name)
{
	return change_table(&self->around.critical_classes, &self->is_own_classes, NULL, name);
}

static int change_owner(struct snapshot_builder *self, const char *uid, struct fact *take_fact)
{
	size_t i = owner_shard(uid);

	return change_table(&self->around.owners[i], &self->is_own_owners[i], take_fact, uid);
}

int snapshot_builder_put_owner(struct snapshot_builder *self, const struct owner_facts *facts)
{
	struct fact *fact = owner_entry_new(facts);

	return fact ? change_owner(self, facts->uid, fact) : -ENOMEM;
}

int snapshot_builder_remove_owner(struct snapshot_builder *self, const char *uid)
{
	return change_owner(self, uid, NULL);
}

void snapshot_builder_set_owner_kinds(struct snapshot_builder *self, uint64_t kinds)
{
	self->around.owner_kinds = kinds;
}
