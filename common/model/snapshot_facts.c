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

struct fact *fact_table_copy(const struct fact *from, const char *without)
{
	const struct strmap *entries = from ? &((const struct fact_table *)from)->entries : NULL;
	struct fact *self = fact_new(sizeof(struct fact_table), "", NULL, NULL);
	int r = 0;

	if (!self)
		return NULL;
	self->release = table_release;
	for (size_t i = 0; entries && !r && i < entries->capacity; i++) {
		struct fact *fact = entries->slots[i].value;

		if (entries->slots[i].key && !streq(fact->key, without))
			r = fact_table_put(self, fact_ref(fact));
	}
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

/* LimitRanges and ResourceQuotas are kept alike: sorted by name, so that every replica decides alike, whatever it saw
 * first. */
struct list_type {
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

static const struct list_type range_list = {offsetof(struct k8s_limit_range, name), dup_range};
static const struct list_type quota_list = {offsetof(struct k8s_quota, name), dup_quota};

static const char *name_of(const struct list_type *type, const void *item)
{
	return *(const char *const *)(const void *)((const char *)item + type->name_offset);
}

static void free_list(const void *list, size_t n)
{
	void **items = (void **)(uintptr_t)list;

	for (size_t i = 0; i < n; i++)
		free(items[i]);
	free(items);
}

/* Copies of a list's items without the one of name `without`, and with `added` instead of the one of its name. NULL:
 * out of memory. */
static void *change_list(const struct list_type *type, const void *list, size_t n, const void *added,
			 const char *without, size_t *ret_n)
{
	const void *const *old = list;
	void **items = calloc(n + 1, sizeof(*items));
	bool is_complete = items != NULL;
	size_t n_items = 0;

	for (size_t i = 0; is_complete && (i < n || added);) {
		int order = !added ? 1 : i == n ? -1 : strcmp(name_of(type, added), name_of(type, old[i]));
		const void *next = order <= 0 ? added : old[i];

		i += order >= 0;
		added = order <= 0 ? NULL : added;
		if (streq(name_of(type, next), without))
			continue;
		items[n_items] = type->dup(next);
		is_complete = items[n_items++] != NULL;
	}
	if (!is_complete) {
		free_list(items, n_items);
		return NULL;
	}
	*ret_n = n_items;
	return items;
}

static void namespace_entry_release(struct fact *fact)
{
	const struct namespace_facts *facts = &((struct namespace_entry *)fact)->facts;

	free_list(facts->limit_ranges, facts->n_limit_ranges);
	free_list(facts->quotas, facts->n_quotas);
}

struct fact *namespace_entry_new(const char *name, const struct namespace_facts *old,
				 const struct namespace_change *change)
{
	static const struct namespace_facts none = {.name = NULL};
	const struct namespace_facts *labels;
	const char *mode = NULL;
	struct namespace_facts *facts;
	struct fact *fact;

	old = old ? old : &none;
	labels = change->labels ? change->labels : old;
	fact = fact_new(sizeof(struct namespace_entry), name, labels->mode, &mode);
	if (!fact)
		return NULL;
	fact->release = namespace_entry_release;
	facts = &((struct namespace_entry *)fact)->facts;
	facts->name = fact->key;
	facts->mode = mode;
	facts->is_ignored = labels->is_ignored;
	facts->limit_ranges = change_list(&range_list, old->limit_ranges, old->n_limit_ranges, change->limit_range,
					  change->without_limit_range, &facts->n_limit_ranges);
	facts->quotas = change_list(&quota_list, old->quotas, old->n_quotas, change->quota, change->without_quota,
				    &facts->n_quotas);
	if (!facts->limit_ranges || !facts->quotas) {
		fact_unref(fact);
		return NULL;
	}
	k8s_limit_rules_init(&facts->rules);
	for (size_t i = 0; i < facts->n_limit_ranges; i++)
		k8s_limit_rules_add(&facts->rules, facts->limit_ranges[i]);
	return fact;
}
