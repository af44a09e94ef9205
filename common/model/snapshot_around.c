/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_around: node shapes, namespaces and owners of a snapshot. */
#include "model/snapshot_internal.h"

#include "base/hash.h"
#include "base/str.h"

/* ---- sets ---- */

void sets_release(struct sets *self)
{
	for (size_t i = 0; i < SETS; i++)
		fact_unref(self->items[i]);
	*self = (struct sets){.items = {NULL}};
}

void sets_share(const struct sets *self, struct sets *ret)
{
	for (size_t i = 0; i < SETS; i++)
		ret->items[i] = fact_ref(self->items[i]);
}

void snapshot_replace_set(struct snapshot_builder *self, unsigned int set, struct fact *take_set)
{
	fact_unref(self->sets.items[set]);
	self->sets.items[set] = take_set;
	self->is_own_set[set] = true;
}

int snapshot_change_set(struct snapshot_builder *self, unsigned int set, struct fact *take_fact, const char *key)
{
	const struct fact *table = self->sets.items[set];

	if (!take_fact && !fact_table_get(table, key))
		return 0;
	if (!table || !self->is_own_set[set]) {
		struct fact *copy = fact_table_copy(table);

		if (!copy) {
			fact_unref(take_fact);
			return -ENOMEM;
		}
		snapshot_replace_set(self, set, copy);
	}
	if (take_fact)
		return fact_table_put(self->sets.items[set], take_fact);
	fact_table_remove(self->sets.items[set], key);
	return 0;
}

/* ---- reading ---- */

const struct node_shape *snapshot_node_shapes(const struct snapshot *self, size_t *ret_n)
{
	const struct shape_list *shapes = (const struct shape_list *)self->sets.items[SET_SHAPES];

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
	const struct fact *fact = fact_table_get(self->sets.items[SET_NAMESPACES], name);

	return fact ? &((const struct namespace_entry *)fact)->facts : NULL;
}

bool snapshot_is_critical_class(const struct snapshot *self, const char *name)
{
	return fact_table_get(self->sets.items[SET_CRITICAL_CLASSES], name) != NULL;
}

static unsigned int set_of_owner(const char *uid)
{
	return SET_OWNERS + (unsigned int)(hash_seeded(uid, strlen(uid)) % OWNER_SHARDS);
}

const struct owner_facts *sets_owner(const struct sets *self, const char *uid)
{
	const struct fact *fact = fact_table_get(self->items[set_of_owner(uid)], uid);

	return fact ? &((const struct owner_entry *)fact)->facts : NULL;
}

const struct owner_facts *snapshot_root_owner(const struct snapshot *self, const char *uid)
{
	for (int i = 0; i < PARENTS_MAX; i++) {
		const struct owner_facts *facts = sets_owner(&self->sets, uid);

		if (!facts || !facts->parent_uid)
			return facts;
		uid = facts->parent_uid;
	}
	return NULL;
}

/* ---- building: shapes ---- */

static void shapes_release(struct fact *fact)
{
	vec_release(&((struct shape_list *)fact)->items);
}

/* NULL: out of memory. */
static struct shape_list *own_shapes(struct snapshot_builder *self)
{
	const struct shape_list *from = (const struct shape_list *)self->sets.items[SET_SHAPES];
	struct fact *fact;
	int r = 0;

	if (self->is_own_set[SET_SHAPES])
		return (struct shape_list *)self->sets.items[SET_SHAPES];
	fact = fact_new(sizeof(struct shape_list), "", NULL, NULL);
	if (!fact)
		return NULL;
	fact->release = shapes_release;
	for (size_t i = 0; from && !r && i < from->items.n; i++)
		r = vec_push(&((struct shape_list *)fact)->items, from->items.items[i]);
	if (r) {
		fact_unref(fact);
		return NULL;
	}
	snapshot_replace_set(self, SET_SHAPES, fact);
	return (struct shape_list *)fact;
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

static bool says_something(const struct fact *fact)
{
	const struct namespace_facts *facts = &((const struct namespace_entry *)fact)->facts;

	return facts->mode || facts->is_ignored || facts->n_limit_ranges || facts->n_quotas;
}

/* The entry, if this builder made it. */
static struct namespace_entry *own_namespace(struct snapshot_builder *self, const char *name)
{
	struct fact *fact = (struct fact *)(uintptr_t)fact_table_get(self->sets.items[SET_NAMESPACES], name);
	bool is_own = fact && self->is_own_set[SET_NAMESPACES] &&
		      atomic_load_explicit(&fact->refs, memory_order_acquire) == 1;

	return is_own ? (struct namespace_entry *)fact : NULL;
}

/* A namespace may have thousands of objects, so the builder copies an entry once and then changes its own. An entry
 * without content is removed: most namespaces have no label of ours, and clusters create and delete many of them. */
static int change_namespace(struct snapshot_builder *self, const char *name, const struct namespace_change *change)
{
	const struct fact *old = fact_table_get(self->sets.items[SET_NAMESPACES], name);
	struct namespace_entry *own = own_namespace(self, name);
	struct fact *fact = own ? &own->fact : namespace_entry_new(name, (const struct namespace_entry *)old);
	int r = fact ? namespace_entry_change((struct namespace_entry *)fact, change) : -ENOMEM;

	if (!r && own && says_something(fact))
		return 0;
	if (!own && (r || !says_something(fact))) {
		fact_unref(fact);
		fact = NULL;
	}
	return r ? r : snapshot_change_set(self, SET_NAMESPACES, own ? NULL : fact, name);
}

void snapshot_finish_namespaces(struct snapshot_builder *self)
{
	const struct fact_table *table = (const struct fact_table *)self->sets.items[SET_NAMESPACES];

	for (size_t i = 0; table && self->is_own_set[SET_NAMESPACES] && i < table->entries.capacity; i++)
		if (table->entries.slots[i].key)
			namespace_entry_finish(table->entries.slots[i].value);
}

int snapshot_builder_put_namespace(struct snapshot_builder *self, const struct namespace_facts *facts)
{
	return change_namespace(self, facts->name, &(struct namespace_change){.labels = facts});
}

int snapshot_builder_remove_namespace(struct snapshot_builder *self, const char *name)
{
	return snapshot_change_set(self, SET_NAMESPACES, NULL, name);
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
	if (!fact_table_get(self->sets.items[SET_NAMESPACES], namespace_name))
		return 0;
	return change_namespace(self, namespace_name, &(struct namespace_change){.without_limit_range = name});
}

int snapshot_builder_clear_quotas(struct snapshot_builder *self, const char *namespace_name)
{
	if (!fact_table_get(self->sets.items[SET_NAMESPACES], namespace_name))
		return 0;
	return change_namespace(self, namespace_name, &(struct namespace_change){.without_quotas = true});
}

int snapshot_builder_put_critical_class(struct snapshot_builder *self, const char *name)
{
	struct fact *fact = fact_new(sizeof(struct fact), name, NULL, NULL);

	return fact ? snapshot_change_set(self, SET_CRITICAL_CLASSES, fact, name) : -ENOMEM;
}

int snapshot_builder_remove_critical_class(struct snapshot_builder *self, const char *name)
{
	return snapshot_change_set(self, SET_CRITICAL_CLASSES, NULL, name);
}

int snapshot_builder_put_owner(struct snapshot_builder *self, const struct owner_facts *facts)
{
	struct fact *fact = owner_entry_new(facts);

	return fact ? snapshot_change_set(self, set_of_owner(facts->uid), fact, facts->uid) : -ENOMEM;
}

int snapshot_builder_remove_owner(struct snapshot_builder *self, const char *uid)
{
	return snapshot_change_set(self, set_of_owner(uid), NULL, uid);
}
