/* SPDX-License-Identifier: Apache-2.0 */
/* One block: reference count, profile, variants, pointer arrays, text. The count lies before the profile so that
 * readers of `struct profile` do not see it. Text that occurs twice in a profile (the workload is its first alias) is
 * stored once. */
#include "model/profile.h"

#include "base/str.h"

#include <stdatomic.h>
#include <stdlib.h>

struct profile_block {
	atomic_int refs;
	struct profile profile;
};

const char *const confidence_names[4] = {"none", "low", "medium", "high"};

#define PROFILE_TEXTS (5 + LIMIT_PROFILE_ALIASES + PROFILE_REASONS)

/* Every text of the draft in a fixed order: the five names, aliases, reasons. */
static size_t profile_texts(const struct profile *draft, const char *texts[PROFILE_TEXTS])
{
	const char *const names[] = {draft->namespace_name, draft->name, draft->workload, draft->role,
				     draft->container};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		texts[n++] = names[i] ? names[i] : "";
	for (size_t i = 0; i < MIN(draft->n_aliases, LIMIT_PROFILE_ALIASES); i++)
		texts[n++] = draft->aliases[i] ? draft->aliases[i] : "";
	for (size_t i = 0; i < MIN(draft->n_reasons, PROFILE_REASONS); i++)
		texts[n++] = draft->reasons[i] ? draft->reasons[i] : "";
	return n;
}

/* Index of the first text equal to texts[i]; i itself when there is none before it. */
static size_t profile_text_twin(const char *const *texts, size_t i)
{
	size_t j = 0;

	while (j < i && strcmp(texts[j], texts[i]) != 0)
		j++;
	return j;
}

/* Copy the texts behind `at`; ret[i] points to the copy of texts[i]. */
static void profile_copy_texts(const char *const *texts, size_t n, char *at, const char **ret)
{
	for (size_t i = 0; i < n; i++) {
		size_t twin = profile_text_twin(texts, i), size = strlen(texts[i]) + 1;

		if (twin < i) {
			ret[i] = ret[twin];
			continue;
		}
		memcpy(at, texts[i], size);
		ret[i] = at;
		at += size;
	}
}

struct profile *profile_dup(const struct profile *draft)
{
	const char *texts[PROFILE_TEXTS], *copies[PROFILE_TEXTS] = {NULL};
	size_t n_texts = profile_texts(draft, texts), n_lists = n_texts - 5;
	size_t n_variants = MIN(draft->n_variants, LIMIT_PROFILE_VARIANTS), text_bytes = 0;
	struct recommendation *variants;
	struct profile_block *block;
	const char **lists;

	for (size_t i = 0; i < n_texts; i++)
		if (profile_text_twin(texts, i) == i)
			text_bytes += strlen(texts[i]) + 1;
	block = malloc(sizeof(*block) + n_variants * sizeof(*variants) + n_lists * sizeof(*lists) + text_bytes);
	if (!block)
		return NULL;
	variants = (struct recommendation *)(block + 1);
	lists = (const char **)(variants + n_variants);
	profile_copy_texts(texts, n_texts, (char *)(lists + n_lists), copies);
	for (size_t i = 0; i < n_lists; i++)
		lists[i] = copies[5 + i];
	if (n_variants)
		memcpy(variants, draft->variants, n_variants * sizeof(*variants));
	atomic_init(&block->refs, 1);
	block->profile = *draft;
	block->profile.namespace_name = copies[0];
	block->profile.name = copies[1];
	block->profile.workload = copies[2];
	block->profile.role = copies[3];
	block->profile.container = copies[4];
	block->profile.aliases = lists;
	block->profile.n_aliases = MIN(draft->n_aliases, LIMIT_PROFILE_ALIASES);
	block->profile.reasons = lists + block->profile.n_aliases;
	block->profile.n_reasons = MIN(draft->n_reasons, PROFILE_REASONS);
	block->profile.variants = variants;
	block->profile.n_variants = n_variants;
	return &block->profile;
}

static struct profile_block *profile_block_of(struct profile *self)
{
	return (struct profile_block *)(void *)((char *)self - offsetof(struct profile_block, profile));
}

struct profile *profile_ref(struct profile *self)
{
	atomic_fetch_add_explicit(&profile_block_of(self)->refs, 1, memory_order_relaxed);
	return self;
}

void profile_free(struct profile *self)
{
	struct profile_block *block;

	if (!self)
		return;
	block = profile_block_of(self);
	if (atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) == 1)
		free(block);
}

void profile_freep(struct profile **self)
{
	profile_free(*self);
	*self = NULL;
}

const struct recommendation *profile_for_variant(const struct profile *self, const char *variant)
{
	for (size_t i = 0; variant && *variant && i < self->n_variants; i++)
		if (streq(self->variants[i].variant, variant))
			return &self->variants[i];
	return &self->parent;
}
