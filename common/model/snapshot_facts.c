/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot_facts.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

void fact_unref(struct fact *self)
{
	if (self && atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) == 1)
		self->free(self);
}

/* ---- tables ---- */

struct fact_table *fact_table_ref(struct fact_table *self)
{
	if (self)
		atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
	return self;
}

void fact_table_unref(struct fact_table *self)
{
	if (!self || atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < self->entries.capacity; i++)
		if (self->entries.slots[i].key)
			fact_unref(self->entries.slots[i].value);
	strmap_release(&self->entries);
	free(self);
}

const struct fact *fact_table_get(const struct fact_table *self, const char *key)
{
	return self ? strmap_get(&self->entries, key) : NULL;
}

int fact_table_put(struct fact_table *self, struct fact *take_fact)
{
	struct fact *old = strmap_get(&self->entries, take_fact->key);

	if (strmap_put(&self->entries, take_fact->key, take_fact)) {
		fact_unref(take_fact);
		return -ENOMEM;
	}
	fact_unref(old);
	return 0;
}

struct fact_table *fact_table_copy(const struct fact_table *from, const char *without)
{
	struct fact_table *self = calloc(1, sizeof(*self));
	int r = 0;

	if (!self)
		return NULL;
	atomic_init(&self->refs, 1);
	for (size_t i = 0; from && !r && i < from->entries.capacity; i++) {
		struct fact *fact = from->entries.slots[i].value;

		if (!from->entries.slots[i].key || streq(fact->key, without))
			continue;
		atomic_fetch_add_explicit(&fact->refs, 1, memory_order_relaxed);
		r = fact_table_put(self, fact);
	}
	if (r) {
		fact_table_unref(self);
		return NULL;
	}
	return self;
}

/* ---- names ---- */

static void name_entry_free(struct fact *fact)
{
	free(fact);
}

struct fact *name_entry_new(const char *name)
{
	size_t size = strlen(name) + 1;
	struct fact *self = malloc(sizeof(*self) + size);

	if (!self)
		return NULL;
	atomic_init(&self->refs, 1);
	self->key = memcpy(self + 1, name, size);
	self->free = name_entry_free;
	return self;
}

/* ---- owners ---- */

static void owner_entry_free(struct fact *fact)
{
	free(fact);
}

static size_t bases_bytes(const struct owner_facts *facts)
{
	size_t bytes = facts->n_bases * sizeof(*facts->bases);

	for (size_t i = 0; i < facts->n_bases; i++)
		bytes += strlen(facts->bases[i].name) + 1;
	return bytes;
}

static char *copy_text(char **at, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = memcpy(*at, text, size);

	*at += size;
	return copy;
}

/* One block: the entry, the bases, text. */
struct fact *owner_entry_new(const struct owner_facts *facts)
{
	size_t texts = strlen(facts->uid) + 1 + (facts->parent_uid ? strlen(facts->parent_uid) + 1 : 0);
	struct owner_entry *self = malloc(sizeof(*self) + bases_bytes(facts) + texts);
	struct quota_base *bases;
	char *text;

	if (!self)
		return NULL;
	bases = (struct quota_base *)(self + 1);
	text = (char *)(bases + facts->n_bases);
	atomic_init(&self->fact.refs, 1);
	self->facts = *facts;
	self->facts.bases = facts->n_bases ? bases : NULL;
	for (size_t i = 0; i < facts->n_bases; i++) {
		bases[i] = facts->bases[i];
		bases[i].name = copy_text(&text, facts->bases[i].name);
	}
	self->fact.key = copy_text(&text, facts->uid);
	self->fact.free = owner_entry_free;
	self->facts.uid = self->fact.key;
	if (facts->parent_uid)
		self->facts.parent_uid = copy_text(&text, facts->parent_uid);
	return &self->fact;
}

/* ---- namespaces ---- */

static void namespace_entry_free(struct fact *fact)
{
	struct namespace_entry *self = (struct namespace_entry *)fact;

	for (size_t i = 0; i < self->facts.n_limit_ranges; i++)
		free((void *)(uintptr_t)self->facts.limit_ranges[i]);
	for (size_t i = 0; i < self->facts.n_quotas; i++)
		free((void *)(uintptr_t)self->facts.quotas[i]);
	free((void *)(uintptr_t)self->facts.limit_ranges);
	free((void *)(uintptr_t)self->facts.quotas);
	free(self);
}

/* Lists are in the order of names, so that every replica decides alike, whatever it saw first. */
static size_t place_of_range(const struct namespace_facts *facts, const char *name)
{
	size_t at = 0;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): items below n are set */
	while (at < facts->n_limit_ranges && strcmp(facts->limit_ranges[at]->name, name) < 0)
		at++;
	return at;
}

static size_t place_of_quota(const struct namespace_facts *facts, const char *name)
{
	size_t at = 0;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): items below n are set */
	while (at < facts->n_quotas && strcmp(facts->quotas[at]->name, name) < 0)
		at++;
	return at;
}

/* Add a copy at `at`; what stands there moves on. There is room. */
static int insert_range(struct namespace_facts *facts, size_t at, const struct k8s_limit_range *range)
{
	const struct k8s_limit_range **list = (const struct k8s_limit_range **)(uintptr_t)facts->limit_ranges;
	const struct k8s_limit_range *copy = k8s_limit_range_dup(range);

	if (!copy)
		return -ENOMEM;
	memmove(list + at + 1, list + at, (facts->n_limit_ranges++ - at) * sizeof(*list));
	list[at] = copy;
	return 0;
}

static int insert_quota(struct namespace_facts *facts, size_t at, const struct k8s_quota *quota)
{
	const struct k8s_quota **list = (const struct k8s_quota **)(uintptr_t)facts->quotas;
	const struct k8s_quota *copy = k8s_quota_dup(quota);

	if (!copy)
		return -ENOMEM;
	memmove(list + at + 1, list + at, (facts->n_quotas++ - at) * sizeof(*list));
	list[at] = copy;
	return 0;
}

static bool is_left_out(const char *name, const char *without, const char *replaced)
{
	return streq(name, without) || streq(name, replaced);
}

static int copy_ranges(struct namespace_facts *to, const struct namespace_facts *old,
		       const struct namespace_change *change)
{
	const struct k8s_limit_range *added = change->limit_range;
	size_t n_old = old ? old->n_limit_ranges : 0;
	int r = 0;

	to->limit_ranges = calloc(n_old + 1, sizeof(*to->limit_ranges));
	if (!to->limit_ranges)
		return -ENOMEM;
	for (size_t i = 0; i < n_old && !r; i++)
		if (!is_left_out(old->limit_ranges[i]->name, change->without_limit_range, added ? added->name : NULL))
			r = insert_range(to, to->n_limit_ranges, old->limit_ranges[i]);
	return r || !added ? r : insert_range(to, place_of_range(to, added->name), added);
}

static int copy_quotas(struct namespace_facts *to, const struct namespace_facts *old,
		       const struct namespace_change *change)
{
	const struct k8s_quota *added = change->quota;
	size_t n_old = old ? old->n_quotas : 0;
	int r = 0;

	to->quotas = calloc(n_old + 1, sizeof(*to->quotas));
	if (!to->quotas)
		return -ENOMEM;
	for (size_t i = 0; i < n_old && !r; i++)
		if (!is_left_out(old->quotas[i]->name, change->without_quota, added ? added->name : NULL))
			r = insert_quota(to, to->n_quotas, old->quotas[i]);
	return r || !added ? r : insert_quota(to, place_of_quota(to, added->name), added);
}

struct fact *namespace_entry_new(const char *name, const struct namespace_facts *old,
				 const struct namespace_change *change)
{
	const struct namespace_facts *labels = change->labels ? change->labels : old;
	const char *mode = labels ? labels->mode : NULL;
	size_t name_size = strlen(name) + 1, mode_size = mode ? strlen(mode) + 1 : 0;
	struct namespace_entry *self = calloc(1, sizeof(*self) + name_size + mode_size);
	char *text;

	if (!self)
		return NULL;
	text = (char *)(self + 1);
	atomic_init(&self->fact.refs, 1);
	self->fact.key = memcpy(text, name, name_size);
	self->fact.free = namespace_entry_free;
	self->facts.name = self->fact.key;
	if (mode)
		self->facts.mode = memcpy(text + name_size, mode, mode_size);
	self->facts.is_ignored = labels && labels->is_ignored;
	if (copy_ranges(&self->facts, old, change) || copy_quotas(&self->facts, old, change)) {
		namespace_entry_free(&self->fact);
		return NULL;
	}
	return &self->fact;
}
