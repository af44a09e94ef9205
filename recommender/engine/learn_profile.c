/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/learn.h"

#include "policy/size.h"

#include <errno.h>
#include <stdio.h>

enum { VARIANT_WHOLE_RUNS = 3, PROFILE_ARENA_BYTES = 1024 * 1024 };

struct draft {
	struct profile profile;
	struct recommendation variants[PROFILE_RECOMMENDATIONS];
	const char *aliases[LIMIT_PROFILE_ALIASES];
	struct size_reasons reasons;
	struct learn_report report;
	struct arena arena;
};

static bool has_variant(const struct draft *draft, const char *variant)
{
	for (size_t i = 0; i < draft->profile.n_variants; i++)
		if (streq(draft->variants[i].variant, variant))
			return true;
	return false;
}

static int whole_runs_of(const struct history *history, const char *variant)
{
	int n = 0;

	for (size_t i = 0; i < history->runs.n; i++)
		n += history->runs.items[i].is_whole && streq(history->runs.items[i].variant, variant);
	return n;
}

/* The smallest world size of whole runs of a variant; NULL: of all variants. */
static int32_t min_ranks_of(const struct history *history, const char *variant)
{
	int32_t least = 0;

	for (size_t i = 0; i < history->runs.n; i++) {
		const struct run *run = &history->runs.items[i];

		if (run->is_whole && run->world_size > 0 && (!variant || streq(run->variant, variant)) &&
		    (!least || run->world_size < least))
			least = run->world_size;
	}
	return least;
}

/* The variant of all runs. NULL: there are several, or no runs. */
static const char *only_variant_of(const struct history *history)
{
	const struct run *runs = history->runs.items;

	for (size_t i = 1; i < history->runs.n; i++)
		if (!streq(runs[i].variant, runs[0].variant))
			return NULL;
	return history->runs.n ? runs[0].variant : NULL;
}

/* Adds variants with enough whole runs of their own, newest first. A single variant has the figures of the workload. */
static int add_variants(struct draft *draft, const struct config *config, const struct history *history,
			struct err *err)
{
	const char *only = only_variant_of(history);

	if (only) {
		snprintf(draft->profile.parent.variant, sizeof(draft->profile.parent.variant), "%s", only);
		return 0;
	}
	for (size_t i = history->runs.n; i-- > 0 && draft->profile.n_variants < LIMIT_PROFILE_VARIANTS;) {
		const char *variant = history->runs.items[i].variant;
		struct recommendation *ret = &draft->variants[draft->profile.n_variants];
		struct size_reasons reasons;
		int r;

		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a run's variant is an array */
		if (!*variant || has_variant(draft, variant) || whole_runs_of(history, variant) < VARIANT_WHOLE_RUNS)
			continue;
		r = size_base(history, variant, &config->policy.sizing, draft->profile.spec, &draft->arena, ret,
			      &reasons, err);
		if (r)
			return r;
		size_cover_variant(history, &draft->profile.parent, ret);
		ret->min_ranks = min_ranks_of(history, variant);
		draft->profile.n_variants++;
	}
	draft->profile.variants = draft->variants;
	return 0;
}

static int fill(struct draft *draft, const struct config *config, const struct history *history,
		const struct profile *before, const struct diagnosis *diagnosis, struct err *err)
{
	struct profile *profile = &draft->profile;
	int r;

	*profile = (struct profile){
		.namespace_name = history->namespace_name,
		.name = history->name,
		.workload = history->workload,
		.role = history->role,
		.container = history->container,
		.aliases = draft->aliases,
		.spec = &profile_spec_none,
		.diagnosis = diagnosis,
	};
	if (before) {
		profile->spec = before->spec;
		profile->revision = before->revision;
		profile->updated_ms = before->updated_ms;
	}
	for (; profile->n_aliases < history->n_aliases; profile->n_aliases++)
		draft->aliases[profile->n_aliases] = history->aliases[profile->n_aliases];
	r = size_base(history, NULL, &config->policy.sizing, profile->spec, &draft->arena, &profile->parent,
		      &draft->reasons, err);
	profile->parent.min_ranks = min_ranks_of(history, NULL);
	profile->reasons = draft->reasons.items;
	profile->n_reasons = (uint8_t)MIN(draft->reasons.n, (size_t)PROFILE_REASONS);
	return r ? r : add_variants(draft, config, history, err);
}

static int encode_learned(const struct profile *profile, struct strbuf *buf)
{
	struct profile learned = *profile;

	learned.report = NULL;
	learned.diagnosis = NULL;
	return profile_encode(&learned, buf);
}

/* Whether both have learned the same. Parts that are too long for the object are ignored. */
static bool is_learned_alike(const struct profile *a, const struct profile *b)
{
	CLEANUP(strbuf_release) struct strbuf left = STRBUF_INIT(LIMIT_STORE_ITEM_BYTES);
	CLEANUP(strbuf_release) struct strbuf right = STRBUF_INIT(LIMIT_STORE_ITEM_BYTES);

	return encode_learned(a, &left) == 0 && encode_learned(b, &right) == 0 &&
	       streq(strbuf_text(&left), strbuf_text(&right));
}

int learn_profile(const struct config *config, const struct history *history, const struct profile *before,
		  const struct diagnosis *diagnosis, int64_t now_ms, const struct learn *reporter, struct profile **ret,
		  struct err *err)
{
	struct draft draft = {.arena = ARENA_INIT(PROFILE_ARENA_BYTES)};
	bool is_alike, is_news;
	int r = fill(&draft, config, history, before, diagnosis, err);

	*ret = NULL;
	if (!r)
		profile_change(&draft.profile, draft.variants, before, now_ms);
	if (!r && reporter) {
		learn_report(reporter, &draft.profile, before, &draft.report);
		draft.profile.report = &draft.report.report;
	}
	is_alike = !r && before && is_learned_alike(before, &draft.profile);
	is_news = !is_alike || !diagnosis_same(before->diagnosis, diagnosis) ||
		  (reporter && !profile_report_same(before->report, draft.profile.report));
	if (!r && is_news) {
		draft.profile.revision += !is_alike;
		*ret = profile_dup(&draft.profile);
		if (!*ret)
			r = err_set(err, -ENOMEM, "no memory left for the profile %s", history->name);
	}
	arena_release(&draft.arena);
	return r;
}
