/* SPDX-License-Identifier: Apache-2.0 */
/* profile: a profile is one block: reference count, profile, spec, variants, pointer arrays, text. The count is before
 * the profile, where readers of `struct profile` do not see it. Text that occurs twice in a profile (the workload is
 * its first alias) is stored once. */
#include "model/profile.h"

#include "base/str.h"

#include <stdatomic.h>
#include <stdlib.h>

struct profile_block {
	atomic_int refs;
	struct profile profile;
};

const char *const confidence_names[4] = {"none", "low", "medium", "high"};

/* Texts before the lists: names, texts of the spec, messages of conditions. */
#define PROFILE_NAMES	   5
#define PROFILE_SPEC_TEXTS 8
#define PROFILE_SINGLES	   (PROFILE_NAMES + PROFILE_SPEC_TEXTS + PROFILE_CONDITIONS)
#define PROFILE_TEXTS	   (PROFILE_SINGLES + LIMIT_PROFILE_ALIASES + PROFILE_REASONS)

/* Every text of the draft in a fixed order: names, texts of the spec, messages, aliases, reasons. */
static size_t profile_texts(const struct profile *draft, const char *texts[PROFILE_TEXTS])
{
	const struct profile_spec *spec = draft->spec ? draft->spec : &profile_spec_none;
	const char *const names[PROFILE_NAMES + PROFILE_SPEC_TEXTS] = {
		draft->namespace_name, draft->name,   draft->workload,	 draft->role,	 draft->container,
		spec->invalid,	       spec->source,  spec->ref.kind,	 spec->ref.name, spec->ref.role,
		spec->ref.container,   spec->ref.key, spec->ref.made_key};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		texts[n++] = names[i] ? names[i] : "";
	for (size_t i = 0; i < PROFILE_CONDITIONS; i++) {
		const char *message = draft->report ? draft->report->conditions[i].message : NULL;

		texts[n++] = message ? message : "";
	}
	for (size_t i = 0; i < MIN(draft->n_aliases, LIMIT_PROFILE_ALIASES); i++)
		texts[n++] = draft->aliases[i] ? draft->aliases[i] : "";
	for (size_t i = 0; i < MIN(draft->n_reasons, PROFILE_REASONS); i++)
		texts[n++] = draft->reasons[i] ? draft->reasons[i] : "";
	return n;
}

/* Index of the first text equal to texts[i]; i if there is none before it. */
static size_t profile_text_twin(const char *const *texts, size_t i)
{
	size_t j = 0;

	while (j < i && strcmp(texts[j], texts[i]) != 0)
		j++;
	return j;
}

/* Copies the texts to `at`; ret[i] points to the copy of texts[i]. */
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

/* `texts`: the copies of the spec's texts, in the order of profile_texts(). */
static void copy_spec(const struct profile_spec *from, const char *const *texts, struct profile_spec *ret)
{
	*ret = *from;
	ret->invalid = from->invalid ? texts[0] : NULL;
	ret->source = from->source ? texts[1] : NULL;
	if (from->ref.key)
		ret->ref = (struct profile_ref){texts[2],
						texts[3],
						texts[4],
						texts[5],
						texts[6],
						from->ref.made_key ? texts[7] : NULL,
						from->ref.created_ms};
}

static void copy_report(const struct profile_report *from, const char *const *messages, struct profile_report *ret)
{
	*ret = *from;
	for (size_t i = 0; i < PROFILE_CONDITIONS; i++)
		ret->conditions[i].message = messages[i];
}

struct profile *profile_dup(const struct profile *draft)
{
	const char *texts[PROFILE_TEXTS], *copies[PROFILE_TEXTS] = {NULL};
	size_t n_texts = profile_texts(draft, texts), n_lists = n_texts - PROFILE_SINGLES;
	size_t n_own = MIN(draft->n_variants, LIMIT_PROFILE_VARIANTS), text_bytes = 0;
	size_t n_variants = n_own == draft->n_variants ? n_own + draft->n_previous : n_own;
	size_t n_specs = profile_has_spec(draft), n_reports = draft->report != NULL, head;
	struct recommendation *variants;
	size_t n_diagnoses = draft->diagnosis != NULL;
	struct profile_block *block;
	struct profile_report *report;
	struct diagnosis *diagnosis;
	struct profile_spec *spec;
	const char **lists;

	for (size_t i = 0; i < n_texts; i++)
		if (profile_text_twin(texts, i) == i)
			text_bytes += strlen(texts[i]) + 1;
	head = sizeof(*block) + n_reports * sizeof(*report) + n_diagnoses * sizeof(*diagnosis) +
	       n_specs * sizeof(*spec) + n_variants * sizeof(*variants) + n_lists * sizeof(*lists);
	block = malloc(head + text_bytes);
	if (!block)
		return NULL;
	report = (struct profile_report *)(block + 1);
	diagnosis = (struct diagnosis *)(report + n_reports);
	spec = (struct profile_spec *)(diagnosis + n_diagnoses);
	variants = (struct recommendation *)(spec + n_specs);
	lists = (const char **)(variants + n_variants);
	profile_copy_texts(texts, n_texts, (char *)(lists + n_lists), copies);
	for (size_t i = 0; i < n_lists; i++)
		lists[i] = copies[PROFILE_SINGLES + i];
	if (n_variants)
		memcpy(variants, draft->variants, n_variants * sizeof(*variants));
	atomic_init(&block->refs, 1);
	block->profile = *draft;
	if (n_specs)
		copy_spec(draft->spec, copies + PROFILE_NAMES, spec);
	if (n_reports)
		copy_report(draft->report, copies + PROFILE_NAMES + PROFILE_SPEC_TEXTS, report);
	if (n_diagnoses)
		*diagnosis = *draft->diagnosis;
	block->profile.diagnosis = n_diagnoses ? diagnosis : NULL;
	block->profile.report = n_reports ? report : NULL;
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

void profile_drop_unread(struct profile *draft, int64_t now_ms)
{
	draft->n_reasons = 0;
	draft->report = NULL;
	if (!diagnosis_wants_setting(draft->diagnosis))
		draft->diagnosis = NULL;
	if (!profile_previous_matters(draft, now_ms))
		draft->n_previous = 0;
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

bool profile_previous_matters(const struct profile *self, int64_t now_ms)
{
	return self->n_previous && now_ms < self->updated_ms + PROFILE_PREVIOUS_MS &&
	       now_ms > self->updated_ms - PROFILE_PREVIOUS_MS;
}
