/* SPDX-License-Identifier: Apache-2.0 */
/* One block: reference count, profile, spec, variants, pointer arrays, text. The count lies before the profile so that
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

const struct profile_spec profile_spec_none = {.quantile_permille = -1, .buffer_permille = -1};
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

/* Its own copy, unless it says nothing. */
static bool has_spec(const struct profile *draft)
{
	const struct profile_spec *a = draft->spec, *b = &profile_spec_none;

	return a && (a->pin_request_bytes != b->pin_request_bytes || a->pin_limit_bytes != b->pin_limit_bytes ||
		     a->quantile_permille != b->quantile_permille || a->buffer_permille != b->buffer_permille ||
		     a->floor_bytes != b->floor_bytes || a->ceiling_bytes != b->ceiling_bytes ||
		     !streq(a->size_class, b->size_class) || !streq(a->mode_cap, b->mode_cap) ||
		     !streq(a->mode_cap_before_undo, b->mode_cap_before_undo));
}

struct profile *profile_dup(const struct profile *draft)
{
	const char *texts[PROFILE_TEXTS], *copies[PROFILE_TEXTS] = {NULL};
	size_t n_texts = profile_texts(draft, texts), n_lists = n_texts - 5;
	size_t n_own = MIN(draft->n_variants, LIMIT_PROFILE_VARIANTS), text_bytes = 0;
	size_t n_variants = n_own == draft->n_variants ? n_own + draft->n_previous : n_own;
	size_t n_specs = has_spec(draft), head;
	struct recommendation *variants;
	struct profile_block *block;
	struct profile_spec *spec;
	const char **lists;

	for (size_t i = 0; i < n_texts; i++)
		if (profile_text_twin(texts, i) == i)
			text_bytes += strlen(texts[i]) + 1;
	head = sizeof(*block) + n_specs * sizeof(*spec) + n_variants * sizeof(*variants) + n_lists * sizeof(*lists);
	block = malloc(head + text_bytes);
	if (!block)
		return NULL;
	spec = (struct profile_spec *)(block + 1);
	variants = (struct recommendation *)(spec + n_specs);
	lists = (const char **)(variants + n_variants);
	profile_copy_texts(texts, n_texts, (char *)(lists + n_lists), copies);
	for (size_t i = 0; i < n_lists; i++)
		lists[i] = copies[5 + i];
	if (n_variants)
		memcpy(variants, draft->variants, n_variants * sizeof(*variants));
	atomic_init(&block->refs, 1);
	block->profile = *draft;
	if (n_specs)
		*spec = *draft->spec;
	block->profile.spec = n_specs ? spec : &profile_spec_none;
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
	block->profile.n_variants = (uint8_t)n_own;
	block->profile.n_previous = (uint8_t)(n_variants - n_own);
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
