/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot_facts.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

struct fact *fact_ref(struct fact *self)
{
	if (self)
		atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
	return self;
}

void fact_unref(struct fact *self)
{
	if (!self || atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (self->release)
		self->release(self);
	free(self);
}

struct fact *fact_new(size_t size, const char *key, const char *text, const char **ret_text)
{
	size_t key_size = strlen(key) + 1, text_size = text ? strlen(text) + 1 : 0;
	struct fact *self = calloc(1, size + key_size + text_size);

	if (!self)
		return NULL;
	atomic_init(&self->refs, 1);
	self->key = memcpy((char *)self + size, key, key_size);
	if (text)
		*ret_text = memcpy((char *)self + size + key_size, text, text_size);
	return self;
}

/* ---- tables ---- */

static void table_release(struct fact *fact)
{
	struct fact_table *self = (struct fact_table *)fact;

	for (size_t i = 0; i < self->entries.capacity; i++)
		if (self->entries.slots[i].key)
			fact_unref(self->entries.slots[i].value);
	strmap_release(&self->entries);
}

const struct fact *fact_table_get(const struct fact *self, const char *key)
{
	return self ? strmap_get(&((const struct fact_table *)self)->entries, key) : NULL;
}

int fact_table_put(struct fact *self, struct fact *take_fact)
{
	struct strmap *entries = &((struct fact_table *)self)->entries;
	struct fact *old = strmap_get(entries, take_fact->key);

	if (strmap_put(entries, take_fact->key, take_fact)) {
		fact_unref(take_fact);
		return -ENOMEM;
	}
	fact_unref(old);
	return 0;
}

void fact_table_remove(struct fact *self, const char *key)
{
	fact_unref(strmap_remove(&((struct fact_table *)self)->entries, key));
}

struct fact *fact_table_copy(const struct fact *from)
{
	const struct strmap *entries = from ? &((const struct fact_table *)from)->entries : NULL;
	struct fact *self = fact_new(sizeof(struct fact_table), "", NULL, NULL);
	int r = 0;

	if (!self)
		return NULL;
	self->release = table_release;
	for (size_t i = 0; entries && !r && i < entries->capacity; i++)
		if (entries->slots[i].key)
			r = fact_table_put(self, fact_ref(entries->slots[i].value));
	if (r) {
		fact_unref(self);
		return NULL;
	}
	return self;
}

/* ---- owners ---- */

struct fact *owner_entry_new(const struct owner_facts *facts)
{
	const char *parent_uid = NULL;
	struct fact *fact = fact_new(sizeof(struct owner_entry), facts->uid, facts->parent_uid, &parent_uid);
	struct owner_entry *self = (struct owner_entry *)fact;

	if (!self)
		return NULL;
	self->facts = *facts;
	self->facts.uid = fact->key;
	self->facts.parent_uid = parent_uid;
	return fact;
}

/* ---- namespaces ---- */

struct item_type {
	size_t name_offset;
	void *(*dup)(const void *item);
};

static void *dup_range(const void *item)
{
	return k8s_limit_range_dup(item);
}

static void *dup_quota(const void *item)
{
	return k8s_quota_dup(item);
}

static const struct item_type range_type = {offsetof(struct k8s_limit_range, name), dup_range};
static const struct item_type quota_type = {offsetof(struct k8s_quota, name), dup_quota};

static const char *name_of(const struct item_type *type, const void *item)
{
	return *(const char *const *)(const void *)((const char *)item + type->name_offset);
}

static int compare_names(const void *a, const void *b, void *type)
{
	STEPS(1);
	return strcmp(name_of(type, *(const void *const *)a), name_of(type, *(const void *const *)b));
}

static int put_item(const struct item_type *type, struct named_items *list, const void *item)
{
	void *old = strmap_get(&list->by_name, name_of(type, item)), *copy = type->dup(item);

	if (!copy || vec_reserve(&list->sorted, list->by_name.n + 1) ||
	    strmap_put(&list->by_name, name_of(type, copy), copy)) {
		free(copy);
		return -ENOMEM;
	}
	free(old);
	return 0;
}

static int copy_items(const struct item_type *type, const struct named_items *from, struct named_items *ret)
{
	int r = 0;

	STEPS(from->by_name.capacity);
	for (size_t i = 0; i < from->by_name.capacity && !r; i++)
		if (from->by_name.slots[i].key)
			r = put_item(type, ret, from->by_name.slots[i].value);
	return r;
}

static void sort_items(const struct item_type *type, struct named_items *list)
{
	list->sorted.n = 0;
	STEPS(list->by_name.capacity);
	for (size_t i = 0; i < list->by_name.capacity; i++)
		if (list->by_name.slots[i].key)
			list->sorted.items[list->sorted.n++] = list->by_name.slots[i].value;
	if (list->sorted.n)
		qsort_r(list->sorted.items, list->sorted.n, sizeof(*list->sorted.items), compare_names,
			(void *)(uintptr_t)type);
}

static void release_items(struct named_items *self)
{
	for (size_t i = 0; i < self->by_name.capacity; i++)
		free(self->by_name.slots[i].value);
	strmap_release(&self->by_name);
	vec_release(&self->sorted);
}

static void namespace_entry_release(struct fact *fact)
{
	struct namespace_entry *self = (struct namespace_entry *)fact;

	release_items(&self->ranges);
	release_items(&self->quotas);
	free(self->mode);
}

static int set_labels(struct namespace_entry *self, const struct namespace_facts *labels)
{
	char *mode = labels->mode ? strdup(labels->mode) : NULL;

	if (labels->mode && !mode)
		return -ENOMEM;
	free(self->mode);
	self->mode = mode;
	self->facts.is_ignored = labels->is_ignored;
	return 0;
}

/* All that a builder reads of an entry. */
static void publish(struct namespace_entry *self)
{
	self->facts.name = self->fact.key;
	self->facts.mode = self->mode;
	self->facts.n_limit_ranges = self->ranges.by_name.n;
	self->facts.n_quotas = self->quotas.by_name.n;
	self->is_changed = true;
}

struct fact *namespace_entry_new(const char *name, const struct namespace_entry *old)
{
	struct fact *fact = fact_new(sizeof(struct namespace_entry), name, NULL, NULL);
	struct namespace_entry *self = (struct namespace_entry *)fact;

	if (!self)
		return NULL;
	fact->release = namespace_entry_release;
	if (old && (set_labels(self, &old->facts) || copy_items(&range_type, &old->ranges, &self->ranges) ||
		    copy_items(&quota_type, &old->quotas, &self->quotas))) {
		fact_unref(fact);
		return NULL;
	}
	publish(self);
	return fact;
}

int namespace_entry_change(struct namespace_entry *self, const struct namespace_change *change)
{
	int r = change->labels ? set_labels(self, change->labels) : 0;

	if (!r && change->limit_range)
		r = put_item(&range_type, &self->ranges, change->limit_range);
	if (!r && change->quota)
		r = put_item(&quota_type, &self->quotas, change->quota);
	if (!r && change->without_limit_range)
		free(strmap_remove(&self->ranges.by_name, change->without_limit_range));
	if (!r && change->without_quotas)
		release_items(&self->quotas);
	publish(self);
	return r;
}

void namespace_entry_finish(struct namespace_entry *self)
{
	if (!self->is_changed)
		return;
	self->is_changed = false;
	sort_items(&range_type, &self->ranges);
	sort_items(&quota_type, &self->quotas);
	self->facts.limit_ranges = (const struct k8s_limit_range *const *)self->ranges.sorted.items;
	self->facts.quotas = (const struct k8s_quota *const *)self->quotas.sorted.items;
	k8s_limit_rules_init(&self->facts.rules);
	STEPS(self->ranges.sorted.n);
	for (size_t i = 0; i < self->ranges.sorted.n; i++)
		k8s_limit_rules_add(&self->facts.rules, self->ranges.sorted.items[i]);
}
