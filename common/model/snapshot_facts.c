/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot_facts.h"

#include "base/str.h"
#include "base/vec.h"

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

/* Where an item of this name is or belongs. */
static size_t place_of(const struct item_type *type, const struct named_items *list, const char *name, bool *ret_is)
{
	size_t low = 0, high = list->n;

	*ret_is = false;
	while (low < high && !*ret_is) {
		size_t middle = (low + high) / 2;
		int order = strcmp(name, name_of(type, list->items[middle]));

		STEPS(1);
		*ret_is = order == 0;
		low = order > 0 ? middle + 1 : *ret_is ? middle : low;
		high = order < 0 ? middle : high;
	}
	return low;
}

static int put_item(const struct item_type *type, struct named_items *list, const void *item)
{
	void *copy = type->dup(item);
	bool is_there;
	size_t at;

	if (!copy || vec_reserve(list, list->n + 1)) {
		free(copy);
		return -ENOMEM;
	}
	at = place_of(type, list, name_of(type, item), &is_there);
	if (is_there) {
		free(list->items[at]);
	} else {
		STEPS_BULK((list->n - at) * sizeof(*list->items));
		memmove(&list->items[at + 1], &list->items[at], (list->n++ - at) * sizeof(*list->items));
	}
	list->items[at] = copy;
	return 0;
}

static void drop_item(const struct item_type *type, struct named_items *list, const char *name)
{
	bool is_there;
	size_t at = place_of(type, list, name, &is_there);

	if (!is_there)
		return;
	free(list->items[at]);
	STEPS_BULK((list->n - at) * sizeof(*list->items));
	memmove(&list->items[at], &list->items[at + 1], (--list->n - at) * sizeof(*list->items));
}

static int copy_items(const struct item_type *type, const struct named_items *from, struct named_items *ret)
{
	int r = vec_reserve(ret, from->n + 1);

	STEPS(from->n);
	for (size_t i = 0; i < from->n && !r; i++) {
		ret->items[ret->n] = type->dup(from->items[i]);
		r = ret->items[ret->n] ? 0 : -ENOMEM;
		ret->n += !r;
	}
	return r;
}

static void release_items(struct named_items *self)
{
	for (size_t i = 0; i < self->n; i++)
		free(self->items[i]);
	vec_release(self);
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

/* The lists may have moved. */
static void publish(struct namespace_entry *self)
{
	self->facts.name = self->fact.key;
	self->facts.mode = self->mode;
	self->facts.limit_ranges = (const struct k8s_limit_range *const *)self->ranges.items;
	self->facts.n_limit_ranges = self->ranges.n;
	self->facts.quotas = (const struct k8s_quota *const *)self->quotas.items;
	self->facts.n_quotas = self->quotas.n;
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
	self->has_new_ranges = true;
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
		drop_item(&range_type, &self->ranges, change->without_limit_range);
	if (!r && change->without_quota)
		drop_item(&quota_type, &self->quotas, change->without_quota);
	self->has_new_ranges |= change->limit_range || change->without_limit_range;
	publish(self);
	return r;
}

void namespace_entry_finish(struct namespace_entry *self)
{
	if (!self->has_new_ranges)
		return;
	self->has_new_ranges = false;
	k8s_limit_rules_init(&self->facts.rules);
	STEPS(self->ranges.n);
	for (size_t i = 0; i < self->ranges.n; i++)
		k8s_limit_rules_add(&self->facts.rules, self->ranges.items[i]);
}
